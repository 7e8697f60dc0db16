"""The claims of the chapter on the throttle: exact checks on random finite worlds."""

from itertools import product
from math import comb, log

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.throttle import (
    PairWorld,
    blind_rival,
    implicit_swap_rate,
    infonce_losses,
    logistic_loss,
    pairing_blind,
    pairwise_objective,
    pairwise_terms,
    reversal,
    softened,
)

INVOLUTION, LOGISTIC = "swapping twice gives the caption back", "the loss is logistic"
TRUE_SEPARATED = "a caption beats unrelated ones by g"
SWAP_SEPARATED = "its swap beats the swaps of unrelated ones by g"
EXCHANGEABLE = "other negatives are exchangeable with their swaps"
INDEPENDENT_RATE = "whether the swap is held is independent of image and caption"
DETERMINED = "the image determines its caption"
NO_COPIES = "no other negative is the caption or its swap"
AVERAGE = Theorem(
    "thm-throttle-average",
    "L(S̄) - L(S) = π (log 2 - E ℓ(M)) + (1 - π) c1 for every score S with finite expectations: a line in π.",
    (INVOLUTION, LOGISTIC),
    tolerance=1e-12,
)
REVERSAL = Theorem(
    "thm-throttle-reversal",
    "L(S^rev) - L(S) = π E M + (1 - π) c0 for every score S with finite expectations: a line in π.",
    (INVOLUTION, LOGISTIC),
    tolerance=1e-12,
)
OFFSETS = Theorem(
    "prop-unmatched-offsets",
    "c1 ≤ c0 / 2 always, and |c0|, |c1| ≤ ℓ(g) when all unmatched contrasts are separated by g.",
    (TRUE_SEPARATED, SWAP_SEPARATED),
    tolerance=1e-12,
)
INFONCE = Theorem(
    "thm-infonce-throttle",
    "π E[log 2 - ℓ(M)] - E[Z'/a] ≤ L(S̃) - L(S) ≤ π E[log 2 - ℓ(M)] + 2 E[Z'/(a+b)]; reversal costs E M on candidate "
    "sets that hold the swap and lies between π E M - E[Z'/a] and π E M + E[Z'/b]; for every score with finite "
    "expectations, and with copies of c and σc among the others or none.",
    (EXCHANGEABLE, INDEPENDENT_RATE, INVOLUTION),
    tolerance=1e-12,
)
RIVAL = Theorem(
    "prop-blind-rival",
    "L(S^b) - L(S) ≤ π E[log 2 - ℓ(M)] for the pairing-blind S^b that gives c and σc the value log max(a, (a + b)/2) "
    "and every other caption x the mean of S(I, x) and S(I, σx); for every score with finite expectations.",
    (EXCHANGEABLE, INDEPENDENT_RATE, INVOLUTION, DETERMINED, NO_COPIES),
    tolerance=1e-12,
)
IMPLICIT = Theorem(
    "prop-implicit-rate",
    "π_impl = E[1 - (1 - p(σc))^(B-1)], between (B-1) E p - C(B-1, 2) E p² and (B-1) E p.",
    ("captions of a batch are drawn independently",),
    tolerance=1e-12,
)


