"""What the chapter on factored inference claims, checked: signs and slopes of edits, De Morgan, and blindness."""

import numpy as np
from scipy.special import expit

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.decisions import DOUBLE, decided
from bindlib.scenes import WORLD, Scene, swap
from bindlib.theory.bag_of_words import unit
from bindlib.theory.factored_inference import (
    BETA,
    GAMMA,
    MU,
    de_morgan_gap,
    evidence,
    lcse,
    power_mean,
    slopes,
    soft_log_odds,
    turning_point,
)

FLAT = "the query is flat: one operator on concepts, each affirmed or negated"
AFFIRMED = "no concept is negated"
ONE_CONCEPT = "the query has one concept"
SOFT = "the plain score is the soft evidence, μ + logit(p_soft)/β"
HELD = "the plain score is held while a concept score moves"
DUAL = "the OR is the dual of the AND, M_or(q) = 1 - M_and(1 - q)"
WORDS = "every concept is a single word"
SET_ALONE = "the logic of a caption depends on its set of words alone"
OPERATORS = tuple(GAMMA)

EDIT_SIGN = Theorem(
    "prop-edit-sign",
    "The edit of an AND is at most 0, that of an OR at least 0, and that of any other query exactly 0.",
    (FLAT, AFFIRMED),
    tolerance=1e-13,
)
SINGLE_NOT = Theorem(
    "prop-single-not",
    "The edited score of a negated concept of score s_1 is the plain score less 2 (s_1 - μ), for every β and operator.",
    (ONE_CONCEPT,),
    tolerance=1e-12,
)
SOFT_REPLACED = Theorem(
    "thm-soft-replaced",
    "The edited score is μ + logit(p_logical)/β. It rises with each affirmed concept and falls with each negated one.",
    (FLAT, SOFT),
    tolerance=1e-10,
)
SLOPES = Theorem(
    "prop-slopes",
    "The slope in concept i is ±w_i (1 - q_i)/(1 - M) - v_i (1 - p_i)/(1 - A): negative for every negated concept, and "
    "in an AND without negation of the sign of sqrt(M A (1 - A)/(1 - M)) - p_i.",
    (FLAT, HELD),
    tolerance=1e-7,
)
DE_MORGAN = Theorem(
    "thm-de-morgan",
    "'Not (a and b)' and 'not a or not b' have one p_logical whatever the concept scores. Of power means the exponents "
    "(-∞, ∞), (1, 1) and (∞, -∞) are dual and no others.",
    (DUAL,),
    tolerance=1e-12,
)
BLIND = Theorem(
    "thm-words-are-blind",
    "A caption and its swap get the same edit from any image, so their margin is that of the plain score. The edit "
    "alone ranks any two images rightly for just one of the two captions, whatever the encoder.",
    (WORDS, SET_ALONE),
    tolerance=1e-12,
)


def _draw_x(rng: np.random.Generator, most: int = 5, reach: float = 2.0) -> np.ndarray:
    """Evidence ``(1, c)`` of one to ``most`` concepts, of sizes up to ``10^reach``."""
    return rng.standard_normal((1, int(rng.integers(1, most + 1)))) * 10 ** rng.uniform(-2, reach)


def _draw_flags(rng: np.random.Generator, c: int) -> np.ndarray:
    return rng.integers(0, 2, c).astype(bool)


def _edit(x: np.ndarray, negated: np.ndarray, operator: str) -> float:
    """The edit times β, for evidence ``(1, c)``."""
    return float(lcse(np.zeros(1), x, negated, operator, beta=1.0, mu=0.0)[0])


def certify_edit_sign(seed: int = 0, instances: int = 500) -> Certificate:
    """One to five concepts, evidence from 0.01 to some hundreds; the slack is relative to the largest evidence."""

    def case(rng):
        x = _draw_x(rng)
        found = {operator: _edit(x, np.zeros(x.size, bool), operator) for operator in OPERATORS}
        slack = np.max([found["and"], -found["or"], abs(found["other"])]) / max(1.0, float(np.abs(x).max()))
        return slack, {"concepts": x.size, **found}

    return EDIT_SIGN.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_edit_sign(seed: int = 0) -> Certificate:
    """An AND of two absent concepts, both negated: the edit is positive."""
    x = evidence(np.array([[0.1, 0.15]]))
    edit = _edit(x, np.ones(2, bool), "and")
    witness = {"operator": "and", "scores": "0.10 and 0.15, both negated", "edit": edit / BETA}
    return EDIT_SIGN.certificate(seed, 1, edit, witness, dropped=AFFIRMED)


def _not_gap(scores: np.ndarray, operator: str, beta: float, mu: float) -> float:
    """How far the edit of a query of negated concepts is from ``-2 (mean s - μ)``."""
    edited = lcse(np.zeros(1), scores, np.ones(scores.shape[1], bool), operator, beta, mu)
    return abs(float(edited[0]) + 2 * (float(scores.mean()) - mu))


