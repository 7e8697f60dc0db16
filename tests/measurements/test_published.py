from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from bindlib.measurements.published import ACCURACIES, SUBSETS, correlate, mean_accuracies, with_accuracies

# Mean ceilings of all-MiniLM-L6-v2 and of GloVe averages, in the order of SUBSETS, measured independently of this code.
MINILM = (0.687, 0.436, 0.459, 0.244, 0.222, 0.486, 0.361)
GLOVE = (0.1257, 0.1082, 0.1268, 0.0294, 0.0409, 0.1281, 0.1072)


def rng():
    return np.random.default_rng(0)


def rows(ceilings):
    return [{"subset": s, "ceiling": d} for s, d in zip(SUBSETS, ceilings, strict=True)] + [
        {"subset": "all", "ceiling": 9.0}
    ]


def test_the_table_is_whole_and_in_percent():
    values = np.array([[row[subset] for subset in SUBSETS] for row in ACCURACIES.values()])
    assert values.shape == (7, 7) and values.min() > 50 and values.max() < 100
    assert mean_accuracies() == pytest.approx(dict(zip(SUBSETS, values.mean(axis=0), strict=True)))
    assert mean_accuracies(["RN50"]) == ACCURACIES["RN50"]


@pytest.mark.parametrize(("ceilings", "expected"), [(MINILM, 0.79), (GLOVE, 0.61)])
def test_agrees_with_the_independent_correlations(ceilings, expected):
    found = with_accuracies(rows(ceilings), mean_accuracies(), rng())
    assert found.n == 7 and found.value == pytest.approx(expected, abs=0.005)
    assert found.interval[0] < 0 < found.value < found.interval[1] < 1


def test_the_p_value_is_that_of_all_pairings():
    x, y = MINILM, list(mean_accuracies().values())
    for ranks, oracle in ((True, spearmanr), (False, pearsonr)):
        found = correlate(x, y, rng(), ranks)
        assert found.value == pytest.approx(oracle(x, y).statistic)
        rank = np.argsort(np.argsort(x)) if ranks else np.array(x)
        other = np.argsort(np.argsort(y)) if ranks else np.array(y)
        all_of_them = [np.corrcoef(p, other)[0, 1] for p in permutations(rank)]
        assert found.p_value == pytest.approx(2 * np.mean(np.array(all_of_them) >= found.value - 1e-12))


def test_the_interval_of_pearson_is_that_of_scipy():
    x, y = MINILM, list(mean_accuracies().values())
    expected = pearsonr(x, y).confidence_interval(0.95)
    assert correlate(x, y, rng(), ranks=False).interval == pytest.approx([expected.low, expected.high])


def test_the_interval_of_ranks_covers_about_as_often_as_it_says():
    """Against draws with a known rank correlation: of a normal pair with correlation r it is 6 asin(r / 2) / pi."""
    from bindlib.intervals import fisher

    generator, r = rng(), 0.7
    truth = 6 / np.pi * np.arcsin(r / 2)
    covered = []
    for _ in range(400):
        x, noise = generator.standard_normal((2, 12))
        interval = fisher(spearmanr(x, r * x + np.sqrt(1 - r**2) * noise).statistic, 12, True)
        covered.append(interval[0] <= truth <= interval[1])
    assert 0.92 <= np.mean(covered) <= 0.99


def test_a_perfect_order_has_no_interval():
    found = correlate(range(7), range(7), rng())
    assert found.value == pytest.approx(1) and found.interval is None
    assert found.p_value == pytest.approx(2 / 5040)
    assert correlate(range(3), (0, 2, 1), rng()).interval is None


@pytest.mark.parametrize(("x", "y"), [((1, 2), (1, 2)), ((1, 1, 1), (1, 2, 3)), ((1, 2, 3), (1, 2, 3, 4))])
def test_what_cannot_be_correlated(x, y):
    with pytest.raises(ValueError, match="two sides of one length"):
        correlate(x, y, rng())
