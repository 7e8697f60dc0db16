"""Worlds, axioms and encoders, and a solver that is never wrong: its answers are checked here by other means."""

from collections import Counter
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, permutations, product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bindlib.scenes import RED_CAR_BLUE_DOG, Atom, Scene, World, swap
from bindlib.theory import axioms, axioms_claims, constructions, radon, satisfy
from bindlib.theory.axioms import AXIOMS, Caption, Encoder, FiniteWorld, check_axiom, demands
from bindlib.theory.bag_of_words import unit
from bindlib.theory.frontier import sharp_cap
from bindlib.theory.hypotheses import Hypotheses, Problem, worst_margin
from bindlib.theory.satisfy import SAT, UNKNOWN, UNSAT

SEEDS = st.integers(0, 2**31 - 1)
SMALL = FiniteWorld.of(World(("car", "dog"), ("red", "blue")), (2,))
FIVE = FiniteWorld.of(World(("car", "cat", "cup", "dog", "hat"), ("blue", "red")))
TRIPLES = FiniteWorld.of(World(("car", "cup", "dog"), ("blue", "green", "red")), (1, 2, 3))
WORLDS = {"small": SMALL, "five": FIVE, "triples": TRIPLES}
ALL = AXIOMS


# Worlds


def test_the_running_example():
    """Two scenes in two orders from left to right; every caption's truth by hand at a red car left of a blue dog."""
    assert len(SMALL.images) == 4
    image = SMALL.images.index((Atom("car", "red"), Atom("dog", "blue")))
    true = {c.text for c, holds in zip(SMALL.captions, SMALL.truth[image], strict=True) if holds}
    assert true == {"a car", "a dog", "a red car and a blue dog", "a blue dog and a red car", "a car left of a dog"}
    false = {c.text for c in SMALL.captions} - true
    assert {"no car", "no dog", "a blue car and a red dog", "a dog left of a car"} <= false


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_demands_are_true_above_false_and_nothing_else_is_compared(world):
    for axiom in AXIOMS:
        rows = demands(world, axiom)
        assert np.all(world.truth[rows[:, 0], rows[:, 1]]) and not np.any(world.truth[rows[:, 0], rows[:, 2]])
    n = len(world.objects)
    held = Counter(len(image) for image in world.images)
    assert len(demands(world, "content")) == sum(count * k * (n - k) for k, count in held.items())
    assert len(demands(world, "negation")) == len(world.images) * n
    assert len(demands(world, "relation")) == sum(count * k * (k - 1) // 2 for k, count in held.items())


def test_binding_compares_a_scene_with_its_swaps_only():
    pairs = axioms.contrasts(TRIPLES, "binding")
    for a, b in pairs:
        s, t = TRIPLES.captions[a].meaning, TRIPLES.captions[b].meaning
        assert sum(x != y for x, y in zip(s.atoms, t.atoms, strict=True)) == 2
        assert sorted(TRIPLES.captions[a].text.split()) == sorted(TRIPLES.captions[b].text.split())
    assert axioms.swaps(RED_CAR_BLUE_DOG) == {swap(RED_CAR_BLUE_DOG)}
    assert axioms.swaps(Scene.of(car="red", dog="red")) == set()


def test_order_variants_mean_the_same():
    for a, b in axioms.contrasts(FIVE, "order"):
        assert np.array_equal(FIVE.truth[:, a], FIVE.truth[:, b])
        assert FIVE.words[a] == FIVE.words[b]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FiniteWorld((), ()), "at least one image"),
        (lambda: FiniteWorld.of(World(("car",), ("red",)), (2,)), "1..1"),
        (lambda: FiniteWorld.of(World(("car",), ("red",)), ()), "sizes"),
        (lambda: axioms.contrasts(SMALL, "colour"), "the axioms are"),
        (lambda: axioms.signed_encoder(np.zeros((2, 2))), "bool matrix"),
        (lambda: axioms.truth_table_encoder(np.array([[True, False]]), np.array([0, 0])), "same images"),
    ],
)
def test_bad_input(make, said):
    with pytest.raises(ValueError, match=said):
        make()