def certify_single_not(seed: int = 0, instances: int = 500) -> Certificate:
    """Any cosine, threshold and operator, and β from 0.1 to 10,000."""

    def case(rng):
        score, mu, beta = rng.uniform(-1, 1), rng.uniform(-1, 1), 10 ** rng.uniform(-1, 4)
        operator = str(rng.choice(OPERATORS))
        slack = _not_gap(np.array([[score]]), operator, beta, mu)
        return slack, {"score": score, "mu": mu, "beta": beta, "operator": operator}

    return SINGLE_NOT.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_single_not(seed: int = 0) -> Certificate:
    """Neither of two concepts, one present and one absent: the edit depends on more than their mean."""
    gap = _not_gap(np.array([[0.30, 0.14]]), "and", BETA, MU)
    witness = {"query": "neither a nor b", "scores": "0.30 and 0.14", "gap": gap}
    return SINGLE_NOT.certificate(seed, 1, gap, witness, dropped=ONE_CONCEPT)


def _softly(x: np.ndarray, negated: np.ndarray, operator: str) -> float:
    """The edited score, in evidence, over a plain score that is the soft evidence."""
    return float(lcse(soft_log_odds(x), x, negated, operator, beta=1.0, mu=0.0)[0])


def certify_soft_replaced(seed: int = 0, instances: int = 500) -> Certificate:
    """One to five concepts, affirmed or negated; ``p_logical`` is computed from the ``p`` and not in logarithms."""

    def case(rng):
        x = np.clip(_draw_x(rng, reach=0.8), -8, 8)
        negated, operator = _draw_flags(rng, x.size), str(rng.choice(OPERATORS))
        m = float(power_mean(expit(np.where(negated, -x, x)), GAMMA[operator])[0])
        now, i = _softly(x, negated, operator), int(rng.integers(x.size))
        more = _softly(x + rng.uniform(0, 2) * np.eye(x.size)[i], negated, operator)
        gained = (now - more) if negated[i] else (more - now)
        witness = {"concepts": x.size, "operator": operator, "negated": negated.tolist()}
        return np.max([abs(now - np.log(m / (1 - m))), -gained]), witness

    return SOFT_REPLACED.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_soft_replaced(seed: int = 0) -> Certificate:
    """The plain score held: raising the stronger concept of an AND lowers the edited score."""
    scores = np.array([[0.18, 0.26], [0.18, 0.30]])
    before, after = lcse(np.full(2, 0.25), scores, np.zeros(2, bool), "and")
    witness = {"query": "a and b", "score of b": "0.26, then 0.30", "before": float(before), "after": float(after)}
    return SOFT_REPLACED.certificate(seed, 1, float(before - after), witness, dropped=SOFT)


def _measured_slopes(x: np.ndarray, negated: np.ndarray, operator: str, softly: bool = False) -> np.ndarray:
    """Central differences of the edited score in each concept, its plain score held or the soft evidence."""
    step = 1e-5
    score = _softly if softly else _edit
    ends = ([score(x + sign * step * e, negated, operator) for e in np.eye(x.size)] for sign in (1, -1))
    return np.subtract(*map(np.array, ends)) / (2 * step)


def certify_slopes(seed: int = 0, instances: int = 500) -> Certificate:
    """One to five concepts, against differences of the edited score; then the signs."""

    def case(rng):
        x = _draw_x(rng, reach=0.7)
        negated, operator = _draw_flags(rng, x.size), str(rng.choice(OPERATORS))
        found = slopes(x, negated, operator)[0]
        wrong = [np.abs(found - _measured_slopes(x, negated, operator)).max(), *found[negated]]
        p = expit(x)
        plain = slopes(x, np.zeros(x.size, bool), "and")[0]
        wrong += list(-plain * np.sign(turning_point(p)[0] - p[0]))
        return np.max(wrong), {"concepts": x.size, "operator": operator, "negated": negated.tolist()}

    return SLOPES.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_slopes(seed: int = 0) -> Certificate:
    """The plain score moves with the concepts, as soft evidence does: the same AND rises with its stronger concept."""
    x, plain = evidence(np.array([[0.18, 0.26]])), np.zeros(2, bool)
    told, found = slopes(x, plain, "and")[0, 1], _measured_slopes(x, plain, "and", softly=True)[1]
    witness = {"scores": "0.18 and 0.26", "slope told": float(told), "slope found": float(found)}
    return SLOPES.certificate(seed, 1, abs(told - found), witness, dropped=HELD)


_WITNESSES = np.array([[0.0, 1.0], [0.0, 0.5], [0.5, 1.0]])
_VISIBLE = 1e-6  # the least gap of exponents that are clearly not dual


