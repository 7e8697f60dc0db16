"""Factored codes: choose a binding, a dimension and a scene size, and see margins against their predictions."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.explorers.drawing import ONE, data, log_ticks
from bindlib.explorers.fresh import Fresh, Measured
from bindlib.theory import factored_codes as theory

VOCABULARY = 40
SIZES = (2, 4, 8, 16, 32)
LOG_DIMS = (6, 8, 10, 12)
# Closed forms of `predicted_margins` with gain 1 and no mismatch, in the signals of both explorers.
PREDICTED = {
    "swap": "2 * (1 - 2 * leakage) / k",
    "replace": "(1 - leakage) / k",
    "add": "1 - sqrt(k / (k + 1))",
}
LEAKAGE_OF_FAMILY = "(family == 'additive') * 0.5"
_PREDICTED = tuple(Readout(kind, f"predicted {kind} margin") for kind in theory.KINDS)
_MEASURED = tuple(Readout(f"{kind}_measured", f"measured {kind} margin") for kind in theory.KINDS)
_COLOR = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(theory.KINDS), range=[VERMILION, BLUE, GREEN]))
_SHAPE = alt.Shape(
    "kind:N", title=None, scale=alt.Scale(domain=list(theory.KINDS), range=["circle", "square", "diamond"])
)
_DASH = alt.StrokeDash("kind:N", legend=None)
_SIZE = alt.X("k:Q", title="objects in the scene k (log scale)", scale=alt.Scale(type="log", base=2, domain=[1.8, 36]))


def _scaled(leakage: str, k: str) -> str:
    """The predicted margin of ``datum.kind`` times ``k``, for Vega expressions of the leakage and of ``k``."""
    return (
        f"datum.kind == 'swap' ? 2 * (1 - 2 * {leakage}) : datum.kind == 'replace' ? 1 - {leakage} : "
        f"{k} * (1 - sqrt({k} / ({k} + 1)))"
    )


def _closed_forms() -> list[alt.Parameter]:
    return [alt.param(name=kind, expr=formula) for kind, formula in PREDICTED.items()]


def measured_rows(rng: np.random.Generator, n_scenes: int = 40) -> list[dict[str, Any]]:
    """Measured margins and leakage of every family, in 2^6 to 2^12 dimensions, M = K = 40.

    Rows ``family, log_dim, kind, k, margin, sd, predicted, ratio, leakage``; one code is drawn for each family and
    dimension, ``leakage`` is its mean over the mean gain.
    """
    places = ((family, log_dim) for family in theory.FAMILIES for log_dim in LOG_DIMS)
    return [row for place in places for row in _drawn_rows(*place, n_scenes, rng)]


def _drawn_rows(family: str, log_dim: int, n_scenes: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    code = theory.draw_code(family, VOCABULARY, VOCABULARY, 2**log_dim, rng)
    found = theory.margin_rows(code, SIZES, n_scenes, rng)
    means = {name: float(values.mean()) for name, values in theory.inner_products(code, 10 * n_scenes, rng).items()}
    leakage = (means["leakage"] + means["leakage_attribute"]) / (2 * means["gain"])
    return [{"family": family, "log_dim": log_dim} | row | {"leakage": leakage} for row in found]


def _rounded(value: float) -> float:
    """To six places, zero without a sign."""
    return round(value, 6) + 0.0


def _nested(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means and deviations by ``[family][log_dim][k][kind]``, for Vega expressions."""
    found: dict[str, Any] = {}
    for row in rows:
        at = found.setdefault(row["family"], {}).setdefault(str(row["log_dim"]), {}).setdefault(str(row["k"]), {})
        at[row["kind"]] = [_rounded(row["margin"]), _rounded(row["sd"])]
    return found


