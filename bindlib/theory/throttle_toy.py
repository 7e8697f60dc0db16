"""The verification toy of the throttle (the paper's Figure 15, our reconstruction) and its constants in closed form.

A scene is a row ``o1, o2, a1, a2`` of integers; a caption is the plain sum of its two atoms' sign codes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import log, pi, sqrt

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from bindlib.theory.throttle import checked_rate, logistic_loss


def checked_noise(noise: float) -> float:
    """``noise`` itself; ``ValueError`` when it is negative or not finite."""
    if not 0 <= noise < np.inf:
        raise ValueError(f"the noise is a standard deviation and cannot be negative, got {noise}")
    return float(noise)


def draw_scenes(n: int, n_objects: int, n_attributes: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` uniform two-object scenes, ``(n, 4)`` integers ``o1, o2, a1, a2`` with ``o1 != o2`` and ``a1 != a2``.

    Raises ``ValueError`` for a vocabulary with fewer than two objects or attributes.
    """
    if min(n_objects, n_attributes) < 2:
        raise ValueError(f"a swap needs two objects and two attributes, got {n_objects} and {n_attributes}")
    pairs = []
    for size in (n_objects, n_attributes):
        first, step = rng.integers(size, size=n), rng.integers(1, size, size=n)
        pairs += [first, (first + step) % size]
    return np.stack(pairs, axis=1)


