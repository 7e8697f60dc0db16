"""One encoder, scene by scene: brush the scenes, take a decile of their ceilings, read their captions."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, INK
from bindlib.encoders.base import SAME_POINT
from bindlib.explorers.drawing import data
from bindlib.explorers.live import Live
from bindlib.scenes import Quartet

Arrays = Mapping[str, np.ndarray]  # of `bindlib.measurements.diagnostic.per_quartet`
SHOWN = 120  # scenes at most, so that the page stays light
ACROSS = {"order distance": "order_distance", "smoothness δ": "delta"}
_FIELDS = ("ceiling", *ACROSS.values())
_NONE, _NO_RATIO = "none", "not defined: both are 0"


def decile_of(values: np.ndarray) -> np.ndarray:
    """The decile, 1 to 10, of each of the values ``(n,)`` by rank; of equal values the earlier one ranks lower."""
    deciles = np.empty(len(values), dtype=int)
    for number, members in enumerate(np.array_split(np.argsort(values, kind="stable"), 10), start=1):
        deciles[members] = number
    return deciles


def chart(found: Mapping[str, Arrays], quartets: Sequence[Quartet]) -> Figure:
    """Ceiling against order distance or δ, a point for each of the first ``SHOWN`` scenes, for a chosen encoder.

    ``found`` maps encoders to their arrays over ``quartets``.  Signals: ``encoder``, ``across``, ``decile`` (0: all),
    ``brush`` (drawn with a pointer), and of the scenes in both: ``count``, ``mean_d``, ``mean_order``, ``ratio``, and
    ``farthest``, the caption with the largest ceiling.
    """
    shown = quartets[:SHOWN]
    known = {name: _rounded(arrays, len(shown)) for name, arrays in found.items()}

    def computed(encoder: str, across: str, decile: int) -> dict[str, float | str]:
        """Of the decile alone: a brush is no control."""
        arrays = known[encoder]
        (chosen,) = np.nonzero(arrays["decile"] == decile if decile else arrays["decile"])
        if not len(chosen):
            return {"count": 0} | dict.fromkeys(("mean_d", "mean_order", "ratio", "farthest"), _NONE)
        d, order = arrays["ceiling"][chosen], float(arrays["order_distance"][chosen].mean())
        ratio = float(d.mean()) / order if order > SAME_POINT else _NO_RATIO
        means = {"mean_d": float(d.mean()), "mean_order": order, "ratio": ratio}
        return {"count": len(chosen)} | means | {"farthest": shown[chosen[d.argmax()]].caption}

    return Figure(
        _drawing(known, shown),
        alt="A point for each scene: the distance between its caption and the swap, against the distance between a "
        "caption and its order variant, or against the smoothness. Dashed lines mark a tenth, half and nine tenths of "
        "the scenes. Points that are selected are blue.",
        readouts=(
            Readout("count", "scenes selected", ".0f"),
            Readout("mean_d", "their mean ceiling d"),
            Readout("mean_order", "their mean order distance"),
            Readout("ratio", "their binding-to-order ratio", ".3f"),
            Readout("farthest", "farthest from its swap"),
        ),
        prompt="Before you select: are the scenes that an encoder moves most by the swap those that it moves most by "
        "the order? Take the last decile of a trained encoder and of an untrained one, or drag a box around points.",
        answer=_answer(known),
        computed=computed,
        table=tuple(
            {"encoder": name, "mean": float(arrays["ceiling"].mean())}
            | {f"{10 * k} %": float(edge) for k, edge in enumerate(tenths(arrays["ceiling"]))}
            for name, arrays in known.items()
        ),
    )


def tenths(values: np.ndarray) -> np.ndarray:
    """The smallest value, the nine edges of the deciles, and the largest, ``(11,)``."""
    return np.quantile(values, np.arange(11) / 10).round(6)


def _rounded(arrays: Arrays, n: int) -> dict[str, np.ndarray]:
    own = {field: np.round(np.asarray(arrays[field][:n], dtype=np.float64), 6) for field in _FIELDS}
    return own | {"decile": decile_of(own["ceiling"])}


def _drawing(known: Mapping[str, Arrays], quartets: Sequence[Quartet]) -> alt.LayerChart:
    values = {
        "known": {name: {key: a.tolist() for key, a in arrays.items()} for name, arrays in known.items()},
        "tenths": {name: tenths(arrays["ceiling"]).tolist() for name, arrays in known.items()},
        "captions": [quartet.caption for quartet in quartets],
        "swaps": [quartet.swap for quartet in quartets],
    }
    params = [
        choice("encoder", "encoder", list(known), next(iter(known))),
        choice("across", "across", ACROSS, "order_distance"),
        slider("decile", "decile of the ceiling (0: all)", 0, 10, 1, 0),
        *(alt.param(name=name, value=value) for name, value in values.items()),
        *(alt.param(name=name, expr=text) for name, text in _selection(len(quartets)).items()),
    ]
    x, y = alt.X("x:Q", title=None), alt.Y("d:Q", title="ceiling d")
    numbers = {"d": "ceiling d", "order_distance": "order distance", "delta": "smoothness δ"}
    points = (
        alt.Chart(data({"i": i} for i in range(len(quartets))))
        .transform_calculate(x="own[across][datum.i]", d="own.ceiling[datum.i]")
        .transform_calculate(order_distance="own.order_distance[datum.i]", delta="own.delta[datum.i]")
        .transform_calculate(caption="captions[datum.i]", swap="swaps[datum.i]")
        .mark_point(size=70)
        .encode(
            x,
            y,
            color=alt.condition("picked[datum.i]", alt.value(BLUE), alt.value(GREY)),
            opacity=alt.condition("picked[datum.i]", alt.value(0.9), alt.value(0.4)),
            tooltip=[
                "caption:N",
                "swap:N",
                *(alt.Tooltip(f"{f}:Q", title=t, format=".3f") for f, t in numbers.items()),
            ],
        )
        .properties(name="scenes")
        .add_params(alt.selection_interval(name="brush", encodings=["x", "y"]))
    )
    edges = alt.Chart(data({"k": k, "name": name} for k, name in ((1, "10 %"), (5, "half"), (9, "90 %"))))
    edges = edges.transform_calculate(d="tenths[encoder][datum.k]", x="extent(own[across])[1]")
    equal = (
        alt.Chart(data({"end": end} for end in (0, 1)))
        .transform_calculate(
            x="(across == 'order_distance') * datum.end * min(extent(own.ceiling)[1], extent(own.order_distance)[1])"
        )
        .transform_calculate(d="datum.x")
    )
    title = alt.Title(alt.expr("across == 'delta' ? 'smoothness δ' : 'order distance (line: both equal)'"),
                      orient="bottom", anchor="end", fontSize=13, fontWeight="normal")  # fmt: skip
    layers = (
        edges.mark_rule(color=GREY, strokeDash=[3, 3]).encode(y),
        edges.mark_text(color=INK, align="right", baseline="bottom", fontSize=11).encode(x, y, text="name:N"),
        equal.mark_line(color=INK, strokeWidth=1).encode(x, y),
        points,
    )
    return alt.layer(*layers).add_params(*params).properties(height=320, title=title)


def _selection(n: int) -> dict[str, str]:
    """What is selected, as expressions: the scenes in the brush, if there is one, and in the decile, unless it is 0."""

    def each(text: str, between: str = " + ") -> str:
        return between.join(text.format(i) for i in range(n))

    in_brush = "!brush.x || inrange(own[across][{0}], brush.x) && inrange(own.ceiling[{0}], brush.d)"
    picked = f"({in_brush}) && (!decile || own.decile[{{0}}] == decile) ? 1 : 0"
    far = "picked[{0}] * (1 + own.ceiling[{0}])"
    return {
        "own": "known[encoder]",
        "picked": f"[{each(picked, ', ')}]",
        "count": each("picked[{0}]"),
        "mean_d": f"count ? ({each('picked[{0}] * own.ceiling[{0}]')}) / count : '{_NONE}'",
        "mean_order": f"count ? ({each('picked[{0}] * own.order_distance[{0}]')}) / count : '{_NONE}'",
        "ratio": f"!count ? '{_NONE}' : mean_order > {SAME_POINT} ? mean_d / mean_order : '{_NO_RATIO}'",
        "far": f"[{each(far, ', ')}]",
        "farthest": f"count ? captions[indexof(far, extent(far)[1])] : '{_NONE}'",
    }


def _answer(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The correlation of ceiling and order distance of each encoder that has both, in words."""
    told = []
    for name, arrays in known.items():
        d, order = arrays["ceiling"], arrays["order_distance"]
        if d.std() > SAME_POINT and order.std() > SAME_POINT:
            told.append(f"{name} {np.corrcoef(d, order)[0, 1]:.2f}")
    return f"The correlation of ceiling and order distance over these scenes: {', '.join(told)}."


def widget(found: Mapping[str, Arrays], quartets: Sequence[Quartet]) -> Live:
    """The figure of `chart` with a kernel behind it; there a decile takes the place of the brush."""
    return Live(chart(found, quartets))
