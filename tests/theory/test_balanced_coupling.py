from math import tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.theory import balanced_coupling as bc
from bindlib.theory import balanced_coupling_claims as claims

SEEDS = st.integers(0, 2**31 - 1)
ENTITY, ORDER, POSITION = 1, 2, 3


def rng(seed=0):
    return np.random.default_rng(seed)


def draw(seed=0, n_a=3, n_b=5, sizes=(4, 9), dim=6):
    draws = rng(seed)
    tokens = [draws.standard_normal((n, dim)) for n in (n_a, n_b)]
    return *tokens, [draws.standard_normal((p, dim)) for p in sizes]


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.theorem.label)
@settings(max_examples=5)
@given(seed=SEEDS)
def test_claims_hold_for_any_seed(claim, seed):
    certificate = claim.certify(seed=seed, instances=4)
    assert certificate.holds, certificate


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.theorem.label)
@pytest.mark.parametrize("seed", range(4))
def test_mutants_fail(claim, seed):
    assert claim.mutate(seed=seed).fails


def sinkhorn(cost, rows, columns, epsilon, steps=20_000):
    """Second derivation: the textbook's alternating scaling."""
    kernel, v = np.exp(-cost / epsilon), np.ones(cost.shape[1])
    for _ in range(steps):
        u = rows / (kernel @ v)
        v = columns / (kernel.T @ u)
    return u[:, None] * kernel * v


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 5])
def test_the_plan_is_that_of_alternating_scaling(epsilon):
    draws = rng(1)
    cost, rows, columns = draws.uniform(0, 2, (5, 7)), draws.dirichlet(np.ones(5)), draws.dirichlet(np.ones(7))
    found = bc.plan(cost, rows, columns, epsilon)
    np.testing.assert_allclose(found, sinkhorn(cost, rows, columns, epsilon, 5000), atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-10)


@given(SEEDS)
@settings(max_examples=10)
def test_no_other_plan_is_better(seed):
    """The objective, written out, at the plan and at plans that move mass around a cycle of four entries."""
    draws = rng(seed)
    cost, rows, columns = draws.uniform(0, 2, (4, 5)), draws.dirichlet(np.ones(4) * 3), draws.dirichlet(np.ones(5) * 3)
    found, reference = bc.plan(cost, rows, columns, 0.2), np.outer(rows, columns)

    def objective(t):
        return (cost * t).sum() + 0.2 * (t * np.log(t / reference)).sum()

    for _ in range(20):
        (i, k), (j, m) = draws.choice(4, 2, replace=False), draws.choice(5, 2, replace=False)
        moved = found.copy()
        by = 0.5 * min(found[i, j], found[k, m])
        moved[[i, k], [j, m]] -= by
        moved[[i, k], [m, j]] += by
        assert objective(moved) >= objective(found)


@given(SEEDS, st.floats(0.03, 3))
@settings(max_examples=15)
def test_exchange_turns_the_sign(seed, epsilon):
    a, b, patches = draw(seed)
    weights = rng(seed + 1).standard_normal(4)
    there, back = bc.couple(a, b, patches, epsilon), bc.couple(b, a, patches, epsilon)
    assert there.score(weights) == pytest.approx(-back.score(weights), abs=1e-9)
    np.testing.assert_allclose(there.plan, np.roll(back.plan, -len(b), axis=0), atol=1e-9)
    assert bc.couple(a, a, patches, epsilon).score(weights) == pytest.approx(0, abs=1e-9)


