"""The explorer's embedded values and expressions against the theory, evaluated by Vega itself."""

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import throttle as explorer
from bindlib.theory.throttle import implicit_swap_rate, n_two_object_scenes
from bindlib.theory.throttle_simulation import measured_gaps
from bindlib.theory.throttle_toy import SignCodes, closed_forms, limit_constants


def rows(steps):
    return [
        {"swap_rate": rate, "seed": 0, "negatives": kind, "steps": steps, "last_step": 900, "accuracy": 0.9}
        for rate in (0.0, 0.1)
        for kind in ("all", "no swaps", "disjoint")
    ]


def measured():
    rng = np.random.default_rng(0)
    codes, rates = SignCodes.draw(4, 4, 32, rng), np.linspace(0, 1, 3)
    return explorer.measured(closed_forms(codes, 0.6), rates, *measured_gaps(codes, 0.6, rates, 500, rng))


FIGURES = {
    "chart": explorer.chart,
    "web scale": explorer.web_scale,
    "measured": measured,
    "trained": lambda: explorer.trained(rows(600)),
    "never bound": lambda: explorer.trained(rows(None)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("noise", [0.0, 0.25, 0.6, 1.5])
@pytest.mark.parametrize("rate", [0.0, 0.37, 1.0])
def test_gaps_at_the_sliders(noise, rate, signals):
    figure, exact = explorer.chart(), limit_constants(noise)
    seen = signals(figure, ("average_gap", "reversal_gap", "matched"), rate=rate, noise=noise)
    assert float(seen["average_gap"]) == pytest.approx(float(exact.average_gap(rate)))
    assert float(seen["reversal_gap"]) == pytest.approx(float(exact.reversal_gap(rate)))
    assert float(seen["matched"]) == pytest.approx(exact.matched_average)


@pytest.mark.parametrize(
    ("power", "objects", "attributes"), [(15, 3, 2), (5, 1, 1), (20, 1, 1), (20, 5, 4), (8, 1.5, 1)]
)
def test_rate_at_the_sliders(power, objects, attributes, signals):
    scenes = n_two_object_scenes(round(10**objects), round(10**attributes))
    figure, place = explorer.web_scale(), {"log_batch": power, "log_objects": objects, "log_attributes": attributes}
    seen = signals(figure, ("scenes", "rate"), **place)
    assert float(seen["scenes"]) == scenes
    assert float(seen["rate"]) == pytest.approx(implicit_swap_rate(2**power, 1 / scenes), rel=1e-6)
