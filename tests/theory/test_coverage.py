from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bindlib.theory import coverage, coverage_claims, coverage_trials
from bindlib.theory.coverage import ExposureGraph, scenes_of
from bindlib.theory.coverage_trials import ARRANGEMENTS, QUESTION

SEEDS = st.integers(0, 2**31 - 1)


@st.composite
def graphs(draw, largest=5):
    m, k = draw(st.integers(2, largest)), draw(st.integers(2, largest))
    pairs = draw(st.sets(st.tuples(st.integers(0, m - 1), st.integers(0, k - 1))))
    return ExposureGraph(m, k, tuple(sorted(pairs)))


def factors_of(graph, rng, dim=6):
    return coverage.random_units(graph.n_objects, dim, rng), coverage.random_units(graph.n_attributes, dim, rng)


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_components_by_walking(graph):
    """Reachability by repeated products of the adjacency matrix."""
    m, size = graph.n_objects, graph.n_objects + graph.n_attributes
    near = np.eye(size, dtype=int)
    for o, a in graph.pairs:
        near[o, m + a] = near[m + a, o] = 1
    reach = np.linalg.matrix_power(near, size) > 0
    labels = np.concatenate(graph.components)
    assert np.array_equal(reach, labels[:, None] == labels)


@settings(deadline=None, max_examples=50)
@given(graphs(), SEEDS)
def test_unseen_pairs_are_known_within_a_component_and_up_to_sign_across(graph, seed):
    if not graph.pairs:
        return
    u, v = factors_of(graph, np.random.default_rng(seed))
    factors = coverage.identify_factors(graph, coverage.tensor_exposures(graph, u, v))
    for o, a in product(range(graph.n_objects), range(graph.n_attributes)):
        if not (graph.seen[0][o] and graph.seen[1][a]):
            with pytest.raises(ValueError, match="never seen"):
                factors.atom((o, a))
            continue
        known, true = factors.atom((o, a)), np.outer(u[o], v[a])
        errors = [np.abs(known - sign * true).max() for sign in (1, -1)]
        assert (errors[0] if graph.connected((o, a)) else min(errors)) < 1e-9


@settings(deadline=None, max_examples=50)
@given(graphs(), SEEDS)
def test_every_decidable_tensor_question_is_decided(graph, seed):
    rng = np.random.default_rng(seed)
    u, v = factors_of(graph, rng)
    if not graph.pairs:
        return
    factors = coverage.identify_factors(graph, coverage.tensor_exposures(graph, u, v))
    for question in graph.questions():
        for shown in (0, 1):
            image = coverage.tensor_image(u, v, scenes_of(question)[shown])
            if coverage.tensor_decidable(graph, question):
                assert coverage.tensor_decision(image, graph, factors, question) == shown
            else:
                assert coverage.tensor_decision(image, graph, factors, question) is None
            if coverage.covered(graph, question):
                assert coverage.matcher_decision(image, factors, question) == shown


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_order_of_the_criteria_and_monotony(graph):
    """Sign codes need more than tensor codes, coverage is enough for the latter, and more pairs never hurt."""
    for question in graph.questions():
        tensor = coverage.tensor_decidable(graph, question)
        assert tensor or not coverage.hadamard_decidable(graph, question)
        assert tensor or not coverage.covered(graph, question)
        for shorter in (ExposureGraph(graph.n_objects, graph.n_attributes, graph.pairs[:-1]),):
            assert tensor or not coverage.tensor_decidable(shorter, question)
            assert coverage.hadamard_decidable(graph, question) or not coverage.hadamard_decidable(shorter, question)


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_likelihood_rule_reaches_the_best_accuracy(name):
    """One coordinate, every sign: the rule's exact accuracy, against the formula and the enumerated laws."""
    graph, right = ARRANGEMENTS[name], 0.0
    for signs in product([-1.0, 1.0], repeat=8):
        u, v = np.array(signs[:4])[:, None], np.array(signs[4:])[:, None]
        for shown in (0, 1):
            image = coverage.hadamard_image(u, v, scenes_of(QUESTION)[shown])
            decision = coverage.hadamard_likelihood_rule(image, graph, u, v, QUESTION)
            right += 0.5 if decision is None else decision == shown
    accuracy = right / 512
    assert accuracy == coverage.hadamard_accuracy(graph, QUESTION, 1)
    assert accuracy == coverage_claims.best_accuracy(coverage_claims.sign_laws(graph, QUESTION), 1)


@settings(deadline=None, max_examples=50)
@given(graphs(4), SEEDS)
def test_gauge_changes_no_exposure_and_no_likelihood(graph, seed):
    rng = np.random.default_rng(seed)
    u, v = (rng.choice([-1.0, 1.0], size=(n, 5)) for n in (graph.n_objects, graph.n_attributes))
    g, h = coverage.hadamard_gauge(graph, rng, 5)
    for o, a in graph.pairs:
        assert np.array_equal(u[o] * v[a], (g * u)[o] * (h * v)[a])
    for question in graph.questions()[:4]:
        image = coverage.hadamard_image(u, v, scenes_of(question)[0])
        decisions = {coverage.hadamard_likelihood_rule(image, graph, *f, question) for f in ((u, v), (g * u, h * v))}
        assert len(decisions) == 1


def test_coordinatewise_identity():
    """|u1 v1 + u2 v2| = |u1 v2 + u2 v1| for signs: the image's support never tells."""
    for u1, u2, v1, v2 in product([-1, 1], repeat=4):
        assert abs(u1 * v1 + u2 * v2) == abs(u1 * v2 + u2 * v1)


