from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bindlib.theory import factored_codes as codes
from bindlib.theory import factored_codes_claims as claims
from bindlib.theory.bag_of_words import unit

SEEDS = st.integers(0, 2**31 - 1)
NAMES = sorted(codes.FAMILIES)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.theorem.label)
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_claims_hold_and_their_mutants_fail_for_any_seed(claim, seed):
    assert claim.certify(seed=seed, instances=20).holds
    assert not claim.mutate(seed=seed).holds


@pytest.mark.parametrize("name", NAMES)
def test_gain_and_leakage_are_those_of_the_family(name):
    family, code = codes.FAMILIES[name], codes.draw_code(name, 12, 12, 1024, rng())
    found = codes.inner_products(code, 3000, rng(1))
    for kind, expected in (("gain", family.gain), ("leakage", family.leakage), ("mismatch", 0)):
        assert found[kind].mean() == pytest.approx(expected, abs=0.03), kind
    assert found["leakage_attribute"].mean() == pytest.approx(family.leakage, abs=0.03)


def test_hadamard_inner_products_are_inner_products_of_factors():
    code = codes.draw_code("hadamard", 5, 5, 256, rng())
    assert code.atoms(0, 1) @ code.atoms(0, 2) == pytest.approx(code.attributes[1] @ code.attributes[2])


def test_convolution_against_its_sum():
    u, v = rng().standard_normal((2, 17))
    direct = [sum(u[i] * v[(n - i) % 17] for i in range(17)) for n in range(17)]
    assert codes.FAMILIES["hrr"].bind(u, v) == pytest.approx(np.array(direct))


def test_phases_against_complex_numbers():
    code = codes.draw_code("fhrr", 2, 2, 64, rng())
    z = (code.objects[0, ::2] + 1j * code.objects[0, 1::2]) * (code.attributes[1, ::2] + 1j * code.attributes[1, 1::2])
    atom = code.atoms(0, 1)
    assert atom[::2] + 1j * atom[1::2] == pytest.approx(z * 32**0.5)
    assert np.linalg.norm(atom) == pytest.approx(1)


def test_tensor_codes_are_orthonormal_when_they_fit():
    code = codes.draw_code("tensor", 4, 3, 25, rng())
    atoms = np.array([code.atoms(o, a) for o in range(4) for a in range(3)])
    assert atoms @ atoms.T == pytest.approx(np.eye(12))
    assert codes.draw_code("tensor", 9, 9, 25, rng()).objects.shape == (9, 5)


@given(st.sampled_from(NAMES), st.integers(2, 6), SEEDS)
@settings(deadline=None)
def test_margins_by_hand(name, k, seed):
    """One scene at a time, from the captions' atoms alone; the scene is found again among all assignments."""
    code = codes.draw_code(name, k + 1, k + 1, 64, rng(seed))
    found = codes.margins(code, k, 1, rng(seed + 1))

    def caption(pairs):
        return unit(sum(code.atoms(np.array([o]), np.array([a]))[0] for o, a in pairs))

    shared = rng(seed + 1)
    o, a = codes._distinct(k + 1, k + 1, 1, shared)[0], codes._distinct(k + 1, k + 1, 1, shared)[0]
    scene = list(zip(o[:k], a[:k], strict=True))
    swapped = [(o[0], a[1]), (o[1], a[0]), *scene[2:]]
    replaced = [(o[0], a[k]), *scene[1:]]
    for kind, negative in (("swap", swapped), ("replace", replaced), ("add", [*scene, (o[k], a[k])])):
        assert found[kind][0] == pytest.approx(1 - caption(scene) @ caption(negative), abs=1e-12), kind


@given(st.integers(2, 30))
def test_orthonormal_predictions(k):
    found = codes.predicted_margins(k)
    assert found["swap"] == 2 / k
    assert found["replace"] == 1 / k
    assert found["add"] == pytest.approx(1 - (k / (k + 1)) ** 0.5)
    assert found["add"] > 1 / (2 * (k + 1))  # the looser bound that the paper names


def test_general_predictions_against_a_gram_matrix():
    """Second derivation: the margins as quadratic forms of the Gram matrix, with no vectors."""
    k, g, leak, r = 3, 1.7, 0.4, 0.1
    atoms = [(o, a) for o in range(k + 1) for a in range(k + 1)]
    gram = np.array([[(r, leak, g)[(o == p) + (a == b)] for p, b in atoms] for o, a in atoms])

    def indicator(pairs):
        return np.array([float(atom in pairs) for atom in atoms])

    def cosine(x, y):
        return x @ gram @ y / np.sqrt((x @ gram @ x) * (y @ gram @ y))

    scene = [(0, 0), (1, 1), (2, 2)]
    negatives = {
        "swap": [(0, 1), (1, 0), (2, 2)],
        "replace": [(0, 3), (1, 1), (2, 2)],
        "add": [*scene, (3, 3)],
    }
    for kind, margin in codes.predicted_margins(k, g, leak, r).items():
        assert margin == pytest.approx(1 - cosine(indicator(scene), indicator(negatives[kind]))), kind


def test_figure_10_ratios_are_within_one_percent():
    for seed in range(2):
        code = codes.draw_code("hadamard", 40, 40, 4096, rng(seed))
        rows = codes.margin_rows(code, (2, 3, 8, 16, 32), 300, rng(seed + 10))
        assert max(abs(row["ratio"] - 1) for row in rows) < 0.01