def _dual_or(q: np.ndarray, gamma: float) -> np.ndarray:
    return 1 - power_mean(1 - q, gamma)


def certify_de_morgan(seed: int = 0, instances: int = 500) -> Certificate:
    """Any AND with its dual OR; the three dual pairs of exponents; and that others are told apart by three points."""

    def case(rng):
        p = rng.uniform(0, 1, int(rng.integers(2, 6)))
        gamma, other = rng.uniform(-20, 20, 2)
        gap = abs(1 - power_mean(p, gamma) - _dual_or(1 - p, gamma))
        exact = [abs(de_morgan_gap(p, *pair)) for pair in ((-np.inf, np.inf), (1.0, 1.0), (np.inf, -np.inf))]
        apart = np.abs(de_morgan_gap(_WITNESSES, gamma, other)).max()
        corner = 1 - (gamma > 0) * 2 ** (-1 / gamma) - (other > 0) * 2 ** (-1 / other)
        missed = abs(de_morgan_gap(_WITNESSES[0], gamma, other) - corner)
        far = max(abs(gamma - 1), abs(other - 1)) > 0.1
        return np.max([gap, *exact, missed, far * (_VISIBLE - apart)]), {"and": float(gamma), "or": float(other)}

    return DE_MORGAN.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_de_morgan(seed: int = 0) -> Certificate:
    """The published exponents, -1 and 10, where a is surely present and b as good as undecided."""
    p = np.array([1.0, 2**0.55 - 1])
    gap = float(de_morgan_gap(p))
    witness = {"p": "1 and 2^0.55 - 1", "not (a and b)": 1 - float(power_mean(p, -1.0)), "gap": gap}
    return DE_MORGAN.certificate(seed, 1, abs(gap), witness, dropped=DUAL)


def words(scene: Scene) -> tuple[str, ...]:
    """The objects and attributes of a scene."""
    return scene.objects + scene.attributes


def atoms(scene: Scene) -> tuple[str, ...]:
    """The atoms of a scene, as phrases."""
    return tuple(map(str, scene.atoms))


def _blindness(scene: Scene, of, rng: np.random.Generator) -> tuple[float, float]:
    """How a random encoder's edits differ between a caption and its swap, and how far it is from right just once.

    Images, plain scores and concepts have random vectors; a concept is negated or not whatever the caption.
    """
    captions, images = (scene, swap(scene)), unit(rng.standard_normal((2, 16)))
    plain = rng.uniform(-1, 1, (2, 2))  # (caption, image)
    known = sorted({name for caption in captions for name in of(caption)})
    vector = dict(zip(known, unit(rng.standard_normal((len(known), 16))), strict=True))
    flag = dict(zip(known, _draw_flags(rng, len(known)).tolist(), strict=True))
    operator = str(rng.choice(OPERATORS))
    scores = [images @ np.stack([vector[name] for name in of(caption)]).T for caption in captions]
    flags = [np.array([flag[name] for name in of(caption)]) for caption in captions]
    edited = np.stack([lcse(h, s, f, operator, 5.0, 0.0) for h, s, f in zip(plain, scores, flags, strict=True)])
    edits = edited - plain
    first = decided(edits[:, 0] - edits[:, 1], DOUBLE)  # whether an edit prefers the first image
    margins = (edited[0] - edited[1]) - (plain[0] - plain[1])
    return float(np.abs(margins).max()), abs(first[0] - first[1])


def certify_blind(seed: int = 0, instances: int = 500) -> Certificate:
    """Random encoders on random scenes of two or three atoms and their swaps."""

    def case(rng):
        scene = WORLD.draw(int(rng.integers(2, 4)), rng)
        return np.max(_blindness(scene, words, rng)), {"scene": str(scene)}

    return BLIND.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_blind(seed: int = 0) -> Certificate:
    """Concepts that are whole atoms, such as "a red car": the edit of the swap is another."""
    scene = Scene.of(car="red", dog="blue")
    difference, _ = _blindness(scene, atoms, np.random.default_rng(seed))
    witness = {"concepts": ", ".join(atoms(scene)), "difference": difference}
    return BLIND.certificate(seed, 1, difference, witness, dropped=WORDS)


CLAIMS = (
    Claim(EDIT_SIGN, certify_edit_sign, mutate_edit_sign),
    Claim(SINGLE_NOT, certify_single_not, mutate_single_not),
    Claim(SOFT_REPLACED, certify_soft_replaced, mutate_soft_replaced),
    Claim(SLOPES, certify_slopes, mutate_slopes),
    Claim(DE_MORGAN, certify_de_morgan, mutate_de_morgan),
    Claim(BLIND, certify_blind, mutate_blind),
)