@dataclass(frozen=True)
class SignCodes:
    """Factored sign codes: atom ``x_oa = u_o ∘ v_a / sqrt(N)``, unit, for sign vectors ``u_o`` and ``v_a``.

    ``objects`` ``(M, N)``, ``attributes`` ``(K, N)``; a caption is the plain sum of its two atoms.
    """

    objects: np.ndarray
    attributes: np.ndarray

    @classmethod
    def draw(cls, n_objects: int, n_attributes: int, dim: int, rng: np.random.Generator) -> "SignCodes":
        """Independent uniform signs."""
        signs = rng.choice([-1.0, 1.0], size=(n_objects + n_attributes, dim))
        return cls(signs[:n_objects], signs[n_objects:])

    def captions(self, scenes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``t(c)`` and ``t(σc)``, each ``(n, N)``, for scenes ``(n, 4)``."""
        o1, o2, a1, a2 = scenes.T
        u, v = self.objects, self.attributes
        root = sqrt(u.shape[1])
        return (u[o1] * v[a1] + u[o2] * v[a2]) / root, (u[o1] * v[a2] + u[o2] * v[a1]) / root

    def atom_gram(self) -> np.ndarray:
        """Inner products of all atoms, ``(M K, M K)``; atom ``(o, a)`` is row ``o K + a``."""
        atoms = (self.objects[:, None] * self.attributes).reshape(-1, self.objects.shape[1])
        return atoms @ atoms.T / atoms.shape[1]

    def mean_margin(self) -> float:
        """``E M* = 2 (1 + p̄ - q̄ - r̄)`` over all scenes, exactly, where ``p``, ``q``, ``r`` are the mean products of
        ``u_1 u_2 v_1 v_2``, ``v_1 v_2`` and ``u_1 u_2`` over pairs of different factors.
        """
        r, q = (_mean_product(factor) for factor in (self.objects, self.attributes))
        return float(2 * (1 + np.mean(r * q) - np.mean(q) - np.mean(r)))


def _mean_product(signs: np.ndarray) -> np.ndarray:
    """Mean of ``s_i s_j`` over ``i != j``, for each coordinate."""
    n = len(signs)
    return (signs.sum(axis=0) ** 2 - n) / (n * (n - 1))


def pair_gram(codes: SignCodes, scenes: np.ndarray, others: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Gram matrices ``(n, 4, 4)`` of ``t(c), t(σc), t(c'), t(σc')``; ``gram`` is ``codes.atom_gram()``."""
    n_attributes = len(codes.attributes)

    def atoms(s):  # (n, 2 captions, 2 atoms)
        o1, o2, a1, a2 = s.T
        rows = (o1 * n_attributes + a1, o2 * n_attributes + a2, o1 * n_attributes + a2, o2 * n_attributes + a1)
        return np.stack(rows, axis=1).reshape(-1, 2, 2)

    index = np.concatenate([atoms(scenes), atoms(others)], axis=1)
    result = np.empty((len(scenes), 4, 4))
    for i in range(4):
        for j in range(i, 4):
            cells = sum(gram[index[:, i, k], index[:, j, m]] for k in (0, 1) for m in (0, 1))
            result[:, i, j] = result[:, j, i] = cells
    return result


# Weights of the scores of c, σc, c', σc' in the differences that the three objectives contrast.
CONTRASTS = np.array(
    [
        [1, -1, 0, 0],  # M*: S(c) - S(σc)
        [1, 0, -1, 0],  # S(c) - S(c')
        [0.5, 0.5, -0.5, -0.5],  # S̄(c) - S̄(c')
        [0, 1, 0, -1],  # S^rev(c) - S^rev(c')
    ]
)


@dataclass(frozen=True)
class Constants:
    """The four numbers of the theorems: each gap is ``π · matched + (1 - π) · offset``."""

    matched_average: float  # log 2 - E ℓ(M*)
    matched_reversal: float  # E M*
    offset_average: float  # c1
    offset_reversal: float  # c0

    def average_gap(self, swap_rate: np.ndarray) -> np.ndarray:
        """``L(S̄) - L(S*)`` at rate ``π``; ``ValueError`` outside ``[0, 1]``."""
        rate = checked_rate(swap_rate)
        return rate * self.matched_average + (1 - rate) * self.offset_average

    def reversal_gap(self, swap_rate: np.ndarray) -> np.ndarray:
        """``L(S^rev) - L(S*)`` at rate ``π``; ``ValueError`` outside ``[0, 1]``."""
        rate = checked_rate(swap_rate)
        return rate * self.matched_reversal + (1 - rate) * self.offset_reversal


def expected_logistic_loss(mean: np.ndarray, sd: np.ndarray, nodes: int = 64) -> np.ndarray:
    """``E ℓ(X)`` for ``X ~ N(mean, sd²)`` by Gauss-Hermite quadrature; error below ``1e-7`` for ``sd`` up to 3."""
    points, weights = hermegauss(nodes)
    values = logistic_loss(np.asarray(mean)[..., None] + np.asarray(sd)[..., None] * points)
    return values @ (weights / sqrt(2 * pi))


def all_scenes(n_objects: int, n_attributes: int) -> np.ndarray:
    """Every two-object scene once, ``(C(M, 2) K (K - 1), 4)``."""
    objects, attributes = combinations(range(n_objects), 2), list(permutations(range(n_attributes), 2))
    return np.array([(*o, *a) for o in objects for a in attributes])


def _mean_losses(mean: np.ndarray, sd: np.ndarray, nodes: int) -> np.ndarray:
    """Expected losses ``(4,)`` of normal contrasts ``(n, 4)``, averaged over ``n``, a piece at a time."""
    pieces = range(0, len(mean), 1 << 14)
    total = sum(
        expected_logistic_loss(mean[i : i + (1 << 14)], sd[i : i + (1 << 14)], nodes).sum(axis=0) for i in pieces
    )
    return total / len(mean)


def _constants(losses: np.ndarray, mean_margin: float) -> Constants:
    matched, unmatched, blind, reversed_ = losses.tolist()
    return Constants(log(2) - matched, mean_margin, blind - unmatched, reversed_ - unmatched)


def closed_forms(
    codes: SignCodes, noise: float, rng: np.random.Generator | None = None, pairs: int = 2000, nodes: int = 32
) -> Constants:
    """The constants of one code: each contrast of a pair of scenes is normal, so its loss is a quadrature.

    ``S(I, c) = <t(s) + noise · g, t(c)>`` with ``g ~ N(0, I)``, so ``M* ~ N(D/2, noise² D)`` for
    ``D = ||t(c) - t(σc)||²``.  Averages over every pair of scenes, or over ``pairs`` independent ones drawn by ``rng``
    (for large vocabularies); ``E M*`` is exact in both.  Raises ``ValueError`` for negative noise.
    """
    noise, sizes = checked_noise(noise), (len(codes.objects), len(codes.attributes))
    if rng is None:
        every = all_scenes(*sizes)
        scenes, others = np.repeat(every, len(every), axis=0), np.tile(every, (len(every), 1))
    else:
        scenes, others = (draw_scenes(pairs, *sizes, rng) for _ in range(2))
    gram = pair_gram(codes, scenes, others, codes.atom_gram())
    mean, variance = gram[:, 0] @ CONTRASTS.T, np.einsum("di,nij,dj->nd", CONTRASTS, gram, CONTRASTS, optimize=True)
    losses = _mean_losses(mean, noise * np.sqrt(np.maximum(variance, 0)), nodes)
    return _constants(losses, codes.mean_margin())


def limit_constants(noise: float, nodes: int = 64) -> Constants:
    """The constants for orthonormal atoms and scenes that share no atom: the limit of large ``N``, ``M`` and ``K``.

    There ``M*`` and the unmatched contrast are ``N(2, 4 noise²)``, the blind one ``N(1, 2 noise²)`` and the reversed
    one ``N(0, 4 noise²)``.  Raises ``ValueError`` for negative noise.
    """
    noise = checked_noise(noise)
    return _constants(_mean_losses(np.array([[2.0, 2, 1, 0]]), noise * np.sqrt([[4.0, 4, 2, 4]]), nodes), 2.0)


def constants_over_codes(
    noise: float, dim: int, vocabulary: int, draws: int, rng: np.random.Generator, pairs: int = 2000
) -> np.ndarray:
    """``(draws, 4)``: the constants, in the order of ``Constants``, of as many independent codes with ``M = K``."""
    found = []
    for _ in range(draws):
        codes = SignCodes.draw(vocabulary, vocabulary, dim, rng)
        found.append(list(vars(closed_forms(codes, noise, rng, pairs, nodes=16)).values()))
    return np.array(found)


def code_draw_rows(
    noise: float,
    sizes: Sequence[tuple[int, int]],
    values: Mapping[str, float],
    draws: int,
    rng: np.random.Generator,
) -> list[dict[str, float]]:
    """Where single ``values`` (by field of ``Constants``) lie among ``draws`` codes of each size ``(N, M = K)``.

    Rows ``noise, N, words, constant, mean, sd, paper, scores``; a score is ``(value - mean) / sd``.  Raises
    ``ValueError`` for fewer than two draws.
    """
    if draws < 2:
        raise ValueError(f"a spread needs at least two draws, got {draws}")
    rows = []
    for dim, vocabulary in sizes:
        found = constants_over_codes(noise, dim, vocabulary, draws, rng)
        for name, column in zip(Constants.__dataclass_fields__, found.T, strict=True):
            if name in values:
                mean, sd = float(column.mean()), float(column.std(ddof=1))
                row = {
                    "noise": f"{noise}",
                    "N": dim,
                    "words": vocabulary,
                    "constant": name.replace("_", ", "),
                    "mean": mean,
                    "sd": sd,
                }
                rows.append(row | {"paper": values[name], "scores": (values[name] - mean) / sd})
    return rows
