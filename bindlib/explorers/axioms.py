"""Axioms against hypotheses: tick what to ask and what to suppose, and read whether an encoder can do it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf
from typing import Any

import altair as alt
import numpy as np

from bindlib.book import claims
from bindlib.book.controls import box, choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import INK
from bindlib.explorers.axioms_live import COLOURS, THEOREMS, any_world, because, in_words, margins_of
from bindlib.explorers.drawing import data
from bindlib.explorers.fresh import Fresh
from bindlib.scenes import World
from bindlib.theory.axioms import AXIOMS, FiniteWorld
from bindlib.theory.frontier import sharp_cap
from bindlib.theory.hypotheses import Hypotheses
from bindlib.theory.obstructions import EXCESS, Obstruction
from bindlib.theory.satisfy import POSITIVE, SAT, UNKNOWN, UNSAT, Bracket, margin_bracket, satisfy

FIVE_OBJECTS = FiniteWorld.of(World(("car", "cat", "cup", "dog", "hat"), ("blue", "red")))
ASKED = ("content", "binding", "relation", "negation")
DIMENSIONS = (3, 4, None)  # 2k - 1, 2k and free, for scenes of k = 2
SUPPOSED = ("blind", "smooth", "pooled")
DELTA = 0.125
_MARKS = {SAT: "✓", UNSAT: "✗", UNKNOWN: "?"}


def combinations() -> Iterator[tuple[tuple[bool, ...], int | None, tuple[bool, ...]]]:
    """Axioms asked, dimension and hypotheses supposed, in the order of the explorer's table."""
    yield from product(product([False, True], repeat=4), DIMENSIONS, product([False, True], repeat=3))


def chosen(names: Sequence[str], flags: Sequence[bool]) -> tuple[str, ...]:
    """The names whose flag is set."""
    return tuple(name for name, flag in zip(names, flags, strict=True) if flag)


def bracket_rows(world: FiniteWorld = FIVE_OBJECTS, seed: int = 0) -> list[dict[str, Any]]:
    """Every combination put to the solver: rows ``axioms, dim, supposed, low, high, theorem, margins``.

    Order variants share a vector in every one.  ``low`` is ``None`` without an encoder, and 2 when nothing is demanded;
    ``margins`` are those of the encoder, the worst of each axiom.
    """
    rows = []
    for asked, dim, supposed in combinations():
        blind, smooth, pooled = supposed
        hypotheses = Hypotheses(pairing_blind=blind, delta=DELTA if smooth else None, pooled=pooled)
        names = chosen(ASKED, asked)
        bracket = margin_bracket(world, (*names, "order"), dim, hypotheses, np.random.default_rng(seed))
        low = None if bracket.low == -inf else float(min(bracket.low, 2))
        rows.append(
            {
                "axioms": " ".join(names) or "none",
                "dim": _named(dim),
                "supposed": " ".join(chosen(SUPPOSED, supposed)) or "nothing",
                "low": low,
                "high": float(bracket.high),
                "theorem": bracket.obstruction.theorem,
                "margins": margins_of(world, names, bracket.witness),
            }
        )
    return [_compared(row, rows) for row in rows]


