"""The throttle: how the reward for binding falls with the rate of swaps, and how small that rate is by accident."""

from collections.abc import Sequence
from itertools import product

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, VERMILION
from bindlib.explorers.drawing import ONE, data
from bindlib.explorers.live import Live
from bindlib.theory.throttle import implicit_swap_rate, n_two_object_scenes
from bindlib.theory.throttle_toy import Constants, limit_constants

NOISES = tuple(round(0.05 * i, 2) for i in range(31))  # the positions of the noise slider
AVERAGE, REVERSAL = "pairing-blind average", "exact reversal"
_NAMES = alt.Scale(domain=[AVERAGE, REVERSAL], range=[BLUE, VERMILION])
_SHAPES = alt.Scale(domain=[AVERAGE, REVERSAL], range=["circle", "square"])
_DASHES = alt.Scale(domain=[AVERAGE, REVERSAL], range=[[1, 0], [6, 4]])


def _lookup(values: Sequence[float]) -> str:
    """A Vega expression for the value that belongs to the slider's noise."""
    return f"[{', '.join(f'{v:.12g}' for v in values)}][round(noise / 0.05)]"


def computed(rate: float, noise: float) -> dict[str, float]:
    """The readouts of `chart`."""
    exact = limit_constants(noise)
    gaps = {"average_gap": float(exact.average_gap(rate)), "reversal_gap": float(exact.reversal_gap(rate))}
    constants = {"matched": exact.matched_average, "c1": exact.offset_average, "c0": exact.offset_reversal}
    return {"rate": rate, "noise": noise} | gaps | constants


def widget() -> Live:
    """The figure of `chart` with a kernel behind it; ``Live(web_scale())`` does the same for the other one."""
    return Live(chart())


