"""The explorers of one balanced coupling draw, and what they say is what the theory computes."""

import json

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere, random_settings
from PIL import Image

from bindlib.explorers import balanced_coupling as explorer
from bindlib.theory import balanced_coupling as theory

READERS = tuple(explorer._SERIES)
ROWS = [
    {
        "encoder": encoder, "task": "swap", "reader": reader, "energy": "" if reader == READERS[0] else energy,
        "control": control, "accuracy": 0.5 + i / 20, "low": 0.45, "high": 0.95, "lowest": 0.4, "highest": 1.0,
        "seeds": 2, "n": 100,
    }
    for encoder in ("0", "1")
    for i, reader in enumerate(READERS)
    for energy in ("fitted weights", "order")
    for control in ("", "words shuffled")
    if energy == "order" or reader != READERS[0]
]  # fmt: skip


@pytest.fixture(scope="module")
def chart():
    return explorer.chart()


@pytest.fixture(scope="module")
def over_scene():
    rng = np.random.default_rng(0)
    tokens, patches = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 36, 5))
    words = (("a", "red", "car"), ("a", "blue", "car"))
    found = theory.couple(*tokens, patches, 0.2)
    return found, explorer.plan_over_scene(found, Image.new("RGB", (48, 48)), words)


def test_figures_draw_and_say_what_they_show(chart, over_scene):
    for figure in (chart, over_scene[1], explorer.accuracies(ROWS)):
        assert len(figure.alt) > 60 and figure.table
        assert "<path" in vl_convert.vegalite_to_svg(figure.spec())
        assert (figure.prompt is None) == (figure.answer is None) == (not figure.controls)


def test_the_page_says_what_the_theory_says(chart, signals):
    agree_everywhere(signals, chart, 25)


def test_the_live_figure_says_what_the_theory_says(chart):
    widget = explorer.widget()
    for values in random_settings(chart, 3, seed=1):
        for control, value in values.items():
            widget.inputs[control].value = value
        assert widget.settle()
        assert widget.said == pytest.approx(explorer.computed(**values))


def test_the_page_is_not_heavy(chart):
    assert len(json.dumps(chart.spec())) < 150_000


@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize("log_epsilon", explorer.LOG_EPSILONS[::3])
def test_what_the_prompt_asks(context, log_epsilon):
    balanced, tilted = (explorer.computed(context, log_epsilon, share, 1) for share in (0.5, 0.7))
    assert balanced["asymmetry"] == pytest.approx(0, abs=1e-9)
    assert (abs(tilted["asymmetry"]) > 1e-5) == (context == 1)
    others = [balanced[name] for name in ("semantics", "entity", "position")]
    assert (np.abs(others) > 1e-6).any() == (context == 1) and balanced["order"] > 0


def test_readouts_are_energies_of_the_plan():
    found = explorer.example(1, -2, 0.4)
    said = explorer.computed(1, -2, 0.4, 2.5)
    assert [said[name] for name in theory.ENERGIES] == pytest.approx(found.energies[1] - found.energies[0], abs=1e-6)
    assert said["score"] == pytest.approx(found.score((1, 1, 2.5, 1)), abs=1e-5)
    assert found.masses == pytest.approx((said["mass_a"], said["mass_b"]))


def test_squares_hold_what_their_word_looks_at(chart):
    """The first word of each candidate against its row of the plan; each word's squares hold all that it has."""
    cell = explorer._cell(0, -3, 0.5)
    found = explorer.example(0, -3, 0.5)
    looks = np.reshape(cell["looks"], (8, 9))
    np.testing.assert_allclose(looks.sum(axis=1), 1, atol=0.01)
    for row in (0, 4):
        both_depths = found.plan[row, :9] + found.plan[row, 9:]
        np.testing.assert_allclose(looks[row], both_depths / both_depths.sum(), atol=1e-3)
    squares = explorer._squares(3, explorer.CAPTIONS)
    assert [s["word"] for s in squares[::9]] == [*explorer.CAPTIONS[0], *explorer.CAPTIONS[1]]
    assert looks[0].argmax() % 3 == 0, "red lies left"


def test_the_scene_shows_the_places_of_the_plan(over_scene):
    found, figure = over_scene
    place = found.plan @ found.positions / found.plan.sum(axis=1, keepdims=True)
    shown = [[row["mean place, from the left"], row["from the top"]] for row in figure.table]
    np.testing.assert_allclose(shown, place)
    svg = vl_convert.vegalite_to_svg(figure.spec())
    assert svg.count("<image") == 6


def test_a_plan_of_other_words_is_refused(over_scene):
    with pytest.raises(ValueError, match="a plan of 6 tokens and 72 patches does not fit"):
        explorer.plan_over_scene(over_scene[0], Image.new("RGB", (48, 48)), (("a",), ("b",)))


def test_accuracies_are_those_of_one_energy_without_controls():
    figure = explorer.accuracies(ROWS)
    assert len(figure.table) == 10
    assert {row["reader"] for row in figure.table} == set(READERS)


def test_pivot():
    rows = [row for row in ROWS if row["reader"] == "aligned" and row["energy"] == "order"]
    shown = explorer.pivot(rows, "encoder", "control")
    assert [list(line) for line in shown] == [["encoder", "none", "words shuffled"]] * 2
    assert shown[1]["none"].split() == ["0.60", "[0.45,", "0.95]"] and shown[1]["encoder"] == "1"
