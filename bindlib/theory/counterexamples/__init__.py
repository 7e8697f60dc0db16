"""The smallest scenes that break a theorem once a hypothesis is gone: one module a chapter, found by seeded search."""

from bindlib.certificates import Ablation
from bindlib.theory.counterexamples import (
    axioms,
    bag_of_words,
    coverage,
    depth_law,
    factored_codes,
    frontier,
    radon,
    throttle,
)

CHAPTERS = (axioms, radon, bag_of_words, factored_codes, depth_law, throttle, coverage, frontier)
ABLATIONS: dict[str, Ablation] = {a.theorem.label: a for chapter in CHAPTERS for a in chapter.ABLATIONS}
