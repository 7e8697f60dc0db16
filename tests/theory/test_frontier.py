import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.theory import frontier
from bindlib.theory.bag_of_words import ceiling, unit

DELTAS = st.floats(0, 2)
SEEDS = st.integers(0, 2**31 - 1)
DIMS = st.integers(2, 300)


@given(DELTAS)
def test_sharp_cap_by_angles(delta):
    """Second derivation: two points within angle φ of the anchor are at most min(2φ, π) apart."""
    angle = min(2 * np.arccos(1 - delta), np.pi)
    assert frontier.sharp_cap(delta) == pytest.approx(2 * np.sin(angle / 2), abs=1e-7)


@given(DELTAS)
def test_caps_are_ordered_and_the_sharp_one_is_never_vacuous(delta):
    assert frontier.sharp_cap(delta) <= min(frontier.paper_cap(delta), 2) + 1e-12


@given(DELTAS, DIMS, SEEDS)
def test_saturating_captions_attain_the_sharp_cap(delta, dim, seed):
    anchor, t, t_swap = frontier.saturating_captions(delta, dim, np.random.default_rng(seed))
    assert np.allclose(np.linalg.norm([anchor, t, t_swap], axis=1), 1)
    assert frontier.smoothness(t, t_swap, anchor) == pytest.approx(delta, abs=1e-12)
    assert ceiling(t, t_swap) == pytest.approx(float(frontier.sharp_cap(delta)), abs=1e-7)


def test_frontier_by_brute_force_on_the_circle():
    """The largest distance of two of 2,000 points on the circle within delta of the anchor, for many delta."""
    angles = np.linspace(-np.pi, np.pi, 2001)
    for delta in np.linspace(0.01, 2, 40):
        inside = angles[np.cos(angles) >= 1 - delta]
        chord = 2 * np.abs(np.sin((inside[:, None] - inside) / 2)).max()
        assert frontier.sharp_cap(delta) - 0.01 <= chord <= frontier.sharp_cap(delta) + 1e-9


@given(SEEDS, DIMS)
def test_no_anchor_is_closer_than_the_midpoint(seed, dim):
    rng = np.random.default_rng(seed)
    t, t_swap = unit(rng.standard_normal((2, dim)))
    best = frontier.smoothness(t, t_swap, unit(t + t_swap))
    assert best == pytest.approx(float(frontier.smallest_delta(ceiling(t, t_swap))), abs=1e-9)
    assert np.all(frontier.smoothness(t, t_swap, unit(rng.standard_normal((50, dim)))) >= best - 1e-12)
    assert frontier.usage(ceiling(t, t_swap), frontier.sharp_cap(best)) == pytest.approx(1)


def test_values_of_the_source_paper():
    assert frontier.paper_cap(0.112) == pytest.approx(0.947, abs=0.0005)  # its Figure 11


def test_usage_of_a_collapsed_pair_is_zero():
    assert frontier.usage(0.0, frontier.paper_cap(0.0)) == 0
    for d, cap in ((np.nan, 1), (1, np.nan), (1, -1)):
        with pytest.raises(ValueError, match="not negative"):
            frontier.usage(d, cap)


@pytest.mark.parametrize("delta", [-0.1, 2.1, np.nan, np.inf])
def test_bad_delta(delta):
    for cap in (frontier.paper_cap, frontier.sharp_cap):
        with pytest.raises(ValueError, match=r"\[0, 2\]"):
            cap(delta)


def test_one_bad_value_among_good_ones_is_refused():
    """Of many values all are asked, not one."""
    for bad in (-0.1, 2.1, np.nan):
        for values in ([bad, 0.5], [0.5, bad]):
            for check in (frontier.paper_cap, frontier.sharp_cap, frontier.smallest_delta):
                with pytest.raises(ValueError, match=r"\[0, 2\]"):
                    check(np.array(values))
    for bad in (-0.1, np.nan):
        for values in ([bad, 0.5], [0.5, bad]):
            for d, cap in ((values, [1.0, 1.0]), ([1.0, 1.0], values)):
                with pytest.raises(ValueError, match="not negative"):
                    frontier.usage(np.array(d), np.array(cap))


def test_smallest_delta_refuses_what_is_no_distance():
    assert frontier.smallest_delta(2 + 1e-12) == 1
    for d in (-0.1, 2.1, np.nan):
        with pytest.raises(ValueError, match="distance"):
            frontier.smallest_delta(d)


def test_one_dimension_is_too_few():
    with pytest.raises(ValueError, match="dim >= 2"):
        frontier.saturating_captions(0.5, 1, np.random.default_rng(0))
