"""Radon: what a low dimension forbids, what it allows, and the margin it costs.

Points are rows ``(n, dim)`` float64.  A scene's image vector acts on them as a half-space; a *gap* is the lowest score
of a present object less the highest score of an absent one, in units of the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt

import numpy as np
from scipy.optimize import lsq_linear, nnls

FORMAT_RESOLUTION = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Distance between neighbouring numbers of a format just below 1, where scores of good matches lie."""


@dataclass(frozen=True)
class RadonPartition:
    """Two disjoint sets of rows whose hulls share a point: convex ``weights`` on each, ``point``, ``residual``.

    ``residual`` is the distance between the two convex combinations, computed from the points as given.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    weights: np.ndarray
    point: np.ndarray
    residual: float


def checked_points(points: np.ndarray) -> np.ndarray:
    """``points`` as a finite float64 matrix with at least one row and column; ``ValueError`` otherwise."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"points are the rows of a matrix (n, dim), got shape {points.shape}")
    if not np.all(np.isfinite(points)):
        raise ValueError("points must be finite numbers")
    return points


def lifted(points: np.ndarray) -> np.ndarray:
    """``[Pᵀ; 1]``, ``(..., dim + 1, n)``: its kernel holds the affine dependences of the rows of ``P``."""
    columns = np.swapaxes(points, -1, -2)
    return np.concatenate([columns, np.ones_like(columns[..., :1, :])], axis=-2)


def radon_partition(points: np.ndarray, tolerance: float = 1e-12) -> RadonPartition:
    """A Radon partition of the rows: the signs of a vector in the kernel of the lifted matrix (Radon's theorem).

    Any kernel vector serves, so repeated points and kernels of more than one dimension are no exception.  Rows of
    weight 0 are on neither side.  Raises ``ValueError`` when the rows are affinely independent, which ``dim + 2`` never
    are.
    """
    points = checked_points(points)
    n, dim = points.shape
    _, sizes, kernel = np.linalg.svd(lifted(points))
    if n < dim + 2 and sizes[-1] > tolerance * sizes[0]:
        raise ValueError(f"{n} affinely independent points in dimension {dim} have no Radon partition: give {dim + 2}")
    signed = np.where(np.abs(kernel[-1]) > tolerance, kernel[-1], 0.0)
    sides = np.maximum(signed, 0), np.maximum(-signed, 0)
    left, right = (side / side.sum() for side in sides)
    if (right > 0).sum() < (left > 0).sum():
        left, right = right, left
    p, q = left @ points, right @ points
    members = (tuple(np.flatnonzero(side).tolist()) for side in (left, right))
    return RadonPartition(*members, left + right, (p + q) / 2, float(np.linalg.norm(p - q)))


def largest_scene(dim: int) -> int:
    """``floor(N / 2)``: the largest ``k`` for which ``(K_1 .. K_k)`` can hold of ``dim + 2`` or more objects."""
    if dim < 1:
        raise ValueError(f"a dimension is at least 1, got {dim}")
    return dim // 2


def equal_angles(n_points: int) -> np.ndarray:
    """``n_points`` equally spaced angles, radians."""
    return 2 * np.pi * np.arange(n_points) / n_points


