import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.explorers.drawing import apart, log_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1e-4, 2, [1e-4, 1e-3, 0.01, 0.1, 1]),
        (200, 8000, [200, 500, 1000, 2000, 5000]),
        (1e-3, 1, [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.3), st.floats(0, 0.1))
def test_labels_keep_their_order_and_their_distance_and_none_sinks_too_low(places, gap, low):
    written = np.array(apart(places, gap, low))[np.argsort(places, kind="stable")]
    assert (np.diff(written) >= gap - 1e-12).all() and written[0] >= low


def test_labels_that_are_far_apart_stay_where_they_are():
    assert apart([0.7, 0.1, 0.4], 0.2, 0) == pytest.approx([0.7, 0.1, 0.4])
    assert apart([1.0, 1.0], 0.2, 0) == pytest.approx([0.9, 1.1])
