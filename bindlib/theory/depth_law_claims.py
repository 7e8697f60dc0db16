"""What the chapter on the depth law claims, checked: exact law, its finite form, resolvable depth, aliasing."""

from fractions import Fraction
from itertools import combinations, count, product, takewhile
from math import sqrt

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.bag_of_words import unit
from bindlib.theory.depth_law import distinguishable_positions, encode, law, resolvable_depth
from bindlib.theory.factored_codes import orthonormal

ISOMETRIES = "roles are isometries"
ORTHOGONAL_RANGES = "roles of one node have mutually orthogonal ranges"
ORTHOGONAL_LEAVES = "the swapped leaves are orthogonal"
SMALL_COSINES = "the spans of bound siblings, each before and after the edit, have cosines of at most μ"
SHARED = "the same roles serve every level"
CONSTANT_DIVISOR = "sums are divided by the constant sqrt(b)"

STEP = Theorem(
    "lem-pooling-step",
    "If one child of a node goes from p to p' and n, n' are the norms of the two sums, then the margins of child "
    "and node satisfy n n' m = m_child - (n - n')²/2.",
    (ISOMETRIES, "codes of children are unit", "neither sum is 0"),
    tolerance=1e-12,
)
LAW = Theorem(
    "thm-depth-law",
    "A swap of sibling leaves x, y at depth D of a tree of branching b has margin 2 b^-D (1 - <x, y>).",
    (ISOMETRIES, ORTHOGONAL_RANGES),
    tolerance=1e-12,
)
FINITE = Theorem(
    "thm-finite-depth-law",
    "With q = (b-1) μ < 1/2 the margin over 2 b^-D (1 - <x, y>) lies between ((1 - 2q)/(1 - q²))^D and (1+q)/(1-q)^D.",
    (ISOMETRIES, SMALL_COSINES, "(b-1) μ < 1/2", "the swapped leaves differ"),
    tolerance=1e-12,
)
RESOLVABLE = Theorem(
    "cor-resolvable-depth",
    "The margin reaches the floor 10/sqrt(N) at a depth D ≥ 1 if and only if D ≤ floor(log_b(sqrt(N)/5)).",
    (ORTHOGONAL_RANGES, ORTHOGONAL_LEAVES),
    tolerance=0.0,
)
ALIASING = Theorem(
    "prop-role-aliasing",
    "Swapping leaves at positions with equal multisets of roles, or of equal parities if roles are signs, leaves the "
    "pooled sum unchanged; there are C(b+D-1, D) bindings for generic roles, and for generic signs Σ C(b, i) over "
    "i ≤ min(b, D), i ≡ D mod 2.",
    (SHARED, "roles commute", CONSTANT_DIVISOR),
    tolerance=1e-12,
)