def test_without_regularisation_the_exchange_does_not_only_turn_the_sign():
    """A vertex of the transport polytope, chosen by the solver among equals: the same caption twice has a score."""
    same = np.ones((2, 3))
    patches = [np.array([[1, 0, 0.0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])]
    assert bc.couple(same, same, patches, 1.0).score() == pytest.approx(0, abs=1e-9)
    assert abs(bc.couple(same, same, patches, 1.0, solver=bc.exact_plan).score()) > 0.01


def by_hand(coupling, which):
    """The four energies from their definitions, one sum at a time."""
    tokens = range(coupling.n_a) if which == 0 else range(coupling.n_a, len(coupling.plan))
    t, c, r, depths = coupling.plan, coupling.cost, coupling.positions, coupling.depths
    mass = {i: sum(t[i]) for i in tokens}
    whole = sum(mass.values())
    place = {i: sum(t[i, j] * r[j] for j in range(len(r))) / mass[i] for i in tokens}
    semantics = sum(t[i, j] * c[i, j] for i in tokens for j in range(len(r))) / whole
    entity = sum(t[i, j] * sum((r[j] - place[i]) ** 2) for i in tokens for j in range(len(r))) / whole
    steps = [sum((place[i] - place[i + 1]) ** 2) for i in list(tokens)[:-1]]
    relative = {}
    for level in set(depths):
        at = [j for j in range(len(r)) if depths[j] == level]
        held = sum(t[i, j] for i in tokens for j in at)
        centre = sum(t[i, j] * r[j] for i in tokens for j in at) / held
        for i in tokens:
            m = sum(t[i, j] for j in at)
            relative[i, level] = m, sum(t[i, j] * r[j] for j in at) / m - centre
    position = 0.0
    for i in tokens:
        steady = sum(relative[i, k][0] * relative[i, k][1] for k in set(depths)) / mass[i]
        position += sum(relative[i, k][0] * sum((relative[i, k][1] - steady) ** 2) for k in set(depths)) / whole
    return [semantics, entity, np.mean(steps), position]


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_energies_by_hand(share):
    a, b, patches = draw(3, sizes=(4, 9, 4))
    found = bc.couple(a, b, patches, 0.2, share=share)
    for which in (0, 1):
        np.testing.assert_allclose(found.energies[which], by_hand(found, which), atol=1e-12)
    assert found.masses == pytest.approx((share, 1 - share))


def test_energies_of_a_batch_are_those_one_by_one():
    found = [bc.couple(*draw(seed), 0.2) for seed in range(3)]
    stacked = [np.stack([getattr(f, name)[:3] for f in found]) for name in ("plan", "cost")]
    together = bc.energies(*stacked, found[0].depths, np.stack([f.positions for f in found]))
    np.testing.assert_allclose(together, [f.energies[0] for f in found], atol=1e-14)


def test_the_place_of_the_image_does_not_matter():
    """Moving all positions by one step changes no energy; stretching them changes all but the semantics."""
    a, b, patches = draw(5)
    here = [bc.square_grid(len(p)) for p in patches]
    base = bc.couple(a, b, patches, 0.2).energies
    moved = bc.couple(a, b, patches, 0.2, [p + np.array([3, -1]) for p in here]).energies
    larger = bc.couple(a, b, patches, 0.2, [2 * p for p in here]).energies
    np.testing.assert_allclose(moved, base, atol=1e-12)
    np.testing.assert_allclose(larger, base * [1, 4, 4, 4], atol=1e-12)


def test_a_large_epsilon_is_a_dual_encoder_that_pools_means():
    a, b, patches = draw(7)
    found = bc.couple(a, b, patches, np.inf)

    def mean(rows):
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)

    pooled = np.mean([mean(p) for p in patches], axis=0)
    assert found.score() == pytest.approx((mean(a) - mean(b)) @ pooled, abs=1e-12)
    np.testing.assert_allclose(found.energies[:, [ORDER, POSITION]], 0, atol=1e-12)
    assert found.energies[0, ENTITY] == pytest.approx(found.energies[1, ENTITY], abs=1e-12)


@pytest.mark.parametrize("words", ["red car blue dog", "blue dog red car"])
def test_the_red_car_and_the_blue_dog(words):
    """Either order of mention: a jump of D less in three pairs of neighbours."""
    places = np.array([[0.25, 0.5], [0.75, 0.5]])
    found = claims.two_things(0.6, places, 0.2, words)
    assert found.energies[1] - found.energies[0] == pytest.approx([0, 0, 0.25 / 3 * tanh(0.6 / 0.4) ** 2, 0], abs=1e-9)


def test_order_energy_is_wrong_where_colours_do_not_stand_by_their_things():
    places = np.array([[0.25, 0.5], [0.75, 0.5]])
    assert claims.two_things(0.6, places, 0.2, "car dog red blue").score() < -0.01


def test_a_third_patch_changes_the_figure_and_not_the_sign():
    """What the hypothesis on the image excludes: one jump in the caption and two in the swap, of another length."""
    places = np.array([[0.25, 0.5], [0.75, 0.5], [0.4, 0.1]])
    found = claims.two_things(0.6, places, 0.2)
    red, car, blue, dog = (found.plan @ places / found.plan.sum(axis=1, keepdims=True))[:4]
    np.testing.assert_allclose([red, blue], [car, dog], atol=1e-9)
    order = (found.energies[1] - found.energies[0])[ORDER]
    assert order == pytest.approx(((red - dog) ** 2).sum() / 3, abs=1e-12)
    assert 0 < order < 0.9 * 0.25 / 3 * tanh(0.6 / 0.4) ** 2


