"""The depth law: choose branching, dimension and noise floor, and see how deep a swap can be told from its original."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import product
from math import sqrt
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, VERMILION
from bindlib.explorers.drawing import ONE, data, log_ticks
from bindlib.explorers.fresh import Measured
from bindlib.explorers.live import Live
from bindlib.theory import depth_law as theory

BRANCHINGS = range(2, 9)
LOG_DIMS = range(8, 21)
_MEASURED_LOG_DIMS = (8, 10, 12, 14, 16)
_DEEPEST = 12

# Closed forms as Vega expressions.  A truth value as exponent or factor switches a term on and off.
RESOLVED = {
    "dim": "pow(2, log_dim)",
    "level": "noise / sqrt(dim)",
    "depth": "max(0, floor(log(2 * sqrt(dim) / noise) / log(b) + 1e-9))",
}
UNRESOLVED = "none: one level is too deep"
_MARGIN = f"depth > 0 ? 2 / pow(b, depth) : '{UNRESOLVED}'"
_CHOOSE = ["1"] + [" * ".join(f"(b - {j}) / {j + 1}" for j in range(i)) for i in range(1, max(BRANCHINGS) + 1)]
BINDINGS = {
    "per_level": "pow(b, depth)",
    "phases": " * ".join(f"pow((depth + {i}) / {i}, b > {i})" for i in range(1, max(BRANCHINGS))),
    "signs": " + ".join(f"(depth >= {i}) * ((depth - {i}) % 2 == 0) * {c}" for i, c in enumerate(_CHOOSE)),
}
_ROLES = {
    "per_level": "one set a level",
    "phases": "phases shared by all levels",
    "signs": "signs shared by all levels",
}
TOLD_APART = " + ".join(f"(roles == '{label}') * {name}" for name, label in _ROLES.items())
_DEPTH = alt.X("depth:Q", title="nesting depth D", axis=alt.Axis(tickMinStep=1, format="d"))


def _expressions(formulas: dict[str, str]) -> list[alt.Parameter]:
    return [alt.param(name=name, expr=formula) for name, formula in formulas.items()]


def _branching() -> alt.Parameter:
    return slider("b", "branching b", min(BRANCHINGS), max(BRANCHINGS), 1, 2)


def deepest(branching: int, leaves: int) -> int:
    """The depth, from 1 on, of the largest tree of at most so many leaves."""
    return max(d for d in range(1, _DEEPEST + 1) if d == 1 or branching**d <= leaves)


def tree_rows(branching: int, log_dim: int, rng: np.random.Generator, leaves: int = 256) -> list[dict[str, Any]]:
    """Margins of one random tree of at most so many ``leaves``: rows ``branching, log_dim, depth, margin``."""
    margins = theory.swap_margins(branching, deepest(branching, leaves), 2**log_dim, rng)
    found = {"branching": branching, "log_dim": log_dim}
    return [found | {"depth": h, "margin": float(m)} for h, m in enumerate(margins, start=1)]


def measured_rows(rng: np.random.Generator, leaves: int = 256) -> list[dict[str, Any]]:
    """`tree_rows` of one random tree for every branching 2 to 8 and N of 2^8 to 2^16."""
    places = product(BRANCHINGS, _MEASURED_LOG_DIMS)
    return [row for branching, log_dim in places for row in tree_rows(branching, log_dim, rng, leaves)]


def positions(b: int, depth: int) -> dict[str, int]:
    """Bindings of their own at ``depth`` by kind of roles; a tree of depth 0 is one leaf."""
    if depth == 0:
        return dict.fromkeys(BINDINGS, 1)
    kinds = {"per_level": (False, False), "phases": (True, False), "signs": (True, True)}
    return {
        kind: theory.distinguishable_positions(b, depth, shared=shared, involutive=involutive)
        for kind, (shared, involutive) in kinds.items()
    }


def computed(b: int, log_dim: int, noise: int, roles: str) -> dict[str, float | str]:
    """The readouts of `chart`."""
    depth = theory.resolvable_depth(2**log_dim, b, floor=noise)
    counts = positions(b, depth)
    kind = next(kind for kind, label in _ROLES.items() if label == roles)
    margin = theory.law(b, depth) if depth else UNRESOLVED
    shown = {"level": noise / sqrt(2**log_dim), "depth": depth, "margin": margin, "told_apart": counts[kind]}
    return counts | shown


def chart(rows: Sequence[dict[str, Any]] | None = None) -> Figure:
    """The law against depth, the floor, and single measured trees (`measured_rows`, drawn now unless given).

    Signals: ``b``, ``log_dim``, ``noise`` (floor times ``sqrt(N)``), ``roles``, ``dim``, ``level``, ``depth`` (the
    resolvable one), ``margin`` (at that depth), ``per_level``, ``phases``, ``signs``, ``told_apart``.
    """
    rows = measured_rows(np.random.default_rng(0)) if rows is None else rows
    params = [
        _branching(),
        slider("log_dim", "log₂ of the dimension N", min(LOG_DIMS), max(LOG_DIMS), 1, 16),
        slider("noise", "noise floor × √N", 1, 40, 1, 10),
        choice("roles", "roles", list(_ROLES.values()), _ROLES["per_level"]),
        *_expressions(RESOLVED | BINDINGS | {"margin": _MARGIN, "told_apart": TOLD_APART}),
    ]
    x = _DEPTH.copy()
    x.scale = alt.Scale(domain=[0.5, _DEEPEST + 0.5], nice=False)
    scale = alt.Scale(type="log", domain=[1e-4, 2], nice=False)
    y = alt.Y(
        "m:Q", title="swap margin (log scale)", scale=scale, axis=alt.Axis(format="~g", values=log_ticks(1e-4, 2))
    )
    depths = alt.Chart(data({"depth": d} for d in range(1, _DEEPEST + 1))).transform_calculate(
        m="2 / pow(b, datum.depth)"
    )
    law = depths.mark_line(color=BLUE, clip=True).encode(x, y)
    color = alt.condition("datum.m >= level", alt.value(BLUE), alt.value(GREY))
    levels = depths.mark_point(size=190, opacity=1, filled=False, strokeWidth=2.5, clip=True).encode(x, y, color=color)
    found = (
        alt.Chart(data({**row, "margin": round(row["margin"], 6)} for row in rows))
        .transform_filter("datum.branching == b && datum.log_dim == log_dim")
        .transform_calculate(m="datum.margin")
        .mark_point(shape="diamond", color=GREEN, size=50, opacity=1, clip=True)
        .encode(x, y, tooltip=["depth:Q", alt.Tooltip("m:Q", title="margin", format=".5f")])
    )
    here = alt.Chart(ONE).transform_calculate(m="level", depth=str(_DEEPEST + 0.4))
    floor = here.mark_rule(color=VERMILION, strokeDash=[6, 4], clip=True).encode(y)
    name = here.mark_text(color=INK, align="right", baseline="bottom", dy=-4).encode(
        x, y, text=alt.value("noise floor")
    )
    return Figure(
        alt.layer(law, levels, found, floor, name).add_params(*params).properties(height=320),
        alt="Swap margin against nesting depth on a log scale: a straight line falling by the factor b with each "
        "level, and a dashed noise floor. Rings mark the law, blue where it reaches the floor and grey where it does "
        "not; green diamonds are margins of single random trees and lie in the rings.",
        readouts=(
            Readout("depth", "resolvable depth", ".0f"),
            Readout("level", "noise floor"),
            Readout("margin", "margin at that depth"),
            Readout("per_level", "leaf positions at that depth", ".0f"),
            Readout("told_apart", "positions with a binding of their own", ".0f"),
        ),
        prompt="Before you move it: how many times larger must N be to resolve one level more? And which roles waste "
        "the positions that you have?",
        answer="N must be b² times as large: a level divides the margin by b, and the floor falls as the square root "
        "of N. Roles shared by all levels waste positions: of b to the power D, phases keep a power of D, and signs at "
        "most 2^(b − 1).",
        computed=computed,
        table=tuple({**row, "margin": round(row["margin"], 6)} for row in rows),
    )  # fmt: skip


def widget(rng: np.random.Generator | None = None) -> Live:
    """`chart` with a new random tree at every change; without ``rng`` each widget draws other ones."""
    rng = np.random.default_rng() if rng is None else rng

    def drawn(b: int, log_dim: int, **_: Any) -> Figure:
        return chart(tree_rows(b, log_dim, rng, leaves=2 ** min(8, 25 - log_dim)))

    still = chart([])
    return Live(Measured(**{part.name: getattr(still, part.name) for part in fields(still)}, drawn=drawn))


def figure2a(rows: Sequence[dict[str, Any]]) -> Figure:
    """The source paper's Figure 2(a) from ``product_rows``: mean margins over the law, log scale."""
    named = [row | {"series": f"b = {row['branching']}"} for row in rows]
    names = sorted({row["series"] for row in named})
    color = alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=[BLUE, VERMILION, GREEN]))
    shape = alt.Shape("series:N", title=None, scale=alt.Scale(domain=names, range=["circle", "square", "diamond"]))
    scale = alt.Scale(type="log")
    base = alt.Chart(data(named))
    lines = base.mark_line(opacity=0.7).encode(
        _DEPTH, alt.Y("law:Q", scale=scale), color, alt.StrokeDash("series:N", legend=None)
    )
    tooltip = ["series:N", "depth:Q", alt.Tooltip("margin:Q", format=".5f"), alt.Tooltip("product:Q", format=".4f")]
    y = alt.Y(
        "margin:Q", title="swap margin (log scale)", scale=scale, axis=alt.Axis(format="~g", values=log_ticks(1e-3, 1))
    )
    marks = base.mark_point(size=80, opacity=1).encode(_DEPTH, y, color, shape, tooltip=tooltip)
    shown = ("branching", "depth", "margin", "law", "product", "sd", "predicted_sd", "lowest", "highest")
    return Figure(
        alt.layer(lines, marks).properties(height=320),
        alt="Mean swap margins against depth on a log scale for branching 2, 3 and 4. The marks sit on three straight "
        "lines from 1 and below down to two thousandths; the larger the branching, the steeper the line.",
        table=tuple({k: row[k] for k in shown} for row in rows),
    )


