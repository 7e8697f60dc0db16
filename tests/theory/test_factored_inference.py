"""The formula of factored inference: its limits, against long arithmetic and logistic regression by brute force."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit

from bindlib.theory import factored_inference as theory
from bindlib.theory.bag_of_words import unit
from bindlib.theory.factored_inference import GAMMA, lcse, mean_log_odds, power_mean

GAMMAS = st.floats(-30, 30)
PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=5)
EVIDENCE = st.lists(st.floats(-800, 800), min_size=1, max_size=4)
SCORES = np.array([[0.30, 0.14], [0.18, 0.26], [0.22, 0.22]])
HOLISTIC = np.array([0.25, 0.20, 0.31])
PLAIN = np.zeros(2, bool)


def long_log_odds(x, gamma):
    """The log-odds of the power mean in five hundred digits: no logarithm is rearranged."""
    with localcontext() as context:
        context.prec = 500
        p = [1 / (1 + (-Decimal(float(v))).exp()) for v in x]
        gamma, n = Decimal(float(gamma)), len(p)
        if gamma == 0:
            mean = (sum(v.ln() for v in p) / n).exp()
        else:
            mean = ((sum((gamma * v.ln()).exp() for v in p) / n).ln() / gamma).exp()
        return float(mean.ln() - (1 - mean).ln())


@pytest.mark.parametrize("gamma", [-20, -1, -1e-6, 0, 1e-6, 0.5, 1, 10])
@pytest.mark.parametrize("x", [(-3.0, 2.0), (40.0, 41.0, -0.5), (-300.0, 250.0), (30.0, 300.0), (0.01, 0.02, 0.0)])
def test_log_odds_of_a_power_mean_against_long_arithmetic(x, gamma):
    assert mean_log_odds(np.array(x), gamma) == pytest.approx(long_log_odds(x, gamma), rel=1e-12, abs=1e-13)


@given(EVIDENCE, st.sampled_from([-np.inf, -1e308, -1e6, -1.0, 0.0, 1e-9, 1.0, 10.0, 1e308, np.inf]))
def test_log_odds_are_finite_and_between_the_extremes(x, gamma):
    found = float(mean_log_odds(np.array(x), gamma))
    assert min(x) - 1e-9 * (1 + abs(min(x))) <= found <= max(x) + 1e-9 * (1 + abs(max(x)))


def test_log_odds_far_beyond_what_a_probability_can_say():
    assert mean_log_odds(np.array([1e5, 2e5]), 10.0) == pytest.approx(1e5 + np.log(2))
    assert mean_log_odds(np.array([-1e5, 2e5]), -1.0) == pytest.approx(-1e5 + np.log(2))
    assert mean_log_odds(np.array([-1e5, -2e5]), 1.0) == pytest.approx(-1e5 - np.log(2))
    assert mean_log_odds(np.array([np.inf, -np.inf]), -1.0) == -np.inf
    assert mean_log_odds(np.array([np.inf, np.inf]), 10.0) == np.inf
    x = np.array([599.0, 599.5]), np.array([601.0, 601.5])  # on both sides of the change of formula
    assert mean_log_odds(x[1], 3.0) - mean_log_odds(x[0], 3.0) == pytest.approx(2, abs=1e-12)


@given(PROBABILITIES, GAMMAS, GAMMAS)
@example([0.5, 0.25], 0.0, 5e-324)
@example([0.0, 0.5], -5e-324, 1e-300)
def test_power_means_grow_with_the_exponent_and_stay_between_the_extremes(p, gamma, other):
    low, high = sorted((gamma, other))
    means = [float(power_mean(np.array(p), g)) for g in (-np.inf, low, high, np.inf)]
    assert means[0] == min(p) and means[-1] == max(p)
    assert np.all(np.diff(means) >= -1e-12)


def test_power_means_that_have_names():
    p = np.array([[0.2, 0.9, 0.4], [1.0, 0.5, 0.0]])
    np.testing.assert_allclose(power_mean(p, 1.0), p.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(power_mean(p[:1], 0.0), np.cbrt(0.072), rtol=1e-14)
    np.testing.assert_allclose(power_mean(p[:1], -1.0), 3 / (5 + 1 / 0.9 + 2.5), rtol=1e-14)
    assert power_mean(p, -1.0)[1] == power_mean(p, 0.0)[1] == 0
    for limit, gamma in ((np.inf, 1e7), (-np.inf, -1e7), (0.0, 1e-9), (0.0, -1e-9)):
        np.testing.assert_allclose(power_mean(p[0], gamma), power_mean(p[0], limit), rtol=1e-6)
    for corner in ([0, 0], [1, 1]):
        assert all(power_mean(np.array(corner), g) == corner[0] for g in (-np.inf, -1, 0, 1, 10, np.inf))


def naive(holistic, scores, negated, operator, beta=30.0, mu=0.22):
    """The formula as it is written."""
    p = 1 / (1 + np.exp(-beta * (scores - mu)))
    q, gamma = np.where(negated, 1 - p, p), {"and": -1, "or": 10, "other": 1}[operator]
    logical, soft = (q**gamma).mean(axis=1) ** (1 / gamma), p.mean(axis=1)
    return holistic + (np.log(logical / (1 - logical)) - np.log(soft / (1 - soft))) / beta


@pytest.mark.parametrize("operator", GAMMA)
@pytest.mark.parametrize("negated", [(False, False), (False, True), (True, True)])
def test_lcse_is_the_formula(operator, negated):
    found = lcse(HOLISTIC, SCORES, np.array(negated), operator)
    np.testing.assert_allclose(found, naive(HOLISTIC, SCORES, np.array(negated), operator), atol=1e-13)
    assert found.shape == (3,)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-6, 6), st.sampled_from(list(GAMMA)), st.booleans())
def test_lcse_is_finite_for_any_slope(a, b, log_beta, operator, negated):
    found = lcse(np.zeros(1), np.array([[a, b]]), np.array([negated, False]), operator, beta=10**log_beta)
    assert np.isfinite(found).all() and abs(found[0]) < 4 + 3 / 10**log_beta


def test_lcse_is_finite_up_to_the_largest_evidence_and_refuses_more():
    scores = np.array([[0.5, -0.5]])
    for negated, expected in ((PLAIN, -0.1), (~PLAIN, -0.9)):  # the logits of -9e307 and 9e307 must not be subtracted
        assert lcse(np.zeros(1), scores, negated, "and", 1e308, -0.4) == pytest.approx(expected, abs=1e-12)
    for beta, mu in ((1e308, -1.5), (1.0, -1.7e308)):
        with pytest.raises(ValueError, match=r"β\(s - μ\) is too large") as raised:
            lcse(np.zeros(1), np.array([[1e308 / beta, 0.9]]) + 0.5, PLAIN, "and", beta, mu)
        assert "\n" not in str(raised.value)


def test_edits_by_atoms_can_bind_over_a_bag_of_words():
    """Plain scores of a caption and its swap are equal; the edit is that of the formula and prefers what is shown."""
    words, captions = ["red", "car", "blue", "dog", "bus"], (("red car", "blue dog"), ("red dog", "blue car"))
    images = unit(np.array([[0.6, 0.4, 0.4, 0.6, 0.03], [0.6, 0.6, 0.4, 0.4, 0.03]]))

    def bag(text):
        return unit(np.array([float(text.split().count(word)) for word in words]))

    for beta in (4, 30):
        plain, edited = theory.edited_by_atoms(bag, images, captions, beta, 0.2)
        np.testing.assert_allclose(plain, images[:, :4].sum(axis=1, keepdims=True).repeat(2, axis=1) / 2, atol=1e-14)
        atoms = np.array([[[0, 1], [2, 3]], [[0, 3], [2, 1]]])
        scores = images[:, atoms].sum(axis=-1) / np.sqrt(2)  # (image, caption, atom)
        expected = [naive(plain[:, j], scores[:, j], PLAIN, "and", beta, 0.2) for j in (0, 1)]
        np.testing.assert_allclose(edited, np.stack(expected, axis=1), atol=1e-9)
        margins = edited[[0, 1], [0, 1]] - edited[[0, 1], [1, 0]]
        assert (margins > 1e-7).all() and margins[0] == pytest.approx(margins[1], rel=1e-6)


def test_the_sharp_limit():
    """As β grows an AND becomes the least margin, and an OR of affirmed concepts does nothing."""
    t = np.array([[0.1, -0.2], [0.1, 0.2], [-0.1, -0.2]])
    clamp = np.array([0.0, 0.1, -0.1])  # the soft evidence over β
    np.testing.assert_allclose(lcse(np.zeros(3), t, PLAIN, "and", 1e5, 0.0), t.min(axis=1) - clamp, atol=1e-4)
    np.testing.assert_allclose(lcse(np.zeros(3), t, PLAIN, "or", 1e5, 0.0), 0, atol=1e-4)


def test_without_negation_another_query_is_not_edited_at_all():
    assert (lcse(HOLISTIC, SCORES, PLAIN, "other") == HOLISTIC).all()
    for operator in GAMMA:  # nor is a single concept
        assert (lcse(HOLISTIC, SCORES[:, :1], PLAIN[:1], operator) == HOLISTIC).all()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"concept_scores": np.zeros((3, 0)), "negated": np.zeros(0, bool)}, "at least one concept"),
        ({"concept_scores": SCORES[:2]}, r"holistic \(n,\) and concept_scores \(n, c\)"),
        ({"holistic": HOLISTIC[:, None]}, r"holistic \(n,\)"),
        ({"concept_scores": np.where(SCORES > 0.29, np.nan, SCORES)}, "concept scores must be finite"),
        ({"holistic": np.array([0, np.nan, 0])}, "holistic scores must be finite"),
        ({"operator": "xor"}, "no operator is called 'xor'; there are and, or, other"),
        ({"negated": np.zeros(3, bool)}, "one true or false a concept: 2 concepts"),
        ({"negated": np.array([0, 1])}, "one true or false a concept"),
        ({"beta": 0.0}, "β must be positive"),
        ({"beta": np.inf}, "β must be positive"),
        ({"mu": np.nan}, "μ finite"),
    ],
)
def test_bad_input_of_lcse(change, said):
    given_ = {"holistic": HOLISTIC, "concept_scores": SCORES, "negated": PLAIN, "operator": "and"} | change
    with pytest.raises(ValueError, match=said) as raised:
        lcse(**given_)
    assert "\n" not in str(raised.value)


def test_bad_input_of_means():
    for p, said in (([1.1], r"\[0, 1\]"), ([-0.1], r"\[0, 1\]"), ([np.nan], r"\[0, 1\]"), ([], "at least one member")):
        with pytest.raises(ValueError, match=said):
            power_mean(np.array(p), 1.0)
    with pytest.raises(ValueError, match="NaN"):
        power_mean(np.array([0.5]), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        mean_log_odds(np.array([np.nan]), 1.0)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_of_two_concepts_an_and_rises_with_the_weaker_and_falls_with_the_stronger(p, q):
    low, high = sorted((p, q))
    if high - low > 1e-6:
        assert low < theory.turning_point(np.array([p, q])) <= np.sqrt(p * q) + 1e-12 < high + 1e-12


def test_the_gaps_of_the_published_exponents():
    """On a grid, the gap of two concepts runs between the two values that the chapter names."""
    p, q = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401))
    gap = theory.de_morgan_gap(np.stack([p, q], axis=-1))
    r = 2**-0.1
    assert gap.max() == pytest.approx(1 - r, abs=1e-12)
    b = 2**0.55 - 1
    assert gap.min() == pytest.approx((1 - b) * (1 / (1 + b) - r), abs=1e-5)


def test_calibration_finds_the_line_that_made_the_data():
    rng = np.random.default_rng(0)
    scores = rng.normal(0.2, 0.1, 40_000)
    present = rng.random(len(scores)) < expit(20 * (scores - 0.2))
    found = theory.calibrate(scores, present)
    assert found.beta == pytest.approx(20, rel=0.05) and found.mu == pytest.approx(0.2, abs=0.005)
    assert found.loss == pytest.approx(theory.log_loss(scores, present, found.beta, found.mu), abs=1e-12)
    nearby = [
        theory.log_loss(scores, present, found.beta * k, found.mu + d) for k in (0.98, 1, 1.02) for d in (-1e-3, 1e-3)
    ]
    assert found.loss <= min(nearby)


def test_calibration_does_not_depend_on_how_many_are_present():
    rng = np.random.default_rng(1)
    here, gone = rng.normal(0.3, 0.1, 500), rng.normal(0.1, 0.1, 500)
    even = theory.calibrate(np.r_[here, gone], np.r_[np.ones(500, bool), np.zeros(500, bool)])
    thrice = theory.calibrate(np.r_[here, here, here, gone], np.r_[np.ones(1500, bool), np.zeros(500, bool)])
    assert thrice == pytest.approx(even, rel=1e-6)
    shifted = theory.calibrate(np.r_[here, gone] / 5 + 0.7, np.r_[np.ones(500, bool), np.zeros(500, bool)])
    assert shifted.beta == pytest.approx(5 * even.beta, rel=1e-6)
    assert shifted.mu == pytest.approx(even.mu / 5 + 0.7, rel=1e-6)


@pytest.mark.parametrize(
    "scores, present, said",
    [
        ([0.1, 0.2], [True, True], "both kinds"),
        ([0.1, 0.2], [False, False], "both kinds"),
        ([0.1, 0.2], [False, True], "no β is best"),
        ([0.1, 0.2, 0.2, 0.3], [False, False, True, True], "no β is best"),
        ([0.3, 0.2, 0.1, 0.25], [False, True, True, False], "do not rise"),
        ([0.2, 0.2], [True, False], "do not rise"),
        ([0.1, np.nan], [False, True], "finite scores"),
        ([0.1], [False, True], r"scores \(n,\)"),
    ],
)
def test_calibration_refuses_what_has_no_answer(scores, present, said):
    with pytest.raises(ValueError, match=said):
        theory.calibrate(np.array(scores), np.array(present))