def test_one_token_one_depth_one_patch():
    a, b, patches = draw(9, n_a=1, sizes=(9,))
    found = bc.couple(a, b, patches, 0.2).energies
    assert found[0, ORDER] == 0
    np.testing.assert_allclose(found[:, POSITION], 0, atol=1e-15)
    one = bc.couple(a, b, [p[:1] for p in patches], 0.2)
    np.testing.assert_allclose(one.energies[:, 1:], 0, atol=1e-15)
    np.testing.assert_allclose(one.plan[:, 0], bc.row_masses(1, 5), atol=1e-12)


def test_a_depth_that_a_token_does_not_look_at_does_not_matter():
    plan, cost = np.array([[0.5, 0, 0, 0], [0, 0.25, 0.25, 0.0]]), np.ones((2, 4))
    found = bc.energies(plan, cost, np.array([0, 0, 1, 1]), np.array([[0, 0], [1, 0], [0, 0], [1, 0.0]]))
    assert np.isfinite(found).all()


def test_grids():
    np.testing.assert_allclose(bc.grid(1, 2), [[0.25, 0.5], [0.75, 0.5]])
    np.testing.assert_allclose(bc.square_grid(4), [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    np.testing.assert_allclose(bc.column_masses(np.array([0, 1, 1, 1, 1])), [0.5, *[0.125] * 4])


A, B, PATCHES = draw()
NAN = np.where(np.arange(18).reshape(3, 6) == 4, np.nan, A)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bc.couple(A, B, PATCHES, 0), "ε must be positive"),
        (lambda: bc.couple(A, B, PATCHES, -1), "ε must be positive"),
        (lambda: bc.couple(A, B, PATCHES, np.nan), "ε must be positive"),
        (lambda: bc.couple(NAN, B, PATCHES, 0.1), "token feature is not finite"),
        (lambda: bc.couple(A, B, [PATCHES[0], PATCHES[1] * np.inf], 0.1), "patch feature is not finite"),
        (lambda: bc.couple(A * 0, B, PATCHES, 0.1), "token feature is zero"),
        (lambda: bc.couple(A[:0], B, PATCHES, 0.1), "n >= 1"),
        (lambda: bc.couple(A[0], B, PATCHES, 0.1), "n >= 1"),
        (lambda: bc.couple(A, B[:, :4], PATCHES, 0.1), "tokens have dimension 4 and patches 6"),
        (lambda: bc.couple(A, B, [], 0.1), "no depth"),
        (lambda: bc.couple(A, B, [PATCHES[1][:7]], 0.1), "7 patches are no square"),
        (lambda: bc.couple(A, B, PATCHES, 0.1, [bc.square_grid(4)]), "one position"),
        (lambda: bc.couple(A, B, PATCHES, 0.1, [bc.square_grid(4)] * 2), "one position"),
        (lambda: bc.couple(A, B, PATCHES, 0.1, [np.full((len(p), 2), np.nan) for p in PATCHES]), "position is not"),
        (lambda: bc.couple(A, B, [PATCHES[0], PATCHES[1][:, :3]], 0.1), "all depths need one dimension"),
        (lambda: bc.couple(A, B, [PATCHES[0][:0]], 0.1), "at least one row"),
        (lambda: bc.couple(A, B, PATCHES, 0.1).score((1, 2, 3)), "one finite weight for each of semantics"),
        (lambda: bc.couple(A, B, PATCHES, 0.1).score((1, 2, 3, np.nan)), "one finite weight"),
        (lambda: bc.couple(A, B, PATCHES, 0.1, share=1), "needs some mass"),
        (lambda: bc.couple(A, B, PATCHES, 0.1, share=np.nan), "needs some mass"),
        (lambda: bc.row_masses(0, 2), "at least one token"),
        (lambda: bc.grid(0, 2), "at least one row"),
        (lambda: bc.plan(np.ones((2, 2)), np.array([0, 1]), np.ones(2) / 2, 1), "positive mass"),
        (lambda: bc.plan(np.ones((2, 2)), np.ones(2), np.ones(2) / 2, 1), "the same mass"),
        (lambda: bc.plan(np.ones((2, 3)), np.ones(2) / 2, np.ones(2) / 2, 1), "a mass a row and a column"),
        (lambda: bc.plan(np.full((2, 2), np.nan), np.ones(2) / 2, np.ones(2) / 2, 1), "not finite"),
        (lambda: bc.energies(np.eye(2) * [1, 0], np.ones((2, 2)), np.zeros(2), np.zeros((2, 2))), "no mass"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