def _leakages(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Measured leakage by ``[family][log_dim]``."""
    families = dict.fromkeys(row["family"] for row in rows)
    return {f: {str(r["log_dim"]): _rounded(r["leakage"]) for r in rows if r["family"] == f} for f in families}


def computed_from(rows: Sequence[Mapping[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The readouts of `chart`: predictions of the theory, and the rows that were measured."""
    measured = {(row["family"], row["log_dim"], row["k"], row["kind"]): row for row in rows}

    def computed(family: str, log_dim: int, k: int) -> dict[str, Any]:
        leakage = theory.FAMILIES[family].leakage
        found = {kind: measured[family, log_dim, k, kind] for kind in theory.KINDS}
        return {
            "dim": 2**log_dim,
            **theory.predicted_margins(k, leakage=leakage),
            **{f"{kind}_measured": _rounded(row["margin"]) for kind, row in found.items()},
            "leakage": leakage,
            "leakage_measured": _rounded(found["swap"]["leakage"]),
        }

    return computed


def chart(rows: Sequence[dict[str, Any]] | None = None) -> Figure:
    """Margins times ``k`` of one family and dimension (`measured_rows`, drawn now unless given) over their predictions.

    Signals: ``family``, ``log_dim``, ``k``, ``dim``, ``leakage``, ``swap``, ``replace``, ``add``, and the last four
    with ``_measured``.
    """
    rows = measured_rows(np.random.default_rng(0)) if rows is None else rows
    here = "found[family][log_dim]"
    params = [
        choice("family", "binding", list(theory.FAMILIES), "hadamard"),
        slider("log_dim", "log₂ of the dimension N", LOG_DIMS[0], LOG_DIMS[-1], 2, 10),
        choice("k", "objects in the scene k", {str(k): k for k in SIZES}, SIZES[0]),
        alt.param(name="found", value=_nested(rows)),
        alt.param(name="leakages", value=_leakages(rows)),
        alt.param(name="dim", expr="pow(2, log_dim)"),
        alt.param(name="leakage", expr=LEAKAGE_OF_FAMILY),
        alt.param(name="leakage_measured", expr="leakages[family][log_dim]"),
        *_closed_forms(),
        *(alt.param(name=f"{kind}_measured", expr=f"{here}[k].{kind}[0]") for kind in theory.KINDS),
    ]
    y_scale = alt.Scale(domain=[-0.5, 3])
    y = alt.Y("scaled:Q", title="margin × k", scale=y_scale)
    curves = alt.Chart(data({"k": k, "kind": kind} for k in range(2, 33) for kind in theory.KINDS))
    lines = curves.transform_calculate(scaled=_scaled("leakage", "datum.k")).mark_line(opacity=0.7)
    mean, sd = (f"{here}[datum.k][datum.kind][{i}]" for i in (0, 1))
    points = alt.Chart(data({"k": k, "kind": kind} for k in SIZES for kind in theory.KINDS)).transform_calculate(
        scaled=f"datum.k * {mean}", low=f"datum.k * ({mean} - {sd})", high=f"datum.k * ({mean} + {sd})"
    )
    bars = points.mark_rule(clip=True).encode(_SIZE, alt.Y("low:Q", scale=y_scale), y2="high:Q", color=_COLOR)
    tooltip = ["kind:N", "k:Q", alt.Tooltip("scaled:Q", title="margin × k", format=".3f")]
    marks = points.mark_point(size=70, opacity=1, clip=True).encode(_SIZE, y, _COLOR, _SHAPE, tooltip=tooltip)
    rule = alt.Chart(ONE).transform_calculate(k="k").mark_rule(color=GREY, strokeDash=[3, 3]).encode(_SIZE)
    layers = alt.layer(rule, lines.encode(_SIZE, y, _COLOR, _DASH), bars, marks)
    return Figure(
        layers.add_params(*params).properties(height=320),
        alt="Margin times k against the scene size k for swap, replace and add negatives: predicted lines at 2, at 1 "
        "and rising slowly to one half, with measured means and bars of one standard deviation. With the additive "
        "binding the swap line drops to zero and the replace line to one half; in few dimensions the bars grow wide.",
        readouts=(
            Readout("dim", "dimension N", ".0f"),
            *(readout for pair in zip(_PREDICTED, _MEASURED, strict=True) for readout in pair),
            Readout("leakage", "predicted leakage"),
            Readout("leakage_measured", "measured leakage"),
        ),
        prompt="Before you move it: which of the three negatives will an additive code fail to see? And what do fewer "
        "dimensions change, the means or the bars?",
        answer="The swaps: their margin is zero, and the replacements keep half of theirs. Fewer dimensions widen the "
        "bars and leave the means near the lines.",
        table=tuple(
            {"binding": r["family"], "negative": r["kind"], "k": r["k"]}
            | {name: round(r[name], 5) for name in ("margin", "sd", "predicted")}
            for r in rows
            if r["log_dim"] == LOG_DIMS[-1]
        ),
        computed=computed_from(rows),
    )


@lru_cache(maxsize=64)
def _drawn_chart(family: str, log_dim: int, draw: int, scenes: int) -> Figure:
    return chart(_drawn_rows(family, log_dim, scenes, np.random.default_rng(draw)))


def drawn_anew() -> Measured:
    """The figure of `chart` with a code and scenes drawn at each change, from the seed ``draw``."""
    figure = _drawn_chart("hadamard", 10, draw=0, scenes=40)
    params = slider("draw", "draw of the code", 0, 99, 1, 0), slider("scenes", "scenes of each size", 10, 200, 10, 40)
    return Measured(
        figure.chart.add_params(*params),
        alt=figure.alt,
        readouts=figure.readouts,
        prompt="Before you draw again: which of the measured margins will change most, and how much in 64 dimensions?",
        computed=lambda k, **code: _drawn_chart(**code).computed(code["family"], code["log_dim"], k),
        drawn=lambda k, **code: _drawn_chart(**code),
    )


def widget() -> Fresh:
    """Codes and scenes drawn anew at every change."""
    return Fresh(drawn_anew())


def figure10(rows: Sequence[dict[str, Any]]) -> Figure:
    """The source paper's Figure 10 from `theory.margin_rows`: measured margins over the three predictions, log-log."""
    log = alt.Scale(type="log", domain=[0.01, 1.3])
    base = alt.Chart(data(rows))
    lines = base.mark_line(opacity=0.7).encode(_SIZE, alt.Y("predicted:Q", scale=log), _COLOR, _DASH)
    tooltip = ["kind:N", "k:Q", *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("margin", "predicted", "ratio"))]
    y = alt.Y("margin:Q", title="margin (log scale)", scale=log, axis=alt.Axis(format="~g", values=log_ticks(0.01, 1)))
    marks = base.mark_point(size=45, opacity=1).encode(_SIZE, y, _COLOR, _SHAPE, tooltip=tooltip)
    return Figure(
        alt.layer(lines, marks).properties(height=340),
        alt="Measured swap, replace and add margins against the scene size on log-log axes. Each set of marks lies on "
        "its predicted curve; the three curves fall side by side, the swap margin highest and the add margin lowest.",
        table=tuple({k: r[k] for k in ("kind", "k", "margin", "predicted", "ratio", "sd")} for r in rows),
    )