def moment_curve(n_points: int, dim: int, angles: np.ndarray | None = None) -> np.ndarray:
    """Points of the trigonometric moment curve on the unit sphere, ``(n_points, dim)``; equally spaced by default.

    ``t(θ) = (cos jθ, sin jθ)_{j = 1 .. N/2} / sqrt(N/2)``.  Any of its ``k <= N/2`` points are cut off from the others
    by a half-space, so ``(K_1 .. K_{N/2})`` hold.  Raises ``ValueError`` for an odd or non-positive ``dim`` and for
    angles that are not ``n_points`` distinct points of the circle.
    """
    if dim < 2 or dim % 2:
        raise ValueError(f"the trigonometric moment curve lives in even dimensions 2, 4, ..., got {dim}")
    if n_points < 1:
        raise ValueError(f"give at least one point, got {n_points}")
    angles = equal_angles(n_points) if angles is None else np.asarray(angles, dtype=np.float64)
    if angles.shape != (n_points,) or len(np.unique(np.mod(angles, 2 * np.pi))) < n_points:
        raise ValueError(f"angles must be {n_points} distinct points of the circle, got {angles}")
    turns = np.outer(angles, np.arange(1, dim // 2 + 1))
    return np.stack([np.cos(turns), np.sin(turns)], axis=-1).reshape(n_points, dim) / sqrt(dim / 2)


def moment_separator(angles: np.ndarray, subset: Sequence[int], dim: int) -> tuple[np.ndarray, float]:
    """``(w, c)`` with ``<w, t(θ)> = c - Π_{i in subset} (1 - cos(θ - θ_i))`` on the moment curve, ``w`` of shape
    ``(dim,)``.

    So ``<w, t>`` equals ``c`` on the subset and is smaller elsewhere.  The product is a trigonometric polynomial of
    degree ``k``; ``c`` is its constant term.  Raises ``ValueError`` when ``k > dim / 2``, where ``w`` would need more
    coordinates.
    """
    if 2 * len(subset) > dim:
        raise ValueError(f"a product of {len(subset)} factors has degree {len(subset)}, more than dim/2 = {dim / 2:g}")
    series = np.ones(1, dtype=complex)  # coefficients of e^{ijθ}, j = -k .. k
    for i in subset:
        turn = np.exp(1j * angles[i])
        series = np.convolve(series, [-turn / 2, 1, -np.conj(turn) / 2])
    k = len(subset)
    cosines, sines = 2 * series[k + 1 :].real, -2 * series[k + 1 :].imag
    w = np.zeros((dim // 2, 2))
    w[:k] = -sqrt(dim / 2) * np.stack([cosines, sines], axis=-1)
    return w.ravel(), float(series[k].real)


def regular_simplex(n_points: int) -> np.ndarray:
    """The corners of a regular simplex on the unit sphere, ``(n_points, n_points - 1)``; ``ValueError`` below two."""
    if n_points < 2:
        raise ValueError(f"a simplex on a sphere has at least 2 corners, got {n_points}")
    corners = np.eye(n_points) - 1 / n_points
    corners = corners @ np.linalg.svd(corners)[2][:-1].T
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def split_gap(scores: np.ndarray, subset: Sequence[int]) -> float:
    """Lowest score inside ``subset`` less the highest outside; positive when the scores single the subset out."""
    inside = np.isin(np.arange(len(scores)), subset)
    return float(scores[inside].min() - scores[~inside].max())


def unit_gap(points: np.ndarray, subset: Sequence[int]) -> float:
    """The largest gap that a *unit* image vector can open between ``subset`` and the rest; 0 when none opens one.

    It is the distance between the two convex hulls: the shortest vector among convex combinations of the differences,
    found by non-negative least squares, and measured again from the direction found.
    """
    points = checked_points(points)
    inside = np.isin(np.arange(len(points)), subset)
    differences = (points[inside][:, None] - points[~inside]).reshape(-1, points.shape[1])
    direction = differences.T @ convex_weights(differences)
    length = np.linalg.norm(direction)
    return max(float((differences @ direction).min() / length), 0.0) if length > 0 else 0.0


def convex_weights(vectors: np.ndarray) -> np.ndarray:
    """Weights ``(n,)`` of the shortest convex combination of the rows of ``vectors``.

    Minimising ``||V^T y||² + (1 - Σ y)²`` over ``y >= 0`` gives a multiple of it, since for a fixed sum the first term
    alone decides.  The fast solver (NNLS) sometimes stops early on repeated rows, so its answer is checked: no row may
    lie below the hyperplane through the shortest combination.  A slower one (BVLS) takes over when one does.
    """
    system, target = lifted(vectors), np.append(np.zeros(vectors.shape[1]), 1.0)
    y, _ = nnls(system, target)
    shortest = y @ vectors / y.sum()
    if np.min(vectors @ shortest) < shortest @ shortest - 1e-9 * np.abs(vectors).max() ** 2:
        y = lsq_linear(system, target, (0, np.inf), method="bvls").x
        y = np.maximum(y, 0.0)  # it returns its bounds up to rounding
    return y / y.sum()


def worst_unit_gap(n_points: int, dim: int, k: int) -> float:
    """The smallest ``unit_gap`` over all ``k``-scenes of equally spaced points of the moment curve.

    The rotations of the curve are isometries, so scenes that hold point 0 are enough.
    """
    points = moment_curve(n_points, dim)
    if not 1 <= k < n_points:
        raise ValueError(f"a scene holds between 1 and {n_points - 1} of the {n_points} objects, got {k}")
    return min(unit_gap(points, (0, *rest)) for rest in combinations(range(1, n_points), k - 1))


def cover_count(n_points: int, dim: int) -> int:
    """``2 Σ_{i <= N} C(M - 1, i)``: subsets of ``M`` points in general position that a half-space cuts off (Cover)."""
    if n_points < 1 or dim < 0:
        raise ValueError(f"give at least one point and a dimension of at least 0, got {n_points} and {dim}")
    return 2 * sum(comb(n_points - 1, i) for i in range(dim + 1))


def coherence(codes: np.ndarray) -> float:
    """The largest absolute inner product of two different rows of unit codes ``(n, dim)``."""
    products = np.abs(codes @ codes.T)
    np.fill_diagonal(products, 0)
    return float(products.max())


def coherent_gap(mu: float, k: int) -> float:
    """``(1 - (2k - 1) μ) / sqrt(k (1 + (k - 1) μ))``: a gap that the normalised sum of ``k`` codes opens."""
    return (1 - (2 * k - 1) * mu) / sqrt(k * (1 + (k - 1) * mu))


def sufficient_dim(n_objects: int, k: int) -> int:
    """``ceil(64 k² log M)``: here some sign codes have coherence ``1/(4k)``, so a gap of ``1/sqrt(5k)``."""
    if n_objects < 2 or k < 1:
        raise ValueError(f"give at least 2 objects and scenes of at least 1, got {n_objects} and {k}")
    return int(np.ceil(64 * k**2 * np.log(n_objects)))


def half_shattering(shown: np.ndarray, affine: bool = True) -> list[tuple[int, int]] | None:
    """For every split of the objects in two, an image that shows exactly one part; ``None`` when a split has none.

    ``shown`` is ``(n_images, n_objects)`` bool; a part is a bit mask over the objects, and the answer pairs it with the
    row of an image.  With ``affine`` only splits into two non-empty parts count; without it, nothing against all
    counts.
    """
    n = shown.shape[1]
    rows = {int(code): row for row, code in enumerate(shown @ (1 << np.arange(n)))}
    full, found = (1 << n) - 1, []
    for part in range(int(affine), 1 << (n - 1)):
        side = part if part in rows else full ^ part
        if side not in rows:
            return None
        found.append((side, rows[side]))
    return found
