"""The verification toy of the throttle by simulation: the constants, and both gaps at a given swap rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from bindlib.theory.throttle import checked_rate, logistic_loss
from bindlib.theory.throttle_toy import (
    CONTRASTS,
    Constants,
    SignCodes,
    checked_noise,
    closed_forms,
    draw_scenes,
    pair_gram,
)


def draw_contrasts(codes: SignCodes, noise: float, samples: int, rng: np.random.Generator) -> np.ndarray:
    """``(samples, 4)``: the contrasts ``M*``, ``S(c)-S(c')``, ``S̄(c)-S̄(c')``, ``S^rev(c)-S^rev(c')``, jointly.

    Each sample has its own scenes and noise.  Four scores see four coordinates of the noise at most, so four normals a
    sample have exactly the law that ``N`` would have.  Raises ``ValueError`` for negative noise or no sample.
    """
    return np.concatenate(list(_contrast_chunks(codes, noise, samples, rng)))


def simulated_constants(
    codes: SignCodes, noise: float, samples: int, rng: np.random.Generator
) -> tuple[Constants, Constants]:
    """The constants from ``samples`` simulated contrasts and their standard errors, in constant memory.

    Raises ``ValueError`` for negative noise or no sample.
    """
    total = np.zeros((2, 4))
    for chunk in _contrast_chunks(codes, noise, samples, rng):
        matched, unmatched, blind, reversed_ = logistic_loss(chunk).T
        values = np.stack([log(2) - matched, chunk[:, 0], blind - unmatched, reversed_ - unmatched])
        total += [values.sum(axis=1), (values**2).sum(axis=1)]
    mean, square = total / samples
    errors = np.sqrt(np.maximum(square - mean**2, 0) / samples)
    return Constants(*mean.tolist()), Constants(*errors.tolist())


def _contrast_chunks(
    codes: SignCodes, noise: float, samples: int, rng: np.random.Generator, size: int = 1 << 14
) -> Iterator[np.ndarray]:
    noise = checked_noise(noise)
    if samples < 1:
        raise ValueError(f"a simulation needs at least one sample, got {samples}")
    gram = codes.atom_gram()
    for start in range(0, samples, size):
        n = min(size, samples - start)
        scenes, others = (draw_scenes(n, len(codes.objects), len(codes.attributes), rng) for _ in range(2))
        pair = pair_gram(codes, scenes, others, gram)
        seen = np.einsum("nij,nj->ni", _semidefinite_root(pair), rng.standard_normal((n, 4)))
        yield (pair[:, 0] + noise * seen) @ CONTRASTS.T


def _semidefinite_root(gram: np.ndarray) -> np.ndarray:
    """Lower triangular ``R`` with ``R R^T = gram`` ``(n, k, k)``; coinciding vectors (zero pivots) are allowed."""
    root = np.zeros_like(gram)
    for j in range(gram.shape[1]):
        column = gram[:, j:, j] - np.einsum("nik,nk->ni", root[:, j:, :j], root[:, j, :j])
        pivot = np.sqrt(np.maximum(column[:, :1], 0))
        np.divide(column, pivot, out=root[:, j:, j], where=pivot > 1e-7)
    return root


def measured_gaps(codes: SignCodes, noise: float, swap_rates: np.ndarray, samples: int, rng: np.random.Generator):
    """Both gaps by simulating the objective at each rate: every sample draws whether its negative is the swap.

    Returns ``gaps`` and ``errors`` (one standard error), each ``(len(swap_rates), 2)``: average, reversal.  Samples
    are fresh at every rate, so a straight line is a finding.  Raises ``ValueError`` for bad rates or noise.
    """
    gaps, errors = [], []
    for rate in np.atleast_1d(checked_rate(swap_rates)):
        matched, unmatched, blind, reversed_ = draw_contrasts(codes, noise, samples, rng).T
        swapped = rng.random(samples) < rate
        loss = logistic_loss(np.where(swapped, matched, unmatched))
        average = logistic_loss(np.where(swapped, 0, blind)) - loss
        reverse = logistic_loss(np.where(swapped, -matched, reversed_)) - loss
        pair = np.stack([average, reverse])
        gaps.append(pair.mean(axis=1))
        errors.append(pair.std(axis=1) / sqrt(samples))
    return np.array(gaps), np.array(errors)


@dataclass(frozen=True)
class Line:
    """A weighted straight fit: values at ``π = 0`` and ``π = 1``, and the largest residual in standard errors."""

    at_zero: float
    at_one: float
    worst_residual: float


def fit_line(swap_rates: np.ndarray, gaps: np.ndarray, errors: np.ndarray) -> Line:
    """The line through ``gaps`` ``(n,)`` weighted by ``1 / errors``; its value at 1 recovers the matched constant."""
    design = np.stack([1 - swap_rates, swap_rates], axis=1)
    ends = np.linalg.lstsq(design / errors[:, None], gaps / errors, rcond=None)[0]
    return Line(float(ends[0]), float(ends[1]), float(np.max(np.abs(design @ ends - gaps) / errors)))


def comparison_rows(
    codes: SignCodes, noises: Sequence[float], samples: int, rng: np.random.Generator
) -> list[dict[str, float]]:
    """Quadrature against simulation, one row for each noise and constant: ``quadrature, simulated, standard error``."""
    rows = []
    for noise in noises:
        exact, (drawn, error) = closed_forms(codes, noise), simulated_constants(codes, noise, samples, rng)
        for name, value in vars(exact).items():
            row = {"noise": f"{noise}", "constant": name.replace("_", ", "), "quadrature": value}
            rows.append(row | {"simulated": getattr(drawn, name), "standard error": getattr(error, name)})
    return rows
