"""A number with its 95 % interval over items."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import DegenerateDataWarning, binom, bootstrap

from bindlib.intervals import wilson


class Estimate(NamedTuple):
    """A value with its 95 % interval ``[low, high]``; either is ``None`` where it is undefined."""

    value: float | None
    interval: list[float] | None


def statistic(of: Callable, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> Estimate:
    """``of(*data, axis=...)`` of paired arrays ``(n,)``, with a percentile bootstrap interval over the ``n`` items.

    No value for no items or NaN; no interval for fewer than two items, or if a resample is undefined.
    """
    n = len(data[0])
    value = float(of(*data)) if n else np.nan
    if np.isnan(value):
        return Estimate(None, None)
    if n < 2:
        return Estimate(value, None)
    batch = max(1, 2_000_000 // n)  # resamples at a time, so that memory does not grow with the data
    with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):  # undefined resamples are met below
        result = bootstrap(
            data, of, paired=True, vectorized=True, n_resamples=2000, method="percentile", rng=rng, batch=batch
        )
    low, high = np.percentile(result.bootstrap_distribution, (2.5, 97.5))
    return Estimate(value, None if np.isnan(low) else [float(low), float(high)])


def mean(values: np.ndarray, rng: np.random.Generator) -> Estimate:
    """The mean of ``values`` ``(n,)`` with its bootstrap interval."""
    return statistic(np.mean, (values,), rng)


def share(values: np.ndarray) -> Estimate:
    """The share of ``values`` ``(n,)`` in {0, 1} that are 1, with the interval of `wilson`; draws nothing."""
    if not len(values):
        return Estimate(None, None)
    p = float(values.mean())
    return Estimate(p, list(wilson(p, len(values))))


def quantile(values: np.ndarray, q: float) -> Estimate:
    """The ``q``-quantile of ``values`` ``(n,)``, ``n >= 1``, between order statistics that hold the true one in 95 %.

    The number of values below the true quantile is binomial, whatever their distribution; draws nothing. No interval
    where so few values have no such order statistics: for the first and the ninth decile, fewer than 36.
    """
    ordered, n = np.sort(values), len(values)
    found = float(np.quantile(ordered, q))
    low, high = (int(binom.ppf(p, n, q)) for p in (0.025, 0.975))
    if low < 1 or high >= n:
        return Estimate(found, None)
    return Estimate(found, [float(min(found, ordered[low - 1])), float(max(found, ordered[high]))])
