import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from bindlib.measurements.estimates import mean, quantile, share, statistic


def test_intervals_cover_the_true_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        low, high = mean(rng.exponential(size=60), rng).interval
        covered += low <= 1 <= high
    assert 0.87 <= covered / 200 <= 0.99


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_the_interval_of_a_quantile_covers_the_true_one_as_often_as_it_says(q):
    rng, true = np.random.default_rng(1), -np.log(1 - q)
    intervals = [quantile(rng.exponential(size=80), q).interval for _ in range(500)]
    assert 0.93 <= np.mean([low <= true <= high for low, high in intervals]) <= 0.995


def test_a_quantile_of_so_few_that_no_order_statistic_bounds_it_has_no_interval():
    """By the chance that all of ``n`` values lie on one side of the true quantile."""
    assert quantile(np.array([3.0]), 0.1) == (3, None)
    for n in range(1, 45):
        for q in (0.1, 0.5, 0.9):
            bounded = (1 - q) ** n < 0.025 and q**n < 0.025
            assert (quantile(np.arange(n), q).interval is not None) == bounded
    assert quantile(np.arange(6.0), 0.5) == (2.5, [0, 5])


def test_a_mean_of_none_and_of_one(recwarn):
    rng = np.random.default_rng(0)
    assert mean(np.array([]), rng) == (None, None)
    assert mean(np.array([3.0]), rng) == (3, None)
    assert mean(np.array([3.0, 3.0]), rng) == (3, [3, 3])
    assert statistic(lambda x, axis=-1: np.full(x.shape[:-1], np.nan), (np.ones(4),), rng) == (None, None)
    assert not recwarn.list


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_the_interval_of_a_share_is_that_of_wilson(n_and_k):
    n, k = n_and_k
    expected = binomtest(k, n).proportion_ci(method="wilson")
    estimate = share(np.arange(n) < k)
    assert estimate.value == k / n
    assert estimate.interval == pytest.approx([expected.low, expected.high], abs=1e-12)
    assert estimate.interval[0] <= estimate.value <= estimate.interval[1]


def test_a_share_of_nothing_is_undefined():
    assert share(np.array([], dtype=bool)) == (None, None)
