"""What the chapter on one balanced coupling claims, checked: exchange, lengths, limits, and what word order tells."""

from math import log, tanh

import numpy as np
from scipy.special import softmax

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.balanced_coupling import Coupling, column_masses, couple, exact_plan, plan, row_masses

POSITIVE = "ε is positive"
HALVES = "each candidate holds half of the mass, whatever its length"
ONE_FUNCTION = "one function reads the energies of both candidates"
BOTH_SIDES = "tokens and patches both keep their masses"
SAME_TOKENS = "the tokens of b are those of a in another order"
NEIGHBOURS = "a colour stands next to its thing"
TWO_PATCHES = "the image is these two places, each one patch, at one depth"

ANTISYMMETRIC = Theorem(
    "thm-coupling-antisymmetric",
    "Exchanging the candidates permutes the rows of the plan and turns the score into its negative.",
    (POSITIVE, HALVES, ONE_FUNCTION),
    tolerance=1e-9,
)
LENGTH = Theorem(
    "prop-coupling-length",
    "Saying every token of a caption of n ≥ 2 tokens r times leaves its mass, and the semantics, entity and position "
    "energies of both captions, as they are; its order energy is multiplied by (n - 1)/(rn - 1).",
    (POSITIVE, HALVES),
    tolerance=1e-9,
)
LIMITS = Theorem(
    "prop-coupling-limits",
    "The plan is within Δ/(2ε) of the product of its marginals, in sum of absolute values, where Δ is the range of the "
    "costs; and its cost exceeds the smallest possible one by at most ε log min(n, m).",
    (POSITIVE, BOTH_SIDES),
    tolerance=1e-8,
)
SAME_WORDS = Theorem(
    "prop-coupling-same-words",
    "The semantics, entity and position energies of the two captions are equal: only the order energy can decide.",
    (POSITIVE, SAME_TOKENS),
    tolerance=1e-9,
)
TWO_THINGS = Theorem(
    "prop-coupling-two-things",
    "With words that know no context, a red car at one place and a blue dog at another, at distance D, the order "
    "energy prefers the caption to its swap by (D²/3) tanh²(κ/(2ε)), κ being by how much a word fits its own place "
    "better.",
    (POSITIVE, SAME_TOKENS, TWO_PATCHES, NEIGHBOURS),
    tolerance=1e-9,
)


def _draw(rng: np.random.Generator, dim: int = 6) -> dict:
    """Random features of two captions of unequal lengths and of one to three depths, and an ε."""
    n_a, n_b = (int(n) for n in rng.choice(np.arange(2, 7), 2, replace=False))
    patches = [rng.standard_normal((int(side) ** 2, dim)) for side in rng.integers(2, 4, rng.integers(1, 4))]
    tokens = [rng.standard_normal((n, dim)) for n in (n_a, n_b)]
    return {"tokens": tokens, "patches": patches, "epsilon": float(np.exp(rng.uniform(log(0.05), log(2))))}


def _witness(drawn: dict) -> dict:
    return {"lengths": [len(t) for t in drawn["tokens"]], "depths": len(drawn["patches"]), "ε": drawn["epsilon"]}


def _couple(a: np.ndarray, b: np.ndarray, drawn: dict, share: float = 0.5) -> Coupling:
    return couple(a, b, drawn["patches"], drawn["epsilon"], share=share)


def _asymmetry(drawn: dict, weights: np.ndarray, share: float = 0.5) -> float:
    """How far the score and the plan are from what the exchange should make of them."""
    a, b = drawn["tokens"]
    one, other = _couple(a, b, drawn, share), _couple(b, a, drawn, share)
    permuted = np.concatenate([other.plan[len(b) :], other.plan[: len(b)]])
    return float(np.max([abs(one.score(weights) + other.score(weights)), np.abs(one.plan - permuted).max()]))


