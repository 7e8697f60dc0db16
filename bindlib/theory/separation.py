"""Which subsets of points a half-space cuts off: one linear programme a subset, or all subsets at once by circuits.

A verdict is ``SEPARABLE`` with a half-space and its margin, ``INSEPARABLE`` with convex weights whose combinations
meet, or ``UNKNOWN``.  Both certificates are checked again from the points as given; the second in exact arithmetic or
with signs that rounding cannot change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from scipy.optimize import linprog

from bindlib.theory.radon import checked_points, lifted

SEPARABLE, INSEPARABLE, UNKNOWN = "separable", "inseparable", "unknown"
TOLERANCE = 1e-9  # smallest margin, relative to the size of the configuration, that float64 is trusted with
MAX_CIRCUITS = 2_000_000


@dataclass(frozen=True)
class Separation:
    """What is known of one subset.

    ``margin`` is half the width of the empty slab around the hyperplane ``<normal, x> = threshold``, with
    ``|normal|_inf <= 1``, in the units of the points; 0 unless separable.  ``weights`` ``(n,)`` are convex on the
    subset and on the rest, and ``residual`` is the distance between the two combinations; ``exact`` says that the
    combinations with these supports meet in rational arithmetic.
    """

    status: str
    margin: float
    normal: np.ndarray
    threshold: float
    weights: np.ndarray | None = None
    residual: float = np.inf
    exact: bool = False


def separable(points: np.ndarray, subset: Sequence[int], tolerance: float = TOLERANCE) -> Separation:
    """Whether a half-space holds exactly the rows ``subset`` of ``points``.

    The linear programme of largest margin over ``|w|_inf <= 1`` (HiGHS) proposes a half-space, or by its dual two
    convex combinations that meet; either is checked from the points before it is believed.  The empty and the full
    subset are separable with infinite margin.  Raises ``ValueError`` for points that are no finite matrix and for a
    subset with repeated indices or indices out of range.
    """
    points = checked_points(points)
    inside = _mask(len(points), subset)
    if inside.all() or not inside.any():
        return Separation(SEPARABLE, np.inf, np.zeros(points.shape[1]), -1.0 if inside.all() else 1.0)
    centre = points.mean(axis=0)
    size = np.abs(points - centre).max() or 1.0
    w, weights = _widest_slab((points - centre) / size, inside)
    scores = (points - centre) @ w
    low, high = float(scores[inside].min()), float(scores[~inside].max())
    margin, threshold = (low - high) / 2, (low + high) / 2 + float(centre @ w)
    if margin > tolerance * size:
        return Separation(SEPARABLE, margin, w, threshold)
    residual = float(np.linalg.norm((weights * np.where(inside, 1, -1)) @ points))
    exact = _hulls_meet(points, inside, weights)
    return Separation(INSEPARABLE if exact else UNKNOWN, 0.0, w, threshold, weights, residual, exact)


def _mask(n: int, subset: Sequence[int]) -> np.ndarray:
    members = np.asarray(subset, dtype=int).ravel()
    if len(members) > n or np.any((members < 0) | (members >= n)) or len(np.unique(members)) < len(members):
        raise ValueError(f"a subset names distinct rows out of 0..{n - 1}, got {list(subset)}")
    return np.isin(np.arange(n), members)


def _widest_slab(points: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``max μ`` with ``<w, x> >= θ + μ`` inside and ``<= θ - μ`` outside: ``w``, and the dual weights of the rows."""
    n, dim = points.shape
    sign = np.where(inside, -1.0, 1.0)[:, None]
    rows = np.hstack([sign * points, -sign, np.ones((n, 1))])  # unknowns w, θ, μ
    cost = np.zeros(dim + 2)
    cost[-1] = -1
    bounds = [(-1, 1)] * dim + [(None, None), (0, None)]
    solution = linprog(cost, A_ub=rows, b_ub=np.zeros(n), bounds=bounds, method="highs")
    if solution.x is None:  # 0 is feasible and the margin is bounded, so this is a failure of the solver
        return np.zeros(dim), np.where(inside, 1 / inside.sum(), 1 / (~inside).sum())
    weights = np.maximum(-solution.ineqlin.marginals, 0)
    for side in (inside, ~inside):
        weights[side] = weights[side] / weights[side].sum() if weights[side].sum() > 0 else 1 / side.sum()
    return solution.x[:dim], weights