# Encoders


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_truth_table_satisfies_every_axiom(world):
    encoder = axioms.truth_table_encoder(world.truth, world.meanings)
    gamma = 1 / sqrt(world.truth.sum(axis=0).max())
    assert encoder.images.shape[1] == len(world.images) + len(world.captions)
    for axiom in AXIOMS:
        check = check_axiom(world, axiom, encoder)
        assert check.holds
        assert check.margin == pytest.approx(0 if axiom == "order" else gamma if check.demands else inf)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_signed_table_needs_fewer_dimensions_and_has_its_margin(world):
    encoder = axioms.signed_encoder(world.truth)
    for axiom in ("content", "binding", "relation", "negation"):
        check = check_axiom(world, axiom, encoder)
        assert check.margin == pytest.approx(2 / sqrt(len(world.images)) if check.demands else inf)


def test_a_predicate_names_where_it_fails():
    """Blind captions: binding fails with margin 0 and is quoted; the order axiom with distance."""
    encoder = axioms.truth_table_encoder(SMALL.truth)  # order variants have vectors of their own
    order = check_axiom(SMALL, "order", encoder)
    assert not order.holds and order.margin == pytest.approx(-sqrt(2 - 2 * 2 / 4))  # both true of two images, γ² = 1/4
    assert check_axiom(SMALL, "order", encoder, epsilon=1.5).holds
    texts = encoder.texts[np.unique(SMALL.words, return_index=True)[1]][SMALL.words]
    binding = check_axiom(SMALL, "binding", Encoder(encoder.images, texts))
    assert not binding.holds and binding.margin == 0 and "red car" in binding.worst


def test_a_caption_true_of_nothing_and_one_true_of_everything():
    truth = np.array([[True, False], [True, False]])
    encoder = axioms.truth_table_encoder(truth)
    assert np.allclose(encoder.scores, [[1 / sqrt(2), 0]] * 2)
    assert np.allclose(axioms.truth_table_encoder(np.zeros((2, 3), dtype=bool)).scores, 0)