def certify_antisymmetric(seed: int = 0, instances: int = 100) -> Certificate:
    """Random features, two captions of unequal lengths, one to three depths of unequal sizes, random weights."""

    def case(rng):
        drawn = _draw(rng)
        return _asymmetry(drawn, rng.standard_normal(4)), _witness(drawn)

    return ANTISYMMETRIC.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_antisymmetric(seed: int = 0) -> Certificate:
    """With 7/10 of the mass for whichever candidate is named first."""
    drawn = _draw(np.random.default_rng(seed))
    slack = _asymmetry(drawn, np.ones(4), share=0.7)
    return ANTISYMMETRIC.certificate(seed, 1, slack, {"share": 0.7} | _witness(drawn), dropped=HALVES)


def _length_effect(drawn: dict, times: int, halves: bool = True) -> float:
    """How far repetition moves what it should leave alone, and the order energy from its prediction."""
    a, b = drawn["tokens"]
    longer = np.repeat(a, times, axis=0)
    shares = [0.5 if halves else len(x) / (len(x) + len(b)) for x in (a, longer)]
    one, other = (_couple(x, b, drawn, share) for x, share in zip((a, longer), shares, strict=True))
    predicted = one.energies.copy()
    predicted[0, 2] *= (len(a) - 1) / (len(longer) - 1)
    return float(np.max([np.abs(other.energies - predicted).max(), abs(other.masses[0] - one.masses[0])]))


def certify_length(seed: int = 0, instances: int = 100) -> Certificate:
    """Random features; every token of the first caption two to four times in a row."""

    def case(rng):
        drawn, times = _draw(rng), int(rng.integers(2, 5))
        return _length_effect(drawn, times), {"times": times} | _witness(drawn)

    return LENGTH.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_length(seed: int = 0) -> Certificate:
    """With the same mass for every token, so that the longer caption holds more."""
    drawn = _draw(np.random.default_rng(seed))
    witness = {"times": 3} | _witness(drawn)
    return LENGTH.certificate(seed, 1, _length_effect(drawn, 3, halves=False), witness, dropped=HALVES)


def _distance_excess(t: np.ndarray, cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, epsilon: float) -> float:
    return float(np.abs(t - np.outer(rows, columns)).sum() - np.ptp(cost) / (2 * epsilon))


def certify_limits(seed: int = 0, instances: int = 100) -> Certificate:
    """Random costs and masses, ε from 1/50 to 50; the smallest cost by linear programming."""

    def case(rng):
        n, m = (int(k) for k in rng.integers(2, 8, 2))
        cost, rows, columns = rng.uniform(0, 2, (n, m)), rng.dirichlet(np.ones(n) * 3), rng.dirichlet(np.ones(m) * 3)
        epsilon = float(np.exp(rng.uniform(log(0.02), log(50))))
        t = plan(cost, rows, columns, epsilon)
        above = float(((t - exact_plan(cost, rows, columns)) * cost).sum())
        slacks = [_distance_excess(t, cost, rows, columns, epsilon), -above, above - epsilon * log(min(n, m))]
        return np.max(slacks), {"n": n, "m": m, "ε": epsilon}

    return LIMITS.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_limits(seed: int = 0) -> Certificate:
    """Attention in place of transport: each token spreads its mass by a softmax, and depths of one and of four patches
    do not get their halves."""
    cost = np.random.default_rng(seed).uniform(0, 2, (4, 5))
    rows, columns, epsilon = row_masses(2, 2), column_masses(np.array([0, 1, 1, 1, 1])), 50.0
    t = rows[:, None] * softmax(-cost / epsilon, axis=1)
    slack = _distance_excess(t, cost, rows, columns, epsilon)
    return LIMITS.certificate(seed, 1, slack, {"n": 4, "m": 5, "ε": epsilon}, dropped=BOTH_SIDES)


