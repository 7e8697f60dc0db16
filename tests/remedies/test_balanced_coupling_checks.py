import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bindlib.remedies import balanced_coupling as remedy
from bindlib.remedies import balanced_coupling_checks as checks
from bindlib.remedies import balanced_coupling_features as features

pytestmark = pytest.mark.usefixtures("quiet")


def rng(seed=0):
    return np.random.default_rng(seed)


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(-10_000, 10_000), min_size=3, max_size=3), st.floats(0.005, 5))
@settings(max_examples=25)
def test_a_constant_in_the_costs_does_not_change_the_plan(seed, constants, epsilon):
    """Each item of a batch gets its own; costs are multiples of 2⁻²⁰, so that the sums hold no rounding."""
    draws = rng(seed)
    cost = draws.integers(0, 2**21, (3, 4, 5)) / 2**20
    rows, columns = np.full(4, 1 / 4), np.full(5, 1 / 5)
    try:
        wanted = remedy.transport(cost, rows, columns, epsilon)
    except ValueError as error:
        assume("raise" not in str(error))  # ε too small for the iteration
        raise
    found = remedy.transport(cost + np.reshape(constants, (3, 1, 1)), rows, columns, epsilon)
    assert np.abs(found - wanted).max() < 1e-9


def test_large_costs_do_not_underflow():
    cost = rng().uniform(0, 2, (4, 5)) + 900
    found = remedy.transport(cost, np.full(4, 1 / 4), np.full(5, 1 / 5), 1.0)
    kernel = found * np.exp(cost - 900)  # by the form of the plan, of rank one
    np.testing.assert_allclose(kernel * kernel[0, 0], np.outer(kernel[:, 0], kernel[0]), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1 / 4, atol=1e-8)


def test_an_estimate_has_the_interval_of_wilson():
    found, (low, high) = checks.estimate(np.repeat([1.0, -1.0], [37, 13]))
    wanted = binomtest(37, 50).proportion_ci(method="wilson")
    assert (found, low, high) == pytest.approx((0.74, wanted.low, wanted.high))


def test_planted_noise_has_the_length_it_is_said_to_have():
    """A filler word has no place in a picture: in its coordinate there is noise alone."""
    tokens, patches = features.planted(200, 3.0, rng())
    assert tokens.shape == (2, 200, 7, features.PLANTED_DIM) and (tokens[:, :, 0, -2] == 1).all()
    assert np.sqrt(np.mean(patches[..., -2:] ** 2)) == pytest.approx(3 / np.sqrt(features.PLANTED_DIM), rel=0.03)


def test_the_order_energy_binds_planted_features_before_and_after_the_map():
    for found in checks.positive_control(1.0, 600, 60, rng()):
        assert checks.estimate(found[:, 2])[0] == 1 and (found[:, [0, 1, 3]] == 0).all()


def test_the_map_cannot_find_what_is_not_there():
    """The null of the control: under noise of a thousand word lengths one half is in both intervals."""
    for found in checks.positive_control(1000.0, 600, 200, rng()):
        low, high = checks.estimate(found[:, 2])[1]
        assert low < 0.5 < high


@pytest.mark.parametrize("which", [0, 1])
def test_both_candidates_get_the_glyphs_of_one(which):
    tokens = rng().standard_normal((2, 3, 7, 4))
    before = tokens.copy()
    mixed = checks.with_glyphs_of(tokens, which)
    np.testing.assert_array_equal(tokens, before)
    np.testing.assert_array_equal(mixed[which], tokens[which])
    changed = (mixed[1 - which] != tokens[1 - which]).any(axis=(0, 2))
    assert np.flatnonzero(changed).tolist() == [2, 6]
    np.testing.assert_array_equal(mixed[0][:, [2, 6]], mixed[1][:, [2, 6]])