def leakage() -> Figure:
    """The price of leakage: margins times ``k`` against leakage over gain, without mismatch.

    Signals: ``leakage`` (over gain), ``k``, ``swap``, ``replace``, ``add``.
    """
    params = [
        slider("leakage", "leakage over gain", 0, 0.5, 0.01, 0.1),
        slider("k", "objects in the scene k", 2, 32, 1, 4),
        *_closed_forms(),
    ]
    x = alt.X("share:Q", title="leakage over gain", scale=alt.Scale(domain=[0, 0.52]))
    y = alt.Y("scaled:Q", title="margin × k", scale=alt.Scale(domain=[0, 2.2]))
    ends = alt.Chart(data({"share": s, "kind": kind} for s in (0.0, 0.5) for kind in theory.KINDS))
    lines = ends.transform_calculate(scaled=_scaled("datum.share", "k")).mark_line().encode(x, y, _COLOR, _DASH)
    here = alt.Chart(data({"kind": kind} for kind in theory.KINDS))
    marks = here.transform_calculate(share="leakage", scaled=_scaled("leakage", "k")).mark_point(size=110, opacity=1)
    name = alt.Chart(data([{"share": 0.5, "scaled": 2.05, "name": "additive codes: right end"}]))
    label = name.mark_text(align="right", baseline="bottom", color=INK).encode(x, y, text="name:N")
    return Figure(
        alt.layer(lines, marks.encode(x, y, _COLOR, _SHAPE), label).add_params(*params).properties(height=280),
        alt="Margins times k against leakage over gain, three straight lines. The swap line falls from 2 to 0 where "
        "leakage reaches half the gain, the replace line from 1 to one half, and the add line does not move.",
        readouts=(Readout("leakage", "leakage over gain", ".2f"), *_PREDICTED),
        prompt="Before you move it: at which leakage does the swap margin fall below the replace margin, whatever k?",
        answer="At a third of the gain: 2 (1 - 2l) = 1 - l at l = 1/3, and k divides both sides.",
        table=tuple(
            {"leakage": str(share)}
            | {f"{kind}, k = 4": m for kind, m in theory.predicted_margins(4, leakage=share).items()}
            for share in (0, 0.1, 0.2, 0.3, 0.4, 0.5)
        ),
        computed=lambda leakage, k: {"leakage": leakage} | theory.predicted_margins(k, leakage=leakage),
    )
