"""The explorers of the depth law draw, and their closed forms are those of the theory."""

from math import floor, log, sqrt

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import depth_law as explorer
from bindlib.theory import depth_law as theory

JAVASCRIPT = {"pow": pow, "sqrt": sqrt, "log": log, "floor": floor, "max": max}
PRODUCTS = [
    {"branching": b, "depth": d, "margin": 2 / b**d, "law": 2 / b**d, "product": 2.0, "sd": 0.1, "predicted_sd": 0.1,
     "lowest": 1.9, "highest": 2.1}
    for b in (2, 3, 4) for d in (1, 2)
]  # fmt: skip
STEPS = [{"branching": 2, "log_dim": 8, "formula": 1, "measured": 1, "single": 1.0, "draws": 2}]
TREES = [{"branching": 2, "log_dim": 16, "depth": 1, "margin": 0.99}]
FIGURES = {
    "chart": lambda: explorer.chart(TREES),
    "figure 2a": lambda: explorer.figure2a(PRODUCTS),
    "staircase": lambda: explorer.staircase(STEPS),
    "aliasing": explorer.aliasing,
}


def evaluated(formulas, signals):
    signals = JAVASCRIPT | signals
    for name, formula in formulas.items():
        signals[name] = eval(formula, {}, signals)
    return signals


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def test_resolvable_depth_at_every_place_of_the_sliders():
    for b in explorer.BRANCHINGS:
        for log_dim in explorer.LOG_DIMS:
            for noise in range(1, 41):
                found = evaluated(explorer.RESOLVED, {"b": b, "log_dim": log_dim, "noise": noise})
                assert found["depth"] == theory.resolvable_depth(2**log_dim, b, floor=noise), (b, log_dim, noise)
    assert found["level"] == pytest.approx(40 / 2**10)
    assert found["margin"] == 2 / 8 ** found["depth"]


@pytest.mark.parametrize("b", explorer.BRANCHINGS)
def test_bindings_are_the_theory_s_counts(b):
    for depth in range(1, 13):
        found = evaluated(explorer.BINDINGS, {"b": b, "depth": depth})
        assert found["per_level"] == theory.distinguishable_positions(b, depth, shared=False)
        assert found["phases"] == pytest.approx(theory.distinguishable_positions(b, depth, shared=True))
        assert found["signs"] == theory.distinguishable_positions(b, depth, shared=True, involutive=True)
        for kind, label in explorer._ROLES.items():
            assert eval(explorer.TOLD_APART, {}, found | {"roles": label}) == found[kind]


def test_measured_rows_lie_on_the_law():
    rows = explorer.measured_rows(np.random.default_rng(0), leaves=64)
    products = [r["margin"] * r["branching"] ** r["depth"] for r in rows if r["log_dim"] == 16]
    assert products == pytest.approx([2.0] * len(products), abs=0.15)
    assert {r["branching"] for r in rows} == set(explorer.BRANCHINGS)
