"""Radon partitions, separability one subset at a time and all at once, the moment curve, and what a margin costs."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.theory import radon, radon_claims, separation
from bindlib.theory.bag_of_words import unit
from bindlib.theory.separation import INSEPARABLE, SEPARABLE, UNKNOWN, all_subsets, separable, subset_by_subset

SEEDS = st.integers(0, 2**31 - 1)
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def draw(seed, n, dim):
    return np.random.default_rng(seed).standard_normal((n, dim))


def assert_is_radon(points, part):
    """The definition, from the points: disjoint sides, convex weights, one common point."""
    assert part.left and part.right and not set(part.left) & set(part.right)
    for side in (list(part.left), list(part.right)):
        weights = part.weights[side]
        assert np.all(weights > 0) and weights.sum() == pytest.approx(1)
        assert np.allclose(weights @ points[side], part.point, atol=1e-9 * max(1, np.abs(points).max()))
    assert part.residual <= 1e-9 * max(1, np.abs(points).max())


# Radon partitions


@given(SEEDS, st.integers(1, 8), st.integers(0, 4))
@settings(deadline=None)
def test_radon_partition(seed, dim, extra):
    points = draw(seed, dim + 2 + extra, dim)
    part = radon.radon_partition(points)
    assert_is_radon(points, part)
    assert len(part.left) <= len(part.right)
    if extra == 0:
        assert len(part.left) <= radon.largest_scene(dim) + 1
    assert separable(points, part.left).status == INSEPARABLE


@pytest.mark.parametrize(
    "points",
    [
        np.ones((4, 2)),  # one point four times: a kernel of three dimensions
        np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [3.0, 1.0]]),  # a repeated point
        np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]),  # a line
        SQUARE,
        np.hstack([SQUARE, np.zeros((4, 1))]),  # fewer than N + 2, and dependent all the same
        np.zeros((2, 5)),
        draw(0, 40, 3),
        1e8 + draw(1, 5, 3),
    ],
)
def test_degenerate_kernels_still_give_a_partition(points):
    assert_is_radon(points, radon.radon_partition(points))


def test_the_square_by_hand():
    part = radon.radon_partition(SQUARE)
    assert {part.left, part.right} == {(0, 2), (1, 3)}
    assert np.allclose(part.point, [0.5, 0.5]) and np.allclose(part.weights, 0.5)


def test_the_smallest_instance_of_the_source_paper():
    """Its Figure 7: four points on the circle, chords that cross, and the scene of one chord is out of reach."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        angles = np.sort(rng.uniform(0, 2 * np.pi, 4))
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        part = radon.radon_partition(points)
        assert {part.left, part.right} == {(0, 2), (1, 3)}
        failing = {s for s in combinations(range(4), 2) if separable(points, s).status == INSEPARABLE}
        assert failing == {(0, 2), (1, 3)}


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (np.eye(3), "no Radon partition"),
        (np.zeros((0, 3)), "matrix"),
        (np.zeros(4), "matrix"),
        (np.full((4, 2), np.nan), "finite"),
        (np.array([[0.0], [np.inf], [1.0]]), "finite"),
    ],
)
def test_bad_points(points, said):
    with pytest.raises(ValueError, match=said):
        radon.radon_partition(points)


# One subset


def planar_oracle(points):
    """All subsets of distinct planar points that a line cuts off: prefixes of the orders along all directions."""
    found = {frozenset(), frozenset(range(len(points)))}
    differences = points[:, None] - points
    angles = np.arctan2(differences[..., 1], differences[..., 0])[~np.eye(len(points), dtype=bool)] + np.pi / 2
    angles = np.sort(np.mod(angles, 2 * np.pi))
    for angle in (angles + np.append(angles[1:], angles[0] + 2 * np.pi)) / 2:
        order = np.argsort(points @ [np.cos(angle), np.sin(angle)])
        found |= {frozenset(order[:i].tolist()) for i in range(len(points))}
    return found


