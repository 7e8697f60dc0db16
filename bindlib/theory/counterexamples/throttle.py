"""What breaks the throttle: a swap that is no involution, lopsided negatives, a rate that knows the image."""

from collections.abc import Callable
from math import log

import numpy as np

from bindlib.certificates import Ablation, Convenient, Outcome, smallest
from bindlib.theory.bag_of_words import RUNNING_PAIR
from bindlib.theory.throttle import PairWorld, logistic_loss, pairing_blind, pairwise_objective
from bindlib.theory.throttle_claims import AVERAGE, EXCHANGEABLE, INDEPENDENT_RATE, INFONCE, INVOLUTION, LOGISTIC

COLOURS = ("red", "blue", "green", "pink")
LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logistic": logistic_loss,
    "hinge": lambda x: np.maximum(0, 1 - x),
    "exponential": lambda x: np.exp(-x),
    "squared": lambda x: (1 - x) ** 2,
}
SCENE = ("red car", "blue dog")


def _shown(captions: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return (SCENE,) if captions == RUNNING_PAIR else (("red car",),)


def price(scores: np.ndarray, swap: np.ndarray) -> Outcome:
    """The price of blindness at swap rate 1, for one image with the first of its captions ``scores (n,)`` as true."""
    n = len(scores)
    world = PairWorld(np.eye(1, n), swap, np.eye(n))
    gap = pairwise_objective(pairing_blind(scores[None], swap), world, 1.0) - pairwise_objective(
        scores[None], world, 1.0
    )
    captions = RUNNING_PAIR if n == 2 else tuple(f"a {colour} car" for colour in COLOURS[:n])
    return Outcome(
        _shown(captions),
        captions,
        f"1 picture, {n} captions, swap rate 1",
        "price of blindness, nats",
        "=",
        log(2) - float(logistic_loss(scores[0] - scores[swap[0]])),
        gap,
        {"scores": scores, "swap": swap},
        "; ".join(f"{COLOURS[i]} becomes {COLOURS[j]}" for i, j in enumerate(swap)) if n > 2 else "",
    )


def passed_round(rng: np.random.Generator) -> Outcome:
    """The fewest captions on which some permutation is no involution, and scores for which the line is missed."""

    def draw(n, rng):
        swap = rng.permutation(n)
        while np.array_equal(swap[swap], np.arange(n)):
            swap = rng.permutation(n)
        return {"scores": 2 * rng.standard_normal(n), "swap": swap}

    return smallest(range(3, 5), draw, price, rng)  # every permutation of two captions is an involution


def price_of(loss: str, scores: np.ndarray, rate: float) -> Outcome:
    """The price under another loss, with its value at 0 in place of ``log 2``, for the running pair and two others.

    The image's true caption is the first of ``scores (4,)``; captions 2 and 3, a swap of each other, are unrelated.
    """
    f, blind = LOSSES[loss], pairing_blind(scores, np.array([1, 0, 3, 2]))
    matched, unmatched = zip(*[(f(s[0] - s[1]), np.mean(f(s[0] - s[2:]))) for s in (blind, scores)], strict=True)
    gap = rate * (matched[0] - matched[1]) + (1 - rate) * (unmatched[0] - unmatched[1])
    line = rate * (f(np.zeros(1))[0] - f(scores[0] - scores[1])) + (1 - rate) * (unmatched[0] - unmatched[1])
    return Outcome(
        (SCENE,),
        RUNNING_PAIR,
        f"1 picture, 4 captions, swap rate {rate:.2f}, {loss} loss",
        "price of blindness, with ℓ(0) for log 2",
        "=",
        float(line),
        float(gap),
        {"loss": loss, "scores": scores, "rate": rate},
    )


def another_loss(rng: np.random.Generator) -> Outcome:
    """Random scores and rate under a loss that is not logistic."""
    return price_of(str(rng.choice(list(LOSSES)[1:])), rng.standard_normal(4), float(rng.uniform()))


def softmax_price(
    own: np.ndarray, others: np.ndarray, image_law: np.ndarray, set_law: np.ndarray, held: np.ndarray
) -> Outcome:
    """What blindness costs under InfoNCE, against the theorem's upper bound, in exact sums.

    ``own`` ``(n, 3)``: scores of ``c``, ``σc`` and ``σσc`` at ``n`` images; ``others`` ``(n, t, 2)``: of another
    caption and its swap in ``t`` candidate sets, with the law ``set_law`` ``(t,)``; ``held`` ``(n,)``: the probability
    that the candidates of the image hold ``σc``.
    """
    a, b, again = np.exp(own).T
    x, swapped = np.exp(others[..., 0]), np.exp(others[..., 1])
    law = image_law[:, None] * set_law

    def loss(a, b, z):
        with_swap, without = np.log((a + b)[:, None] + z), np.log(a[:, None] + z)
        mixed = held[:, None] * with_swap + (1 - held)[:, None] * without
        return float(np.sum(law * (mixed - np.log(a)[:, None])))

    gap = loss((a + b) / 2, (b + again) / 2, (x + swapped) / 2) - loss(a, b, x)
    margin, rate = own[:, 0] - own[:, 1], float(image_law @ held)
    bound = rate * float(image_law @ (log(2) - logistic_loss(margin)))
    bound += 2 * float(np.sum(law * x / (a + b)[:, None]))
    cyclic = not np.allclose(own[:, 2], own[:, 0])
    captions = tuple(f"a {colour} car" for colour in COLOURS[:3]) if cyclic else RUNNING_PAIR
    pictures = (*_shown(captions), ("green cup", "pink hat"))[: len(own)]
    return Outcome(
        pictures,
        captions,
        f"{len(own)} picture{'s' * (len(own) > 1)}, {len(set_law)} candidate set{'s' * (len(set_law) > 1)}, "
        f"swap rate {rate:.2f}",
        "price of blindness, nats",
        "≤",
        bound,
        gap,
        {"own": own, "others": others, "image_law": image_law, "set_law": set_law, "held": held},
        f"margins {', '.join(f'{m:.1f}' for m in margin)}",
    )


def _draw(n: int, rng: np.random.Generator, **dropped: bool) -> dict[str, np.ndarray]:
    """Random scores of ``n`` images with one other candidate; what is ``dropped`` no longer holds."""
    own, sizes = 3 * rng.standard_normal((n, 3)), 3 * rng.standard_normal((n, 3))
    if not dropped.get("involution"):
        own[:, 2], sizes = own[:, 0], sizes[:, :2]
    # A candidate passed along its whole orbit has the same law as its swap; alone it has not.
    others = np.stack([sizes, np.roll(sizes, -1, axis=1)], axis=-1)
    if dropped.get("exchangeable"):
        others = others[:, :1]
    held = rng.uniform(size=n if dropped.get("independent") else 1) * np.ones(n)
    t = others.shape[1]
    return {"own": own, "others": others, "image_law": np.ones(n) / n, "set_law": np.ones(t) / t, "held": held}


def _fewest(dropped: str):
    """The fewest images that exceed the bound of InfoNCE without this one of its three conditions."""
    return lambda rng: smallest(range(1, 4), lambda n, rng: _draw(n, rng, **{dropped: True}), softmax_price, rng)


def _pair(rng: np.random.Generator) -> Outcome:
    return price(2 * rng.standard_normal(2), np.array([1, 0]))


ABLATIONS = (
    Ablation(
        AVERAGE,
        _pair,
        {
            INVOLUTION: passed_round,
            LOGISTIC: Convenient("it holds for every loss ℓ, with ℓ(0) in place of log 2", another_loss),
        },
    ),
    Ablation(
        INFONCE,
        lambda rng: softmax_price(**_draw(1, rng)),
        {
            EXCHANGEABLE: _fewest("exchangeable"),
            INDEPENDENT_RATE: _fewest("independent"),
            INVOLUTION: _fewest("involution"),
        },
    ),
)
