import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.theory import depth_law
from bindlib.theory import depth_law_claims as claims
from bindlib.theory.bag_of_words import unit
from bindlib.theory.factored_codes import margin_spread

SEEDS = st.integers(0, 2**31 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.theorem.label)
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_claims_hold_and_their_mutants_fail_for_any_seed(claim, seed):
    assert claim.certify(seed=seed, instances=20).holds
    assert not claim.mutate(seed=seed).holds


def node(leaves, way, depth, bound):
    """A second encoding: plain recursion over positions, with no array of levels."""
    if len(way) == depth:
        return leaves[way]
    return unit(
        sum(bound(depth - len(way) - 1, j, node(leaves, (*way, j), depth, bound)) for j in range(bound.branching))
    )


class Bound:
    def __init__(self, roles, binding):
        self.roles, self.branching, self.bind = roles, roles.shape[1], depth_law.BINDINGS[binding].bind

    def __call__(self, height, j, code):
        return self.bind(self.roles[height, j], code)


TREES = st.sampled_from([(2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2), (5, 2), (8, 2), (9, 1), (17, 1)])


@given(TREES, st.sampled_from(sorted(depth_law.BINDINGS)), st.booleans(), SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_stream_encodes_the_whole_tree(tree, binding, shared, seed):
    branching, depth = tree
    swapped = tuple(map(int, rng(seed).permutation(branching**depth)[:2]))
    options = {"binding": binding, "shared": shared, "swapped": swapped}
    margin = depth_law.swap_margin(branching, depth, 200, rng(seed), **options)
    leaves, roles = depth_law.full_tree(branching, depth, 200, rng(seed), **options)
    assert np.abs(leaves) == pytest.approx(200**-0.5)
    bound = Bound(roles, binding)
    places = {way: leaf for way, leaf in zip(product(range(branching), repeat=depth), leaves, strict=True)}
    one, other = (np.unravel_index(leaf, (branching,) * depth) for leaf in swapped)
    one, other = tuple(map(int, one)), tuple(map(int, other))
    edited = places | {one: places[other], other: places[one]}
    expected = 1 - node(places, (), depth, bound) @ node(edited, (), depth, bound)
    assert margin == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("binding", sorted(depth_law.BINDINGS))
def test_bindings_are_isometries_and_undone(binding):
    kind = depth_law.BINDINGS[binding]
    role, codes = kind.draw((1, 1), 50, rng())[0, 0], rng(1).standard_normal((3, 50))
    assert kind.unbind(role, kind.bind(role, codes)) == pytest.approx(codes)
    assert np.linalg.norm(kind.bind(role, codes), axis=1) == pytest.approx(np.linalg.norm(codes, axis=1))


def test_all_leaves_at_once_agrees_with_the_stream_to_rounding():
    leaves, roles = depth_law.full_tree(2, 6, 4096, rng())
    edited = leaves.copy()
    edited[[0, 1]] = leaves[[1, 0]]
    expected = 1 - depth_law.encode(leaves, roles) @ depth_law.encode(edited, roles)
    assert depth_law.swap_margin(2, 6, 4096, rng()) == pytest.approx(expected, rel=1e-5)


def test_one_stream_gives_the_margins_of_all_smaller_trees():
    margins = depth_law.swap_margins(3, 4, 20_000, rng())
    assert margins * 3.0 ** np.arange(1, 5) == pytest.approx(2, abs=0.25)
    assert depth_law.swap_margins(3, 4, 20_000, rng(), swapped=(0, 80)).shape == (1,)  # they meet at the root only


def test_leaves_are_fair_independent_signs():
    leaves, _ = depth_law.full_tree(3, 3, 4000, rng(), binding="permutation")
    assert np.abs(leaves @ leaves.T - np.eye(27)).max() < 5 / 4000**0.5
    assert np.abs(leaves.sum(axis=1)).max() < 5


def test_memory_is_that_of_one_path():
    branching, depth, dim = 2, 9, 16_384
    depth_law.swap_margin(branching, 2, dim, rng())
    tracemalloc.start()
    depth_law.swap_margin(branching, depth, dim, rng())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * branching * depth * dim  # the leaves alone take 8 b^D N bytes, 28 times as much


@given(st.integers(2, 8), st.integers(8, 20))
def test_staircase_counts_the_depths_above_the_floor(branching, log_dim):
    dim = 2**log_dim
    above = sum(depth_law.law(branching, depth) > 10 / dim**0.5 for depth in range(1, 40))
    assert depth_law.resolvable_depth(dim, branching) == above


@given(st.integers(25, 2**60), st.integers(2, 100))
def test_resolvable_depth_by_logarithms_of_sixty_digits(dim, branching):
    with localcontext(prec=60):
        exact = (Decimal(dim).sqrt() / 5).ln() / Decimal(branching).ln()
    if abs(exact - round(exact)) > Decimal("1e-50"):
        assert depth_law.resolvable_depth(dim, branching) == int(exact)


@given(st.integers(2, 9), st.integers(1, 8))
def test_resolvable_depth_on_the_boundary(branching, depth):
    """At N = 25 b^2D the margin is exactly the floor: the formula counts it, and one dimension fewer does not."""
    dim = 25 * branching ** (2 * depth)
    assert depth_law.resolvable_depth(dim, branching) == depth
    assert depth_law.resolvable_depth(dim - 1, branching) == depth - 1


def test_resolvable_depth_of_other_floors():
    assert depth_law.resolvable_depth(16, 2, floor=1) == 3
    assert depth_law.resolvable_depth(16, 2, floor=Fraction(1, 2)) == 4
    assert depth_law.resolvable_depth(1, 7) == 0


def test_values_of_the_source_paper_and_of_theorem_e7():
    assert [depth_law.resolvable_depth(n, 2) for n in (512, 1024, 65_536)] == [2, 2, 5]
    assert depth_law.law(7, 1) == 2 / 7


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_law_by_direct_sums(seed):
    """The simplest roles of orthogonal ranges: a node's code is its children's codes in a row, over sqrt(b)."""
    leaves = unit(rng(seed).standard_normal((27, 4)))
    edited = leaves.copy()
    edited[[3, 5]] = leaves[[5, 3]]
    codes = [(x / 27**0.5).ravel() for x in (leaves, edited)]
    assert 1 - codes[0] @ codes[1] == pytest.approx(depth_law.law(3, 3, leaves[3] @ leaves[5]), abs=1e-14)


@pytest.mark.parametrize(("branching", "depth"), [(2, 1), (2, 6), (3, 4), (4, 3)])
def test_spread_is_that_of_many_trees(branching, depth):
    n, dim = 300, 1024
    ratio = [depth_law.swap_margin(branching, depth, dim, rng(s)) * branching**depth / 2 for s in range(n)]
    spread = depth_law.relative_spread(branching, depth, dim)
    assert np.mean(ratio) == pytest.approx(1, abs=4 * spread / n**0.5 + 4 / dim**0.5 / 10)
    assert np.std(ratio) == pytest.approx(spread, rel=0.2)


def test_spread_of_depth_one_is_the_single_level():
    assert depth_law.relative_spread(5, 1, 999) == pytest.approx(margin_spread("swap", 5, 999) * 5 / 2)


@pytest.mark.parametrize("branching", [2, 3, 4])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_distinguishable_positions_by_counting(branching, depth):
    ways = list(product(range(branching), repeat=depth))
    multisets = {tuple(sorted(way)) for way in ways}
    parities = {tuple(way.count(j) % 2 for j in range(branching)) for way in ways}
    count = depth_law.distinguishable_positions
    assert count(branching, depth, shared=False) == len(ways)
    assert count(branching, depth, shared=True) == len(multisets) == comb(branching + depth - 1, depth)
    assert count(branching, depth, shared=True, involutive=True) == len(parities) <= 2 ** (branching - 1)


def test_shared_roles_alias_and_both_cures_work():
    def margin(**options):
        return depth_law.swap_margin(2, 2, 4096, rng(3), swapped=(1, 2), **options)

    assert margin(shared=True) < 1e-3 < 0.4 < min(margin(), margin(binding="permutation", shared=True))
    # Signs undo themselves: the positions (1, 1) and (2, 2) share the binding 1.
    assert depth_law.swap_margin(2, 2, 4096, rng(3), swapped=(0, 3), shared=True) < 1e-3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: depth_law.swap_margin(1, 2, 8, rng()), "branching of at least 2, got 1"),
        (lambda: depth_law.swap_margin(2, 0, 8, rng()), "depth must be at least 1, got 0"),
        (lambda: depth_law.swap_margin(2, 1, 0, rng()), "dimension must be positive"),
        (lambda: depth_law.swap_margin(2, 1, 8, rng(), binding="sum"), "no binding of roles is named 'sum'"),
        (lambda: depth_law.swap_margin(2, 1, 8, rng(), swapped=(1, 1)), "two different leaves of 0..1"),
        (lambda: depth_law.swap_margin(2, 1, 8, rng(), swapped=(0, 2)), "two different leaves"),
        (lambda: [depth_law.swap_margin(2, 3, 1, rng(s)) for s in range(20)], "cancelled out in dimension 1"),
        (lambda: depth_law.law(2, 0), "depth must be at least 1"),
        (lambda: depth_law.resolvable_depth(0, 2), "must be positive"),
        (lambda: depth_law.resolvable_depth(100, 1), "branching of at least 2"),
        (lambda: depth_law.resolvable_depth(100, 2, floor=0), "must be positive"),
        (lambda: depth_law.distinguishable_positions(1, 2, shared=True), "branching of at least 2"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("depth", "noise"), [(1, 3.0), (4, 1.5), (8, 1.0)])
def test_noise_of_the_image_vector_against_noise_drawn_in_full(depth, noise):
    """Score the caption and its swap for noisy images, all ``N`` coordinates of the noise drawn."""
    dim, n, m = 64, 20_000, depth_law.law(2, depth)
    t, e = np.linalg.qr(rng(1).standard_normal((dim, 2)))[0].T
    swapped = (1 - m) * t + np.sqrt(1 - (1 - m) ** 2) * e
    images = t + noise / np.sqrt(dim) * rng(2).standard_normal((n, dim))
    missed = float(np.mean(images @ t < images @ swapped))
    share = depth_law.missed_by_noise(m, dim, noise)
    assert abs(missed - share) < 5 * np.sqrt(share * (1 - share) / n)


def test_noise_needs_a_margin_and_a_size():
    for margin, noise in ((-0.1, 1.0), (2.1, 1.0), (1.0, 0.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match="noise is positive"):
            depth_law.missed_by_noise(margin, 64, noise)