@given(SEEDS, st.integers(2, 7))
@settings(max_examples=25, deadline=None)
def test_separable_in_the_plane_against_a_sweep_of_directions(seed, n):
    points = draw(seed, n, 2)
    expected = planar_oracle(points)
    for subset in (s for k in range(n + 1) for s in combinations(range(n), k)):
        verdict = separable(points, subset)
        assert verdict.status == (SEPARABLE if frozenset(subset) in expected else INSEPARABLE)
        assert_certified(points, subset, verdict)


def assert_certified(points, subset, verdict):
    inside = np.isin(np.arange(len(points)), subset)
    if verdict.status == SEPARABLE:
        scores = points @ verdict.normal
        assert np.abs(verdict.normal).max() <= 1 + 1e-9
        assert np.all(scores[inside] > verdict.threshold) and np.all(scores[~inside] < verdict.threshold)
    if verdict.status == INSEPARABLE:
        assert verdict.exact and verdict.margin == 0
        for side in (inside, ~inside):
            assert verdict.weights[side].sum() == pytest.approx(1) and np.all(verdict.weights >= 0)
        assert verdict.residual < 1e-9


@pytest.mark.parametrize(("dim", "threshold_functions"), [(1, 4), (2, 14), (3, 104)])
def test_cubes_as_degenerate_as_can_be(dim, threshold_functions):
    """The threshold functions of 1, 2 and 3 bits are 4, 14 and 104 in number; exact arithmetic leaves none unknown."""
    cube = np.array(list(product([0.0, 1.0], repeat=dim)))
    counts = {SEPARABLE: 0, INSEPARABLE: 0, UNKNOWN: 0}
    for k in range(len(cube) + 1):
        fast, slow = all_subsets(cube, k), subset_by_subset(cube, k)
        assert np.array_equal(fast.status, slow)
        for status in slow:
            counts[status] += 1
    assert counts == {SEPARABLE: threshold_functions, INSEPARABLE: 2 ** len(cube) - threshold_functions, UNKNOWN: 0}


@given(SEEDS, st.floats(-17, -6))
@settings(max_examples=60, deadline=None)
def test_near_degenerate_geometry_never_gives_a_wrong_verdict(seed, exponent):
    """Three points almost on a line, with a fourth: the middle one separates or not by an exact orientation test."""
    rng = np.random.default_rng(seed)
    ends = rng.standard_normal((2, 2))
    middle = ends.mean(axis=0) + 10**exponent * rng.standard_normal(2)
    points = np.vstack([ends, middle, ends.mean(axis=0) + 3 * rng.standard_normal(2)])
    exact = [[Fraction(float(v)) for v in p] for p in points]

    def turn(a, b, c):
        (ax, ay), (bx, by), (cx, cy) = (exact[i] for i in (a, b, c))
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    signs = [turn(0, 1, 2), turn(1, 3, 2), turn(3, 0, 2)]
    in_triangle = all(s >= 0 for s in signs) or all(s <= 0 for s in signs)
    for verdict in (separable(points, [2]).status, all_subsets(points, 1).status[2]):
        assert verdict in (INSEPARABLE if in_triangle else SEPARABLE, UNKNOWN)


def test_a_square_lifted_by_less_than_rounding_is_not_called_inseparable():
    lifted = np.hstack([SQUARE, np.array([[0.0], [0.0], [1e-13], [0.0]])])  # affinely independent, so separable
    assert separable(lifted, [0, 2]).status == UNKNOWN
    assert all_subsets(lifted, 2).status[1] == UNKNOWN  # (0, 2)
    assert separable(np.hstack([SQUARE, np.zeros((4, 1))]), [0, 2]).status == INSEPARABLE


def test_a_margin_below_the_tolerance_is_not_believed():
    assert separable(SQUARE, [0, 1]).margin == pytest.approx(0.5)
    assert separable(SQUARE, [0, 1], tolerance=1.1).status == UNKNOWN  # of a square of half-side 1/2