def _compared(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row with what its neighbours know: who meets more axioms meets fewer, and who forbids fewer forbids more."""
    here = set(row["axioms"].split()) - {"none"}
    same = [(set(r["axioms"].split()) - {"none"}, r) for r in rows
            if (r["dim"], r["supposed"]) == (row["dim"], row["supposed"])]  # fmt: skip
    meets = max(
        (r for more, r in same if here <= more), key=lambda r: (-inf if r["low"] is None else r["low"], r is row)
    )
    forbids = min((r for fewer, r in same if fewer <= here), key=lambda r: (r["high"], r is not row))
    found = {"low": meets["low"], "margins": {name: m for name, m in meets["margins"].items() if name in here}}
    return row | found | {"high": forbids["high"], "theorem": forbids["theorem"]}


def bracket_of(row: dict[str, Any]) -> Bracket:
    """What a row of `bracket_rows` says of the best worst margin, without the encoder."""
    return Bracket(-inf if row["low"] is None else row["low"], None, Obstruction(row["high"], row["theorem"], ""))


def computed_from(rows: Sequence[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The readouts of `chart`: `Bracket.status` of the row that the boxes name."""
    of = {(row["axioms"], row["dim"], row["supposed"]): row for row in rows}

    def computed(dimension: int, margin: float, **ticked: bool) -> dict[str, Any]:
        asked, supposed = (" ".join(name for name in names if ticked[name]) for names in (ASKED, SUPPOSED))
        row = of[asked or "none", _named(DIMENSIONS[dimension]), supposed or "nothing"]
        status = bracket_of(row).status(margin)
        return {
            "verdict": status,
            "reason": because(status, row["theorem"]),
            "best": "none" if row["low"] is None else format(row["low"], ".4f"),
            "margins": in_words(row["margins"]),
            "high": row["high"],
            "margin": margin,
        }

    return computed


def widget() -> Fresh:
    """Any small world, any axioms and hypotheses: the solver answers at every change."""
    return Fresh(any_world())


def _named(dim: int | None) -> str:
    return "any" if dim is None else str(dim)


def _verdict(low: str, high: str) -> str:
    """`Bracket.status` as a Vega expression; a missing ``low`` is written -1."""
    sat, unsat = f"{low} > {POSITIVE} && {low} >= margin", f"{high} <= 0 || margin > {high} + {EXCESS}"
    return f"({sat}) ? '{SAT}' : ({unsat}) ? '{UNSAT}' : '{UNKNOWN}'"


def _controls(rows: Sequence[dict[str, Any]]) -> list[alt.Parameter]:
    asked = " + ".join(f"({name} ? {8 >> i} : 0)" for i, name in enumerate(ASKED))
    supposed = " + ".join(f"({name} ? {4 >> i} : 0)" for i, name in enumerate(SUPPOSED))
    lows = [-1 if row["low"] is None else row["low"] for row in rows]
    return [
        *(box(name, f"ask for {name}", name in ("content", "binding")) for name in ASKED),
        choice("dimension", "dimension N", {_named(dim): at for at, dim in enumerate(DIMENSIONS)}, 2),
        box("blind", "suppose the text map is pairing-blind"),
        box("smooth", "suppose each caption and its swap lie near an anchor, δ = 1/8"),
        box("pooled", "suppose codes are pooled and images tied to captions"),
        slider("margin", "required margin", 0, 2, 0.01, 0),
        alt.param(name="lows", value=lows),
        alt.param(name="highs", value=[row["high"] for row in rows]),
        alt.param(name="theorems", value=[THEOREMS[row["theorem"]] for row in rows]),
        alt.param(name="witnesses", value=[in_words(row["margins"]) for row in rows]),
        alt.param(name="asked_code", expr=asked),
        alt.param(name="supposed_code", expr=supposed),
        alt.param(name="code", expr="(asked_code * 3 + dimension) * 8 + supposed_code"),
        alt.param(name="low", expr="lows[code]"),
        alt.param(name="high", expr="highs[code]"),
        alt.param(name="verdict", expr=_verdict("low", "high")),
        alt.param(
            name="reason",
            expr=f"verdict == '{SAT}' ? 'an encoder was built and measured' : "
            f"verdict == '{UNSAT}' ? 'forbidden by ' + theorems[code] : 'no theorem forbids it, no encoder was found'",
        ),
        alt.param(name="best", expr="low == -1 ? 'none' : format(low, '.4f')"),
        alt.param(name="margins", expr="witnesses[code]"),
    ]


def chart(rows: Sequence[dict[str, Any]] | None = None) -> Figure:
    """The map of what is possible: 16 sets of axioms by 8 sets of hypotheses at one dimension and required margin.

    ``rows`` are those of ``bracket_rows``.  Signals: one for each box, ``dimension`` (index), ``margin``, and
    ``verdict``, ``reason``, ``best``, ``margins``, ``high`` of the combination ticked.
    """
    rows = bracket_rows() if rows is None else rows
    cells = []
    for (asked, dim, supposed), row in zip(combinations(), rows, strict=True):
        cells.append(
            {
                "asked": " ".join(name[0].upper() if flag else "·" for name, flag in zip(ASKED, asked, strict=True)),
                "supposed": "".join(name[0] for name in chosen(SUPPOSED, supposed)) or "–",
                "at": DIMENSIONS.index(dim),
                "asked_at": sum(8 >> i for i, flag in enumerate(asked) if flag),
                "supposed_at": sum(4 >> i for i, flag in enumerate(supposed) if flag),
                "low": -1 if row["low"] is None else row["low"],
                "high": row["high"],
                "theorem": row["theorem"],
            }
        )
    x = alt.X("supposed:N", sort=None, axis=alt.Axis(orient="top", labelAngle=0),
              title="supposed: b pairing-blind, s smooth, p pooled")  # fmt: skip
    y = alt.Y("asked:N", sort=None, title="asked: Content, Binding, Relation, Negation")
    base = (
        alt.Chart(data(cells))
        .transform_filter("datum.at == dimension")
        .transform_calculate(verdict=_verdict("datum.low", "datum.high"))
        .transform_calculate(mark=" : ".join(f"datum.verdict == '{v}' ? '{m}'" for v, m in _MARKS.items()) + " : ''")
    )
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
        legend=alt.Legend(),
    )
    numbers = [alt.Tooltip("low:Q", format=".3f"), alt.Tooltip("high:Q", format=".3f"), "theorem:N"]
    squares = base.mark_rect(opacity=0.35).encode(x, y, colour, tooltip=["verdict:N", *numbers])
    marks = base.mark_text(color=INK, fontSize=15).encode(x, y, text="mark:N")
    here = (
        base.transform_filter("datum.asked_at == asked_code && datum.supposed_at == supposed_code")
        .mark_rect(fillOpacity=0, stroke=INK, strokeWidth=3)
        .encode(x, y)
    )
    return Figure(
        alt.layer(squares, marks, here).add_params(*_controls(rows)).properties(height=420),
        alt="A table of sixteen sets of axioms against eight sets of hypotheses. Each cell is marked as satisfiable, "
        "unsatisfiable or unknown at the chosen dimension and required margin. With nothing supposed and the dimension "
        "free every set of axioms is satisfiable; each hypothesis turns some cells unsatisfiable.",
        readouts=(
            Readout("verdict", "verdict", ""),
            Readout("reason", "because", ""),
            Readout("margins", "margins of the encoder found"),
            Readout("best", "best worst margin found"),
            Readout("high", "no encoder exceeds"),
            Readout("margin", "required margin", ".2f"),
        ),
        prompt="Before you tick anything: with nothing supposed, can all four axioms hold at once? Which single "
        "hypothesis kills binding and leaves content alone, and which does the reverse?",
        answer="They can, even in dimension 4. Pairing-blindness kills binding and leaves content alone. A dimension "
        "of 3, too small for scenes of two, kills content and leaves binding alone.",
        table=tuple({name: value for name, value in row.items() if name != "margins"} for row in rows),
        computed=computed_from(rows),
    )


