"""The explorers of factored codes draw, and their closed forms are those of the theory."""

from math import sqrt

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere, random_settings

from bindlib.explorers import factored_codes as explorer
from bindlib.explorers.live import Live
from bindlib.theory import factored_codes as theory


@pytest.fixture(scope="module")
def rows():
    return explorer.measured_rows(np.random.default_rng(0), n_scenes=3)


@pytest.fixture(scope="module")
def figures(rows):
    once = [row for row in rows if (row["family"], row["log_dim"]) == ("hadamard", 12)]
    return {"chart": explorer.chart(rows), "figure 10": explorer.figure10(once), "leakage": explorer.leakage()}


@pytest.mark.parametrize("name", ["chart", "figure 10", "leakage"])
def test_figure_compiles_draws_and_says_what_it_shows(name, figures):
    figure = figures[name]
    assert len(figure.alt) > 60 and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())
    assert (figure.prompt is None) == (figure.answer is None) == (not figure.controls)


@pytest.mark.parametrize("name", ["chart", "leakage"])
def test_the_page_says_what_the_theory_says(name, figures, signals):
    agree_everywhere(signals, figures[name], 20)


@pytest.mark.parametrize("name", ["chart", "leakage"])
def test_the_live_figure_says_what_the_theory_says(name, figures):
    widget = Live(figures[name])
    for values in random_settings(figures[name], 3, seed=1):
        for control, value in values.items():
            widget.inputs[control].value = value
        assert widget.settle()
        assert widget.said == pytest.approx(figures[name].computed(**values))


def test_readouts_of_the_chart_are_the_rows_and_the_predictions(figures, rows):
    for row in rows[:: len(rows) // 20]:
        said = figures["chart"].computed(row["family"], row["log_dim"], row["k"])
        assert said[f"{row['kind']}_measured"] == pytest.approx(row["margin"], abs=1e-6)
        assert said["leakage_measured"] == pytest.approx(row["leakage"], abs=1e-6)
        leakage = theory.FAMILIES[row["family"]].leakage
        assert said[row["kind"]] == theory.predicted_margins(row["k"], leakage=leakage)[row["kind"]]


def test_measured_leakage_is_that_of_the_family(rows):
    for row in rows:
        if row["log_dim"] == 12:
            assert row["leakage"] == pytest.approx(theory.FAMILIES[row["family"]].leakage, abs=0.03)


def test_codes_are_drawn_anew():
    widget, seen = explorer.widget(), []
    for draw in (0, 1):
        for name, value in {"family": "fhrr", "log_dim": 6, "k": 4, "draw": draw, "scenes": 10}.items():
            widget.inputs[name].value = value
        assert widget.settle()
        rng = np.random.default_rng(draw)
        code = theory.draw_code("fhrr", 40, 40, 64, rng)
        wanted = {r["kind"]: r["margin"] for r in theory.margin_rows(code, explorer.SIZES, 10, rng) if r["k"] == 4}
        seen.append({kind: widget.said[f"{kind}_measured"] for kind in theory.KINDS})
        assert seen[-1] == pytest.approx(wanted, abs=1e-6)
        assert "svg" in widget._picture.value
    assert seen[0] != seen[1]


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


def test_measured_rows_cover_every_choice_of_the_controls(rows):
    assert {(r["family"], r["log_dim"], r["kind"], r["k"]) for r in rows} == {
        (family, log_dim, kind, k)
        for family in theory.FAMILIES
        for log_dim in explorer.LOG_DIMS
        for kind in theory.KINDS
        for k in explorer.SIZES
    }