def test_weights_of_the_wrong_sides_prove_nothing():
    for subset, meet in (([0, 2], True), ([0, 1], False)):
        inside = np.isin(np.arange(4), subset)
        assert separation._hulls_meet(SQUARE, inside, np.full(4, 0.5)) == meet
    assert not separation._hulls_meet(SQUARE[:3], np.array([True, False, False]), np.full(3, 0.5))  # no dependence


def test_far_from_the_origin_and_tiny():
    points = draw(3, 7, 2)
    expected = subset_by_subset(points, 2)
    for moved in (points + 1e6, 1e-6 * points, 1e6 * points):
        assert np.array_equal(subset_by_subset(moved, 2), expected)
        assert np.array_equal(all_subsets(moved, 2).status, expected)


def test_repeated_points_on_both_sides():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert separable(points, [0]).status == INSEPARABLE
    assert separable(points, [0, 2]).status == SEPARABLE


@pytest.mark.parametrize("subset", [[0, 0], [4], [-1], [0, 1, 2, 3, 3]])
def test_bad_subsets(subset):
    with pytest.raises(ValueError, match="distinct rows"):
        separable(SQUARE, subset)


# All subsets


@given(SEEDS, st.integers(1, 4), st.integers(1, 5), st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_all_subsets_against_one_programme_a_subset(seed, dim, extra, k):
    points = draw(seed, dim + extra, dim)
    k = min(k, len(points))
    found = all_subsets(points, k)
    assert found.by_programme == 0
    assert np.array_equal(found.status, subset_by_subset(points, k))
    for subset, status, circuit in zip(found.subsets, found.status, found.circuit, strict=True):
        assert (circuit >= 0) == (status == INSEPARABLE)
        if circuit >= 0:  # the certificate: a dependence whose signs are the sides, from the points themselves
            members, weights = found.circuits.members[circuit], found.circuits.weights[circuit]
            assert np.allclose(weights @ points[members], 0, atol=1e-9) and abs(weights.sum()) < 1e-9
            side = np.isin(members, subset)
            assert np.all(weights[side] > 0) != np.all(weights[side] < 0)
            assert np.all(np.sign(weights[side]) != np.sign(weights[~side][0]))


def test_degenerate_points_fall_back_to_the_programme():
    grid = np.array(list(product([0.0, 1.0, 2.0, 3.0], [0.0, 1.0])))  # four points on a line, twice
    found = all_subsets(grid, 3)
    assert found.by_programme > 0
    assert np.array_equal(found.status, subset_by_subset(grid, 3))
    expected = planar_oracle(grid + 1e-7 * draw(0, 8, 2))  # a perturbation only adds separable subsets
    separated = {frozenset(s.tolist()) for s in found.subsets[found.status == SEPARABLE]}
    assert separated and separated <= expected


@pytest.mark.parametrize(("dim", "n", "k", "share"), [(2, 6, 2, 0.4), (4, 8, 2, 1), (4, 8, 3, 5 / 7), (6, 10, 3, 1)])
def test_shares_seen_on_the_moment_curve(dim, n, k, share):
    assert all_subsets(radon.moment_curve(n, dim), k).share == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("k", [-1, 5])
def test_bad_sizes(k):
    with pytest.raises(ValueError, match="0 <= k <= n"):
        all_subsets(SQUARE, k)


def test_too_many_circuits_are_refused_before_they_are_made():
    with pytest.raises(ValueError, match="circuits"):
        all_subsets(draw(0, 60, 8), 2)


@given(SEEDS, st.integers(2, 8))
@settings(max_examples=25, deadline=None)
def test_cover_count_against_the_planar_sweep(seed, n):
    assert radon.cover_count(n, 2) == len(planar_oracle(draw(seed, n, 2)))
    assert radon.cover_count(n, n) == 2**n
    with pytest.raises(ValueError, match="at least one"):
        radon.cover_count(0, 2)


# The moment curve


@given(st.integers(1, 4), st.integers(1, 12), SEEDS)
@settings(deadline=None)
def test_moment_curve_is_on_the_sphere_and_separated_by_its_polynomial(half, n, seed):
    rng = np.random.default_rng(seed)
    angles = rng.permutation(n) * 2 * np.pi / n + rng.uniform(0, 1)
    points = radon.moment_curve(n, 2 * half, angles)
    assert np.allclose(np.linalg.norm(points, axis=1), 1)
    subset = rng.choice(n, min(half, n), replace=False)
    w, constant = radon.moment_separator(angles, subset, 2 * half)
    product_ = np.prod(1 - np.cos(angles[:, None] - angles[subset]), axis=1)
    assert np.allclose(points @ w, constant - product_, atol=1e-12)
    if len(subset) < n:
        assert radon.split_gap(points @ w, subset) > 0


@pytest.mark.parametrize(("dim", "n"), [(2, 7), (4, 9), (6, 10)])
def test_the_curve_is_tight(dim, n):
    points = radon.moment_curve(n, dim)
    for k in range(1, dim // 2 + 1):
        assert all_subsets(points, k).share == 1
    assert all_subsets(points, dim // 2 + 1).share < 1


@pytest.mark.parametrize("dim", [-2, 0, 1, 3, 5])
def test_odd_dimensions_have_no_such_curve(dim):
    with pytest.raises(ValueError, match="even dimensions"):
        radon.moment_curve(5, dim)


def test_bad_angles_and_sizes():
    with pytest.raises(ValueError, match="distinct points"):
        radon.moment_curve(2, 2, np.array([0.5, 0.5 + 2 * np.pi]))
    with pytest.raises(ValueError, match="distinct points"):
        radon.moment_curve(3, 2, np.zeros(2))
    with pytest.raises(ValueError, match="at least one"):
        radon.moment_curve(0, 2)
    with pytest.raises(ValueError, match="degree 2"):
        radon.moment_separator(radon.equal_angles(5), [0, 2], 2)
    with pytest.raises(ValueError, match="at least 1"):
        radon.largest_scene(0)


# Margins


def test_margins_seen():
    assert separation.worst_margin(radon.moment_curve(8, 4), 2) == pytest.approx(0.0732, abs=1e-4)
    assert separation.worst_margin(radon.moment_curve(10, 6), 3) == pytest.approx(0.0341, abs=1e-4)


@given(SEEDS, st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_unit_gap_between_the_bounds_of_the_programme(seed, dim):
    """A unit vector has |w|_inf <= 1, and |w|_inf <= 1 has length at most sqrt(N)."""
    points = unit(draw(seed, dim + 3, dim))
    gap, margin = radon.unit_gap(points, [0, 1]), separable(points, [0, 1]).margin
    assert 2 * margin / np.sqrt(dim) - 1e-9 <= gap <= 2 * margin + 1e-9


@pytest.mark.parametrize(
    ("points", "subset"),
    [([[1.0, 2.0], [1.0, 2.0]], [0]), (SQUARE, [0, 2]), ([[0.0], [0.0], [1.0], [1.0]], [0, 2])],
    ids=["one point twice", "crossing diagonals", "every point twice"],
)
@pytest.mark.filterwarnings("error")
def test_no_gap_opens_between_hulls_that_meet(points, subset):
    assert radon.unit_gap(points, subset) == 0


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=30)
def test_the_slow_solver_mends_what_the_fast_one_leaves(seed, dim):
    """A fast solver that stops at once, on rows that repeat: the answer is the same."""
    vectors = np.repeat(draw(seed, 4, dim) + 2 * np.eye(dim)[0], 2, axis=0)
    shortest = radon.convex_weights(vectors) @ vectors
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(radon, "nnls", lambda system, target: (np.arange(1.0, 1.0 + len(vectors)), 0.0))
        weights = radon.convex_weights(vectors)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)
    assert weights @ vectors == pytest.approx(shortest, abs=1e-6)
    assert np.min(vectors @ shortest) >= shortest @ shortest - 1e-6  # no row lies below: none is shorter


def test_unit_gap_on_the_circle_by_search():
    points = unit(draw(5, 6, 2))
    turn = np.linspace(0, 2 * np.pi, 200_001)
    directions = np.stack([np.cos(turn), np.sin(turn)])
    for subset in combinations(range(6), 2):
        inside = np.isin(np.arange(6), subset)
        scores = points @ directions
        best = (scores[inside].min(axis=0) - scores[~inside].max(axis=0)).max()
        assert radon.unit_gap(points, subset) == pytest.approx(max(best, 0), abs=1e-4)


@pytest.mark.parametrize(("n", "dim", "k"), [(7, 4, 2), (8, 6, 3), (6, 2, 1)])
def test_worst_unit_gap_uses_the_symmetry_of_the_curve(n, dim, k):
    points = radon.moment_curve(n, dim)
    every = min(radon.unit_gap(points, s) for s in combinations(range(n), k))
    assert radon.worst_unit_gap(n, dim, k) == pytest.approx(every, rel=1e-9)


def test_gap_of_neighbours_on_the_circle_by_hand():
    """One of M equally spaced points: its neighbours are both 1 - cos(2π/M) lower."""
    assert radon.worst_unit_gap(9, 2, 1) == pytest.approx(1 - np.cos(2 * np.pi / 9))
    with pytest.raises(ValueError, match="between 1 and 8"):
        radon.worst_unit_gap(9, 2, 9)


def test_formats_as_numpy_knows_them():
    assert radon.FORMAT_RESOLUTION["float16"] == 1 - float(np.nextafter(np.float16(1), np.float16(0)))
    assert radon.FORMAT_RESOLUTION["bfloat16"] == 2.0**-8  # 7 stored bits: half the spacing 2^-7 above 1


@given(SEEDS, st.integers(1, 4))
@settings(deadline=None)
def test_coherent_codes_open_the_gap(seed, k):
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1.0, 1.0], (12, 2048)) / np.sqrt(2048)
    mu = radon.coherence(codes)
    assert mu == pytest.approx(max(abs(a @ b) for a, b in combinations(codes, 2)))
    image = unit(codes[:k].sum(axis=0))
    assert radon.split_gap(codes @ image, range(k)) >= radon.coherent_gap(mu, k) - 1e-12
    with pytest.raises(ValueError, match="at least 2"):
        radon.sufficient_dim(1, k)


