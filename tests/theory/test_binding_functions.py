"""What is seen, how a prediction is judged, and what the seen objects determine; against slow second derivations."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.theory import binding_functions as theory
from bindlib.theory import binding_functions_claims as claims
from bindlib.theory.coverage import hadamard_decidable

SEEDS = st.integers(0, 2**32 - 1)
TENTHS = [i / 10 for i in range(1, 10)]


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("coverage", TENTHS)
def test_bands_show_each_concept_equally_often(coverage):
    seen = theory.bands(20, 30, coverage, rng(3))
    assert seen.mean() == pytest.approx(coverage)
    assert np.ptp(seen.sum(axis=0)) == np.ptp(seen.sum(axis=1)) == 0
    assert not np.array_equal(seen, theory.bands(20, 30, coverage, rng(4)))


def test_a_tenth_falls_apart_and_two_tenths_hold_together():
    apart, whole = (theory.bands(20, 20, c, rng()) for c in (0.1, 0.2))
    assert len(set(theory.exposure_graph(apart).components[0])) == 10
    assert np.array_equal(theory.reachable(apart), apart) and theory.reachable(whole).all()


def test_all_scenes_are_all_and_once():
    scenes = theory.all_scenes(4, 5)
    told = {frozenset(map(tuple, scene.tolist())) for scene in scenes}
    wanted = {
        frozenset(pair)
        for pair in combinations([(a, b) for a in range(4) for b in range(5)], 2)
        if pair[0][0] != pair[1][0] and pair[0][1] != pair[1][1]
    }
    assert told == wanted and len(scenes) == len(wanted)
    half = len(scenes) // 2
    assert np.array_equal(theory.swapped(scenes[:half]), scenes[half:])


@pytest.mark.parametrize("coverage", TENTHS)
def test_a_split_judges_on_what_it_says(coverage):
    seen = theory.bands(20, 20, coverage, rng())
    found = theory.split(seen, 700, 60, rng(1))
    sets = {name: {frozenset(map(tuple, s.tolist())) for s in getattr(found, name)} for name in ("train", "held_in")}
    assert len(sets["train"]) == len(found.train) <= 700 and not sets["train"] & sets["held_in"]
    assert (theory.seen_objects(seen, found.train) == 2).all()
    shown = np.zeros_like(seen)
    shown[found.train[..., 0], found.train[..., 1]] = True
    assert np.array_equal(shown, seen) or coverage == 0.1  # there, too few scenes are left beside those judged on
    for part, count in (("held_in", 2), ("held_out", 0)):
        scenes = getattr(found, part)
        assert 20 <= len(scenes) <= 60 and len(scenes) % 20 == 0
        assert (theory.seen_objects(seen, scenes) == count).all()
        groups = scenes.reshape(-1, 2, 10, 2, 2)
        assert np.array_equal(theory.swapped(groups[:, 0].reshape(-1, 2, 2)), groups[:, 1].reshape(-1, 2, 2))


def test_nothing_is_left_out_at_full_coverage():
    found = theory.split(theory.bands(20, 20, 1.0, rng()), 800, 20, rng())
    assert len(found.held_out) == 0 and len(found.held_in) == 20 and len(found.train) == 800


def predictions(seed, n=40, dim=3, ties=False):
    draw = rng(seed)
    y, guess = draw.standard_normal((2, n, dim))
    if ties:
        guess.reshape(-1, 2, 10, dim)[:, 1] = guess.reshape(-1, 2, 10, dim)[:, 0]
    return y, guess


@given(SEEDS, st.booleans())
@settings(max_examples=20)
def test_judging_one_scene_at_a_time(seed, ties):
    y, guess = predictions(seed, ties=ties)
    recognised, decided, lost, all_of = [], [], 0.0, 0.0
    for start in (0, 20):
        for i in range(20):
            far = [float(np.linalg.norm(y[start + i] - guess[start + j])) for j in range(20)]
            nearest = [j for j in range(20) if far[j] <= min(far) + 1e-9]
            recognised.append((i in nearest) / len(nearest))
            other = (i + 10) % 20
            decided.append(0.5 if abs(far[i] - far[other]) < 1e-9 else float(far[i] < far[other]))
            if i < 10:
                gap = y[start + i] - y[start + other]
                lost += float(np.sum((gap - guess[start + i] + guess[start + other]) ** 2))
                all_of += float(np.sum(gap**2))
    mean = np.array([0.1, 0.2, 0.3])
    found = theory.judge(y, guess, mean)
    assert found["recognition"] == pytest.approx(np.mean(recognised))
    assert found["swap"] == pytest.approx(np.mean(decided))
    assert found["swap_r2"] == pytest.approx(1 - lost / all_of)
    assert found["r2"] == pytest.approx(1 - np.linalg.norm(y - guess) ** 2 / np.linalg.norm(y - mean) ** 2)


@given(SEEDS)
@settings(max_examples=20)
def test_a_blind_model_stays_below_its_bound(seed):
    y, guess = predictions(seed, ties=True)
    found = theory.judge(y, guess, y.mean(axis=0))
    assert found["swap"] == 0.5 and found["swap_r2"] == pytest.approx(0) and found["recognition"] <= 0.5
    assert found["r2"] <= theory.blind_r_squared(y, y.mean(axis=0))


def test_of_blind_embeddings_there_is_no_swap_to_explain():
    y, guess = predictions(2)
    y.reshape(-1, 2, 10, 3)[:, 1] = y.reshape(-1, 2, 10, 3)[:, 0] * (1 + 1e-9)
    assert np.isnan(theory.judge(y, guess, y.mean(axis=0))["swap_r2"])


def test_the_blind_bound_is_a_mean_squared_ceiling_over_four_variances():
    y = predictions(5)[0]
    groups = y.reshape(-1, 2, 10, 3)
    d2 = np.mean(np.sum((groups[:, 0] - groups[:, 1]) ** 2, axis=-1))
    assert theory.blind_r_squared(y, y.mean(axis=0)) == pytest.approx(1 - d2 / 4 / y.var(axis=0).sum())


@given(SEEDS)
@settings(max_examples=40)
def test_paths_are_shortest_paths_of_the_graph(seed):
    draw = rng(seed)
    seen = draw.random((4, 5)) < 0.35
    graph = nx.Graph([(("a", int(a)), ("b", int(b))) for a, b in np.argwhere(seen)])
    graph.add_nodes_from([("a", i) for i in range(4)] + [("b", i) for i in range(5)])
    for pair in np.ndindex(4, 5):
        ends = ("a", pair[0]), ("b", pair[1])
        assert theory.reachable(seen)[pair] == nx.has_path(graph, *ends)
        if nx.has_path(graph, *ends):
            path = theory.path(seen, pair)
            assert len(path) == nx.shortest_path_length(graph, *ends) and all(seen[step] for step in path)
            assert path[0][0] == pair[0] and path[-1][1] == pair[1]


def test_path_product_of_the_running_example():
    """Red car, blue car and red dog are seen; blue dog is blue car times red dog over red car."""
    seen = np.array([[True, True], [True, False]])
    table = np.array([[[2.0, 3.0], [5.0, 7.0]], [[11.0, 13.0], [np.nan, np.nan]]])
    assert theory.path_product(seen, table, (1, 1)) == pytest.approx([5 * 11 / 2, 7 * 13 / 3])


@given(SEEDS)
@settings(max_examples=25)
def test_what_a_path_determines_a_sign_code_decides(seed):
    """The chapter on coverage asks for one joined pair of four; here it is the pair itself."""
    seen = rng(seed).random((3, 3)) < 0.4
    graph = theory.exposure_graph(seen)
    for question in graph.questions():
        o1, o2, a1, a2 = question
        joined = theory.reachable(seen)[[o1, o1, o2, o2], [a1, a2, a1, a2]]
        assert hadamard_decidable(graph, question) == joined.any()


def test_seed_interval_against_scipy():
    from scipy.stats import t

    values = np.array([0.2, 0.5, 0.4, 0.1])
    mean, low, high = theory.seed_interval(values)
    wanted = t.interval(0.95, 3, loc=values.mean(), scale=values.std(ddof=1) / 2)
    assert (mean, low, high) == pytest.approx((0.3, *wanted))
    assert np.isnan(theory.seed_interval([1.0])[1])


def test_summary_groups_and_ends_accuracies_at_one():
    rows = [{"model": m, "swap": s, "r2": r} for m, s, r in (("a", 1.0, 2.0), ("a", 0.9, -2.0), ("b", 0.5, 0.0))]
    first, second = theory.summary(rows, ("model",), ("swap", "r2"))
    assert first["seeds"] == 2 and first["swap"] == 0.95 and first["swap_high"] == 1 and first["r2_high"] > 1
    assert second["model"] == "b" and second["swap"] == 0.5 and np.isnan(second["swap_low"])


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.theorem.label)
def test_every_claim_holds_and_its_mutant_fails(claim):
    for seed in (0, 5):
        certificate, mutant = claim.certify(seed), claim.mutate(seed)
        assert certificate.holds, certificate
        assert mutant.fails and len(mutant.hypotheses) == len(certificate.hypotheses) - 1, mutant


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.bands(20, 20, 0.05, rng()), "below 0.1 a concept is never seen; got 0.05"),
        (lambda: theory.bands(20, 20, 0.25, rng()), "must be 0.1, 0.2"),
        (lambda: theory.bands(20, 20, 1.1, rng()), "got 1.1"),
        (lambda: theory.bands(20, 20, np.nan, rng()), "got nan"),
        (lambda: theory.bands(20, 20, np.inf, rng()), "got inf"),
        (lambda: theory.bands(9, 20, 0.5, rng()), "at least 10 concepts of each kind, got 9 and 20"),
        (
            lambda: theory.split(np.eye(12, dtype=bool)[:, 1:], 9, 20, rng()),
            "concept 0 of the first kind is in no",
        ),
        (lambda: theory.split(np.eye(12, dtype=bool)[1:], 9, 20, rng()), "concept 0 of the second kind"),
        (lambda: theory.split(np.ones((12, 12), dtype=bool), 9, 19, rng()), "judge on at least as many scenes, got 19"),
        (lambda: theory.split(theory.bands(20, 20, 0.9, rng()), 50, 20, rng()), "50 scenes to fit on do not show all"),
        (lambda: theory.judge(np.full((20, 2), np.nan), np.ones((20, 2)), np.zeros(2)), "embedding 0 is not finite"),
        (lambda: theory.judge(np.ones((20, 2)), np.full((20, 2), np.nan), np.zeros(2)), "prediction 0 is not finite"),
        (lambda: theory.judge(np.ones((20, 2)), np.ones((20, 3)), np.zeros(2)), "one prediction for each embedding"),
        (lambda: theory.judge(np.ones((20, 2)), np.ones((20, 2)), np.ones(2)), "nothing to explain"),
        (lambda: theory.judge(np.ones((19, 2)), np.ones((19, 2)), np.zeros(2)), "in groups of 20, got 19"),
        (lambda: theory.path(np.eye(2, dtype=bool), (0, 1)), "no path of seen objects joins the concepts of"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
