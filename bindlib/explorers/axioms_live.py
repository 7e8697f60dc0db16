"""Axioms in any small world: the solver, asked anew at every change of the controls."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import altair as alt

from bindlib.book.controls import Value, box, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, INK, VERMILION
from bindlib.explorers.drawing import ONE, data
from bindlib.explorers.fresh import Measured
from bindlib.scenes import World
from bindlib.theory.axioms import AXIOMS, Encoder, FiniteWorld, check_axiom, demands
from bindlib.theory.hypotheses import Hypotheses
from bindlib.theory.satisfy import SAT, UNKNOWN, UNSAT, Verdict, satisfy

OBJECTS, ATTRIBUTES = ("car", "dog", "cat", "cup", "hat"), ("red", "blue", "green")
COLOURS = {SAT: BLUE, UNSAT: VERMILION, UNKNOWN: GREY}
THEOREMS = {
    "prop-ceiling": "the ceiling: two unit vectors are at most 2 apart",
    "prop-circle": "demands in a circle",
    "prop-half-shattered": "half-shattering",
    "prop-margin-bound": "the bound for every encoder",
    "thm-bag-of-words-collapse": "bag-of-words collapse",
    "thm-pooled-margins": "the margins of pooled codes",
    "thm-radon": "Radon's theorem",
    "thm-sharp-frontier": "the frontier of smoothness",
}
"""What the theorems that forbid are called in a sentence."""


def because(status: str, theorem: str) -> str:
    """Why the solver says so, in words."""
    if status == SAT:
        return "an encoder was built and measured"
    return f"forbidden by {THEOREMS[theorem]}" if status == UNSAT else "no theorem forbids it, no encoder was found"


def margins_of(world: FiniteWorld, axioms: Mapping[str, Any], encoder: Encoder | None) -> dict[str, float]:
    """The worst margin of each axiom that makes demands, for an encoder if there is one."""
    asked = [axiom for axiom in axioms if len(demands(world, axiom))] if encoder is not None else []
    return {axiom: check_axiom(world, axiom, encoder).margin for axiom in asked}


def in_words(margins: Mapping[str, float]) -> str:
    """``content 0.998, binding 1.002``."""
    return ", ".join(f"{axiom} {margin:.3f}" for axiom, margin in margins.items()) or "none"


@lru_cache(maxsize=32)
def _solved(objects: int, attributes: int, size: int, dim: int, margin: float, delta: float,
            **flags: bool) -> tuple[FiniteWorld, tuple[str, ...], Verdict]:  # fmt: skip
    world = FiniteWorld.of(World(OBJECTS[:objects], ATTRIBUTES[:attributes]), range(1, size + 1))
    asked = tuple(axiom for axiom in AXIOMS if flags[axiom])
    hypotheses = Hypotheses(margin, flags["blind"], delta if flags["smooth"] else None, flags["pooled"])
    return world, asked, satisfy(world, asked, dim or None, hypotheses)


def computed(**values: Value) -> dict[str, Any]:
    """The readouts: what `satisfy` answers."""
    world, asked, verdict = _solved(**values)
    low, high = verdict.bracket.low, verdict.bracket.high
    return {
        "verdict": verdict.status,
        "reason": because(verdict.status, verdict.theorem),
        "in_full": verdict.reason,
        "margins": in_words(margins_of(world, asked, verdict.bracket.witness)),
        "best": min(low, 2.0) if low > 0 else "none",
        "high": high,
        "images": len(world.images),
        "captions": len(world.captions),
    }


def _drawn(**values: Value) -> Figure:
    world, asked, verdict = _solved(**values)
    return bracket(verdict, margins_of(world, asked, verdict.bracket.witness), values["margin"])


def bracket(verdict: Verdict, margins: Mapping[str, float], required: float) -> Figure:
    """All required margins from 0 to 2 by what the solver knows of them, and the witness's margin of each axiom."""
    low, high = min(max(verdict.bracket.low, 0), 2), min(max(verdict.bracket.high, 0), 2)
    parts = {"an encoder was found": (0, low), "not decided": (low, high), "forbidden": (high, 2)}
    rows = [{"row": "all at once", "from": a, "to": max(a, b), "what": what} for what, (a, b) in parts.items()]
    found = [{"row": axiom, "at": min(margin, 2)} for axiom, margin in margins.items()]
    x = alt.Scale(domain=[0, 2])
    y = alt.Y("row:N", title=None, sort=["all at once", *AXIOMS])
    colour = alt.Color("what:N", title=None, sort=list(parts), legend=alt.Legend(columns=1),
                       scale=alt.Scale(domain=list(parts), range=[BLUE, GREY, VERMILION]))  # fmt: skip
    bars = alt.Chart(data(rows)).mark_bar(opacity=0.6).encode(
        alt.X("from:Q", title="required margin", scale=x), y, colour, x2="to:Q"
    )  # fmt: skip
    points = alt.Chart(data(found)).mark_point(size=90, color=INK, opacity=1).encode(alt.X("at:Q", scale=x), y)
    here = alt.Chart(ONE).transform_calculate(at=str(float(required))).mark_rule(color=INK, strokeWidth=2)
    return Figure(
        alt.layer(bars, points, here.encode(alt.X("at:Q", scale=x))).properties(height=alt.Step(30)),
        alt="A bar over all required margins from 0 to 2: those that an encoder was found to have, those that a "
        "theorem forbids, and those between. Below it a circle for each axiom: the worst margin of that encoder. A "
        "vertical line marks the margin asked for.",
    )


def any_world() -> Measured:
    """A world, axioms, a dimension and hypotheses to choose; what the solver makes of them is computed at each change.

    Scenes have 1 to ``size`` objects; dimension 0 stands for any.  Signals are the controls and the readouts.
    """
    params = [
        slider("objects", "objects in the world M", 2, len(OBJECTS), 1, 4),
        slider("attributes", "attributes in the world K", 2, len(ATTRIBUTES), 1, 2),
        slider("size", "objects in a scene, at most", 1, 2, 1, 2),
        slider("dim", "dimension N (0: any)", 0, 12, 1, 0),
        slider("margin", "required margin", 0, 2, 0.01, 0),
        *(box(axiom, f"ask for {axiom}", axiom in ("content", "binding")) for axiom in AXIOMS),
        box("blind", "suppose the text map is pairing-blind"),
        box("smooth", "suppose each caption and its swap lie within δ of an anchor"),
        slider("delta", "smoothness δ", 0, 1, 0.01, 0.12),
        box("pooled", "suppose codes are pooled and images tied to captions"),
    ]
    said = (
        Readout("verdict", "verdict"),
        Readout("reason", "because"),
        Readout("in_full", "in full"),
        Readout("best", "worst margin of the encoder found"),
        Readout("margins", "its worst margin for each axiom"),
        Readout("high", "no encoder exceeds"),
        Readout("images", "images in the world", ".0f"),
        Readout("captions", "captions in the world", ".0f"),
    )
    results = (alt.param(name=readout.signal, value=0) for readout in said)
    controls = alt.Chart(ONE).mark_point().add_params(*params, *results)
    return Measured(
        controls,
        alt="What the solver knows of every required margin, and the margins of the best encoder that it found.",
        readouts=said,
        prompt="Before you move anything: how many dimensions will content need in your world? And which box, ticked, "
        "makes binding impossible in every dimension?",
        answer="With scenes of up to k objects and at least 2k + 1 objects in the world, content needs dimension 2k. "
        "Pairing-blindness makes binding impossible, with any number of dimensions.",
        computed=computed,
        drawn=_drawn,
    )
