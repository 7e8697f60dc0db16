"""Measured encoders: ceilings against caps, and which number tells a trained encoder from a random one."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.book.reported import reported
from bindlib.book.table import with_interval
from bindlib.encoders.base import SAME_POINT
from bindlib.explorers.drawing import apart, data
from bindlib.explorers.live import Live

KIND_COLOURS = {"trained": BLUE, "bag of words": VERMILION, "null: random weights": GREEN}
KIND_SHAPES = ("circle", "square", "triangle-up")
METRICS = {"usage": "usage, d / cap", "binding_to_order": "binding-to-order ratio, d / d_order"}


def kind(row: dict[str, Any]) -> str:
    """What a row stands for: the null control by its name, a bag of words by its ceiling, else a trained encoder."""
    if row["encoder"].startswith("random-clip:"):
        return "null: random weights"
    return "bag of words" if row["ceiling"] < SAME_POINT else "trained"


def _points(rows: Sequence[dict[str, Any]]) -> alt.Data:
    names = ("encoder", "ceiling", "cap", "delta", "usage", "binding_to_order", "order_closer")
    return data({name: row[name] for name in names} | {"kind": kind(row)} for row in rows)


def _kind_encodings() -> dict[str, Any]:
    names = list(KIND_COLOURS)
    return {
        "color": alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=list(KIND_COLOURS.values())),
                           legend=alt.Legend(columns=1)),
        "shape": alt.Shape("kind:N", title=None, scale=alt.Scale(domain=names, range=list(KIND_SHAPES))),
        "tooltip": ["encoder:N", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in
                    ("ceiling", "cap", "usage", "binding_to_order", "order_closer"))],
    }  # fmt: skip


def widget(rows: Sequence[dict[str, Any]]) -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart(rows))


def chart(rows: Sequence[dict[str, Any]]) -> Figure:
    """The zoo against the frontier (the form of the source paper's Figure 3), with a movable ray of equal usage.

    Signals: ``ray`` (usage), ``below`` (rows whose usage is at most ``ray``).
    """

    def computed(ray: float) -> dict[str, float]:
        return {"ray": ray, "below": sum(row["ceiling"] <= ray * row["cap"] for row in rows)}

    top = 1.08 * max(1.0, *(row["cap"] for row in rows))
    x = alt.X("cap:Q", title="cap 2√(2δ)", scale=alt.Scale(domain=[0, top]))
    y_scale = alt.Scale(domain=[0, top * 0.42], clamp=True)
    y = alt.Y("ceiling:Q", title="ceiling d", scale=y_scale)
    low, high = (reported(key).number / 100 for key in ("usage_low", "usage_high"))
    ends = alt.Chart(data({"cap": cap} for cap in np.linspace(0, top, 101)))
    wedge = (
        ends.transform_calculate(low=f"{low} * datum.cap", high=f"{high} * datum.cap")
        .mark_area(color=GREY, opacity=0.2)
        .encode(x, y=alt.Y("low:Q"), y2="high:Q")
    )
    ray = ends.transform_calculate(ceiling="ray * datum.cap").mark_line(color=INK, strokeDash=[5, 4]).encode(x, y)
    points = alt.Chart(_points(rows)).mark_point(size=110, opacity=0.9).encode(x, y, **_kind_encodings())
    line = top * 0.42 * 14 / 340  # 14 pixels
    heights = apart([row["ceiling"] for row in rows], gap=line, low=line / 2)
    names = data(
        {"encoder": row["encoder"], "cap": row["cap"], "height": height}
        for row, height in zip(rows, heights, strict=True)
    )
    names = alt.Chart(names).mark_text(align="right", dx=-9, fontSize=11)
    names = names.encode(x, alt.Y("height:Q", scale=y_scale), text="encoder:N")
    counts = " + ".join(f"({row['ceiling']:.12g} <= ray * {row['cap']:.12g} ? 1 : 0)" for row in rows)
    params = [
        slider("ray", "usage of the dashed ray", 0, 0.42, 0.01, 0.2),
        alt.param(name="below", expr=counts),
    ]
    return Figure(
        alt.layer(wedge, ray, points, names).add_params(*params).properties(height=340),
        alt="Mean ceiling against mean cap for each encoder. The grey wedge is where the source paper places deployed "
        "encoders. Trained encoders, bags of words and untrained towers have different colours and shapes.",
        readouts=(
            Readout("ray", "usage of the ray", ".2f"),
            Readout("below", f"encoders at or below it, of {len(rows)}", ".0f"),
        ),
        prompt="Before you move it: is there a ray with the untrained towers below it and every trained encoder above?",
        answer=f"{_separated(rows)} (A point is a mean ceiling over a mean cap. The usage in the table is a mean of "
        "ratios, and may differ a little.)",
        computed=computed,
        table=tuple(rows_for_table(rows)),
    )


def _separated(rows: Sequence[dict[str, Any]]) -> str:
    """Whether a ray has every untrained tower of ``rows`` below it and every trained encoder above, in words."""
    used = {name: [row["ceiling"] / row["cap"] for row in rows if kind(row) == name] for name in KIND_COLOURS}
    trained, null = used["trained"], used["null: random weights"]
    if not trained or not null:
        return "There is nothing to separate here."
    if max(null) < min(trained):
        return "Yes."
    return "No: the other way round." if max(trained) < min(null) else "No: the two groups overlap."


def metric(rows: Sequence[dict[str, Any]], name: str) -> Figure:
    """Every encoder on one line for the metric ``name`` (a key of ``METRICS``), with its interval over quartets."""
    points = [
        {"encoder": row["encoder"], "kind": kind(row), "value": row[name]}
        | dict(zip(("low", "high"), row["intervals"][name], strict=True))
        for row in rows
        if row[name] is not None and row["intervals"][name] is not None
    ]
    x = alt.X("value:Q", title=METRICS[name], scale=alt.Scale(zero=True))
    base = alt.Chart().encode(y=alt.Y("encoder:N", title=None, sort=[row["encoder"] for row in rows]))
    encodings = _kind_encodings() | {
        "tooltip": ["encoder:N", *(alt.Tooltip(f"{n}:Q", format=".3f") for n in ("value", "low", "high"))]
    }
    drawing = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", color=encodings["color"]),
        base.mark_point(size=80, opacity=1).encode(x=x, **encodings),
        data=data(points),
    )
    return Figure(
        drawing.properties(height=alt.Step(22)),
        alt=f"One line for each encoder: its {METRICS[name]} as a point, with a 95 percent interval over scenes. "
        "Trained encoders, bags of words and the untrained towers have different colours and shapes.",
        table=tuple(points),
    )


def rows_for_table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Diagnostic rows for a table on the page; usage and the binding-to-order ratio carry their intervals."""
    fields = ("encoder", "n", "ceiling", "delta", "cap", "usage", "sharp_usage", "order_distance", "binding_to_order",
              "order_closer")  # fmt: skip
    shown = [{field: row[field] for field in fields} for row in rows]
    for row, cells in zip(rows, shown, strict=True):
        for metric in METRICS:
            cells[metric] = with_interval(row[metric], row["intervals"][metric])
    return shown