def test_three_pairs_can_cover_four_words_each():
    """One pair less than words is enough for tensor codes: a question leaves out at most one of each kind."""
    graph = ExposureGraph(4, 4, ((0, 0), (1, 1), (2, 2)))
    assert all(coverage.tensor_decidable(graph, q) for q in graph.questions())
    assert not all(coverage.hadamard_decidable(graph, q) for q in graph.questions())


def test_fewest_pairs_for_sign_codes():
    """Of all graphs on four objects and four attributes, none with four pairs decides everything, some with five do."""

    def decides(pairs):
        graph = ExposureGraph(4, 4, pairs)
        return all(coverage.hadamard_decidable(graph, q) for q in graph.questions())

    everything = list(product(range(4), range(4)))
    assert not any(decides(pairs) for pairs in combinations(everything, 4))
    assert decides(((0, 0), (0, 1), (1, 1), (1, 2), (2, 2)))


def test_refuted_conjecture():
    """Figure 16: no pair of the question lies in one component, and the matcher is right on tensor codes, always."""
    rows = coverage_trials.unseen_pairs_across(100, 6, np.random.default_rng(1))
    assert sum(row["tensor"] for row in rows) == 100
    sure = [row["signs"] for row in rows if row["signs"] != 0.5]
    assert 0.25 < np.mean(sure) < 0.75


def test_no_rule_decides_signs_across_components():
    rows = coverage_trials.undecidable_rows(32, 300, np.random.default_rng(0))
    for row in rows:
        low, high = coverage_trials.binomial_interval(row["right"], row["of"], level=1 - 1e-6)
        assert low <= row["theory"] <= high or row["rule"].startswith("fitted")
    assert rows[-1]["right"] > 0.8 * rows[-1]["of"], "the fitted rule must learn where there is something to learn"


def test_arrangements_are_where_the_theorems_put_them():
    for row in coverage_trials.arrangement_rows(12, 60, np.random.default_rng(0)):
        low, high = coverage_trials.binomial_interval(row["right"], row["of"], level=1 - 1e-6)
        assert low <= row["theory"] <= high, row


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.data())
def test_binomial_interval_is_the_exact_one(n, data):
    k = data.draw(st.integers(0, n))
    exact = binomtest(k, n).proportion_ci(method="exact")
    assert coverage_trials.binomial_interval(k, n) == pytest.approx((exact.low, exact.high), abs=1e-9)


@settings(deadline=None, max_examples=5)
@given(SEEDS)
def test_claims_hold_for_any_seed_and_mutants_fail(seed):
    for claim in coverage_claims.CLAIMS:
        certificate = claim.certify(seed=seed, instances=60)
        assert certificate.holds, certificate
        assert not claim.mutate(seed=seed).holds


def test_empty_and_disconnected_graphs():
    empty = ExposureGraph(3, 3)
    assert len(set(np.concatenate(empty.components))) == 6
    assert not any(f(empty, q) for q in empty.questions() for f in (coverage.covered, coverage.tensor_decidable))
    assert coverage.hadamard_accuracy(empty, (0, 1, 0, 1), 8) == 0.5
    with pytest.raises(ValueError, match="no pair was seen"):
        coverage.identify_factors(empty, np.empty((0, 4, 4)))


def test_bad_exposures():
    graph, rng = ExposureGraph(2, 2, ((0, 0), (0, 1))), np.random.default_rng(0)
    u, v = factors_of(graph, rng)
    exposures = coverage.tensor_exposures(graph, u, v)
    for wrong in (2 * exposures, rng.standard_normal(exposures.shape)):
        with pytest.raises(ValueError, match="not u ⊗ v"):
            coverage.identify_factors(graph, wrong)
    for bad in (np.nan, np.inf):
        one = exposures.copy()
        one[1, 0, 0] = bad
        for wrong in (one, exposures * bad):
            with pytest.raises(ValueError, match="not all finite"):
                coverage.identify_factors(graph, wrong)
    with pytest.raises(ValueError, match="one matrix for each"):
        coverage.identify_factors(graph, exposures[:1])


def test_repeated_factors_are_not_decided():
    """Colours that agree up to sign: the image has rank one, the matcher ties, nobody guesses."""
    graph, rng = ExposureGraph(2, 2, ((0, 0), (1, 1))), np.random.default_rng(0)
    u, v = factors_of(graph, rng)
    v[1] = -v[0]
    factors = coverage.identify_factors(graph, coverage.tensor_exposures(graph, u, v))
    image = coverage.tensor_image(u, v, scenes_of((0, 1, 0, 1))[0])
    assert coverage.matcher_decision(image, factors, (0, 1, 0, 1)) is None
    with pytest.raises(ValueError, match="rank one"):
        coverage.tensor_decision(image, graph, factors, (0, 1, 0, 1))


def test_other_bad_input():
    with pytest.raises(ValueError, match="outside"):
        ExposureGraph(2, 2, ((0, 2),))
    with pytest.raises(ValueError, match="vocabulary"):
        ExposureGraph(0, 2)
    with pytest.raises(ValueError, match="exchanges two attributes"):
        scenes_of((0, 0, 0, 1))
    with pytest.raises(ValueError, match="at least one coordinate"):
        coverage.hadamard_accuracy(ExposureGraph(2, 2), (0, 1, 0, 1), 0)
    with pytest.raises(ValueError, match="no count"):
        coverage_trials.binomial_interval(3, 2)


def test_the_presence_test_fails_before_the_matcher():
    quiet, noisy = coverage_trials.noisy_rows((1e-3, 0.05), 100, np.random.default_rng(0))
    assert quiet["matcher"] == quiet["presence test"] == 1
    assert noisy["matcher"] > noisy["presence test"] + 0.1
    assert coverage_trials.noisy_rows((1e-3,), 20, np.random.default_rng(0), cosine=0, dim=3)[0]["matcher"] == 1
