"""Factored inference: exponents, slope and threshold, and what they make of two concept scores."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.book.table import with_interval
from bindlib.explorers.drawing import ONE, data
from bindlib.explorers.live import Live
from bindlib.theory import factored_inference as theory

Rows = Sequence[dict[str, Any]]
# query: (sign of a, sign of b, sign of the whole, the mean's exponent)
QUERIES = {
    "a and b": (1, 1, 1, "gamma_and"),
    "a or b": (1, 1, 1, "gamma_or"),
    "a but not b": (1, -1, 1, "gamma_and"),
    "neither a nor b": (-1, -1, 1, "gamma_and"),
    "not a or not b": (-1, -1, 1, "gamma_or"),
    "not (a and b)": (1, 1, -1, "gamma_and"),
}
TOP = 0.5  # of the concept scores shown
LOW, HIGH = -0.3, 0.6  # of the edited scores shown
AT_START = {
    "query": "a and b", "s_a": 0.18, "s_b": 0.26, "plain": 0.24,
    "gamma_and": theory.GAMMA["and"], "gamma_or": theory.GAMMA["or"], "beta": theory.BETA, "mu": theory.MU,
}  # fmt: skip
_SLIDERS = {
    "s_a": ("score of a", 0, TOP, 0.01),
    "s_b": ("score of b", 0, TOP, 0.01),
    "plain": ("plain score", 0, TOP, 0.01),
    "gamma_and": ("exponent γ of AND", -20, -0.5, 0.5),
    "gamma_or": ("exponent γ of OR", 1, 20, 0.5),
    "beta": ("slope β", 1, 30, 1),
    "mu": ("threshold μ", 0, 0.4, 0.01),
}
_READOUTS = (
    Readout("p_a", "p of a"),
    Readout("p_b", "p of b"),
    Readout("p_logical", "p logical"),
    Readout("p_soft", "p soft"),
    Readout("edit", "edit"),
    Readout("edited", "edited score"),
)


def computed(query: str, gamma_and: float, gamma_or: float, beta: float, mu: float, **scores: float) -> dict:
    """The readouts of `chart`, by the theory; ``scores`` are ``s_a``, ``s_b`` and ``plain``."""
    sign_a, sign_b, sign, exponent = QUERIES[query]
    gamma = {"gamma_and": gamma_and, "gamma_or": gamma_or}[exponent]
    x = theory.evidence(np.array([scores["s_a"], scores["s_b"]]), beta, mu)
    logical = sign * float(theory.mean_log_odds(x * (sign_a, sign_b), gamma))
    soft = float(theory.soft_log_odds(x))
    edit = (logical - soft) / beta
    p_a, p_b, p_logical, p_soft = (1 / (1 + np.exp(-v)) for v in (*x, logical, soft))
    found = {"p_a": p_a, "p_b": p_b, "p_logical": p_logical, "p_soft": p_soft}
    return {name: float(p) for name, p in found.items()} | {"edit": edit, "edited": scores["plain"] + edit}


def widget() -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart())


def _picked(place: int) -> str:
    """A Vega expression for one entry of ``QUERIES``, by the query chosen."""
    entries = (f"'{query}': {values[place]}" for query, values in QUERIES.items())
    return f"({{{', '.join(entries)}}})[query]"


def _p(score: str, sign: str = "1") -> str:
    return f"1 / (1 + exp(-({sign}) * beta * ({score} - mu)))"


def _logit(p: str) -> str:
    return f"(log({p}) - log(1 - ({p})))"


def _logical(score_b: str) -> str:
    """Log-odds of ``p_logical`` with this score of b."""
    a, b = _p("s_a", "sign_a"), _p(score_b, "sign_b")
    return f"sign_whole * {_logit(f'pow((pow({a}, gamma) + pow({b}, gamma)) / 2, 1 / gamma)')}"


def _soft(score_b: str) -> str:
    return _logit(f"({_p('s_a')} + {_p(score_b)}) / 2")


def _params() -> list[alt.Parameter]:
    derived = {
        "sign_a": _picked(0), "sign_b": _picked(1), "sign_whole": _picked(2), "gamma": _picked(3),
        "p_a": _p("s_a"), "p_b": _p("s_b"),
        "p_logical": f"1 / (1 + exp(-{_logical('s_b')}))", "p_soft": f"({_p('s_a')} + {_p('s_b')}) / 2",
        "edit": f"({_logical('s_b')} - {_soft('s_b')}) / beta", "edited": "plain + edit",
    }  # fmt: skip
    return [
        choice("query", "query", list(QUERIES), AT_START["query"]),
        *(slider(name, *bounds, AT_START[name]) for name, bounds in _SLIDERS.items()),
        *(alt.param(name=name, expr=expression) for name, expression in derived.items()),
    ]


def chart() -> Figure:
    """The edited score against the score of b, with the plain score held and with it as soft evidence.

    Signals: the controls, ``p_a``, ``p_b``, ``p_logical``, ``p_soft``, ``edit``, ``edited``.
    """
    names = {"held": "plain score held", "soft": "plain score is the soft evidence", "none": "plain score, no edit"}
    colour = alt.Color("curve:N", title=None, sort=None,
                       scale=alt.Scale(domain=list(names.values()), range=[BLUE, VERMILION, GREY]))  # fmt: skip
    dash = alt.StrokeDash("curve:N", title=None, sort=None,
                          scale=alt.Scale(domain=list(names.values()), range=[[1, 0], [7, 3], [2, 3]]))  # fmt: skip
    x = alt.X("s:Q", title="score of b", scale=alt.Scale(domain=[0, TOP]), axis=alt.Axis(format=".1f", tickCount=5))
    y = alt.Y("score:Q", title="edited score", scale=alt.Scale(domain=[LOW, HIGH]))
    logical, soft = _logical("datum.s"), _soft("datum.s")
    points = data({"s": round(s, 3), "curve": name} for name in names.values() for s in np.arange(0, TOP + 0.001, 0.01))
    lines = (
        alt.Chart(points)
        .transform_calculate(
            score=f"datum.curve == '{names['held']}' ? plain + ({logical} - {soft}) / beta : "
            f"datum.curve == '{names['soft']}' ? mu + {logical} / beta : plain"
        )
        .mark_line(clip=True)
    )
    here = alt.Chart(ONE).transform_calculate(s="s_b", score=f"clamp(edited, {LOW}, {HIGH})")
    beyond = alt.ExprRef(f"edited > {HIGH} ? 'triangle-up' : edited < {LOW} ? 'triangle-down' : 'circle'")
    return Figure(
        alt.layer(
            lines.encode(x, y, colour, dash),
            here.mark_point(size=120, opacity=1, color=BLUE, shape=beyond).encode(x, y),
        )
        .add_params(*_params())
        .properties(height=320),
        alt="The edited score against the score of concept b. One curve holds the plain score, one takes it to be the "
        "soft evidence, and a dotted line is the plain score without an edit. For an AND the first curve rises to a "
        "peak near the score of a and then falls, while the second rises everywhere and flattens. A dot marks the "
        "score of b chosen; where the edited score is out of the picture, a triangle at its edge.",
        readouts=_READOUTS,
        computed=computed,
        prompt="Before you move it: the query is 'a and b', and b is the stronger concept. If its score rises and the "
        "plain score stays, does the edited score rise?",
        answer="No. The soft evidence, which is taken away, rises faster than the logical one, so the edit falls. "
        "Where the plain score is the soft evidence itself, the two cancel, and the edited score rises.",
        table=tuple(
            {"query": query} | {name: round(p, 5) for name, p in computed(**AT_START | {"query": query}).items()}
            for query in QUERIES
        ),
    )


SHOWN = {
    "plain score": (GREY, "cross"),
    "LCSE, published β and μ": (VERMILION, "square"),
    "LCSE, calibrated": (BLUE, "circle"),
    "without the plain score": (GREEN, "diamond"),
    "null: other images": (PURPLE, "triangle-up"),
}
_WEAKEST = tuple(Readout(f"weakest_{i}", method, "") for i, method in enumerate(SHOWN))


def _weakest(rows: Rows) -> dict[str, str]:
    """In words, for each method the form in which the smallest share is right."""
    found = (min((row for row in rows if row["method"] == method), key=lambda row: row["value"]) for method in SHOWN)
    told = (f"lowest for '{row['form']}': {with_interval(row['value'], (row['low'], row['high']), 2)}" for row in found)
    return dict(zip((readout.signal for readout in _WEAKEST), told, strict=True))


def by_form(rows: Rows) -> Figure:
    """Accuracy by form of the query and method, for the encoder chosen, and each method's weakest form in words.

    Rows ``encoder``, ``form``, ``method`` (all of ``SHOWN``), ``n``, ``value``, ``low``, ``high``.
    """
    encoders, forms = (list(dict.fromkeys(row[key] for row in rows)) for key in ("encoder", "form"))
    kept = [row for row in rows if row["method"] in SHOWN]
    told = {encoder: _weakest([row for row in kept if row["encoder"] == encoder]) for encoder in encoders}
    scale = {"domain": list(SHOWN), "range": [colour for colour, _ in SHOWN.values()]}
    shapes = {"domain": list(SHOWN), "range": [shape for _, shape in SHOWN.values()]}
    y = alt.Y("form:N", title=None, sort=forms, axis=alt.Axis(labelLimit=220))
    offset = alt.YOffset("method:N", sort=list(SHOWN))
    x = alt.X("value:Q", title="share of items right", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(data(kept)).transform_filter("datum.encoder == encoder")
    colour = alt.Color("method:N", title=None, sort=None, scale=alt.Scale(**scale))
    chance = alt.Chart(data([{"value": 0.5}])).mark_rule(color=INK, strokeDash=[5, 4]).encode(x)
    tooltip = ["method:N", "form:N", "n:Q", *(alt.Tooltip(f"{k}:Q", format=".3f") for k in ("value", "low", "high"))]
    return Figure(
        alt.layer(
            chance,
            base.mark_rule(strokeWidth=2).encode(alt.X("low:Q"), y, offset, x2="high:Q", color=colour),
            base.mark_point(size=60, opacity=1).encode(
                x, y, offset, colour, tooltip=tooltip,
                shape=alt.Shape("method:N", title=None, sort=None, scale=alt.Scale(**shapes)),
            ),
        )
        .add_params(
            choice("encoder", "encoder", encoders, encoders[-1]),
            alt.param(name="told", value=told),
            *(alt.param(name=r.signal, expr=f"told[encoder].{r.signal}") for r in _WEAKEST),
        )
        .properties(height=40 * len(forms)),
        alt="Share of items right for each form of the query, one mark a method, with an interval over items. Where "
        "the query negates, the plain score lies far below one half and the edited scores above it. A dashed line "
        "marks one half.",
        readouts=_WEAKEST,
        computed=lambda encoder: told[encoder],
        prompt="Before you choose another encoder: in which forms must a score that ignores operators be wrong more "
        "often than right?",
        answer="In those that negate: the image that shows more of the concepts is the wrong one.",
        table=tuple({k: r[k] for k in ("encoder", "form", "method", "n", "value", "low", "high")} for r in kept),
    )  # fmt: skip


def wide(rows: Rows, down: Sequence[str], across: str, digits: int = 2) -> list[dict[str, Any]]:
    """Rows of ``summary`` as a table: ``down`` name its rows, the values of ``across`` its columns, with intervals."""
    shown: dict[tuple, dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in down)
        cell = with_interval(row["value"], (row["low"], row["high"]), digits)
        shown.setdefault(key, dict(zip(down, key, strict=True)))[row[across]] = cell
    return list(shown.values())


def long(rows: Rows, down: Sequence[str], named: str) -> list[dict[str, Any]]:
    """Rows of ``summary`` as a table: ``down``, the items, the value ``named`` so with its interval, and the seeds."""
    return [
        {key: row[key] for key in down}
        | {"items": row["n"], named: with_interval(row["value"], (row["low"], row["high"]), 3)}
        | {"over seeds": f"{row['seed_low']:.3f} to {row['seed_high']:.3f}", "seeds": row["seeds"]}
        for row in rows
    ]
