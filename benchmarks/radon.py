"""All k-subsets of points decided at once by circuits, against one linear programme a subset.

The peer solves, for every subset, the programme of largest margin over ``|w|_inf <= 1`` with HiGHS and calls the subset
separable when the margin exceeds 1e-9.  Both must give the same verdict on every subset.  Seconds are medians, the
contestants taking turns in one process; megabytes are the peak of what Python and NumPy allocate, measured apart (what
HiGHS allocates itself is not counted, in the peer's favour).

Run: ``python benchmarks/radon.py``.
"""

from functools import partial
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from timing import compare

from bindlib.theory.bag_of_words import unit
from bindlib.theory.separation import SEPARABLE, all_subsets

DIM, N_POINTS, K, SEED = 6, 14, 3, 0
REPEATS = 7


def by_circuits(points: np.ndarray) -> np.ndarray:
    """Which subsets separate, ``(n_subsets,)`` bool, all at once."""
    return all_subsets(points, K).status == SEPARABLE


def by_programmes(points: np.ndarray) -> np.ndarray:
    """The same, one linear programme a subset: unknowns ``w``, threshold and margin."""
    n, dim = points.shape
    cost = np.append(np.zeros(dim + 1), -1.0)
    bounds = [(-1, 1)] * dim + [(None, None), (0, None)]
    found = []
    for subset in combinations(range(n), K):
        sign = np.where(np.isin(np.arange(n), subset), -1.0, 1.0)[:, None]
        rows = np.hstack([sign * points, -sign, np.ones((n, 1))])
        found.append(-linprog(cost, A_ub=rows, b_ub=np.zeros(n), bounds=bounds, method="highs").fun > 1e-9)
    return np.array(found)


def main() -> list[dict]:
    """Time both, check that they agree, print and return the row."""
    points = unit(np.random.default_rng(SEED).standard_normal((N_POINTS, DIM)))
    ours, peer = partial(by_circuits, points), partial(by_programmes, points)
    verdicts, expected = ours(), peer()  # also the warm-up
    if not np.array_equal(verdicts, expected):
        raise RuntimeError("circuits and linear programmes disagree")
    benchmark = f"{len(verdicts)} subsets, N={DIM} M={N_POINTS} k={K}, against one programme each"
    return [compare(benchmark, ours, peer, REPEATS)]


if __name__ == "__main__":
    main()
