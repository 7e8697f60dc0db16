"""Factored codes: choose a binding, a dimension and a scene size, and see margins against their predictions."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.explorers.drawing import ONE, data
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
_READOUTS = (
    Readout("swap", "predicted swap margin"),
    Readout("replace", "predicted replace margin"),
    Readout("add", "predicted add margin"),
)
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
    """Measured margins of every family, in 2^6 to 2^12 dimensions, M = K = 40.

    Rows ``family, log_dim, kind, k, margin, sd, predicted, ratio``; one code is drawn for each family and dimension.
    """
    rows = []
    for family in theory.FAMILIES:
        for log_dim in LOG_DIMS:
            code = theory.draw_code(family, VOCABULARY, VOCABULARY, 2**log_dim, rng)
            found = theory.margin_rows(code, SIZES, n_scenes, rng)
            rows += [{"family": family, "log_dim": log_dim} | row for row in found]
    return rows


def _point(row: dict[str, Any]) -> dict[str, Any]:
    """What is drawn of a measured row: everything times ``k``, which keeps all sizes in the picture."""
    k, m, sd = row["k"], row["margin"], row["sd"]
    scaled = {"scaled": round(k * m, 4), "low": round(k * (m - sd), 4), "high": round(k * (m + sd), 4)}
    return {name: row[name] for name in ("family", "log_dim", "kind", "k")} | scaled


def chart(rows: Sequence[dict[str, Any]] | None = None) -> Figure:
    """Margins times ``k`` of one family and dimension (`measured_rows`, drawn now unless given) over their predictions.

    Signals: ``family``, ``log_dim``, ``k``, ``dim``, ``leakage``, ``swap``, ``replace``, ``add``.
    """
    rows = measured_rows(np.random.default_rng(0)) if rows is None else rows
    families = alt.binding_select(options=list(theory.FAMILIES), name="binding")
    params = [
        alt.param(name="family", value="hadamard", bind=families),
        slider("log_dim", "log₂ of the dimension N", LOG_DIMS[0], LOG_DIMS[-1], 2, 10),
        slider("k", "objects in the scene k", 2, 32, 1, 2),
        alt.param(name="dim", expr="pow(2, log_dim)"),
        alt.param(name="leakage", expr=LEAKAGE_OF_FAMILY),
        *_closed_forms(),
    ]
    y_scale = alt.Scale(domain=[-0.5, 3])
    y = alt.Y("scaled:Q", title="margin × k", scale=y_scale)
    curves = alt.Chart(data({"k": k, "kind": kind} for k in range(2, 33) for kind in theory.KINDS))
    lines = curves.transform_calculate(scaled=_scaled("leakage", "datum.k")).mark_line(opacity=0.7)
    chosen = "datum.family == family && datum.log_dim == log_dim"
    points = alt.Chart(data(map(_point, rows))).transform_filter(chosen)
    bars = points.mark_rule(clip=True).encode(_SIZE, alt.Y("low:Q", scale=y_scale), y2="high:Q", color=_COLOR)
    tooltip = ["kind:N", "k:Q", alt.Tooltip("scaled:Q", title="margin × k", format=".3f")]
    marks = points.mark_point(size=70, opacity=1, clip=True).encode(_SIZE, y, _COLOR, _SHAPE, tooltip=tooltip)
    here = alt.Chart(ONE).transform_calculate(k="k").mark_rule(color=GREY, strokeDash=[3, 3]).encode(_SIZE)
    layers = alt.layer(here, lines.encode(_SIZE, y, _COLOR, _DASH), bars, marks)
    return Figure(
        layers.add_params(*params).properties(height=320),
        alt="Margin times k against the scene size k for swap, replace and add negatives: predicted lines at 2, at 1 "
        "and rising slowly to one half, with measured means and bars of one standard deviation. With the additive "
        "binding the swap line drops to zero and the replace line to one half; in few dimensions the bars grow wide.",
        readouts=(Readout("dim", "dimension N", ".0f"), Readout("k", "objects k", ".0f"), *_READOUTS),
        prompt="Before you move it: which of the three negatives will an additive code fail to see? And what do fewer "
        "dimensions change, the means or the bars?",
        table=tuple(
            {"binding": r["family"], "negative": r["kind"], "k": r["k"]}
            | {name: round(r[name], 5) for name in ("margin", "sd", "predicted")}
            for r in rows
            if r["log_dim"] == LOG_DIMS[-1]
        ),
    )


def figure10(rows: Sequence[dict[str, Any]]) -> Figure:
    """The source paper's Figure 10 from `theory.margin_rows`: measured margins over the three predictions, log-log."""
    log = alt.Scale(type="log", domain=[0.01, 1.3])
    base = alt.Chart(data(rows))
    lines = base.mark_line(opacity=0.7).encode(_SIZE, alt.Y("predicted:Q", scale=log), _COLOR, _DASH)
    tooltip = ["kind:N", "k:Q", *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("margin", "predicted", "ratio"))]
    y = alt.Y("margin:Q", title="margin (log scale)", scale=log)
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
        readouts=(Readout("leakage", "leakage over gain", ".2f"), *_READOUTS),
        prompt="Before you move it: at which leakage does the swap margin fall below the replace margin, whatever k?",
    )