def _unit_rows(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    return unit(rng.standard_normal((n, dim)))


def _apply(level: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Roles as matrices ``(b, n_parent, n_child)`` on the children ``(nodes, b, n_child)`` of many nodes."""
    return np.einsum("jpc,mjc->mjp", level, codes)


def _cosine_margin(t: np.ndarray, edited: np.ndarray) -> float:
    return float(np.sum((t - edited) ** 2)) / 2  # 1 - <t, t'> without its cancellation


def _step_slack(roles: np.ndarray, children: np.ndarray, edited: np.ndarray) -> float:
    """Both sides of the lemma for matrices ``(b, n, n)``, unit ``children (b, n)`` and a new first child."""
    totals = [_apply(roles, np.stack([first, *children[1:]])[None])[0].sum(axis=0) for first in (children[0], edited)]
    n, n_edited = map(np.linalg.norm, totals)
    above = n * n_edited * _cosine_margin(*map(unit, totals))
    return abs(above - _cosine_margin(children[0], edited) + (n - n_edited) ** 2 / 2)


def certify_step(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random orthogonal roles, up to 5 children, dimension 2 to 16, edits from tiny to total."""

    def case(rng):
        b, dim = int(rng.integers(2, 6)), int(rng.integers(2, 17))
        roles = np.stack([orthonormal(dim, dim, rng) for _ in range(b)])
        children = _unit_rows(b, dim, rng)
        edited = unit(children[0] + 10 ** rng.uniform(-6, 1) * rng.standard_normal(dim))
        return _step_slack(roles, children, edited), {"branching": b, "dim": dim}

    return STEP.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_step(seed: int = 0) -> Certificate:
    """With roles that double every length."""
    rng = np.random.default_rng(seed)
    roles, children = np.stack([2 * np.eye(8)] * 2), np.eye(8)[:2]
    slack = _step_slack(roles, children, _unit_rows(1, 8, rng)[0])
    return STEP.certificate(seed, 1, slack, {"branching": 2, "role_norm": 2.0}, dropped=ISOMETRIES)


def orthogonal_roles(branching: int, depth: int, leaf_dim: int, rng: np.random.Generator) -> list[np.ndarray]:
    """For each height ``h`` random isometries ``(b, b^h n, b^(h-1) n)`` of orthogonal ranges: one rotation."""
    dims = [leaf_dim * branching**h for h in range(1, depth + 1)]
    return [orthonormal(n, n, rng).reshape(n, branching, n // branching).transpose(1, 0, 2) for n in dims]


def _tree_margin(leaves: np.ndarray, roles: list[np.ndarray], i: int, j: int) -> float:
    edited = leaves.copy()
    edited[[i, j]] = leaves[[j, i]]
    return _cosine_margin(encode(leaves, roles, _apply), encode(edited, roles, _apply))


def certify_law(seed: int = 0, instances: int = 500) -> Certificate:
    """Whole trees over random unit leaves, correlated ones too; any two siblings anywhere in the tree are swapped."""

    def case(rng):
        b, depth = ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2), (5, 1), (5, 2))[rng.integers(10)]
        leaf_dim = int(rng.integers(1, 4))
        leaves = _unit_rows(b**depth, leaf_dim, rng)
        first = b * int(rng.integers(b ** (depth - 1)))
        i, j = first + rng.permutation(b)[:2]
        m = _tree_margin(leaves, orthogonal_roles(b, depth, leaf_dim, rng), i, j)
        slack = abs(m - law(b, depth, float(leaves[i] @ leaves[j])))
        return slack, {"branching": b, "depth": depth, "leaf_dim": leaf_dim, "margin": m}

    return LAW.certificate(seed, instances, *worst_case(case, instances, seed))


def _crossing_roles() -> tuple[np.ndarray, np.ndarray]:
    """``R_1 = 1`` and ``R_2`` that exchanges ``e_2`` and ``e_3``, in three dimensions."""
    return np.eye(3), np.eye(3)[[0, 2, 1]]


def mutate_law(seed: int = 0) -> Certificate:
    """With bound children orthonormal in the original tree and in the edited one, but role ranges not orthogonal.

    ``e_1 + R_2 e_2 = e_1 + e_3`` becomes ``e_2 + R_2 e_1 = e_2 + e_1``: two orthonormal pairs, and ``e_1`` survives.
    """
    m = _tree_margin(np.eye(3)[:2], [np.stack(_crossing_roles())], 0, 1)
    witness = {"branching": 2, "depth": 1, "margin": m, "law": law(2, 1)}
    return LAW.certificate(seed, 1, abs(m - law(2, 1)), witness, dropped=ORTHOGONAL_RANGES)


def _angle_cosine(v: np.ndarray, w: np.ndarray) -> float:
    """Largest cosine between vectors of the two row spaces."""
    bases = [np.linalg.svd(x, full_matrices=False)[2][: np.linalg.matrix_rank(x)] for x in (v, w)]
    return float(np.linalg.norm(bases[0] @ bases[1].T, ord=2))


def finite_bounds(q: float, depth: int) -> tuple[float, float]:
    """The theorem's two bounds on the ratio of margin to law, for ``q = (b - 1) μ < 1/2``."""
    return ((1 - 2 * q) / (1 - q**2)) ** depth, (1 + q) / (1 - q) ** depth


def _climb(b: int, depth: int, dim: int, rng: np.random.Generator) -> tuple[float, float]:
    """The edited path of a tree with sign roles: ratio of its margin to the law, and the cosine ``μ``.

    Nothing but the path's siblings enters the margin, so these are any unit vectors.
    """
    x, y = _unit_rows(2, dim, rng)
    children = np.stack([np.stack([x, y]), np.stack([y, x]), *(np.stack([s, s]) for s in _unit_rows(b - 2, dim, rng))])
    mu = 0.0
    for _ in range(depth):
        bound = rng.choice([-1.0, 1.0], (b, 1, dim)) * children  # (child, before or after, dim)
        mu = np.max([mu, _largest_cosine(bound)])
        code = unit(bound.sum(axis=0))
        children = np.stack([code, *(np.stack([s, s]) for s in _unit_rows(b - 1, dim, rng))])
    return _cosine_margin(*code) / law(b, depth, float(x @ y)), mu


def _leaning_climb(b: int, depth: int, dim: int, rng: np.random.Generator) -> tuple[float, float]:
    """As `_climb`, with bound siblings that all lean towards the path, or all away from it, by one small cosine."""
    lean = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-8, -0.5) / b
    x, y = _unit_rows(2, 2, rng)
    here, there = orthonormal(4, dim, rng).reshape(2, 2, dim)
    there = (there + lean * here) / sqrt(1 + lean**2)  # still orthonormal
    path = [np.stack([x @ here, y @ here]), np.stack([y @ there, x @ there])]
    mu = 0.0
    for _ in range(depth):
        middle = unit(np.sum(path, axis=(0, 1)))
        across = np.linalg.qr(np.vstack([*path, rng.standard_normal((b, dim))]).T)[0].T[-b:][: b - len(path)]
        bound = np.stack([*path, *(np.stack([s, s]) for s in unit(across + lean * middle))])
        mu = np.max([mu, _largest_cosine(bound)])
        code = unit(bound.sum(axis=0))
        path = [code]  # its role at the next level is the identity
    return _cosine_margin(*code) / law(b, depth, float(x @ y)), mu


def _largest_cosine(bound: np.ndarray) -> float:
    return float(np.max([_angle_cosine(*bound[[i, j]]) for i, j in combinations(range(len(bound)), 2)]))


def certify_finite(seed: int = 0, instances: int = 500) -> Certificate:
    """Edited paths of trees of branching 2 to 4, depth 1 to 6, wherever ``(b-1) μ < 1/2``.

    Half with random siblings in dimension 16 to 1,024, half with siblings that lean, by cosines from tiny to large.
    """

    def case(rng):
        q, climb = 1.0, (_climb, _leaning_climb)[rng.integers(2)]
        while q >= 1 / 2:  # not for NaN, which the comparison below finds
            b, depth = int(rng.integers(2, 5)), int(rng.integers(1, 7))
            dim = int(2 ** (rng.integers(4, 11) if climb is _climb else rng.integers(4, 6)))
            ratio, mu = climb(b, depth, dim, rng)
            q = (b - 1) * mu
        low, high = finite_bounds(q, depth)
        slack = np.max([low - ratio, ratio - high])
        return slack, {"branching": b, "depth": depth, "dim": dim, "mu": mu, "ratio": ratio}

    return FINITE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_finite(seed: int = 0) -> Certificate:
    """With cosines required before the edit only: there ``μ = 0``, and the margin is half of the law's."""
    ratio = _tree_margin(np.eye(3)[:2], [np.stack(_crossing_roles())], 0, 1) / law(2, 1)
    return FINITE.certificate(seed, 1, 1 - ratio, {"mu": 0.0, "ratio": ratio, "bound": 1.0}, dropped=SMALL_COSINES)


def _count_resolved(dim: int, branching: int, cosine: Fraction = Fraction(0)) -> int:
    """Depths from 1 whose margin reaches the floor, counted one by one in exact fractions."""
    margins = ((1 - cosine) * Fraction(2, branching**depth) for depth in count(1))
    return sum(1 for _ in takewhile(lambda m: m**2 >= Fraction(100, dim), margins))


def certify_resolvable(seed: int = 0, instances: int = 3000) -> Certificate:
    """Dimensions to 2^40 and branchings to 64, half with a margin on the floor exactly, or next to it."""

    def case(rng):
        b, dim = int(rng.integers(2, 65)), int(2 ** rng.uniform(0, 40))
        if rng.integers(2):
            b = int(rng.integers(2, 9))
            dim = 25 * b ** (2 * int(rng.integers(7))) + int(rng.integers(-1, 2))
        return abs(_count_resolved(dim, b) - resolvable_depth(dim, b)), {"dim": dim, "branching": b}

    return RESOLVABLE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_resolvable(seed: int = 0) -> Certificate:
    """With leaves at 60 degrees, as sibling words may be: one level is lost at N = 1024, b = 2."""
    found = _count_resolved(1024, 2, cosine=Fraction(1, 2))
    witness = {"dim": 1024, "branching": 2, "cosine": 0.5, "depth": found, "formula": resolvable_depth(1024, 2)}
    return RESOLVABLE.certificate(seed, 1, float(resolvable_depth(1024, 2) - found), witness, dropped=ORTHOGONAL_LEAVES)


def _pool(codes: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """The next level over ``codes`` with roles ``(b, n)`` and the constant divisor ``sqrt(b)``."""
    return (roles * codes.reshape(-1, *roles.shape)).sum(axis=1) / sqrt(len(roles))


def _pooled(leaves: np.ndarray, roles: np.ndarray, depth: int) -> np.ndarray:
    """Root of the tree over ``leaves`` with the same roles ``(b, n)`` at every level."""
    for _ in range(depth):
        leaves = _pool(leaves, roles)
    return leaves[0]


def certify_aliasing(seed: int = 0, instances: int = 500) -> Certificate:
    """Unit phases and signs, branching 2 to 4, depth 2 to 4: a swap of two positions that agree, and all bindings."""

    def case(rng):
        b, depth, order = int(rng.integers(2, 5)), int(rng.integers(2, 5)), (2, 2**31)[rng.integers(2)]
        angles = rng.integers(0, order, (b, 64))  # in units of 2π / order, so that products are exact sums
        ways = np.array(list(product(range(b), repeat=depth)))
        bindings = len(np.unique(angles[ways].sum(axis=1) % order, axis=0))
        miscounted = abs(bindings - distinguishable_positions(b, depth, shared=True, involutive=order == 2))
        multiplicities = (ways[:, :, None] == np.arange(b)).sum(axis=1) % order
        agree = (multiplicities[:, None] == multiplicities).all(axis=2) & ~np.eye(len(ways), dtype=bool)
        one, other = rng.choice(np.argwhere(agree))
        leaves = _unit_rows(b**depth, 64, rng)
        edited = leaves.copy()
        edited[[one, other]] = leaves[[other, one]]
        roles = np.exp(2j * np.pi * angles / order)
        change = np.max(np.abs(_pooled(leaves, roles, depth) - _pooled(edited, roles, depth)))
        witness = {"branching": b, "depth": depth, "bindings": bindings, "signs": order == 2}
        return np.max([miscounted, change]), witness

    return ALIASING.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_aliasing(seed: int = 0) -> Certificate:
    """With sign roles of its own at each level: the swap of leaves 1 and 2, on ways (1, 2) and (2, 1), is seen."""
    rng = np.random.default_rng(seed)
    lower, upper = rng.choice([-1.0, 1.0], (2, 2, 1024))
    leaves = _unit_rows(4, 1024, rng)
    roots = (_pool(_pool(codes, lower), upper)[0] for codes in (leaves, leaves[[0, 2, 1, 3]]))
    m = _cosine_margin(*map(unit, roots))
    return ALIASING.certificate(seed, 1, m, {"branching": 2, "depth": 2, "dim": 1024, "margin": m}, dropped=SHARED)


CLAIMS = (
    Claim(STEP, certify_step, mutate_step),
    Claim(LAW, certify_law, mutate_law),
    Claim(FINITE, certify_finite, mutate_finite),
    Claim(RESOLVABLE, certify_resolvable, mutate_resolvable),
    Claim(ALIASING, certify_aliasing, mutate_aliasing),
)
