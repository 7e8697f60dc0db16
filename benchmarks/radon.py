"""All k-subsets of points decided at once by circuits, against one linear programme a subset.

The peer solves, for every subset, the programme of largest margin over ``|w|_inf <= 1`` with HiGHS and calls the subset
separable when the margin exceeds 1e-9.  Both must give the same verdict on every subset.  Seconds are medians, the
contestants taking turns in one process; megabytes are the peak of what Python and NumPy allocate, measured apart (what
HiGHS allocates itself is not counted, in the peer's favour).

Run: ``python benchmarks/radon.py``.
"""

import tracemalloc
from collections.abc import Callable
from itertools import combinations
from statistics import median
from time import perf_counter

import numpy as np
from scipy.optimize import linprog

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


def megabytes(contestant: Callable[[], object]) -> float:
    """Peak allocation while the contestant runs."""
    tracemalloc.start()
    contestant()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> list[dict]:
    """Time both, check that they agree, print and return the row."""
    points = unit(np.random.default_rng(SEED).standard_normal((N_POINTS, DIM)))
    contestants = {"ours": lambda: by_circuits(points), "peer": lambda: by_programmes(points)}
    verdicts = {name: run() for name, run in contestants.items()}  # also the warm-up
    if not np.array_equal(verdicts["ours"], verdicts["peer"]):
        raise RuntimeError("circuits and linear programmes disagree")
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(REPEATS):
        for name, run in contestants.items():
            start = perf_counter()
            run()
            seconds[name].append(perf_counter() - start)
    ours, peer = (median(seconds[name]) for name in ("ours", "peer"))
    row = {
        "benchmark": f"{len(verdicts['ours'])} subsets, N={DIM} M={N_POINTS} k={K}, against one programme each",
        "ours_s": ours,
        "peer_s": peer,
        "ratio": peer / ours,
        "ours_MB": megabytes(contestants["ours"]),
        "peer_MB": megabytes(contestants["peer"]),
        "repeats": REPEATS,
    }
    print(
        "  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
    )
    return [row]


if __name__ == "__main__":
    main()
