"""Every counterexample breaks its theorem when it is derived again, by another way than the search measures it."""

from itertools import combinations, product

import numpy as np
import pytest
from rederived import AGAIN, cosine, one_layer

from bindlib.book import claims
from bindlib.certificates import Ablation, Convenient, smallest
from bindlib.errors import BindlibError
from bindlib.explorers import break_theorem
from bindlib.theory import bag_of_words
from bindlib.theory.counterexamples import axioms, coverage, depth_law, factored_codes, throttle
from bindlib.theory.counterexamples import bag_of_words as blind

DROPPED = [(label, h) for label, a in claims.ABLATIONS.items() for h in a.without]
SEEDS = (0, 1, 2, 17)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("label", "dropped"), DROPPED)
def test_what_a_search_finds_breaks_the_theorem_when_it_is_derived_again(label, dropped, seed):
    without = claims.ablation(label).without
    outcome = claims.search(label, dropped, np.random.default_rng(seed))
    if isinstance(without[dropped], Convenient):
        assert not outcome.missed(1e-9)
        return
    again = AGAIN[label][list(without).index(dropped)]
    promised, found = again(**outcome.arrays)
    assert outcome.missed(0.05 if dropped != axioms.FINITE_WORLD else 0)
    assert (promised, found) == (pytest.approx(outcome.promised), pytest.approx(outcome.found, abs=1e-9))
    if label == "prop-position-blind":
        leaks = outcome.arrays["positions"], outcome.arrays["causal"], outcome.arrays["pooling"] != "mean"
        assert leaks == tuple(h == dropped for h in without)
    if label in ("thm-frontier", "thm-sharp-frontier"):
        lengths = {name: np.linalg.norm(v) for name, v in outcome.arrays.items()}
        stretched = {name for name, length in lengths.items() if abs(length - 1) > 1e-9}
        free = {"the anchor is unit": {"anchor"}, "the captions are unit": {"text", "swapped"}}
        assert stretched == free.get(dropped, {"image"})


@pytest.mark.parametrize("label", claims.ABLATIONS)
def test_with_all_boxes_ticked_the_theorem_holds(label):
    tolerance = max(claims.ablation(label).theorem.tolerance, 1e-12)
    for seed in range(100):
        outcome = claims.search(label, None, np.random.default_rng(seed))
        assert not outcome.missed(tolerance), outcome


@pytest.mark.parametrize(
    ("label", "module", "name"),
    [
        ("thm-satisfiability", axioms, "truth_table_encoder"),
        ("thm-pooled-margins", factored_codes, "margin"),
        ("thm-depth-law", depth_law, "law"),
        ("thm-throttle-average", throttle, "pairwise_objective"),
        ("thm-bag-of-words-collapse", bag_of_words, "word_vector"),
    ],
)
def test_a_wrong_formula_breaks_it_with_all_boxes_ticked(monkeypatch, label, module, name):
    right = getattr(module, name)
    drift = iter(range(1, 10**6))

    def wrong(*args, **kwargs):
        result = right(*args, **kwargs)
        if isinstance(result, np.ndarray | float):
            return result * (1 + next(drift) / 1000)
        return type(result)(0.999 * result.images, result.texts)

    monkeypatch.setattr(module, name, wrong)
    with pytest.raises(BindlibError, match="should hold"):
        for seed in range(20):
            claims.search(label, None, np.random.default_rng(seed))


def test_a_counterexample_that_breaks_nothing_stops_the_page(monkeypatch):
    whole = claims.ablation("thm-depth-law")
    tame = Ablation(whole.theorem, whole.example, dict.fromkeys(whole.without, whole.example))
    monkeypatch.setitem(claims.ABLATIONS, "thm-depth-law", tame)
    with pytest.raises(BindlibError, match="should break"):
        break_theorem.chart("thm-depth-law", seed=99)


@pytest.mark.parametrize("switches", [*product([False, True], [False, True], blind.POOLINGS)])
def test_towers_of_four_dimensions_are_measured_as_they_are_built(switches):
    for seed in range(5):
        arrays = dict(zip(("dim", "seed", "positions", "causal", "pooling"), (4, seed, *switches), strict=True))
        assert one_layer(**arrays)[1] == pytest.approx(blind.tower_distance(**arrays).found, abs=1e-7)


def test_lengths_of_factors_change_the_gap_and_never_the_decision():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        outcome = coverage.other_lengths(rng)
        u, v = outcome.arrays["u"], outcome.arrays["v"]
        length, other = (np.linalg.norm(o) * np.linalg.norm(a) for o, a in zip(u, v, strict=True))
        alpha, beta = cosine(*u), cosine(*v)
        shown = max((length + other) * (1 + alpha * beta), abs(length - other) * (1 - alpha * beta))
        swapped = max((length + other) * abs(alpha + beta), abs(length - other) * abs(alpha - beta))
        assert outcome.found == pytest.approx(shown - swapped) and outcome.found > 0


def test_the_price_is_a_line_for_every_loss_with_its_value_at_0():
    at_zero = {"hinge": 1, "exponential": 1, "squared": 1}
    for seed in range(200):
        outcome = throttle.another_loss(np.random.default_rng(seed))
        kind, scores, rate = (outcome.arrays[key] for key in ("loss", "scores", "rate"))
        f = throttle.LOSSES[kind]
        blind = np.repeat([(scores[0] + scores[1]) / 2, (scores[2] + scores[3]) / 2], 2)
        offset = sum(f(blind[0] - blind[c]) - f(scores[0] - scores[c]) for c in (2, 3)) / 2
        line = rate * (at_zero[kind] - f(scores[0] - scores[1])) + (1 - rate) * offset
        assert (outcome.promised, outcome.found) == (pytest.approx(line), pytest.approx(line))


def test_no_four_pictures_and_captions_are_too_many_for_a_line():
    n_images, n_captions = len(axioms.WORDS.images), len(axioms.WORDS.captions)
    for n, m in ((1, 3), (2, 2), (3, 1)):
        for images, captions in product(combinations(range(n_images), n), combinations(range(n_captions), m)):
            assert not axioms.on_a_line(np.array(images), np.array(captions)).missed(0.05)


def test_two_leaves_of_one_dimension_keep_the_law():
    for x, y, r, s in product((-1.0, 1.0), repeat=4):
        if x * r + y * s and y * r + x * s:
            outcome = depth_law.tree_margin(np.array([[x], [y]]), np.array([[[r]], [[s]]]))
            assert not outcome.missed(1e-12)


def test_a_search_says_when_it_finds_nothing_and_an_ablation_when_it_leaves_something_out():
    measure = factored_codes.swap_margin
    with pytest.raises(LookupError, match="none of 3"):
        smallest([4], lambda dim, rng: {"atoms": np.eye(dim)}, measure, np.random.default_rng(0), tries=3)
    whole = claims.ablation("thm-radon")
    with pytest.raises(ValueError, match="not all are dropped"):
        Ablation(whole.theorem, whole.example, {})
    with pytest.raises(BindlibError, match="thm-radon"):
        claims.search("prop-cover", None, np.random.default_rng(0))
    with pytest.raises(BindlibError, match="has no hypothesis"):
        claims.search("thm-radon", "the moon is full", np.random.default_rng(0))