@pytest.mark.parametrize("kind", codes.KINDS)
@pytest.mark.parametrize("k", [2, 3, 9])
def test_spread_is_that_of_many_codes(kind, k):
    dim, n = 1024, 800
    found = [
        codes.margins(codes.draw_code("hadamard", k + 1, k + 1, dim, rng(s)), k, 1, rng(s))[kind][0] for s in range(n)
    ]
    assert np.std(found) == pytest.approx(codes.margin_spread(kind, k, dim), rel=0.12)


def test_additive_swap_margin_is_zero_and_only_the_swap_is_blind():
    code = codes.draw_code("additive", 10, 10, 512, rng())
    found = codes.margins(code, 4, 50, rng(1))
    assert np.abs(found["swap"]).max() < 1e-14
    assert found["replace"].min() > 0.05 and found["add"].min() > 0.05


@pytest.mark.parametrize("k", [2, 4])
def test_centred_orthonormal_atoms(k):
    m, n = 5, 7
    table = codes.AtomTable(np.eye(m * n).reshape(m, n, -1))
    found = codes.margins(codes.centred(table), k, 20, np.random.default_rng(0))["swap"]
    np.testing.assert_allclose(found, 2 / (k - k**2 / (m * n)), rtol=1e-12)


def test_a_code_can_be_blind_without_being_additive():
    """The sum changes its length and not its direction."""
    table = np.array([[[1, 0], [0.6, 0.8]], [[0.6, -0.8], [1, 0]]])
    before, after = table[0, 0] + table[1, 1], table[0, 1] + table[1, 0]
    np.testing.assert_allclose(unit(before), unit(after))
    assert np.linalg.norm(before - after) > 0.5


@given(SEEDS)
@settings(max_examples=20)
def test_what_cannot_bind_is_additive(seed):
    """The converse by linear algebra: tables that every swap leaves alone form the space of additive tables."""
    m, k = rng(seed).integers(2, 5, 2)
    constraints = []
    for (o, p), (a, b) in ((x, y) for x in combinations(range(m), 2) for y in combinations(range(k), 2)):
        row = np.zeros((m, k))
        row[[o, p], [a, b]], row[[o, p], [b, a]] = 1, -1
        constraints.append(row.ravel())
    assert m * k - np.linalg.matrix_rank(constraints) == m + k - 1


@pytest.mark.parametrize("k", [2, 3, 4])
def test_best_image_for_all_swaps_by_optimisation(k):
    """Largest worst margin over the unit ball, by SLSQP from random starts; and no better in any coordinate's box."""
    swaps = claims.swap_directions(k)

    def negative_worst(z):
        return -z[-1]

    constraints = [
        {"type": "ineq", "fun": lambda z: swaps @ z[:-1] - z[-1]},
        {"type": "ineq", "fun": lambda z: 1 - z[:-1] @ z[:-1]},
    ]
    start = np.append(unit(rng(k).standard_normal(k * k)), -1)
    best = minimize(negative_worst, start, constraints=constraints, method="SLSQP", options={"maxiter": 500})
    assert -best.fun == pytest.approx(codes.best_swap_margin(k), abs=1e-5)
    assert len(swaps) == len(list(combinations(range(k), 2)))


def test_a_swap_is_a_transposition():
    """Pooled codes of the running example: two atoms, two assignments."""
    code = codes.draw_code("hadamard", 2, 2, 4096, rng())
    sums = [sum(code.atoms(o, a) for o, a in enumerate(p)) for p in permutations(range(2))]
    assert unit(sums[0]) @ unit(sums[1]) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: codes.draw_code("cross", 3, 3, 8, rng()), "no binding is named 'cross'"),
        (lambda: codes.draw_code("fhrr", 3, 3, 7, rng()), "must be even, got 7"),
        (lambda: codes.draw_code("tensor", 3, 3, 7, rng()), "must be a square, got 7"),
        (lambda: codes.draw_code("hrr", 0, 3, 7, rng()), "must be positive"),
        (lambda: codes.margins(codes.draw_code("hrr", 3, 3, 7, rng()), 3, 1, rng()), "2 <= k < 3, got k=3"),
        (lambda: codes.margins(codes.draw_code("hrr", 3, 3, 7, rng()), 1, 1, rng()), "got k=1"),
        (lambda: codes.inner_products(codes.draw_code("hrr", 1, 3, 7, rng()), 1, rng()), "2 distinct members"),
        (lambda: codes.predicted_margins(1), "k >= 2"),
        (lambda: codes.predicted_margins(3, gain=0), "positive gain"),
        (lambda: codes.predicted_margins(3, mismatch=-0.5), "cannot all have inner products"),
        (lambda: codes.margin_spread("negate", 3, 8), "no negative is called 'negate'"),
        (lambda: codes.orthonormal(3, 2, rng()), "do not fit"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("m", "k", "size"), [(6, 6, 4), (4, 6, 3), (4, 4, 2), (7, 4, 3)])
def test_centring_both_ways_beats_centring_once(m, k, size):
    atoms = codes.AtomTable(np.eye(m * k).reshape(m, k, -1))
    margins = [
        codes.margins(code, size, 10, np.random.default_rng(0))["swap"]
        for code in (atoms, codes.centred(atoms), codes.doubly_centred(atoms))
    ]
    squares = (size, size - size**2 / (m * k), size * (1 - 1 / m - 1 / k + size / (m * k)))
    for found, square in zip(margins, squares, strict=True):
        assert found == pytest.approx(2 / square)
    assert 2 / squares[0] < 2 / squares[1] < 2 / squares[2] <= 2 / (size - 1) + 1e-12