def chart() -> Figure:
    """Both gaps against π for orthonormal codes, with a movable rate and noise; constants by quadrature, embedded.

    Signals: ``rate`` (π), ``noise``, ``matched`` (log 2 - E ℓ(M*)), ``c1``, ``c0``, ``average_gap``, ``reversal_gap``.
    """
    constants = [limit_constants(noise) for noise in NOISES]
    params = [
        slider("rate", "swap rate π", 0, 1, 0.01, 0.1),
        slider("noise", "image noise", 0, 1.5, 0.05, 0.6),
        alt.param(name="matched", expr=_lookup([c.matched_average for c in constants])),
        alt.param(name="c1", expr=_lookup([c.offset_average for c in constants])),
        alt.param(name="c0", expr=_lookup([c.offset_reversal for c in constants])),
        alt.param(name="average_gap", expr="rate * matched + (1 - rate) * c1"),
        alt.param(name="reversal_gap", expr="rate * 2 + (1 - rate) * c0"),
    ]
    x = alt.X("rate:Q", title="swap rate π", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("gap:Q", title="loss above the binding solution", scale=alt.Scale(domain=[0, 2.1]))
    named = [{"name": AVERAGE}, {"name": REVERSAL}]
    ends = (
        alt.Chart(data({"rate": r} | n for n in named for r in (0, 1)))
        .transform_calculate(gap=f"datum.name == '{AVERAGE}' ? (datum.rate ? matched : c1) : (datum.rate ? 2 : c0)")
        .mark_line()
        .encode(
            x,
            y,
            color=alt.Color("name:N", title=None, scale=_NAMES),
            strokeDash=alt.StrokeDash("name:N", title=None, scale=_DASHES),
        )
    )
    here = (
        alt.Chart(data(named))
        .transform_calculate(rate="rate", gap=f"datum.name == '{AVERAGE}' ? average_gap : reversal_gap")
        .mark_point(size=110, opacity=1)
        .encode(x, y, color=alt.Color("name:N", title=None, scale=_NAMES),
                shape=alt.Shape("name:N", title=None, scale=_SHAPES))
    )  # fmt: skip
    rule = alt.Chart(ONE).transform_calculate(rate="rate").mark_rule(color=GREY).encode(x)
    return Figure(
        alt.layer(rule, ends, here).add_params(*params).properties(height=320),
        alt="Two straight lines against the swap rate: what the pairing-blind average costs and what an exact reversal "
        "costs. Both start at an offset for rate zero and rise to the constants of the theorems at rate one. With "
        "more noise the first line falls and flattens.",
        readouts=(
            Readout("rate", "swap rate π", ".2f"),
            Readout("noise", "image noise", ".2f"),
            Readout("average_gap", "cost of the average"),
            Readout("reversal_gap", "cost of the reversal"),
            Readout("matched", "log 2 − E ℓ(M*)"),
            Readout("c1", "offset c1"),
            Readout("c0", "offset c0"),
        ),
        prompt="Before you move it: at π = 0 nothing contrasts a caption with its swap. Does blindness cost nothing "
        "then? Which number do you have to look at?",
        answer="At π = 0 blindness costs the offset c1, which unrelated captions pay: the average lowers the score of "
        "the true caption, and with it the lead over them. What the swaps themselves pay is π times log 2 − E ℓ(M*).",
        computed=computed,
        table=tuple({"noise": noise} | vars(c) for noise, c in list(zip(NOISES, constants, strict=True))[::6]),
    )


def computed_web_scale(log_batch: int, log_objects: float, log_attributes: float) -> dict[str, float]:
    """The readouts of `web_scale`."""
    batch, scenes = 2**log_batch, n_two_object_scenes(round(10**log_objects), round(10**log_attributes))
    return {"rate": implicit_swap_rate(batch, 1 / scenes), "batch": batch, "scenes": scenes}


def web_scale() -> Figure:
    """The implicit rate against batch size in a uniform two-object world, on log scales.

    Signals: ``log_batch`` (base 2), ``log_objects``, ``log_attributes`` (base 10), ``scenes``, ``rate``.
    """

    def rate(batch: str) -> str:
        # 1 - (1 - 1/scenes)^(B - 1), with series where the difference would lose its digits.
        exponent = f"(({batch}) - 1) * (scenes > 1e6 ? 1 / scenes + 0.5 / scenes / scenes : -log(1 - 1 / scenes))"
        return f"{exponent} < 1e-5 ? ({exponent}) * (1 - ({exponent}) / 2) : 1 - exp(-({exponent}))"

    objects, attributes = "round(pow(10, log_objects))", "round(pow(10, log_attributes))"
    params = [
        slider("log_batch", "batch size, power of 2", 5, 20, 1, 15),
        slider("log_objects", "objects, power of 10", 1, 5, 0.25, 3),
        slider("log_attributes", "attributes, power of 10", 1, 4, 0.25, 2),
        alt.param(
            name="scenes", expr=f"{objects} * ({objects} - 1) / 2 * {attributes} * ({attributes} - 1)"
        ),
        alt.param(name="batch", expr="pow(2, log_batch)"),
        alt.param(name="rate", expr=rate("batch")),
    ]  # fmt: skip
    x = alt.X("batch:Q", title="batch size B", scale=alt.Scale(type="log", base=10, domain=[32, 2**20]),
              axis=alt.Axis(format="~s", values=[100, 1e3, 1e4, 1e5, 1e6]))  # fmt: skip
    y = alt.Y(
        "rate:Q",
        title="implicit swap rate",
        scale=alt.Scale(type="log", domain=[1e-14, 1], clamp=True),
        axis=alt.Axis(format=".0e", values=[10.0**-e for e in range(14, -1, -2)]),
    )
    line = (
        alt.Chart(data({"batch": float(b)} for b in 2 ** np.linspace(5, 20, 61)))
        .transform_calculate(rate=rate("datum.batch"))
        .mark_line(color=BLUE)
        .encode(x, y)
    )
    here = alt.Chart(ONE).transform_calculate(batch="batch", rate="rate")
    point = here.mark_point(color=VERMILION, size=120, opacity=1).encode(x, y)
    return Figure(
        alt.layer(line, here.mark_rule(color=GREY).encode(x), point).add_params(*params).properties(height=300),
        alt="The rate at which a batch holds a caption's exact swap by accident, against the batch size, both on "
        "logarithmic scales. The line rises by one decade for each decade of batch size and falls by the fourth power "
        "of the vocabulary.",
        readouts=(
            Readout("rate", "implicit swap rate", ".3e"),
            Readout("batch", "batch size", ",.0f"),
            Readout("scenes", "scenes in the world", ",.0f"),
        ),
        prompt="Before you move it: double the batch, or halve the vocabulary. Which raises the implicit rate more?",
        answer="Halving the vocabulary. The number of scenes grows as the square of the objects times the square of "
        "the attributes, so half of both raises a small rate about sixteen times, and a doubled batch only twice.",
        computed=computed_web_scale,
        table=tuple(
            {"batch size": 2**power, "objects": m, "attributes": k, "rate": f"{implicit_swap_rate(2**power, p):.1e}"}
            for power, m, k in product((10, 15, 20), (100, 1000), (100,))
            for p in [1 / n_two_object_scenes(m, k)]
        ),
    )


def measured(constants: Constants, rates: np.ndarray, gaps: np.ndarray, errors: np.ndarray) -> Figure:
    """Figure 15 of the source paper: simulated gaps ``(n, 2)`` with their errors, over the lines of ``constants``."""
    rows = [
        {"rate": float(r), "gap": float(g), "low": float(g - 2 * e), "high": float(g + 2 * e), "name": name}
        for r, pair, both in zip(rates, gaps, errors, strict=True)
        for g, e, name in zip(pair, both, (AVERAGE, REVERSAL), strict=True)
    ]
    ends = data(
        {"rate": r, "gap": float(f(r)), "name": name}
        for name, f in ((AVERAGE, constants.average_gap), (REVERSAL, constants.reversal_gap))
        for r in (0.0, 1.0)
    )
    x, y = alt.X("rate:Q", title="swap rate π"), alt.Y("gap:Q", title="loss above the binding solution")
    color = alt.Color("name:N", title=None, scale=_NAMES)
    points = alt.Chart(data(rows))
    drawing = alt.layer(
        alt.Chart(ends).mark_line().encode(x, y, color=color),
        points.mark_rule(strokeWidth=2).encode(x, alt.Y("low:Q"), y2="high:Q", color=color),
        points.mark_point(size=80, opacity=1).encode(
            x, y, color=color, shape=alt.Shape("name:N", title=None, scale=_SHAPES)
        ),
    )
    return Figure(
        drawing.properties(height=320),
        alt="Simulated loss gaps against the swap rate, with lines computed from quadrature. The points of the "
        "pairing-blind average and of the exact reversal lie on their straight lines.",
        table=tuple(rows),
    )