def tally(questions: int, seed: int = 0) -> dict[str, int]:
    """How often the solver gives each answer to random questions: worlds, axioms, dimensions and hypotheses drawn."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys((SAT, UNSAT, UNKNOWN), 0)
    objects, attributes = ("car", "cat", "cup", "dog", "hat"), ("blue", "green", "red")
    for _ in range(questions):
        vocabulary = World(objects[: rng.integers(2, 6)], attributes[: rng.integers(2, 4)])
        names = [name for name in AXIOMS if rng.random() < 0.6]
        hypotheses = Hypotheses(
            margin=float(rng.choice([0, rng.uniform(0, 1.5)])),
            pairing_blind=bool(rng.random() < 0.15),
            delta=float(rng.uniform(0, 1)) if rng.random() < 0.3 else None,
            pooled=bool(rng.random() < 0.15),
        )
        dim = int(rng.integers(1, 9)) if rng.random() < 0.7 else None
        counts[satisfy(FiniteWorld.of(vocabulary), names, dim, hypotheses, rng).status] += 1
    return counts


def spine_rows(world: FiniteWorld = FIVE_OBJECTS) -> list[dict[str, str]]:
    """The book's spine: each added hypothesis, what it kills, and the verdicts without it and with it.

    The first rows are answers of the solver on ``world``.  The others are theorems of later chapters, which no finite
    world decides; their claims are checked instead, once the chapter that states them stands.
    """
    cap = float(sharp_cap(DELTA))
    asked = [
        ("dimension N < 2k, with N + 2 objects or more", "content of every size up to k", ("content",),
         (4, {}), (3, {})),
        ("the text map is pairing-blind", "binding", ("binding",), (None, {}), (None, {"pairing_blind": True})),
        ("k orthonormal codes are pooled, image = caption", "binding with a margin above 2/k", ("binding",),
         (None, {"margin": 1.01}), (None, {"margin": 1.01, "pooled": True})),
        ("captions within δ of an anchor", "binding with a margin above the cap", ("binding",),
         (None, {"margin": cap + 0.01}), (None, {"margin": cap + 0.01, "delta": DELTA})),
    ]  # fmt: skip
    rows = []
    for hypothesis, kills, axioms, without, added in asked:
        free, held = (satisfy(world, axioms, dim, Hypotheses(**h)) for dim, h in (without, added))
        rows.append({"added hypothesis": hypothesis, "what it kills": kills, "without it": free.status,
                     "with it": held.status, "by": held.theorem or ""})  # fmt: skip
    later = [
        ("roles with orthogonal ranges, orthogonal leaves, D levels", "margins above 2 / b^D", "thm-depth-law"),
        ("a caption is never contrasted with its swap", "the reward for binding, not binding", "prop-blind-rival"),
        (
            "sign codes, and no seen path joins an object of the question to an attribute of it",
            "decidability of the question",
            "thm-hadamard-undecidable",
        ),
    ]
    rows[3:3] = [
        {
            "added hypothesis": hypothesis,
            "what it kills": kills,
            "without it": "",
            "with it": _checked(label),
            "by": label,
        }
        for hypothesis, kills, label in later
    ]
    return rows


def _checked(label: str) -> str:
    """What the claim of a later chapter says of itself, when that chapter stands."""
    if label not in claims.CLAIMS:
        return "see its chapter"
    row = claims.check(label)
    return "claim and mutant checked" if claims.sound(row) else "CLAIM FAILS"
