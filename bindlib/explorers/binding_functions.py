"""Binding functions: which model of a scene embedding holds for objects that were never fitted, and from when on."""

from collections.abc import Sequence
from math import isnan
from typing import Any

import altair as alt

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, PURPLE, VERMILION
from bindlib.book.table import with_interval
from bindlib.explorers.drawing import data
from bindlib.explorers.live import Live
from bindlib.theory.binding_functions import CANDIDATES, MEASURES, summary

Rows = Sequence[dict[str, Any]]
MODELS = ("additive", "product", "product with readout", "global product")
SHOWN = {"swap accuracy": "swap", f"recognition among {CANDIDATES}": "recognition"}
AT_START = "code: product"  # where the models differ, and the answer is known
ABSENT, NOTHING, FAR = "not measured", "nothing to explain", -10
_COLOURS, _SHAPES = (VERMILION, BLUE, GREEN, PURPLE), ("circle", "square", "triangle-up", "diamond")
_SIDES = (BLUE, VERMILION, GREEN)
_LABELS = ("R² on unseen objects", "R² of the swap differences", f"recognition among {CANDIDATES}", "swap accuracy")
_COLUMNS = ("R²", "R² of swaps", "recognition", "swap accuracy", "best blind R²")
_READOUTS = (*map(Readout, MEASURES, _LABELS), Readout("best_blind", "best R² without binding"))


def cells(rows: Rows, part: str = "held_out") -> list[dict[str, Any]]:
    """Means over seeds with their intervals for each source, model and coverage, on unseen objects (or ``held_in``)."""
    chosen = [row for row in rows if row["part"] == part]
    return summary(chosen, ("source", "model", "coverage"), (*MEASURES, "blind_r2"))


def rows_for_table(rows: Rows, part: str = "held_out") -> list[dict[str, Any]]:
    """`cells` as words, one row for each source, model and coverage."""
    return [_row(cell) for cell in cells(rows, part)]


def compared(rows: Rows, coverage: float) -> list[dict[str, Any]]:
    """One row for each source at a coverage: what a bag reaches on unseen objects, and what the two products do."""
    by_source: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells(rows):
        if cell["coverage"] == coverage:
            by_source.setdefault(cell["source"], {})[cell["model"]] = cell
    found = []
    for source, models in by_source.items():
        told = {name: _words(cell) for name, cell in models.items()}
        row = {"embeddings": source, "seeds": models["additive"]["seeds"]}
        row |= {"bag: R²": told["additive"]["r2"], "best R² without binding": told["additive"]["best_blind"]}
        for short, model in (("product", "product"), ("readout", "product with readout")):
            row |= {f"{short}: R² of swaps": told[model]["swap_r2"], f"{short}: swap accuracy": told[model]["swap"]}
        found.append(row)
    return found


def across(rows: Rows, model: str, measure: str, part: str = "held_out") -> list[dict[str, Any]]:
    """One row for each source with a measure of one model at each coverage, in words; empty where it was not taken."""
    found = [cell for cell in cells(rows, part) if cell["model"] == model]
    coverages = sorted({cell["coverage"] for cell in found})
    told = {(cell["source"], cell["coverage"]): _words(cell)[measure] for cell in found}
    sources = dict.fromkeys(cell["source"] for cell in found)
    return [{"embeddings": s} | {f"{c:g} seen": told.get((s, c), "") for c in coverages} for s in sources]


def _words(cell: dict[str, Any]) -> dict[str, str]:
    told = [_told(cell[name], (cell[f"{name}_low"], cell[f"{name}_high"])) for name in (*MEASURES, "blind_r2")]
    return dict(zip((*MEASURES, "best_blind"), told, strict=True))


def _told(mean: float, interval: tuple[float, float]) -> str:
    """A mean with its interval; far below 0 an R² as such, since its size only says how small the denominator is."""
    if isnan(mean):
        return NOTHING
    return with_interval(mean, interval, 2) if mean >= FAR else f"< {FAR}"


def widget(rows: Rows) -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart(rows))


