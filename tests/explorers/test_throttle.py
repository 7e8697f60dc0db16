"""The throttle's explorers: Vega's own evaluation against the theory, and the widgets driven from Python."""

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere

from bindlib.explorers import throttle as explorer
from bindlib.explorers import throttle_played as played
from bindlib.explorers.live import Live
from bindlib.theory.throttle import PairWorld, implicit_swap_rate, n_two_object_scenes, pairwise_objective
from bindlib.theory.throttle_simulation import measured_gaps
from bindlib.theory.throttle_toy import SignCodes, closed_forms, limit_constants


def measured():
    rng = np.random.default_rng(0)
    codes, rates = SignCodes.draw(4, 4, 32, rng), np.linspace(0, 1, 3)
    return explorer.measured(closed_forms(codes, 0.6), rates, *measured_gaps(codes, 0.6, rates, 500, rng))


INTERACTIVE = {"chart": explorer.chart, "web scale": explorer.web_scale, "played": played.chart}


@pytest.mark.parametrize("name", [*INTERACTIVE, "measured"])
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = (INTERACTIVE | {"measured": measured})[name]()
    assert len(figure.alt) > 60 and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("name", INTERACTIVE)
def test_the_page_says_what_the_theory_computes(name, signals):
    figure = INTERACTIVE[name]()
    assert figure.prompt and figure.answer
    agree_everywhere(signals, figure)


def test_the_scenes_of_a_world_and_its_rate():
    shown = explorer.web_scale().computed(log_batch=15, log_objects=3, log_attributes=2)
    scenes = n_two_object_scenes(1000, 100)
    assert shown == {"rate": implicit_swap_rate(32_768, 1 / scenes), "batch": 32_768, "scenes": scenes}


@pytest.mark.parametrize("noise", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_a_played_score_passes_through_the_average_to_the_reversal(rate, noise):
    exact = limit_constants(noise)
    assert played.computed(0.5, rate, noise)["rise"] == pytest.approx(float(exact.average_gap(rate)), abs=1e-6)
    assert played.computed(1.0, rate, noise)["rise"] == pytest.approx(float(exact.reversal_gap(rate)), abs=1e-6)


def test_a_played_score_without_noise_is_that_of_a_finite_world():
    """Two images and their four captions, each a unit of its own: no contrast varies."""
    scores, swap = 2 * np.eye(4), np.array([1, 0, 3, 2])
    unmatched = np.repeat(np.repeat([[0, 0.5], [0.5, 0]], 2, axis=0), 2, axis=1)
    world = PairWorld(np.eye(4) / 4, swap, unmatched)
    for share in played.SHARES:
        mixed = (1 - share) * scores + share * scores[:, swap]
        found = played.computed(share, 0.3, 0.0)
        assert found["loss"] == pytest.approx(pairwise_objective(mixed, world, 0.3))
        assert found["margin"] == pytest.approx(np.diag(mixed - mixed[:, swap]).mean())


def test_mixing_pays_once_the_noise_is_above_one():
    for noise in played.NOISES:
        lowest = {played.computed(0.0, rate, noise)["lowest"] for rate in (0.0, 0.05, 0.5, 1.0)}
        assert lowest == {0.0} if noise <= 1 else min(lowest) > 0, noise


@pytest.mark.parametrize(
    ("live", "values"),
    [
        (explorer.widget, {"rate": 0.4, "noise": 1.2}),
        (lambda: Live(explorer.web_scale()), {"log_batch": 20, "log_objects": 1.5}),
        (played.widget, {"share": 0.75, "rate": 1, "noise": 0.1}),
    ],
    ids=["chart", "web scale", "played"],
)
def test_the_widget_says_what_the_theory_computes(live, values):
    widget = live()
    for name, value in values.items():
        widget.inputs[name].value = value
    assert widget.settle()
    assert widget.said == widget.figure.computed(**widget.values)
    assert widget.values.items() >= values.items()