def staircase(rows: Sequence[dict[str, Any]]) -> Figure:
    """The source paper's Figure 2(b) from ``staircase_rows``: the formula's steps, and the depths that margins reach.

    Signals: ``b``, ``top`` (depth at the largest N), ``cells`` (rows of this ``b``), ``agreeing`` (of these, with the
    formula).
    """

    def computed_steps(b: int) -> dict[str, int]:
        found = [row for row in rows if row["branching"] == b]
        agreeing = sum(row["measured"] == theory.resolvable_depth(2 ** row["log_dim"], b) for row in found)
        top = theory.resolvable_depth(2 ** max(LOG_DIMS), b)
        return {"b": b, "top": top, "cells": len(found), "agreeing": agreeing}

    counts = {"cells": lambda row: True, "agreeing": lambda row: row["measured"] == row["formula"]}
    by_branching = {
        name: [sum(holds(row) for row in rows if row["branching"] == b) for b in BRANCHINGS]
        for name, holds in counts.items()
    }
    formulas = {name: f"{found}[b - {min(BRANCHINGS)}]" for name, found in by_branching.items()}
    formulas["top"] = f"floor(log({2 ** (max(LOG_DIMS) / 2) / 5}) / log(b) + 1e-9)"
    steps = data(
        {"branching": b, "log_dim": n, "depth": theory.resolvable_depth(2**n, b)} for b in BRANCHINGS for n in LOG_DIMS
    )
    x = alt.X("log_dim:Q", title="log₂ of the dimension N", axis=alt.Axis(tickMinStep=1, format="d"),
              scale=alt.Scale(domain=[min(LOG_DIMS), max(LOG_DIMS)], nice=False))  # fmt: skip
    y = alt.Y("depth:Q", title="resolvable depth", axis=alt.Axis(tickMinStep=1, format="d"))
    base = alt.Chart(steps)
    others = base.mark_line(color=GREY, opacity=0.35, strokeWidth=1, interpolate="step-after")
    chosen = base.transform_filter("datum.branching == b").mark_line(color=BLUE, interpolate="step-after")
    marks = (
        alt.Chart(data({k: row[k] for k in ("branching", "log_dim", "measured", "single")} for row in rows))
        .transform_filter("datum.branching == b")
        .transform_calculate(depth="datum.measured")
        .mark_point(shape="diamond", color=VERMILION, size=90, opacity=1)
        .encode(x, y, tooltip=["log_dim:Q", "depth:Q", alt.Tooltip("single:Q", format=".2f")])
    )
    layers = alt.layer(others.encode(x, y, detail="branching:N"), chosen.encode(x, y), marks)
    return Figure(
        layers.add_params(_branching(), *_expressions(formulas)).properties(height=300),
        alt="Resolvable depth against the logarithm of the dimension, a staircase for each branching from 2 to 8 and "
        "the chosen one in blue; diamonds, the depths that measured margins reach, stand on its steps. None passes 7.",
        readouts=(
            Readout("b", "branching b", ".0f"),
            Readout("top", f"resolvable depth at N = 2^{max(LOG_DIMS)}", ".0f"),
            Readout("cells", "dimensions N measured", ".0f"),
            Readout("agreeing", "of these, depths that agree with the formula", ".0f"),
        ),
        prompt="Before you move it: how many steps will the staircase of b = 8 have up to N = 2^20?",
        answer=f"{theory.resolvable_depth(2**20, 8)}, one for every factor of 64 in N; "
        f"the staircase of b = 2 climbs to {theory.resolvable_depth(2**20, 2)}.",
        computed=computed_steps,
        table=tuple(dict(row) for row in rows),
    )


