"""Measured encoders: ceilings against caps, and which number tells a trained encoder from a random one."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.explorers.drawing import data, slider

KIND_COLOURS = {"trained": BLUE, "bag of words": VERMILION, "null: random weights": GREEN}
KIND_SHAPES = ("circle", "square", "triangle-up")
METRICS = {"usage": "usage, d / cap", "binding_to_order": "binding-to-order ratio, d / d_order"}


def kind(encoder: str) -> str:
    """What a row stands for: a trained encoder, an exact bag of words, or the null control."""
    if encoder.startswith("random-"):
        return "null: random weights"
    return "bag of words" if encoder in ("glove", "minilm-no-positions") else "trained"


def _points(rows: Sequence[dict[str, Any]]) -> alt.Data:
    names = ("encoder", "ceiling", "cap", "delta", "usage", "binding_to_order", "order_closer")
    return data({name: row[name] for name in names} | {"kind": kind(row["encoder"])} for row in rows)


def _kind_encodings() -> dict[str, Any]:
    names = list(KIND_COLOURS)
    return {
        "color": alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=list(KIND_COLOURS.values())),
                           legend=alt.Legend(columns=1)),
        "shape": alt.Shape("kind:N", title=None, scale=alt.Scale(domain=names, range=list(KIND_SHAPES))),
        "tooltip": ["encoder:N", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in
                    ("ceiling", "cap", "usage", "binding_to_order", "order_closer"))],
    }  # fmt: skip


def chart(rows: Sequence[dict[str, Any]]) -> Figure:
    """The zoo against the frontier (the form of the source paper's Figure 3), with a movable ray of equal usage.

    Signals: ``ray`` (usage), ``below`` (rows whose usage is at most ``ray``).
    """
    top = 1.08 * max(1.0, *(row["cap"] for row in rows))
    x = alt.X("cap:Q", title="cap 2√(2δ)", scale=alt.Scale(domain=[0, top]))
    y = alt.Y("ceiling:Q", title="ceiling d", scale=alt.Scale(domain=[0, top * 0.42], clamp=True))
    ends = alt.Chart(data({"cap": cap} for cap in np.linspace(0, top, 101)))
    wedge = (
        ends.transform_calculate(low="0.25 * datum.cap", high="0.35 * datum.cap")
        .mark_area(color=GREY, opacity=0.2)
        .encode(x, y=alt.Y("low:Q"), y2="high:Q")
    )
    ray = ends.transform_calculate(ceiling="ray * datum.cap").mark_line(color=INK, strokeDash=[5, 4]).encode(x, y)
    points = alt.Chart(_points(rows)).mark_point(size=110, opacity=0.9).encode(x, y, **_kind_encodings())
    counts = " + ".join(f"({row['usage']:.6f} <= ray ? 1 : 0)" for row in rows)
    params = [
        slider("ray", "usage of the dashed ray", 0, 0.42, 0.01, 0.2),
        alt.param(name="below", expr=counts),
    ]
    return Figure(
        alt.layer(wedge, ray, points).add_params(*params).properties(height=340),
        alt="Mean ceiling against mean cap for each encoder. The grey wedge is where the source paper places deployed "
        "encoders. The untrained towers lie inside it; the bags of words lie on the axis.",
        readouts=(
            Readout("ray", "usage of the ray", ".2f"),
            Readout("below", f"encoders at or below it, of {len(rows)}", ".0f"),
        ),
        prompt="Before you move it: is there a ray with the untrained towers below it and every trained encoder above?",
        table=tuple(rows_for_table(rows)),
    )


def metrics(rows: Sequence[dict[str, Any]]) -> Figure:
    """Every encoder on one line for each of two metrics, with their intervals over quartets."""
    long = [
        {
            "encoder": row["encoder"],
            "kind": kind(row["encoder"]),
            "metric": label,
            "value": row[metric],
            "low": row["intervals"][metric][0],
            "high": row["intervals"][metric][1],
        }
        for row in rows
        for metric, label in METRICS.items()
        if row[metric] is not None and row["intervals"][metric] is not None
    ]
    base = alt.Chart().encode(y=alt.Y("encoder:N", title=None, sort=[row["encoder"] for row in rows]))
    encodings = _kind_encodings() | {"tooltip": ["encoder:N", *(f"{n}:Q" for n in ("value", "low", "high"))]}
    drawing = (
        alt.layer(
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=None), x2="high:Q", color=encodings["color"]),
            base.mark_point(size=80, opacity=1).encode(x="value:Q", **encodings),
            data=data(long),
        )
        .properties(width=190, height=190)
        .facet(column=alt.Column("metric:N", title=None, sort=list(METRICS.values())))
        .resolve_scale(x="independent")
    )
    return Figure(
        drawing,
        alt="Two panels of points with 95 percent intervals, one point for each encoder. In the panel of usage the "
        "untrained towers lie among the trained encoders and above most of them. In the panel of the binding-to-order "
        "ratio the universal sentence encoder stands apart.",
        table=tuple(long),
    )


def rows_for_table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scalar fields of diagnostic rows, rounded to four places, for a table on the page."""
    fields = ("encoder", "n", "ceiling", "delta", "cap", "usage", "sharp_usage", "order_distance", "binding_to_order",
              "order_closer")  # fmt: skip
    return [{f: round(row[f], 4) if isinstance(row[f], float) else row[f] for f in fields} for row in rows]