def certify_same_words(seed: int = 0, instances: int = 100) -> Certificate:
    """Random features, the second caption a random permutation of the first, the shares balanced or not."""

    def case(rng):
        drawn, share = _draw(rng), float(rng.uniform(0.2, 0.8))
        found = _couple(drawn["tokens"][0], rng.permutation(drawn["tokens"][0]), drawn, share).energies
        return float(np.abs(found[1] - found[0])[[0, 1, 3]].max()), {"share": share} | _witness(drawn)

    return SAME_WORDS.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_same_words(seed: int = 0) -> Certificate:
    """With tokens that know what stands before them: each is its own word plus half of the one before."""
    drawn = _draw(np.random.default_rng(seed))
    words = drawn["tokens"][0]
    a, b = (np.concatenate([x[:1], x[1:] + x[:-1] / 2]) for x in (words, words[::-1]))
    found = _couple(a, b, drawn).energies
    names = ("semantics moved by", "entity moved by", "position moved by")
    moved = dict(zip(names, (found[1] - found[0])[[0, 1, 3]].tolist(), strict=True))
    witness = {"length": len(words), "depths": len(drawn["patches"]), "ε": drawn["epsilon"]}
    return SAME_WORDS.certificate(seed, 1, max(map(abs, moved.values())), witness | moved, dropped=SAME_TOKENS)


def two_things(fit: float, places: np.ndarray, epsilon: float, words: str = "red car blue dog") -> Coupling:
    """A red car at the first of the ``places`` ``(m, 2)`` and a blue dog at the second, with words without context.

    The theorem is about two places; any further one is a patch that no word has anything in common with.  ``fit`` in
    (0, 1/√2] is the cosine of a word with its own place; it has none with another.  Caption ``a`` says ``words``; ``b``
    says them with the colours exchanged.
    """
    known = dict(zip(("red", "car", "blue", "dog"), np.eye(5), strict=False))
    clutter = np.sqrt(1 - 2 * fit**2) * np.eye(5)[4]
    patches = np.stack([fit * (known["red"] + known["car"]), fit * (known["blue"] + known["dog"])]) + clutter
    patches = np.concatenate([patches, np.tile(np.eye(5)[4], (len(places) - 2, 1))])
    other = {"red": "blue", "blue": "red"}
    a = np.stack([known[word] for word in words.split()])
    b = np.stack([known[other.get(word, word)] for word in words.split()])
    return couple(a, b, [patches], epsilon, [places])


def _two_things_excess(rng: np.random.Generator, **how: str) -> tuple[float, dict]:
    fit, epsilon = float(rng.uniform(0.05, 2**-0.5)), float(np.exp(rng.uniform(log(0.05), log(2))))
    places = rng.random((2, 2))
    distance2 = float(np.square(places[0] - places[1]).sum())
    score = two_things(fit, places, epsilon, **how).score((0, 0, 1, 0))
    predicted = distance2 / 3 * tanh(fit / (2 * epsilon)) ** 2
    return abs(score - predicted), {"κ": fit, "ε": epsilon, "D²": distance2, "score": score, "predicted": predicted}


def certify_two_things(seed: int = 0, instances: int = 100) -> Certificate:
    """Random places, fits and ε."""
    return TWO_THINGS.certificate(seed, instances, *worst_case(_two_things_excess, instances, seed))


def mutate_two_things(seed: int = 0) -> Certificate:
    """A caption that names the things first and then the colours, "car dog red blue": the swap wins."""
    slack, witness = _two_things_excess(np.random.default_rng(seed), words="car dog red blue")
    return TWO_THINGS.certificate(seed, 1, slack, witness, dropped=NEIGHBOURS)


CLAIMS = (
    Claim(ANTISYMMETRIC, certify_antisymmetric, mutate_antisymmetric),
    Claim(LENGTH, certify_length, mutate_length),
    Claim(LIMITS, certify_limits, mutate_limits),
    Claim(SAME_WORDS, certify_same_words, mutate_same_words),
    Claim(TWO_THINGS, certify_two_things, mutate_two_things),
)