def _law(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random probabilities along the last axis, some of them tiny."""
    weights = rng.exponential(size=shape) ** 3
    return weights / weights.sum(axis=-1, keepdims=True)


def _involution(n: int, rng: np.random.Generator) -> np.ndarray:
    """A random pairing of ``n`` captions (even)."""
    order, swap = rng.permutation(n), np.empty(n, dtype=int)
    swap[order[::2]], swap[order[1::2]] = order[1::2], order[::2]
    return swap


def _draw_world(rng: np.random.Generator) -> tuple[PairWorld, np.ndarray]:
    """A random finite world and scores from flat to steep."""
    n_images, n_captions = int(rng.integers(1, 6)), 2 * int(rng.integers(1, 5))
    joint = _law(rng, n_images * n_captions).reshape(n_images, n_captions)
    world = PairWorld(joint, _involution(n_captions, rng), _law(rng, n_captions, n_captions))
    return world, 10 ** rng.uniform(-1, 1.3) * rng.standard_normal((n_images, n_captions))


def _offset(scores: np.ndarray, changed: np.ndarray, world: PairWorld) -> float:
    """``E ℓ(S'(I, c) - S'(I, c')) - E ℓ(S(I, c) - S(I, c'))`` for the scores ``S'`` that replace ``S``."""
    total = 0.0
    for image, row in enumerate(world.joint):
        law = row[:, None] * world.unmatched
        for sign, s in ((1, changed[image]), (-1, scores[image])):
            total += sign * float(np.sum(law * np.log1p(np.exp(s - s[:, None]))))
    return total


def _certify_pairwise(theorem: Theorem, change, as_defined, matched_constant, seed: int, instances: int) -> Certificate:
    """Compare ``L(change(S)) - L(S)``, computed from the tables of scores, with the theorem's line."""

    def case(rng):
        world, scores = _draw_world(rng)
        changed, rate = change(scores, world.swap), float(rng.choice([0, 1, rng.uniform()]))
        gap = pairwise_objective(changed, world, rate) - pairwise_objective(scores, world, rate)
        partner = scores[:, world.swap]
        offset = _offset(scores, as_defined(scores, partner), world)
        line = rate * float(np.sum(world.joint * matched_constant(scores - partner))) + (1 - rate) * offset
        witness = {"captions": len(world.swap), "swap_rate": rate, "gap": gap, "line": line}
        return abs(gap - line) / (1 + abs(line)), witness

    return theorem.certificate(seed, instances, *worst_case(case, instances, seed))


def certify_average(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random worlds of up to five images and eight captions, any joint law, any score."""

    def constant(margin):
        return log(2) - logistic_loss(margin)

    return _certify_pairwise(AVERAGE, pairing_blind, lambda s, swapped: 0.5 * (s + swapped), constant, seed, instances)


def certify_reversal(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random worlds of up to five images and eight captions, any joint law, any score."""
    return _certify_pairwise(REVERSAL, reversal, lambda _, swapped: swapped, lambda m: m, seed, instances)


def mutate_average(seed: int = 0) -> Certificate:
    """Three colours passed round instead of two exchanged: the average still favours the true caption."""
    scores = np.eye(3)
    world = PairWorld(np.eye(3) / 3, np.array([1, 2, 0]), np.eye(3))
    gap = pairwise_objective(pairing_blind(scores, world.swap), world, 1.0) - pairwise_objective(scores, world, 1.0)
    line = log(2) - float(logistic_loss(1.0))
    witness = {"captions": 3, "swap_rate": 1.0, "gap": gap, "line": line}
    return AVERAGE.certificate(seed, 1, abs(gap - line), witness, dropped=INVOLUTION)


def mutate_reversal(seed: int = 0) -> Certificate:
    """The hinge loss ``max(0, 1 - x)`` instead: a margin of 2 costs 3 when it is reversed."""
    margin = 2.0
    gap = max(0.0, 1 + margin) - max(0.0, 1 - margin)
    witness = {"loss": "hinge", "swap_rate": 1.0, "mean_margin": margin, "gap": gap}
    return REVERSAL.certificate(seed, 1, abs(gap - margin), witness, dropped=LOGISTIC)


def _offset_excess(scores: np.ndarray, world: PairWorld, g: float) -> tuple[float, dict]:
    base, bound = pairwise_terms(scores, world)[1], float(logistic_loss(g))
    c1, c0 = (pairwise_terms(change(scores, world.swap), world)[1] - base for change in (pairing_blind, reversal))
    excess = np.max([c1 - c0 / 2, abs(c0) - bound, abs(c1) - bound])
    return float(excess), {"g": g, "c1": c1, "c0": c0, "bound": bound}


def _missed_offsets(scores: np.ndarray, world: PairWorld, found: dict, g: float) -> float:
    """Error of the offsets against their definition, and distance from ``ℓ(g)`` of one that attains it.

    In a world of two pairs whose captions score 60 above unrelated ones, and their swaps ``g``, ``c0`` is ``ℓ(g)``.
    """
    partner = scores[:, world.swap]
    blind, reverse = _offset(scores, 0.5 * (scores + partner), world), _offset(scores, partner, world)
    attaining = np.kron(np.eye(2), [[60.0, g], [g, 60.0]])
    unmatched = np.kron([[0, 1], [1, 0]], np.full((2, 2), 0.5))
    _, tight = _offset_excess(attaining, PairWorld(np.eye(4) / 4, np.array([1, 0, 3, 2]), unmatched), g)
    gaps = [found["c1"] - blind, found["c0"] - reverse, tight["c0"] - tight["bound"]]
    return float(np.max(np.abs(gaps)))


def certify_offsets(seed: int = 0, instances: int = 2000) -> Certificate:
    """Each image has one true pair of captions that score high, and ``g`` is the smallest contrast that was drawn."""

    def case(rng):
        pairs = int(rng.integers(2, 5))
        n = 2 * pairs
        scores = 10 ** rng.uniform(-5, 0.7) * rng.standard_normal((n, n))
        swap, apart = np.arange(n) ^ 1, np.arange(n)[:, None] // 2 != np.arange(n) // 2
        scores += np.where(apart, 0, rng.uniform(-2, 20))
        unmatched = np.where(apart, _law(rng, n, n), 0)
        world = PairWorld(np.diag(_law(rng, n)), swap, unmatched / unmatched.sum(axis=1, keepdims=True))
        true, swapped = (np.diag(s)[:, None] - s for s in (scores, scores[:, swap]))
        excess, found = _offset_excess(scores, world, float(min(true[apart].min(), swapped[apart].min())))
        return np.max([excess, _missed_offsets(scores, world, found, rng.uniform(-2, 4))]), found

    return OFFSETS.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_offsets(seed: int = 0) -> Certificate:
    """Every caption beats unrelated ones by 4, and its swap loses to theirs by 4: both offsets are large."""
    scores = np.array([[4.0, -4, 0, 0], [-4, 4, 0, 0], [0, 0, 4, -4], [0, 0, -4, 4]])
    unmatched = np.kron([[0, 1], [1, 0]], np.full((2, 2), 0.5))
    world = PairWorld(np.eye(4) / 4, np.array([1, 0, 3, 2]), unmatched)
    return OFFSETS.certificate(seed, 1, *_offset_excess(scores, world, 4.0), dropped=SWAP_SEPARATED)


def _infonce_excess(own, others, image_law, laws, rate) -> tuple[float, dict]:
    """By how much the two-sided bounds fail; ``others`` ``(n, t, r, 2)``, ``laws[held]`` ``(n, t)`` given the image."""
    margin = own[:, 0] - own[:, 1]
    rest = np.exp(np.logaddexp.reduce(others[..., 0], axis=-1))
    weights = {held: image_law[:, None] * laws[held] * (rate if held else 1 - rate) for held in (True, False)}

    def mean(values):
        return float(sum(np.sum(weights[held] * values) for held in weights))

    def loss(own, others):
        return {held: float(np.sum(weights[held] * infonce_losses(own, others, held))) for held in weights}

    base, blind, reverse = (
        loss(own, others),
        loss(softened(own), softened(others)),
        loss(own[:, ::-1], others[..., ::-1]),
    )
    a, b = np.exp(own[:, :1]), np.exp(own[:, 1:])
    low, rho, high = mean(rest / a), mean(rest / (a + b)), mean(rest / b)
    average, reversed_ = (sum(x.values()) - sum(base.values()) for x in (blind, reverse))
    sliver, mean_margin = rate * float(image_law @ (log(2) - logistic_loss(margin))), rate * float(image_law @ margin)
    sides = (
        average - sliver - 2 * rho,
        sliver - low - average,
        reversed_ - mean_margin - high,
        mean_margin - low - reversed_,
        abs(reverse[True] - base[True] - mean_margin),
    )
    scale = 1 + high + low + abs(mean_margin)
    return float(np.max(sides)) / scale, {
        "swap_rate": rate,
        "gap": average,
        "sliver": sliver,
        "bound": sliver + 2 * rho,
    }


def _draw_sets(rng: np.random.Generator) -> tuple:
    """Random scores ``(n, 2)`` and ``(n, t, r, 2)``, the images' law, ``(n, 2 t)`` laws of the sets and their swaps."""
    n, t, r = (int(rng.integers(1, high)) for high in (5, 5, 4))
    own = rng.uniform(0, 8) + 10 ** rng.uniform(-1, 0.7) * rng.standard_normal((n, 2))
    others = 10 ** rng.uniform(-1, 0.7) * rng.standard_normal((n, t, r, 2))
    laws = {held: np.tile(_law(rng, n, t) / 2, 2) for held in (True, False)}
    return own, others, _law(rng, n), laws, float(rng.choice([0, 1, rng.uniform()]))


def certify_infonce(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random scores, images, sets of other negatives and laws of them, made exchangeable; expectations are exact.

    In a third of the cases the first of the others is the caption again, or as often its swap.
    """

    def case(rng):
        own, others, image_law, laws, rate = _draw_sets(rng)
        if rng.random() < 1 / 3:
            others[:, :, 0] = own[:, None]
        both = np.concatenate([others, others[..., ::-1]], axis=1)
        excess, found = _infonce_excess(own, both, image_law, laws, rate)
        return np.max([excess, _not_as_defined(own, others)]), found

    return INFONCE.certificate(seed, instances, *worst_case(case, instances, seed))


def _not_as_defined(own: np.ndarray, others: np.ndarray) -> float:
    """Relative error of the softened score and of the losses against sums of exponentials."""
    a, b = np.exp(own.T)
    errors = [np.exp(softened(own)) / ((a + b) / 2)[:, None] - 1]
    for held in (True, False):
        total = a[:, None] + held * b[:, None] + np.exp(others[..., 0]).sum(axis=-1)
        errors.append(np.exp(infonce_losses(own, others, held)) * a[:, None] / total - 1)
    return float(np.max([np.abs(error).max() for error in errors]))


def mutate_infonce(seed: int = 0) -> Certificate:
    """One other negative scores low and its swap, never drawn, scores high: the blind score meets the high one."""
    own, others, sure = np.array([[4.0, 0.0]]), np.array([[[[-4.0, 8.0]]]]), np.ones((1, 1))
    excess, witness = _infonce_excess(own, others, np.ones(1), {True: sure, False: sure}, 0.1)
    return INFONCE.certificate(seed, 1, excess, witness, dropped=EXCHANGEABLE)


def _rival_excess(own, others, image_law, laws, rate) -> tuple[float, dict]:
    """By how much the rival loses more than the sliver; arguments as of `_infonce_excess`."""

    def loss(own, others):
        return sum(
            share * float(np.sum(image_law[:, None] * laws[held] * infonce_losses(own, others, held)))
            for held, share in ((True, rate), (False, 1 - rate))
        )

    gap = loss(*blind_rival(own, others)) - loss(own, others)
    sliver = rate * float(image_law @ (log(2) - logistic_loss(own[:, 0] - own[:, 1])))
    return (gap - sliver) / (1 + abs(sliver)), {"swap_rate": rate, "gap": gap, "sliver": sliver}


def _not_the_rival(own: np.ndarray, others: np.ndarray) -> float:
    """Relative error of the rival's exponentials, caption by caption, against the statement."""
    kept, means = blind_rival(own, others)
    a, b = np.exp(own.T)
    errors = [np.exp(kept) / np.maximum(a, (a + b) / 2)[:, None] - 1]
    errors += [np.exp(2 * means[..., side]) / np.exp(others.sum(axis=-1)) - 1 for side in (0, 1)]
    return float(np.max([np.abs(error).max() for error in errors]))


def certify_rival(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random scores, images, sets of other negatives and laws of them, made exchangeable; expectations are exact."""

    def case(rng):
        own, others, image_law, laws, rate = _draw_sets(rng)
        both = np.concatenate([others, others[..., ::-1]], axis=1)
        excess, found = _rival_excess(own, both, image_law, laws, rate)
        return np.max([excess, _not_the_rival(own, others)]), found

    return RIVAL.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_rival(seed: int = 0) -> Certificate:
    """One other negative scores low and its swap, never drawn, scores high: their mean is too high a score."""
    own, others, sure = np.array([[4.0, 0.0]]), np.array([[[[-4.0, 8.0]]]]), np.ones((1, 1))
    excess, witness = _rival_excess(own, others, np.ones(1), {True: sure, False: sure}, 0.1)
    return RIVAL.certificate(seed, 1, excess, witness, dropped=EXCHANGEABLE)


def _rate_by_enumeration(p: np.ndarray, swap: np.ndarray, batch_size: int) -> float:
    """The rate over every batch, one by one."""
    total = 0.0
    for c, rest in product(range(len(p)), product(range(len(p)), repeat=batch_size - 1)):
        if swap[c] in rest:
            total += p[c] * np.prod(p[list(rest)])
    return float(total)


def certify_implicit(seed: int = 0, instances: int = 500) -> Certificate:
    """Random laws on up to six captions, the rate against an enumeration of all batches of up to four."""

    def case(rng):
        n, batch_size = 2 * int(rng.integers(1, 4)), int(rng.integers(1, 5))
        p, swap = _law(rng, n), _involution(n, rng)
        rate, others = implicit_swap_rate(batch_size, p[swap], p), batch_size - 1
        high = others * float(p @ p[swap])
        low = high - comb(others, 2) * float(p @ p[swap] ** 2)
        excess = np.max([abs(rate - _rate_by_enumeration(p, swap, batch_size)), rate - high, low - rate])
        return excess, {"captions": n, "batch_size": batch_size, "rate": rate, "upper_bound": high}

    return IMPLICIT.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_implicit(seed: int = 0) -> Certificate:
    """A batch of four different captions out of six, drawn without replacement: the swap is held more often."""
    n, batch_size = 6, 4
    exact = (batch_size - 1) / (n - 1)
    rate = implicit_swap_rate(batch_size, np.full(n, 1 / n))
    witness = {"captions": n, "batch_size": batch_size, "rate": exact, "formula": rate}
    return IMPLICIT.certificate(seed, 1, abs(exact - rate), witness, dropped=IMPLICIT.hypotheses[0])


CLAIMS = (
    Claim(AVERAGE, certify_average, mutate_average),
    Claim(REVERSAL, certify_reversal, mutate_reversal),
    Claim(OFFSETS, certify_offsets, mutate_offsets),
    Claim(INFONCE, certify_infonce, mutate_infonce),
    Claim(RIVAL, certify_rival, mutate_rival),
    Claim(IMPLICIT, certify_implicit, mutate_implicit),
)
