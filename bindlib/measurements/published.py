"""Published accuracies on SugarCrepe, and how the ceilings of its subsets go with them.

Nothing here was measured by us.  Source: the table in the repository RAIVNLab/sugar-crepe of Hsieh et al.,
"SugarCrepe", NeurIPS 2023 Datasets and Benchmarks, arXiv 2306.14610.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import permutation_test, rankdata

from bindlib.intervals import fisher

SUBSETS = ("replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att", "add_obj", "add_att")
# Percent of images that are nearer to their caption than to its negative; chance is 50.  The models of OpenAI.
ACCURACIES = {
    name: dict(zip(SUBSETS, row, strict=True))
    for name, row in {
        "RN50": (91.77, 80.58, 69.99, 61.79, 68.47, 74.54, 69.65),
        "RN101": (92.49, 83.88, 67.07, 56.50, 65.92, 75.46, 70.09),
        "ViT-B-32": (90.92, 80.08, 69.20, 61.38, 63.96, 77.21, 68.79),
        "RN50x4": (92.68, 82.99, 67.57, 65.04, 63.36, 79.34, 70.09),
        "RN50x16": (93.46, 82.11, 69.20, 63.01, 65.77, 80.70, 75.87),
        "ViT-L-14": (94.07, 79.19, 65.15, 60.16, 62.31, 78.32, 71.53),
        "RN50x64": (94.49, 83.50, 70.63, 61.79, 66.67, 83.27, 73.99),
    }.items()
}


def mean_accuracies(models: Iterable[str] = tuple(ACCURACIES)) -> dict[str, float]:
    """The accuracy in percent on each subset, averaged over ``models``."""
    models = list(models)
    return {subset: float(np.mean([ACCURACIES[model][subset] for model in models])) for subset in SUBSETS}


@dataclass(frozen=True)
class Correlation:
    """A correlation of ``n`` points: its value, 95 % interval (``None`` where undefined) and two-sided p-value."""

    n: int
    value: float
    interval: tuple[float, float] | None
    p_value: float


def correlate(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, ranks: bool = True) -> Correlation:
    """Spearman's rank correlation of ``x`` and ``y``, each ``(n,)`` with ``n >= 3``; Pearson's for ``ranks=False``.

    The p-value compares it with that of the other pairings: all of them up to ``n = 7``, else 9,999 drawn ones. The
    interval is Fisher's, for ranks with the variance of Bonett and Wright; a bootstrap of so few points would repeat
    some of them and leave others out. Raises ``ValueError`` if a side is constant or too short.

    Source: Bonett and Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
    Psychometrika 65, 2000.
    """
    x, y = (rankdata(side) if ranks else np.asarray(side, dtype=float) for side in (x, y))
    if len(x) != len(y) or len(x) < 3 or not (np.ptp(x) and np.ptp(y)):
        raise ValueError("a correlation needs two sides of one length, at least 3, neither of them constant")

    def pearson(side: np.ndarray, axis: int = -1) -> np.ndarray:
        side = np.moveaxis(side, axis, -1)
        a, b = side - side.mean(axis=-1, keepdims=True), y - y.mean()
        return (a @ b) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b))

    test = permutation_test((x,), pearson, permutation_type="pairings", vectorized=True, n_resamples=9999, rng=rng)
    value = float(np.clip(test.statistic, -1, 1))
    return Correlation(len(x), value, fisher(value, len(x), ranks), float(test.pvalue))


def with_accuracies(
    rows: Iterable[Mapping[str, Any]], accuracies: Mapping[str, float], rng: np.random.Generator, ranks: bool = True
) -> Correlation:
    """``correlate`` the mean ceilings of one encoder's ``rows`` with ``accuracies``, both by subset."""
    ceilings = {row["subset"]: row["ceiling"] for row in rows}
    common = [subset for subset in accuracies if subset in ceilings]
    return correlate([ceilings[s] for s in common], [accuracies[s] for s in common], rng, ranks)
