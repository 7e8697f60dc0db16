"""The claims of the chapter on Radon's theorem: what a dimension forbids, what it allows, and what it costs."""

from itertools import combinations
from math import inf, sqrt

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory import radon, separation
from bindlib.theory.bag_of_words import unit
from bindlib.theory.separation import INSEPARABLE, SEPARABLE

POSITIVE = 1e-9  # what a gap must exceed to count as positive

EVERY_SIZE = "the demand is made for every size up to k"
ENOUGH_OBJECTS = "there are N + 2 objects or more"
RADON = Theorem(
    "thm-radon",
    "If M >= N + 2 and (K_1), ..., (K_k) hold of M object vectors in R^N, then k <= floor(N/2).",
    (ENOUGH_OBJECTS, EVERY_SIZE),
    tolerance=1e-9,
)
EVERY_SPLIT = "every split is asked of some image"
HALF_SHATTERED = Theorem(
    "prop-half-shattered",
    "If of every split of N + 2 objects in two non-empty parts one part is what some image shows, no object vectors in "
    "R^N meet the content demands; if of every split of N + 1 objects, nothing against all included, none meet the "
    "negation demands.",
    (EVERY_SPLIT,),
    tolerance=1e-9,
)
GENERAL = "the points are in general position"
CIRCUITS = Theorem(
    "prop-circuits",
    "Of points in general position in R^N a subset fails to separate from the rest if and only if some N + 2 of them "
    "have one part of their Radon partition inside it and the other outside.",
    (GENERAL,),
    tolerance=0.0,
)
COVER = Theorem(
    "prop-cover",
    "Of M points in general position in R^N half-spaces cut off exactly 2 Σ_{i<=N} C(M-1, i) subsets.",
    (GENERAL,),
    tolerance=0.0,
)
HALF = "k <= N/2"
MOMENT = Theorem(
    "thm-moment-curve-tight",
    "Any M points of the trigonometric moment curve in even dimension N satisfy (K_1), ..., (K_{N/2}): the polynomial "
    "Π_i (1 - cos(θ - θ_i)) separates {θ_i}, i <= k.",
    (HALF, "the points are distinct"),
    tolerance=1e-10,
)
COHERENT = "inner products of different codes are at most μ in absolute value"
CODES = Theorem(
    "prop-coherent-codes",
    "The normalised sum of k unit codes opens a gap of at least (1 - (2k-1) μ) / sqrt(k (1 + (k-1) μ)) between them "
    "and all others; sign codes with μ = 1/(4k), so a gap of 1/sqrt(5k), exist in 64 k² log M dimensions.",
    (COHERENT, "(2k-1) μ < 1"),
    tolerance=1e-12,
)