def aliasing() -> Figure:
    """Positions with a binding of their own against depth, for the three kinds of roles.

    Signals: ``b``, ``depth``, ``per_level``, ``phases``, ``signs``.
    """
    params = [_branching(), slider("depth", "depth D", 1, 10, 1, 3), *_expressions(BINDINGS)]
    kinds = [{"kind": kind, "roles": roles} for kind, roles in _ROLES.items()]
    count = " : ".join(f"datum.kind == '{kind}' ? {_of_datum(formula)}" for kind, formula in BINDINGS.items()) + " : 0"
    lines = alt.Chart(data(kind | {"depth": d} for kind in kinds for d in range(1, 11))).transform_calculate(
        count=count
    )
    x = _DEPTH.copy()
    x.scale = alt.Scale(domain=[1, 10])
    y = alt.Y("count:Q", title="bindings of their own (log scale)", scale=alt.Scale(type="log"),
              axis=alt.Axis(format="~s", values=log_ticks(1, 1e10), minExtent=50))  # fmt: skip
    legend, labels = alt.Legend(columns=1), list(_ROLES.values())
    color = alt.Color("roles:N", title=None, legend=legend,
                      scale=alt.Scale(domain=labels, range=[BLUE, GREEN, VERMILION]))  # fmt: skip
    shape = alt.Shape("roles:N", title=None, legend=legend,
                      scale=alt.Scale(domain=labels, range=["circle", "diamond", "square"]))  # fmt: skip
    here = alt.Chart(ONE).transform_calculate(depth="depth").mark_rule(color=GREY, strokeDash=[3, 3]).encode(x)
    curve = lines.mark_line().encode(x, y, color, alt.StrokeDash("roles:N", legend=None))
    return Figure(
        alt.layer(here, curve, lines.mark_point(size=60, opacity=1).encode(x, y, color, shape))
        .add_params(*params)
        .properties(height=300),
        alt="Number of different bindings against depth on a log scale. With one set of roles a level it grows as b to "
        "the power D; with shared phases it grows like a power of D; with shared signs it stops at 2^(b - 1).",
        readouts=(
            Readout("per_level", "one set a level: all positions", ".0f"),
            Readout("phases", "shared phases", ".0f"),
            Readout("signs", "shared signs", ".0f"),
        ),
        prompt="Before you move it: with two shared signs, how many of the positions of a deep tree can differ?",
        answer="Two, at any depth: only whether the second sign occurs an even or an odd number of times counts.",
        computed=positions,
        table=tuple(
            {"branching": b, "depth": d} | {_ROLES[kind]: count for kind, count in positions(b, d).items()}
            for b, d in product((2, 3, 8), (1, 2, 5, 10))
        ),
    )


def _of_datum(formula: str) -> str:
    return formula.replace("depth", "datum.depth")
