"""The explorers of factored codes draw, and their closed forms are those of the theory."""

from math import sqrt

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import factored_codes as explorer
from bindlib.theory import factored_codes as theory

ROWS = [
    {"family": family, "log_dim": 12, "kind": kind, "k": 2, "margin": 0.5, "sd": 0.1, "predicted": 0.4, "ratio": 1.25}
    for family in theory.FAMILIES
    for kind in theory.KINDS
]
FIGURES = {
    "chart": lambda: explorer.chart(ROWS),
    "figure 10": lambda: explorer.figure10(ROWS),
    "leakage": explorer.leakage,
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def test_readouts_are_the_predictions():
    for family, spec in theory.FAMILIES.items():
        assert eval(explorer.LEAKAGE_OF_FAMILY, {"family": family}) == spec.leakage
    for k in (2, 5, 32):
        for leakage in (0, 0.2, 0.5):
            signals = {"k": k, "leakage": leakage, "sqrt": sqrt}
            found = {kind: eval(formula, signals) for kind, formula in explorer.PREDICTED.items()}
            assert found == pytest.approx(theory.predicted_margins(k, leakage=leakage))


def test_lines_are_the_readouts_times_k():
    """What is drawn: one value a kind, evaluated as the page does."""
    drawn = explorer.leakage().spec()
    lines = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == "line")
    assert lines["transform"][0]["calculate"] == explorer._scaled("datum.share", "k")
    for kind, times_k in (("swap", "2 * (1 - 2 * l)"), ("replace", "1 - l"), ("add", "k * (1 - sqrt(k / (k + 1)))")):
        assert f"'{kind}' ? {times_k}" in explorer._scaled("l", "k") or explorer._scaled("l", "k").endswith(times_k)
        signals = {"k": 7, "l": 0.3, "leakage": 0.3, "sqrt": sqrt}
        assert eval(times_k, signals) == pytest.approx(7 * eval(explorer.PREDICTED[kind], signals))


def test_measured_rows_cover_every_choice_of_the_sliders():
    rows = explorer.measured_rows(np.random.default_rng(0), n_scenes=2)
    assert {(r["family"], r["log_dim"], r["kind"], r["k"]) for r in rows} == {
        (family, log_dim, kind, k)
        for family in theory.FAMILIES
        for log_dim in explorer.LOG_DIMS
        for kind in theory.KINDS
        for k in explorer.SIZES
    }
