"""The smoothness-binding frontier: move δ and the usage, read both caps, see where encoders stand."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.explorers.drawing import ONE, apart, data, plane_x, plane_y, unit_circle, vector
from bindlib.explorers.live import Live
from bindlib.theory import frontier

DELTA_AT_START, USAGE_AT_START = 0.25, 0.3
_PAPER_CAP = "2 * sqrt(2 * delta)"
_SHARP_CAP = "delta < 1 ? 2 * sqrt(delta * (2 - delta)) : 2"
_ROUNDING = 1e-9  # a ceiling on the sharp cap is allowed
_ALLOWED, _FORBIDDEN = "yes, for some vectors", "no: it is above the sharp cap"
_READOUTS = (
    Readout("delta", "smoothness δ", ".2f"),
    Readout("sharp_cap", "sharp cap 2√(δ(2−δ))"),
    Readout("paper_cap", "the paper's cap 2√(2δ)"),
)


def caps(delta: float) -> dict[str, float]:
    """Both caps at ``delta``, and the angle in degrees between the anchor and a caption at that smoothness."""
    found = {"sharp_cap": float(frontier.sharp_cap(delta)), "paper_cap": float(frontier.paper_cap(delta))}
    return {"delta": delta, "angle": float(np.degrees(np.arccos(1 - delta)))} | found


def computed(delta: float, usage: float) -> dict[str, float | str]:
    """The readouts of `chart`."""
    found = caps(delta)
    ceiling = usage * found["paper_cap"]
    allowed = _ALLOWED if ceiling <= found["sharp_cap"] + _ROUNDING else _FORBIDDEN
    return found | {"usage": usage, "ceiling": ceiling, "allowed": allowed}


def widget(rows: Sequence[dict[str, Any]] = ()) -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart(rows))


def _params() -> list[alt.Parameter]:
    return [
        slider("delta", "smoothness δ", 0, 1, 0.01, DELTA_AT_START),
        alt.param(name="sharp_cap", expr=_SHARP_CAP),
        alt.param(name="paper_cap", expr=_PAPER_CAP),
    ]


def chart(rows: Sequence[dict[str, Any]] = ()) -> Figure:
    """The frontier with a movable δ and usage, and each measured row (``encoder, delta, ceiling``) as a point.

    Signals: ``delta``, ``usage`` (of the paper's cap), ``sharp_cap``, ``paper_cap``, ``ceiling`` (at that usage) and
    ``allowed`` (whether the sharp cap lets it be, in words).
    """
    delta = np.linspace(0, 1, 201)
    curves = data({"delta": d, "sharp": frontier.sharp_cap(d), "paper": frontier.paper_cap(d)} for d in delta)
    x = alt.X("delta:Q", title="smoothness δ: distance of the farther caption from the anchor, 1 − cosine",
              scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    y_scale = alt.Scale(domain=[0, 2.9])
    base = alt.Chart(curves)
    allowed = base.mark_area(color=BLUE, opacity=0.18).encode(x, alt.Y("sharp:Q", title="ceiling d", scale=y_scale))
    sharp = base.mark_line(color=BLUE).encode(x, alt.Y("sharp:Q", scale=y_scale))
    paper = base.mark_line(color=VERMILION, strokeDash=[6, 4]).encode(x, alt.Y("paper:Q", scale=y_scale))
    used = base.transform_calculate(used="usage * datum.paper").mark_line(color=PURPLE, strokeDash=[2, 3])
    here = alt.Chart(ONE).transform_calculate(delta="delta", sharp="sharp_cap", paper="paper_cap", used="ceiling")
    rule = here.mark_rule(color=GREY).encode(x)
    on_sharp = here.mark_point(color=BLUE, size=110, opacity=1).encode(x, alt.Y("sharp:Q", scale=y_scale))
    on_paper = here.mark_point(color=VERMILION, size=110, shape="square", opacity=1).encode(
        x, alt.Y("paper:Q", scale=y_scale)
    )
    on_used = here.mark_point(color=PURPLE, size=110, shape="triangle-up", opacity=1)
    used, on_used = (layer.encode(x, alt.Y("used:Q", scale=y_scale)) for layer in (used, on_used))
    names = data(
        [{"delta": 0.97, "d": 1.86, "name": "sharp cap"}, {"delta": 0.72, "d": 2.75, "name": "the paper's cap"},
         {"delta": 0.7, "d": 1.5, "name": "allowed"}]
    )  # fmt: skip
    labels = alt.Chart(names).mark_text(align="right", baseline="top", color=INK).encode(
        x, alt.Y("d:Q", scale=y_scale), text="name:N"
    )  # fmt: skip
    end = alt.Chart(ONE).transform_calculate(delta="0.97", used="usage * 2 * sqrt(2 * 0.97)")
    named = end.mark_text(align="right", baseline="bottom", dy=-5, color=INK).encode(
        x, alt.Y("used:Q", scale=y_scale), text=alt.value("usage")
    )
    layers = [allowed, sharp, paper, used, rule, on_sharp, on_paper, on_used, labels, named]
    if rows:
        beside = max(0.3, *(row["delta"] + 0.04 for row in rows))
        heights = apart([row["ceiling"] for row in rows], gap=0.13, low=0.07)
        measured = alt.Chart(
            data(
                {k: row[k] for k in ("encoder", "delta", "ceiling")} | {"beside": beside, "height": height}
                for row, height in zip(rows, heights, strict=True)
            )
        )
        tooltip = ["encoder:N", alt.Tooltip("delta:Q", format=".3f"), alt.Tooltip("ceiling:Q", format=".3f")]
        y = alt.Y("ceiling:Q", scale=y_scale)
        named_x, named_y = alt.X("beside:Q"), alt.Y("height:Q", scale=y_scale)
        layers += [
            measured.mark_rule(color=GREY, strokeWidth=1).encode(x, y, x2="beside:Q", y2="height:Q"),
            measured.mark_point(shape="diamond", size=90, color=GREEN, opacity=1).encode(x, y, tooltip=tooltip),
            measured.mark_text(align="left", dx=4, fontSize=11).encode(named_x, named_y, text="encoder:N"),
        ]
    params = [
        *_params(),
        slider("usage", "usage, share of the paper's cap", 0, 1, 0.01, USAGE_AT_START),
        alt.param(name="ceiling", expr="usage * paper_cap"),
        alt.param(name="allowed", expr=f"ceiling <= sharp_cap + {_ROUNDING} ? '{_ALLOWED}' : '{_FORBIDDEN}'"),
    ]
    return Figure(
        alt.layer(*layers).add_params(*params).properties(height=320),
        alt="Ceiling d against smoothness delta. The region below the sharp cap is shaded; the paper's cap runs just "
        "above the sharp one for small delta and exceeds 2, the largest distance there is, once delta passes one half. "
        "A dotted line is the ceiling of an encoder that uses the chosen share of the paper's cap."
        + (" Measured encoders are diamonds." if rows else ""),
        readouts=(
            *_READOUTS,
            Readout("usage", "usage d / cap", ".2f"),
            Readout("ceiling", "ceiling d at that usage"),
            Readout("allowed", "can there be such captions"),
        ),
        computed=computed,
        prompt="Before you move it: from which δ on does the paper's cap say nothing, since no two unit vectors are "
        "farther apart than 2? Where is the sharp cap then? And can a usage be 1?",
        answer="From δ = 1/2 on. The sharp cap is the square root of 3 there, and reaches 2 only at δ = 1. A usage is "
        "at most √(1 − δ/2) while δ ≤ 1, the ratio of the two caps: it can come near 1 and never reach it.",
        table=tuple({"encoder": r["encoder"], "delta": r["delta"], "ceiling": r["ceiling"]} for r in rows),
    )


def geometry() -> Figure:
    """The proof's picture: anchor, the arc within δ of it, and the two captions at its ends.

    Signals: ``delta``, ``angle`` (degrees between anchor and caption), ``sharp_cap``, ``paper_cap``.
    """
    tilt = "acos(1 - delta)"
    share = np.linspace(-1, 1, 81)
    arc = (
        alt.Chart(data({"s": s} for s in share))
        .transform_calculate(
            x=f"cos(PI / 2 + datum.s * {tilt})", y=f"sin(PI / 2 + datum.s * {tilt})"
        )
        .mark_line(color=BLUE, strokeWidth=5, opacity=0.5)
        .encode(plane_x(), plane_y(), order="s:Q")
    )  # fmt: skip
    chord = (
        alt.Chart(ONE)
        .transform_calculate(
            x=f"-sin({tilt})", y=f"cos({tilt})", x2=f"sin({tilt})", y2=f"cos({tilt})"
        )
        .mark_rule(color=VERMILION, strokeWidth=3)
        .encode(plane_x(), plane_y(), x2="x2:Q", y2="y2:Q")
    )  # fmt: skip
    drawing = alt.layer(
        unit_circle(), arc, chord,
        vector("PI / 2", "anchor", INK, (5, 4)),
        vector(f"PI / 2 + {tilt}", "t(c)", BLUE),
        vector(f"PI / 2 - {tilt}", "t(σc)", BLUE),
    ).add_params(*_params(), alt.param(name="angle", expr=f"{tilt} * 180 / PI"))  # fmt: skip
    return Figure(
        drawing.properties(height=320),
        alt="A unit circle with the anchor pointing up and the two captions tilted from it by equal angles to the left "
        "and right. The chord between their tips is the ceiling d; it grows as delta grows.",
        readouts=(_READOUTS[0], Readout("angle", "angle from the anchor, degrees", ".1f"), *_READOUTS[1:]),
        prompt="Before you move it: how far must the captions leave the anchor before they are as far apart as any two "
        "unit vectors can be?",
        computed=caps,
        answer="To a right angle, δ = 1: then they point in opposite directions.",
    )
