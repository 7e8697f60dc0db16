"""Ceilings on SugarCrepe: how small they get, subset by subset, and what is left when only words move."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from bindlib.book.controls import choice
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, VERMILION
from bindlib.explorers.drawing import data
from bindlib.explorers.live import Live

Subsets = Mapping[str, Mapping[str, Mapping[str, Any]]]  # encoder -> subset -> row of ``measure_encoder``
SUBSETS = ("replace_obj", "add_obj", "replace_rel", "replace_att", "add_att", "swap_obj", "swap_att")
SWAPS = ("swap_obj", "swap_att")
DECILES = range(10, 100, 10)
_READ = {"low": 10, "median": 50, "high": 90}
_LEGEND = "datum.label == 'swap' ? 'swap subsets' : 'others'"


def decile_rows(subsets: Subsets) -> list[dict[str, Any]]:
    """Rows ``encoder, subset, kind, percent, ceiling``: so many percent of the pairs have a smaller ceiling."""
    return [
        {"encoder": name, "subset": s, "kind": "swap" if s in SWAPS else "other", "percent": q,
         "ceiling": of[s][f"decile_{q}"]}
        for name, of in subsets.items() for s in SUBSETS for q in DECILES
    ]  # fmt: skip


def deciles(subsets: Subsets) -> Figure:
    """The deciles of the ceiling in each subset, for an encoder to choose.

    Signals: ``encoder``, ``subset``, and ``low``, ``median``, ``high``, the first, fifth and ninth decile there.
    """
    rows, names = decile_rows(subsets), list(subsets)
    # The axis changes with the encoder, the room beside it does not: its last label stays within.
    x = alt.X("ceiling:Q", title="ceiling d of a caption and its negative", scale=alt.Scale(zero=True),
              axis=alt.Axis(labelFlush=True))  # fmt: skip
    y = alt.Y("subset:N", title=None, sort=list(SUBSETS), axis=alt.Axis(labelPadding=12))  # a mark at 0 is wide
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=["other", "swap"], range=[BLUE, VERMILION]),
                       legend=alt.Legend(columns=1, labelExpr=_LEGEND))  # fmt: skip
    base = alt.Chart(data(rows)).transform_filter("datum.encoder == encoder")
    line = base.mark_line(strokeWidth=2).encode(x, y, colour, detail="subset:N")
    tooltip = ["subset:N", alt.Tooltip("percent:Q", title="percent below"), alt.Tooltip("ceiling:Q", format=".3f")]
    marks = base.mark_point(opacity=1, filled=True).encode(
        x, y, colour, tooltip=tooltip,
        size=alt.condition("datum.percent == 50", alt.value(150), alt.value(30)),
        shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=["other", "swap"], range=["circle", "square"])),
    )  # fmt: skip
    here = base.transform_filter("datum.subset == subset && datum.percent == 50").mark_point(
        size=330, opacity=1, strokeWidth=2, filled=False
    )

    def computed(encoder: str, subset: str) -> dict[str, float]:
        return {name: subsets[encoder][subset][f"decile_{q}"] for name, q in _READ.items()}

    table = {name: {s: [of[s][f"decile_{q}"] for q in _READ.values()] for s in SUBSETS} for name, of in subsets.items()}
    params = [
        choice("encoder", "encoder", names, names[0]),
        choice("subset", "subset", list(SUBSETS), "swap_att"),
        alt.param(name="found", value=table),
        *(alt.param(name=name, expr=f"found[encoder][subset][{i}]") for i, name in enumerate(_READ)),
    ]
    return Figure(
        alt.layer(line, marks, here.encode(x, y, colour)).add_params(*params).properties(height=alt.Step(34)),
        alt="For each subset of SugarCrepe the deciles of the ceiling as points on a line, the median larger. For "
        "trained encoders the two swap subsets lie lowest; for the bag of words they begin at zero.",
        readouts=(
            Readout("low", "one pair in ten has a ceiling below"),
            Readout("median", "one in two below"),
            Readout("high", "nine in ten below"),
        ),
        prompt="Before you choose another encoder: will the order of the subsets change, and where will the two swap "
        "subsets of the bag of words lie?",
        answer="They stay lowest for every trained encoder and for the mean of word vectors, where more than half of "
        "their pairs have ceiling zero; not for the untrained tower, to which a swap is a change like any other.",
        computed=computed,
        table=tuple({k: row[k] for k in ("encoder", "subset", "percent", "ceiling")} for row in rows),
    )


def widget(subsets: Subsets) -> Live:
    """The figure of `deciles` with a kernel behind it."""
    return Live(deciles(subsets))


def permutation_rows(subsets: Subsets) -> list[dict[str, Any]]:
    """Rows for a table: mean ceilings of the swap subsets, of all pairs and of the exact permutations of words."""
    return [
        {"encoder": name} | {
            f"{s}, {which}": of[s][metric] for s in SWAPS
            for which, metric in (("all", "ceiling"), ("permutations", "permutation_ceiling"))
        }
        for name, of in subsets.items()
    ]  # fmt: skip