@given(SEEDS)
@settings(deadline=None, max_examples=60)
def test_circles_against_the_standard_library(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, (int(rng.integers(1, 12)), 3))
    rows[:, 0] %= 2
    rows = rows[rows[:, 1] != rows[:, 2]]

    def has_circle(image):
        try:
            graph: dict = {}
            for _, b, w in rows[rows[:, 0] == image].tolist():
                graph.setdefault(b, set()).add(w)
            list(TopologicalSorter(graph).static_order())
        except CycleError:
            return True
        return False

    cycle = axioms.find_cycle(rows)
    assert bool(cycle) == (has_circle(0) or has_circle(1))
    demanded = {tuple(row) for row in rows.tolist()}
    assert all(step in demanded for step in cycle)
    assert all(a[2] == b[1] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    if cycle:
        with pytest.raises(ValueError, match="circle"):
            axioms.ranked_encoder(2, 6, rows)
    elif len(rows):
        assert axioms.ranked_encoder(2, 6, rows).margins(rows).min() > 0


@given(SEEDS, st.integers(1, 6), st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_best_image_against_a_linear_programme(seed, dim, n):
    """HiGHS agrees on whether a positive margin exists, and its margin over the larger cube is at least as large."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, dim)) + rng.uniform(0, 2) * rng.standard_normal(dim)
    image, weights = constructions.best_image(rows)
    found = linprog([0.0] * dim + [-1.0], A_ub=np.hstack([-rows, np.ones((n, 1))]), b_ub=np.zeros(n),
                    bounds=[(-1, 1)] * dim + [(None, None)])  # fmt: skip
    margin = float((rows @ image).min())
    assert np.linalg.norm(image) == pytest.approx(1)
    assert weights.sum() == pytest.approx(1) and np.all(weights >= 0)
    assert (margin > 1e-9) == (-found.fun > 1e-9)
    assert margin <= -found.fun + 1e-9
    if margin > 1e-6:
        assert margin == pytest.approx(np.linalg.norm(weights @ rows))


def test_shortest_combination_where_the_fast_solver_stops_early():
    """Signed features of five objects, differences repeated: the optimum by hand is 2 / sqrt(7)."""
    encoder = constructions.feature_encoder(FIVE, ALL)
    rows = demands_of(FIVE, ALL)
    for image in range(len(FIVE.images)):
        mine = rows[rows[:, 0] == image]
        found, _ = constructions.best_image(encoder.texts[mine[:, 1]] - encoder.texts[mine[:, 2]])
        least = float(np.min((encoder.texts[mine[:, 1]] - encoder.texts[mine[:, 2]]) @ found))
        assert least >= 2 / sqrt(7) - 1e-9


def demands_of(world, names):
    return np.concatenate([demands(world, name) for name in names])


@given(SEEDS)
@settings(deadline=None, max_examples=40)
def test_margin_bound_against_the_definition(seed):
    """The bound from a dense matrix built in loops, against any encoder's weighted margins."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, 3, 8), rng.integers(0, 3, 8), rng.integers(3, 6, 8)], axis=1)
    y, p, q = rng.exponential(size=8), rng.uniform(0.5, 2, 3), rng.uniform(0.5, 2, 6)
    a = np.zeros((3, 6))
    for weight, (i, b, w) in zip(y, rows, strict=True):
        a[i, b] += weight
        a[i, w] -= weight
    expected = np.linalg.svd(a / np.sqrt(np.outer(p, q)))[1][0] * sqrt(p.sum() * q.sum()) / y.sum()
    bound = axioms.margin_bound(3, 6, rows, y, (p, q))
    assert bound == pytest.approx(expected)
    encoder = Encoder(unit(rng.standard_normal((3, 4))), unit(rng.standard_normal((6, 4))))
    assert y @ encoder.margins(rows) / y.sum() <= bound + 1e-12


# The solver


def measured_by_loops(world, names, encoder):
    """The worst margin, caption by caption and image by image, straight from the truth relation."""
    margins, pairs = [inf], list(combinations(range(len(world.captions)), 2))
    for i, (b, w) in product(range(len(world.images)), pairs):
        if world.truth[i, b] == world.truth[i, w]:
            continue
        if not world.truth[i, b]:
            b, w = w, b
        if compared(world.captions[b], world.captions[w]) & set(names):
            margins.append(float(encoder.images[i] @ (encoder.texts[b] - encoder.texts[w])))
    return min(margins)


def compared(a: Caption, b: Caption):
    kinds = {a.kind, b.kind}
    if kinds == {"content"}:
        return {"content"}
    if kinds == {"content", "negation"} and a.meaning == b.meaning:
        return {"negation"}
    if kinds == {"relation"} and set(a.meaning) == set(b.meaning):
        return {"relation"}
    if kinds == {"binding"} and sum(x != y for x, y in zip(a.meaning.atoms, b.meaning.atoms, strict=False)) == 2:
        same_objects = a.meaning.objects == b.meaning.objects
        return {"binding"} if same_objects and sorted(a.meaning.attributes) == sorted(b.meaning.attributes) else set()
    return set()


def assert_witness(world, names, dim, encoder, required=0.0):
    assert dim in (None, encoder.texts.shape[1])
    assert np.allclose(np.linalg.norm(np.vstack(encoder), axis=1), 1, atol=1e-12)
    assert measured_by_loops(world, names, encoder) >= max(required, 1e-9)
    if "order" in names:
        for a, b in combinations(range(len(world.captions)), 2):
            first, second = world.captions[a], world.captions[b]
            if (first.kind, first.meaning) == (second.kind, second.meaning):
                assert np.array_equal(encoder.texts[a], encoder.texts[b])


@pytest.mark.parametrize(
    ("names", "dim", "hypotheses", "status", "theorem"),
    [
        (ALL, None, {}, SAT, None),
        (ALL, 4, {}, SAT, None),
        (("content",), 3, {}, UNSAT, "thm-radon"),
        (("content",), 2, {}, UNSAT, "thm-radon"),
        (("negation",), 3, {}, UNSAT, "prop-half-shattered"),
        (("binding", "relation"), 2, {}, SAT, None),
        (("binding",), 1, {}, SAT, None),
        (ALL, None, {"pairing_blind": True}, UNSAT, "thm-bag-of-words-collapse"),
        (("relation",), None, {"pairing_blind": True}, UNSAT, "prop-circle"),
        (("content", "negation", "order"), None, {"pairing_blind": True}, SAT, None),
        (("binding",), None, {"delta": 0.125, "margin": 0.97}, UNSAT, "thm-sharp-frontier"),
        (("binding",), None, {"delta": 0.125, "margin": 0.968}, SAT, None),
        (("binding",), None, {"delta": 0.0}, UNSAT, "thm-sharp-frontier"),
        (("binding",), 1, {"delta": 0.5}, UNSAT, "thm-sharp-frontier"),
        (("content", "relation", "order"), 4, {"delta": 0.0}, SAT, None),
        (("binding",), None, {"pooled": True, "margin": 1.001}, UNSAT, "thm-pooled-margins"),
        (("binding",), None, {"pooled": True, "margin": 0.999}, SAT, None),
        (("binding",), 9, {"pooled": True}, UNSAT, "thm-pooled-margins"),
        (("relation",), None, {"pooled": True}, UNSAT, "prop-circle"),
        (("content", "binding", "negation", "order"), None, {"pooled": True}, SAT, None),
        (("content",), None, {"pooled": True, "delta": 0.01}, UNSAT, "thm-sharp-frontier"),
        (("binding",), None, {"margin": 2.0}, SAT, None),
        (("content",), None, {"margin": 1.5}, UNSAT, "prop-margin-bound"),
        (("negation",), 4, {"margin": 1.0}, UNKNOWN, None),
        (("order",), 1, {"delta": 0.0, "pairing_blind": True}, SAT, None),
        ((), None, {}, SAT, None),
    ],
)
def test_verdicts_on_five_objects(names, dim, hypotheses, status, theorem):
    verdict = satisfy.satisfy(FIVE, names, dim, Hypotheses(**hypotheses))
    assert (verdict.status, verdict.theorem) == (status, theorem), verdict.reason
    assert verdict.reason
    assert (verdict.witness is not None) == (status == SAT)
    if status == SAT:
        assert_witness(FIVE, names, dim, verdict.witness, hypotheses.get("margin", 0))
        if hypotheses.get("pairing_blind"):
            assert same_vector_for_same_words(verdict.witness)
        if "delta" in hypotheses:
            assert swaps_within(verdict.witness, float(sharp_cap(hypotheses["delta"])))


def same_vector_for_same_words(encoder):
    words = [tuple(sorted(c.text.split())) for c in FIVE.captions]
    return all(np.array_equal(encoder.texts[a], encoder.texts[b])
               for a, b in combinations(range(len(words)), 2) if words[a] == words[b])  # fmt: skip


def swaps_within(encoder, cap):
    pairs = [(a, b) for a, b in combinations(range(len(FIVE.captions)), 2)
             if "binding" in compared(FIVE.captions[a], FIVE.captions[b])]  # fmt: skip
    return all(np.linalg.norm(encoder.texts[a] - encoder.texts[b]) <= cap + 1e-12 for a, b in pairs)


def test_small_worlds_in_small_dimensions():
    """Two objects on a line are opposite; a blind and smooth map has no swaps left to bring together."""
    two = FiniteWorld.of(World(("car", "dog"), ("blue", "red")))
    assert satisfy.satisfy(two, ["content"], 1, Hypotheses(margin=2.0)).status == SAT
    assert satisfy.satisfy(two, ["negation"], 2, Hypotheses(pairing_blind=True, delta=0.2, margin=1.4)).status == SAT


def test_required_margin_at_the_cap_itself_is_not_guessed():
    cap = float(sharp_cap(0.3))
    at, below, above = (satisfy.satisfy(FIVE, ["binding"], None, Hypotheses(delta=0.3, margin=cap + e)).status
                        for e in (0, -1e-6, 1e-6))  # fmt: skip
    assert at in (SAT, UNKNOWN) and below == SAT and above == UNSAT


def test_scenes_of_three_atoms():
    """The parity of a pairing no longer answers for its parts, and the solver falls back on the table."""
    verdict = satisfy.satisfy(TRIPLES, ALL)
    assert verdict.status == SAT
    assert_witness(TRIPLES, ALL, None, verdict.witness)
    smooth = satisfy.satisfy(TRIPLES, ["binding", "order"], None, Hypotheses(delta=0.2))
    assert smooth.status == SAT and smooth.margin <= sharp_cap(0.2)


def test_half_of_the_scenes_are_enough_to_forbid_content():
    """Four objects in the plane, and of the two scenes of a split only one is ever shown."""
    four = FiniteWorld.of(World(("car", "cat", "cup", "dog"), ("blue", "red")))
    assert satisfy.satisfy(four, ["content"], 2).theorem == "thm-radon"
    kept = tuple(image for image in four.images if {a.object for a in image} != {"car", "cat"})
    assert satisfy.satisfy(replace(four, images=kept), ["content"], 2).theorem == "prop-half-shattered"
    fewer = tuple(image for image in kept if {a.object for a in image} != {"cup", "dog"})
    assert satisfy.satisfy(replace(four, images=fewer), ["content"], 2).status == SAT


def test_the_certificate_of_radon_is_what_it_says():
    found = satisfy.satisfy(FIVE, ["content"], 3).bracket.obstruction.certificate
    assert len(found["objects"]) == 5 and len(found["splits"]) == 15
    for part, image in found["splits"]:
        shown = {atom.object for atom in FIVE.images[image]}
        assert {o for i, o in enumerate(found["objects"]) if part >> i & 1} == shown & set(found["objects"])


def test_the_certificate_of_the_bound_is_what_it_says():
    verdict = satisfy.satisfy(FIVE, ["content"], None, Hypotheses(margin=1.2))
    obstruction = verdict.bracket.obstruction
    problem = Problem(FIVE, ("content",), None, Hypotheses())
    again = axioms.margin_bound(*problem.sizes, problem.demanded, obstruction.certificate["weights"],
                                obstruction.certificate["scale"])  # fmt: skip
    assert again == obstruction.bound < 1.2
    assert np.all(obstruction.certificate["weights"] >= 0)


@given(SEEDS, st.sampled_from([(2, 2), (3, 2), (4, 2), (3, 3)]), st.integers(1, 5), st.booleans())
@settings(deadline=None, max_examples=12)
def test_no_witness_beats_a_bound(seed, sizes, dim, smooth):
    """Soundness: what was found never exceeds what was proved, whichever the world, axioms and dimension."""
    rng = np.random.default_rng(seed)
    objects, attributes = ("car", "cup", "dog", "hat")[: sizes[0]], ("blue", "green", "red")[: sizes[1]]
    world = FiniteWorld.of(World(objects, attributes), ((1, 2), (2,))[int(rng.integers(2))])
    names = [axiom for axiom in AXIOMS if rng.random() < 0.6]
    hypotheses = Hypotheses(delta=float(rng.uniform(0, 1)) if smooth else None)
    bracket = satisfy.margin_bracket(world, names, dim, hypotheses, rng)
    assert bracket.low == inf or bracket.low <= bracket.high + 1e-9
    if bracket.witness is not None and bracket.low > 1e-9:
        assert_witness(world, names, dim, bracket.witness)


def test_five_objects_at_the_best_margin_there_is():
    """Content alone: the bracket closes on 5 / (2 sqrt 6), in four dimensions as in any."""
    for dim in (4, None):
        bracket = satisfy.margin_bracket(FIVE, ["content"], dim)
        assert bracket.low <= 5 / (2 * sqrt(6)) + 1e-9 <= bracket.high + 1e-8
        assert bracket.high - bracket.low < 0.006


@pytest.fixture(scope="module")
def good():
    return satisfy.satisfy(FIVE, ALL).witness


@pytest.mark.parametrize("broken", ["longer image", "longer text", "nan", "order", "missing", "wide"])
def test_a_broken_witness_is_refused(good, broken):
    images, texts = good.images.copy(), good.texts.copy()
    if broken == "longer image":
        images[0] *= 1 + 1e-9
    elif broken == "longer text":
        texts[3] *= 0.999
    elif broken == "nan":
        texts[0, 0] = np.nan
    elif broken == "order":
        a = axioms.contrasts(FIVE, "order")[0, 0]
        texts[a] = unit(texts[a] + 1e-6 * np.roll(texts[a], 1))
    elif broken == "missing":
        images = images[1:]
    else:
        texts = np.pad(texts, ((0, 0), (0, 1)))
    problem = Problem(FIVE, ALL, None, Hypotheses())
    assert worst_margin(problem, good) > 0
    assert worst_margin(problem, Encoder(images, texts)) == -inf


@pytest.mark.parametrize("hypotheses", [{"pairing_blind": True}, {"delta": 0.1}, {"pooled": True}])
def test_a_witness_without_the_hypothesis_is_refused(good, hypotheses):
    assert worst_margin(Problem(FIVE, ALL, None, Hypotheses(**hypotheses)), good) == -inf
    assert worst_margin(Problem(FIVE, ALL, good.texts.shape[1] + 1, Hypotheses()), good) == -inf


def test_given_texts_decide_by_their_hull(good):
    dim = good.texts.shape[1]
    kept = satisfy.satisfy(FIVE, ALL, dim, Hypotheses(texts=good.texts))
    assert kept.status == SAT and np.array_equal(kept.witness.texts, good.texts)
    assert kept.margin >= worst_margin(Problem(FIVE, ALL, dim, Hypotheses()), good) - 1e-12
    over = satisfy.satisfy(FIVE, ALL, dim, Hypotheses(texts=good.texts, margin=kept.margin + 1e-3))
    assert (over.status, over.theorem) == (UNSAT, "prop-best-image")


def test_given_texts_that_share_a_vector():
    texts = np.tile([1.0, 0.0], (len(SMALL.captions), 1))
    verdict = satisfy.satisfy(SMALL, ["binding"], 2, Hypotheses(texts=texts))
    assert (verdict.status, verdict.theorem) == (UNSAT, "prop-best-image")


def test_given_texts_that_a_rounding_error_separates_are_unknown():
    """Two captions apart by 1e-13: a margin exists and is too small to vouch for."""
    texts = np.tile([1.0, 0.0], (len(SMALL.captions), 1))
    texts[:, 1] = 1e-13 * np.arange(len(texts))
    texts = unit(texts)
    assert satisfy.satisfy(SMALL, ["binding"], 2, Hypotheses(texts=texts)).status == UNKNOWN


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: satisfy.satisfy(SMALL, ["colour"]), "the axioms are"),
        (lambda: satisfy.satisfy(SMALL, ["content"], 0), "at least 1"),
        (lambda: Hypotheses(margin=-0.1), "margin lies"),
        (lambda: Hypotheses(margin=float("nan")), "margin lies"),
        (lambda: Hypotheses(delta=2.1), "delta lies"),
        (lambda: Hypotheses(texts=np.eye(3), pooled=True), "drop the other"),
        (lambda: Hypotheses(texts=2 * np.eye(3)), "unit rows"),
        (lambda: satisfy.satisfy(SMALL, ["content"], 3, Hypotheses(texts=np.eye(3))), "text vector"),
    ],
)
def test_bad_questions(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_features_of_five_objects():
    """M presence signs, one sign for the pairing, one for the order: margin 2 / sqrt(M + 2)."""
    encoder = constructions.feature_encoder(FIVE, ALL)
    assert encoder.images.shape[1] == 7
    assert worst_margin(Problem(FIVE, ALL, 7, Hypotheses()), encoder) == pytest.approx(2 / sqrt(7))


def test_every_claim_has_one_mutant_of_one_hypothesis():
    for claim in axioms_claims.CLAIMS:
        assert claim.certify(seed=3).holds
        mutant = claim.mutate(seed=3)
        assert not mutant.holds
        assert len(claim.theorem.hypotheses) - len(mutant.hypotheses) == 1
    with pytest.raises(ValueError, match="no hypothesis"):
        replace(axioms_claims.CIRCLE, hypotheses=()).certificate(0, 1, 0.0, {}, dropped=axioms_claims.NO_CIRCLE)


def test_parity_needs_distinct_attributes():
    """Red, red and blue on three objects: each scene is a swap of each other one, and no margin passes 3/2."""
    scenes = sorted(set(permutations(("red", "red", "blue"))))
    others = [[sum(a != b for a, b in zip(s, t, strict=True)) == 2 for t in scenes] for s in scenes]
    assert np.array_equal(others, ~np.eye(3, dtype=bool))

    def worst(images, texts):
        scores = images @ texts.T
        return min(scores[s, s] - scores[s, t] for s in range(3) for t in range(3) if s != t)

    signs = [np.array(x)[:, None] for x in product((-1.0, 1.0), repeat=3)]
    assert max(worst(images, texts) for images in signs for texts in signs) == 0
    corners = radon.regular_simplex(3)
    assert worst(corners, corners) == pytest.approx(1.5)
    rng = np.random.default_rng(0)
    for dim in (2, 3, 5):
        texts = rng.standard_normal((3, dim))
        texts /= np.linalg.norm(texts, axis=1, keepdims=True)
        best = 3 * texts - texts.sum(axis=0)  # the images of the largest sum of margins
        assert np.linalg.norm(best, axis=1).sum() <= 9 + 1e-12