def chart(rows: Rows) -> Figure:
    """Accuracy on unseen objects against coverage, for one source and all models; rows as ``fitted_rows`` gives them.

    Signals: ``source``, ``model``, ``tenths`` (of the grid that is seen), ``measure`` (drawn), and as words with their
    intervals over seeds ``r2``, ``swap_r2``, ``recognition``, ``swap``, ``best_blind``.
    """
    found = cells([row for row in rows if row["model"] in MODELS])
    sources = list(dict.fromkeys(cell["source"] for cell in found))
    told = {f"{c['source']}|{c['model']}|{round(10 * c['coverage'])}": _words(c) for c in found}

    def computed(source: str, model: str, tenths: int, measure: str) -> dict[str, str]:
        chosen = [c for c in found if (c["source"], c["model"], round(10 * c["coverage"])) == (source, model, tenths)]
        return _words(chosen[0]) if chosen else dict.fromkeys(_words(found[0]), ABSENT)

    here = "told[source + '|' + model + '|' + tenths]"
    params = [
        choice("source", "embeddings", sources, AT_START if AT_START in sources else sources[0]),
        choice("model", "model", list(MODELS), "product"),
        slider("tenths", "objects seen", 1, 9, 1, 5, "tenths of the grid"),
        choice("measure", "drawn", SHOWN, "swap"),
        alt.param(name="told", value=told),
        *(alt.param(name=r.signal, expr=f"{here} ? {here}.{r.signal} : '{ABSENT}'") for r in _READOUTS),
    ]
    marks = [
        {"source": c["source"], "model": c["model"], "tenths": round(10 * c["coverage"])}
        | {key: _number(c[key]) for name in SHOWN.values() for key in (name, f"{name}_low", f"{name}_high")}
        for c in found
    ]
    x = alt.X("tenths:Q", title="tenths of the objects seen", scale=alt.Scale(domain=[0.5, 9.5], nice=False),
              axis=alt.Axis(values=list(range(1, 10)), format="d"))  # fmt: skip
    y = alt.Y("shown:Q", title="on unseen objects", scale=alt.Scale(domain=[0, 1]))
    base = (
        alt.Chart(data(marks))
        .transform_filter("datum.source == source")
        .transform_calculate(shown="datum[measure]", low="datum[measure + '_low']", high="datum[measure + '_high']")
        .transform_calculate(across="datum.tenths + (indexof(['" + "', '".join(MODELS) + "'], datum.model) - 1.5) / 12")
    )
    across = alt.X("across:Q", scale=alt.Scale(domain=[0.5, 9.5], nice=False))
    colour = alt.Color("model:N", title=None, scale=alt.Scale(domain=MODELS, range=_COLOURS))
    shape = alt.Shape("model:N", title=None, scale=alt.Scale(domain=MODELS, range=_SHAPES))
    faint = alt.condition("datum.model == model", alt.value(1), alt.value(0.45))
    rule = alt.Chart(data([{"chance": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4])
    chosen = alt.Chart(data([{}])).transform_calculate(tenths="tenths").mark_rule(color=GREY).encode(x)
    drawing = alt.layer(
        rule.encode(alt.Y("chance:Q", scale=alt.Scale(domain=[0, 1]), title="on unseen objects")),
        chosen,
        base.mark_rule(strokeWidth=2).encode(across, alt.Y("low:Q"), y2="high:Q", color=colour, opacity=faint),
        base.mark_line().encode(across, y, color=colour, opacity=faint),
        base.mark_point(size=60, filled=True).encode(across, y, color=colour, shape=shape, opacity=faint),
    )
    return Figure(
        drawing.add_params(*params).properties(height=320),
        alt="Accuracy on scenes of unseen objects against the share of objects that were fitted, one line a model with "
        "intervals over seeds, for the embeddings chosen. A dashed line marks one half, the most that a model without "
        "binding reaches.",
        readouts=_READOUTS,
        prompt="Before you choose: which of these embeddings will a product predict on objects that it was never "
        "fitted to? A bag of concepts predicts most of the R² nearly everywhere. What will it make of the swaps?",
        answer="The product holds for the product and the tensor code as soon as two tenths are seen, and largely for "
        "the encoder that was trained with swaps. For hashed objects nothing holds. The bag is at one half on every "
        "swap, however large its R².",
        computed=computed,
        table=tuple(_row(cell) for cell in found if cell["coverage"] == 0.5),
    )


def _number(value: float) -> float | None:
    return None if isnan(value) else round(value, 4)


def _row(cell: dict[str, Any]) -> dict[str, Any]:
    named = {"embeddings": cell["source"], "model": cell["model"], "seen": f"{cell['coverage']:g}"}
    words = dict(zip(_COLUMNS, _words(cell).values(), strict=True))
    return named | words | {"seeds": cell["seeds"]}


def transition(rows: Rows) -> Figure:
    """Swap accuracy of transformers on seen and unseen objects against coverage; rows of ``binding_transformer``."""
    sides = {"product": "image side: product", "hashed": "image side: hashed", "learned": "image side: learned"}
    marks = []
    for part, of in (("held_in", "seen objects"), ("held_out", "unseen objects")):
        name = f"swap_{part}"
        for cell in summary(rows, ("image_side", "coverage"), (name,)):
            row = {"tenths": round(10 * cell["coverage"]), "objects": of, "side": sides[cell["image_side"]]}
            ends = {end: _number(cell[f"{name}_{end}"]) for end in ("low", "high")}
            marks.append(row | {"seeds": cell["seeds"], "accuracy": cell[name]} | ends)
    present = list(dict.fromkeys(row["side"] for row in marks))
    groups = list(dict.fromkeys(f"{row['side']}, {row['objects']}" for row in marks))
    marks = [row | {"group": f"{row['side']}, {row['objects']}"} for row in marks]
    x = alt.X("tenths:Q", title="tenths of the objects seen", scale=alt.Scale(domain=[0.5, 9.5], nice=False),
              axis=alt.Axis(values=list(range(1, 10)), format="d"))  # fmt: skip
    y = alt.Y("accuracy:Q", title="swap accuracy", scale=alt.Scale(domain=[0, 1]))
    side = alt.Color("side:N", title=None, scale=alt.Scale(domain=present, range=_SIDES[: len(present)]))
    objects = alt.Shape("objects:N", title=None, scale=alt.Scale(range=["circle", "triangle-up"]))
    base = alt.Chart(data(marks))
    chance = alt.Chart(data([{"accuracy": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y)
    return Figure(
        alt.layer(
            chance,
            base.mark_line(strokeWidth=1.5).encode(x, y, color=side, detail="group:N"),
            base.mark_rule(strokeWidth=2).encode(x, alt.Y("low:Q"), y2="high:Q", color=side),
            base.mark_point(size=70, opacity=1).encode(
                x, y, color=side, shape=objects, tooltip=["group:N", "tenths:Q", "seeds:Q", "accuracy:Q"]
            ),
        ).properties(height=320),
        alt="Swap accuracy of small transformers against the share of objects seen in training, with intervals over "
        f"seeds, in {len(groups)} groups. Against a fixed code seen objects are learnt at every coverage. Unseen ones "
        "stay at one half up to some coverage and rise beyond it if the code is a product; if it is hashed, they do "
        "not. With both sides learned, seen and unseen objects rise together.",
        table=tuple({k: v for k, v in row.items() if k != "group"} for row in marks),
    )
