import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from bindlib.measurements.estimates import by_decile, mean, quantile, share, statistic


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


def test_a_quantile_of_one_and_of_few():
    assert quantile(np.array([3.0]), 0.1) == (3, [3, 3])
    value, (low, high) = quantile(np.array([2.0, 1.0]), 0.5)
    assert (value, low, high) == (1.5, 1, 2)


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


def test_deciles_against_sorting():
    rng = np.random.default_rng(0)
    by, values = rng.random(100), rng.random(100)
    pairs = sorted(zip(by, values, strict=True))
    expected = [sum(v for _, v in pairs[10 * i : 10 * i + 10]) / 10 for i in range(10)]
    assert by_decile(by, values) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=10, max_size=60), st.randoms())
def test_deciles_do_not_depend_on_the_order_of_the_items_even_with_ties(items, random):
    shuffled = random.sample(items, len(items))
    first, second = (by_decile(*map(np.array, zip(*rows, strict=True))) for rows in (items, shuffled))
    assert first == pytest.approx(second)
    weights = [len(part) for part in np.array_split(range(len(items)), 10)]
    assert np.average(first, weights=weights) == pytest.approx(np.mean([value for _, value in items]))


def test_deciles_of_items_that_all_tie_are_their_mean():
    assert by_decile(np.zeros(20), np.arange(20.0)) == [9.5] * 10


def test_too_few_for_deciles():
    with pytest.raises(ValueError, match="ten items"):
        by_decile(np.arange(9), np.arange(9))
