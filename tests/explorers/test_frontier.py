"""The frontier's explorers: what the page says is what vectors do, and a usage above the sharp cap is named as such."""

from math import acos, cos, sin, sqrt

import numpy as np
import pytest
from parity import agree_everywhere

from bindlib.explorers import frontier as explorer

ROWS = [{"encoder": "one", "delta": 0.05, "ceiling": 0.1}, {"encoder": "two", "delta": 0.2, "ceiling": 0.4}]


@pytest.mark.parametrize("name", ["chart", "geometry"])
def test_the_page_says_what_the_theory_says(name, signals):
    agree_everywhere(signals, explorer.chart(ROWS) if name == "chart" else explorer.geometry(), 20)


def farthest(delta: float) -> float:
    """The largest distance of two unit vectors of the plane within ``delta`` of a third, by trying their angles."""
    angles = np.linspace(0, acos(1 - delta), 2001)
    return max(2 * sin(angle) for angle in angles.tolist())


@pytest.mark.parametrize(("delta", "usage"), [(0.02, 0.99), (0.02, 1), (0.5, 0.86), (0.5, 0.87), (1, 0.7), (1, 0.71),
                                              (0.72, 0.8)])  # fmt: skip
def test_a_usage_is_allowed_when_two_captions_can_be_that_far_apart(delta, usage):
    said = explorer.computed(delta, usage)
    ceiling = usage * sqrt(8 * delta)
    assert said["ceiling"] == pytest.approx(ceiling)
    assert said["allowed"].startswith("yes") == (ceiling <= farthest(delta) + 1e-9)
    assert cos(np.radians(said["angle"])) == pytest.approx(1 - delta)


def test_the_largest_usage_is_the_ratio_of_the_caps_as_the_answer_says():
    for delta in (0.01, 0.3, 0.72, 1):
        said = explorer.caps(delta)
        assert said["sharp_cap"] / said["paper_cap"] == pytest.approx(sqrt(1 - delta / 2))


def test_the_live_figure_holds_the_encoders_and_says_what_the_theory_says():
    widget = explorer.widget(ROWS)
    widget.inputs["delta"].value, widget.inputs["usage"].value = 0.5, 0.9
    assert widget.settle()
    assert widget.said == explorer.computed(0.5, 0.9) and widget.said["allowed"].startswith("no")
    assert len(widget.figure.table) == len(ROWS)