def _sphere(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    return unit(rng.standard_normal((n, dim)))


def _kept_apart(points: np.ndarray, subset: tuple[int, ...]) -> float:
    """0 for a subset that is proved inseparable, infinite for one that separates or of which nothing is known."""
    found = separation.separable(points, subset)
    return found.margin if found.status == INSEPARABLE else inf


def _partition_error(points: np.ndarray, part: radon.RadonPartition) -> float:
    """How far two disjoint sets with convex weights are from a common point, from the points as given."""
    left, right = (np.isin(np.arange(len(points)), side) for side in (part.left, part.right))
    sums = [part.weights[side].sum() - 1 for side in (left, right)]
    apart = np.linalg.norm(np.where(left, part.weights, -part.weights) @ points)
    return float(np.max([*np.abs(sums), -part.weights.min(), np.sum(left & right), apart, part.residual]))


def certify_radon(seed: int = 0, instances: int = 400) -> Certificate:
    """Points at random, on the moment curve or clustered: the smaller Radon side is small and inseparable."""

    def case(rng):
        dim = int(rng.integers(1, 9))
        n = dim + 2 + int(rng.integers(0, 4))
        points, kind = _sphere(n, dim, rng), rng.integers(3)
        if kind == 1 and dim % 2 == 0:
            points = radon.moment_curve(n, dim)
        elif kind == 2:
            points = unit(points[:1] + 0.1 * points)
        part = radon.radon_partition(points[: dim + 2])
        excess = len(part.left) - (radon.largest_scene(dim) + 1)
        slack = np.max([_partition_error(points[: dim + 2], part), _kept_apart(points, part.left), excess])
        return slack, {"dim": dim, "objects": n, "smaller side": len(part.left)}

    return RADON.certificate(seed, instances, *worst_case(case, instances, seed))


def pierced_simplex(dim: int = 4) -> np.ndarray:
    """``dim + 2`` points on the sphere: two poles, and a regular simplex around the equator that their axis pierces."""
    equator = np.pad(radon.regular_simplex(dim), ((0, 0), (1, 0)))
    return np.vstack([np.eye(dim)[:1], -np.eye(dim)[:1], equator])


def mutate_radon(seed: int = 0) -> Certificate:
    """One size alone, with exactly ``N + 2`` objects: poles and an equatorial simplex in R^4 satisfy ``(K_3)``."""
    points = pierced_simplex(4)
    worst = separation.worst_margin(points, 3)
    poles = separation.separable(points, (0, 1))
    slack = 3.0 - radon.largest_scene(4) if worst > POSITIVE else 0.0
    witness = {
        "dim": 4,
        "objects": 6,
        "k": 3,
        "worst margin of 3-scenes": worst,
        "the 2-scene of the poles": poles.status,
    }
    return RADON.certificate(seed, 1, slack, witness, dropped=EVERY_SIZE)


def _asked(n: int, affine: bool, rng: np.random.Generator) -> np.ndarray:
    """A family that half-shatters ``n`` objects: of every split a random part, as rows ``(n_images, n)`` bool."""
    full = (1 << n) - 1
    parts = [part if rng.random() < 0.5 else full ^ part for part in range(int(affine), 1 << (n - 1))]
    return np.array([[part >> i & 1 for i in range(n)] for part in parts], dtype=bool)


def certify_half_shattered(seed: int = 0, instances: int = 300) -> Certificate:
    """Random half-shattering families and random vectors: some image of the family cannot be served.

    Without one of its images, taken at random, a family must no longer count as half-shattering.
    """

    def case(rng):
        dim, affine = int(rng.integers(1, 7)), bool(rng.integers(2))
        n = dim + 1 + affine
        shown = _asked(n, affine, rng)
        found = radon.half_shattering(shown, affine)
        wrong = found is None or any(side != int(shown[row] @ (1 << np.arange(n))) for side, row in found)
        fewer = np.delete(shown, rng.integers(len(shown)), axis=0)
        wrong |= radon.half_shattering(fewer, affine) is not None
        slack = np.max([_worst_served(_sphere(n, dim, rng), shown, affine), wrong])
        return slack, {"dim": dim, "objects": n, "images": len(shown)}

    return HALF_SHATTERED.certificate(seed, instances, *worst_case(case, instances, seed))


def _worst_served(points: np.ndarray, shown: np.ndarray, affine: bool) -> float:
    """The margin of the image that the vectors serve worst, which shows a part of their (linear) dependence, or the
    error of that dependence.

    Without ``affine`` the hyperplane must pass through 0, which it does when the points and their negatives are
    separated together.
    """
    n = len(points)
    system = radon.lifted(points) if affine else points.T
    kernel = np.linalg.svd(system)[2][-1]
    signs, error = kernel > 0, float(np.linalg.norm(system @ kernel))
    row = next(row for row in shown if np.array_equal(row, signs) or np.array_equal(row, ~signs))
    if affine:
        return float(np.max([_kept_apart(points, tuple(np.flatnonzero(row))), error]))
    both = np.vstack([np.where(row[:, None], points, -points), np.where(row[:, None], -points, points)])
    return float(np.max([_kept_apart(both, tuple(range(n))), error]))


def mutate_half_shattered(seed: int = 0) -> Certificate:
    """One split is not asked: four points on the circle serve every scene of one or two except the two diagonals."""
    points = radon.moment_curve(4, 2)
    asked = [s for k in (1, 2) for s in combinations(range(4), k) if s not in ((0, 2), (1, 3))]
    worst = min(separation.separable(points, s).margin for s in asked)
    witness = {"dim": 2, "objects": 4, "scenes": len(asked), "worst margin": worst}
    return HALF_SHATTERED.certificate(seed, 1, worst, witness, dropped=EVERY_SPLIT)


def certify_circuits(seed: int = 0, instances: int = 40) -> Certificate:
    """Random point sets, all their ``k``-subsets: verdicts by circuits against one linear programme a subset.

    ``instances`` counts the sets; the certificate counts the subsets.
    """
    checked = []

    def case(rng):
        dim = int(rng.integers(1, 5))
        n, k = dim + int(rng.integers(2, 5)), int(rng.integers(1, 4))
        points = rng.standard_normal((n, dim))
        fast, slow = separation.all_subsets(points, k), separation.subset_by_subset(points, k)
        wrong = int(np.sum(fast.status != slow)) + fast.by_programme
        checked.append(len(slow))
        return wrong, {"dim": dim, "points": n, "k": k, "subsets": len(slow), "disagree": wrong}

    slack, witness = worst_case(case, instances, seed)
    return CIRCUITS.certificate(seed, sum(checked), slack, witness)


def mutate_circuits(seed: int = 0) -> Certificate:
    """Four points on a line in the plane, and one kernel vector: it forbids some subsets and misses others.

    Any kernel vector would miss some.  The one that a factorisation returns differs from machine to machine.
    """
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    weights = np.array([1.0, -2.0, 1.0, 0.0])
    plus, minus = set(np.flatnonzero(weights > 0).tolist()), set(np.flatnonzero(weights < 0).tolist())
    missed = []
    for subset in (s for k in (1, 2) for s in combinations(range(4), k)):
        inside, outside = set(subset), set(range(4)) - set(subset)
        forbidden = (plus <= inside and minus <= outside) or (minus <= inside and plus <= outside)
        if not forbidden and separation.separable(points, subset).status == INSEPARABLE:
            missed.append(list(subset))
    return CIRCUITS.certificate(
        seed, 1, float(len(missed)), {"points": points.tolist(), "missed": missed}, dropped=GENERAL
    )


def count_separable(points: np.ndarray) -> int:
    """How many subsets of the rows, of all sizes, a half-space cuts off."""
    sizes = range(len(points) + 1)
    return sum(int(np.sum(separation.all_subsets(points, k).status == SEPARABLE)) for k in sizes)


def certify_cover(seed: int = 0, instances: int = 120) -> Certificate:
    """Random points and points of the moment curve, up to 9 in dimension 1 to 4: all subsets counted by circuits."""

    def case(rng):
        dim = int(rng.integers(1, 5))
        n = int(rng.integers(1, 10))
        curve = rng.integers(4) == 0 and dim % 2 == 0
        points = radon.moment_curve(n, dim) if curve else rng.standard_normal((n, dim))
        count = count_separable(points)
        return abs(count - radon.cover_count(n, dim)), {"dim": dim, "points": n, "count": count}

    return COVER.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_cover(seed: int = 0) -> Certificate:
    """Four points on a line in the plane: as many subsets as in one dimension, 8, and not the 14 of the formula."""
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    count, formula = count_separable(points), radon.cover_count(4, 2)
    witness = {"points": points.tolist(), "count": count, "formula": formula}
    return COVER.certificate(seed, 1, float(abs(count - formula)), witness, dropped=GENERAL)


def certify_moment(seed: int = 0, instances: int = 1000) -> Certificate:
    """Jittered angles, ``N`` 2 to 8, up to 16 points, a random scene of up to ``N/2``: polynomial and gap."""

    def case(rng):
        dim, n = 2 * int(rng.integers(1, 5)), int(rng.integers(5, 17))
        angles = (radon.equal_angles(n) + rng.uniform(0, 2 * np.pi / n * 0.6, n)) % (2 * np.pi)
        subset = rng.choice(n, int(rng.integers(1, dim // 2 + 1)), replace=False)
        w, constant = radon.moment_separator(angles, subset, dim)
        scores = radon.moment_curve(n, dim, angles) @ w
        polynomial = np.prod(1 - np.cos(angles[:, None] - angles[subset]), axis=1)
        missed = np.abs(scores - constant + polynomial).max()
        return np.max([missed, POSITIVE - radon.split_gap(scores, subset)]), {"dim": dim, "points": n, "k": len(subset)}

    return MOMENT.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_moment(seed: int = 0) -> Certificate:
    """One object more than ``N/2``: no line cuts off two of five points on the circle with a third between them."""
    points = radon.moment_curve(5, 2)
    found = separation.separable(points, (0, 2))
    part = radon.radon_partition(points[[0, 1, 2, 3]])
    sides = {tuple(part.left), tuple(part.right)} - {(0, 2)}
    witness = {"dim": 2, "points": 5, "scene": [0, 2], "verdict": found.status,
               "crossed by": [list(side) for side in sides]}  # fmt: skip
    return MOMENT.certificate(seed, 1, float(found.status == INSEPARABLE), witness, dropped=HALF)


def certify_codes(seed: int = 0, instances: int = 1000) -> Certificate:
    """Random sign codes, the gap of a random scene against the bound; the codes promised, found by drawing; equality.

    The bound is attained by one code against another at cosine ``μ``, and by orthonormal codes.
    """

    def case(rng):
        promised, bounded = rng.integers(100) == 0, False
        while not bounded:
            k = int(rng.integers(1, 6))
            n = k + int(rng.integers(1, 40))
            dim = radon.sufficient_dim(n, k) if promised else int(2 ** rng.integers(4, 10))
            codes, mu = _sign_codes(n, dim, 1 / (4 * k) if promised else 1.0, rng)
            bounded = promised or not (2 * k - 1) * mu >= 1  # NaN is not drawn again but found
        scene = rng.choice(n, k, replace=False)
        gap = radon.split_gap(codes @ unit(codes[scene].sum(axis=0)), scene)
        missed_promise = [mu - 1 / (4 * k), 1 / sqrt(5 * k) - gap] if promised else []
        slack = np.max([radon.coherent_gap(mu, k) - gap, *missed_promise, *_missed_gaps(k, rng)])
        return slack, {"dim": dim, "objects": n, "k": k, "coherence": mu}

    return CODES.certificate(seed, instances, *worst_case(case, instances, seed))


def _missed_gaps(k: int, rng: np.random.Generator) -> list[float]:
    """How far two pairs of codes that attain the bound are from it: one code against another, and orthonormal ones."""
    cosine, orthonormal = rng.uniform(0, 1), np.eye(k + 1)
    pair = np.array([[1.0, 0.0], [cosine, sqrt(1 - cosine**2)]])
    one = radon.split_gap(pair @ pair[0], (0,)) - radon.coherent_gap(radon.coherence(pair), 1)
    many = radon.split_gap(orthonormal @ unit(orthonormal[:k].sum(axis=0)), range(k)) - radon.coherent_gap(0.0, k)
    return [abs(one), abs(many)]


def _sign_codes(n: int, dim: int, mu: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Unit sign codes and their coherence, drawn again until it is at most ``mu``, a hundred times at most."""
    for _ in range(100):
        codes = (2.0 * rng.integers(0, 2, (n, dim), dtype=np.int8) - 1) / sqrt(dim)
        if (found := radon.coherence(codes)) <= mu:
            break
    return codes, found


def mutate_codes(seed: int = 0) -> Certificate:
    """Two of the codes nearly parallel, one in the scene and one not: the promised gap is missed."""
    codes = np.eye(8)
    codes[1] = unit(codes[0] + 0.05 * codes[1])
    gap = radon.split_gap(codes @ unit(codes[0] + codes[2]), (0, 2))
    witness = {"dim": 8, "claimed coherence": 0.0, "coherence": radon.coherence(codes), "gap": gap}
    return CODES.certificate(seed, 1, radon.coherent_gap(0.0, 2) - gap, witness, dropped=COHERENT)


CLAIMS = (
    Claim(RADON, certify_radon, mutate_radon),
    Claim(HALF_SHATTERED, certify_half_shattered, mutate_half_shattered),
    Claim(MOMENT, certify_moment, mutate_moment),
    Claim(CIRCUITS, certify_circuits, mutate_circuits),
    Claim(COVER, certify_cover, mutate_cover),
    Claim(CODES, certify_codes, mutate_codes),
)