# Half-shattering


@given(SEEDS, st.integers(2, 6), st.booleans())
@settings(deadline=None)
def test_half_shattering_by_brute_force(seed, n, affine):
    rng = np.random.default_rng(seed)
    shown = rng.random((int(rng.integers(1, 2**n)), n)) < 0.5
    sets = {tuple(row) for row in shown.tolist()}
    splits = [row for row in product([False, True], repeat=n) if not affine or (any(row) and not all(row))]
    expected = all(row in sets or tuple(not v for v in row) in sets for row in splits)
    found = radon.half_shattering(shown, affine)
    assert (found is not None) == expected
    for part, image in found or ():
        assert [bool(part >> i & 1) for i in range(n)] == shown[image].tolist()
    assert found is None or len(found) == 2 ** (n - 1) - affine


def test_scenes_of_half_the_size_half_shatter():
    n = 6
    shown = np.array([[i in s for i in range(n)] for k in (1, 2, 3) for s in combinations(range(n), k)])
    assert radon.half_shattering(shown) is not None
    assert radon.half_shattering(shown[:-1]) is not None  # of the two halves of a split one is enough
    assert radon.half_shattering(shown[: -comb(n, 3)]) is None


def test_the_trap():
    """With exactly N + 2 objects one size alone can hold above N/2, and a smaller size fails."""
    points = radon_claims.pierced_simplex(4)
    assert np.allclose(np.linalg.norm(points, axis=1), 1)
    assert all_subsets(points, 3).share == 1
    assert all_subsets(points, 2).share < 1


@pytest.mark.parametrize("claim", radon_claims.CLAIMS, ids=lambda c: c.theorem.label)
def test_claims(claim):
    assert claim.certify(seed=3).holds
    assert not claim.mutate(seed=3).holds