def _hulls_meet(points: np.ndarray, inside: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the rows of positive weight have an exact affine dependence with the signs of the sides."""
    support = np.flatnonzero(weights > 1e-9)
    kernel = exact_kernel(lifted(points[support]))
    if kernel is None:
        return False
    signs = [1 if value > 0 else -1 if value < 0 else 0 for value in kernel]
    wanted = [1 if inside[i] else -1 for i in support]
    return signs in (wanted, [-s for s in wanted])


def exact_kernel(matrix: np.ndarray) -> list[Fraction] | None:
    """The kernel in rational arithmetic, when it is a line, as one vector on it; else ``None``.

    Entries are float64, taken as the rationals they are, or fractions.
    """
    rows = [[Fraction(value) for value in row] for row in matrix]
    n, pivots = matrix.shape[1], []
    for column in range(n):
        pivot = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        top = len(pivots)
        rows[top], rows[pivot] = rows[pivot], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for r in range(len(rows)):
            if r != top and rows[r][column]:
                rows[r] = [a - rows[r][column] * b for a, b in zip(rows[r], rows[top], strict=True)]
        pivots.append(column)
    free = [column for column in range(n) if column not in pivots]
    if len(free) != 1:
        return None
    kernel = [Fraction(0)] * n
    kernel[free[0]] = Fraction(1)
    for r, column in enumerate(pivots):
        kernel[column] = -rows[r][free[0]]
    return kernel


@dataclass(frozen=True)
class Circuits:
    """All ``(dim + 2)``-subsets of the points with the dependence of each: its Radon partition.

    ``members`` ``(n, dim + 2)``; ``weights`` alike, signed, unit length; ``sure`` says whose sign rounding cannot
    change.
    """

    members: np.ndarray
    weights: np.ndarray
    sure: np.ndarray


def circuits(points: np.ndarray) -> Circuits:
    """Every circuit by one batched QR factorisation of ``C(n, dim + 2)`` small matrices.

    The last column of ``Q`` spans the kernel of the lifted matrix.  It is off by about the rounding unit over the
    relative distance of the matrix from lower rank, which ``R`` bounds; a sign counts as sure when its entry is a
    thousand times that.  Raises ``ValueError`` when there would be more than two million circuits.
    """
    points = checked_points(points)
    n, dim = points.shape
    if comb(n, dim + 2) > MAX_CIRCUITS:
        raise ValueError(f"{n} points in dimension {dim} have {comb(n, dim + 2):,} circuits, above {MAX_CIRCUITS:,}")
    members = np.array(list(combinations(range(n), dim + 2)), dtype=np.int64).reshape(comb(n, dim + 2), dim + 2)
    centred = points - points.mean(axis=0)
    q, r = np.linalg.qr(lifted(centred / (np.abs(centred).max() or 1.0)).T[members], mode="complete")
    weights, triangle = q[..., -1], r[:, :-1]
    size = np.linalg.norm(triangle, axis=(1, 2))
    regular = np.abs(np.diagonal(triangle, axis1=1, axis2=2)).min(axis=1) > 1e-9 * size
    error = np.full(len(members), np.inf)
    closeness = np.linalg.norm(np.linalg.inv(triangle[regular]), axis=(1, 2))  # at least 1 / least singular value
    error[regular] = 1e3 * dim * np.finfo(float).eps * size[regular] * closeness
    return Circuits(members, weights, np.abs(weights) > error[:, None])


@dataclass(frozen=True)
class SubsetVerdicts:
    """Verdicts on all ``k``-subsets: ``subsets`` ``(n, k)``, ``status`` ``(n,)`` of the three words, ``circuit``
    ``(n,)``.

    ``circuit`` indexes a circuit that forbids the subset, or is -1; ``by_programme`` counts the subsets that degenerate
    circuits left to their linear programme.
    """

    subsets: np.ndarray
    status: np.ndarray
    circuit: np.ndarray
    circuits: Circuits
    by_programme: int

    @property
    def share(self) -> float:
        """The share of subsets that are separable."""
        return float(np.mean(self.status == SEPARABLE))


def all_subsets(points: np.ndarray, k: int) -> SubsetVerdicts:
    """Every ``k``-subset of the rows decided at once (ours), with the certificate of each that fails.

    A subset fails to separate exactly when a circuit has one part inside it and the other outside.  With sure signs
    that is bit masks; subsets that only an unsure circuit may forbid go to ``separable``.  Raises ``ValueError`` unless
    ``0 <= k <= n <= 63``, and when there are too many circuits.
    """
    points = checked_points(points)
    n, dim = points.shape
    if not 0 <= k <= n <= 63:
        raise ValueError(f"k-subsets of n points need 0 <= k <= n <= 63, got k = {k} and n = {n}")
    subsets = np.array(list(combinations(range(n), k)), dtype=np.int64).reshape(comb(n, k), k)
    found = circuits(points)
    inside, outside, origin = _parts(found, k, n)
    certain = found.sure.all(axis=1)[origin]
    masks = np.left_shift(np.int64(1), subsets).sum(axis=1)
    circuit, doubtful = np.full(len(subsets), -1), np.zeros(len(subsets), dtype=bool)
    for i, mask in enumerate(masks):
        forbids = np.flatnonzero(((inside & ~mask) | (outside & mask)) == 0)
        proofs = forbids[certain[forbids]]
        if len(proofs):
            circuit[i] = origin[proofs[0]]
        else:
            doubtful[i] = len(forbids) > 0
    status = np.where(circuit >= 0, INSEPARABLE, SEPARABLE)
    if n < dim + 2 and not _affinely_independent(points):
        doubtful[:] = True
    for i in np.flatnonzero(doubtful):
        status[i] = separable(points, subsets[i]).status
    return SubsetVerdicts(subsets, status, circuit, found, int(doubtful.sum()))


def _parts(found: Circuits, k: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ways round, the parts of each circuit as bit masks and where they come from, if they fit ``k`` and the rest.

    A sign that is not sure is in neither part, so that a circuit with one forbids at least what it may forbid.
    """
    bits = np.left_shift(np.int64(1), found.members)
    plus, minus = (np.where(found.sure & (sign * found.weights > 0), bits, 0).sum(axis=1) for sign in (1, -1))
    inside, outside = np.concatenate([plus, minus]), np.concatenate([minus, plus])
    fits = (np.bitwise_count(inside) <= k) & (np.bitwise_count(outside) <= n - k)
    return inside[fits], outside[fits], np.tile(np.arange(len(bits)), 2)[fits]


def _affinely_independent(points: np.ndarray) -> bool:
    centred = points - points.mean(axis=0)
    sizes = np.linalg.svd(lifted(centred / (np.abs(centred).max() or 1.0)), compute_uv=False)
    return bool(sizes[-1] > 1e-9 * sizes[0])


def subset_by_subset(points: np.ndarray, k: int) -> np.ndarray:
    """The verdicts of ``all_subsets`` the slow way, one linear programme a subset: ``(n,)`` of the three words."""
    return np.array([separable(points, subset).status for subset in combinations(range(len(points)), k)])


def worst_margin(points: np.ndarray, k: int) -> float:
    """The smallest margin of a ``k``-subset over ``|w|_inf <= 1``; 0 when one is not known to be separable."""
    return min(separable(points, subset).margin for subset in combinations(range(len(points)), k))
