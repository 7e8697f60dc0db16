"""The throttle: what a contrastive objective pays for binding, and how rarely it pays.

A score ``S(I, c)`` is an array ``(n_images, n_captions)``; ``swap`` is the array ``(n_captions,)`` with the index of
``σc`` for every ``c``.  Losses are in nats, rates are probabilities.
"""

from dataclasses import dataclass
from math import log

import numpy as np


def logistic_loss(x: np.ndarray) -> np.ndarray:
    """``ℓ(x) = log(1 + e^-x)``, without overflow."""
    return np.logaddexp(0.0, -np.asarray(x, dtype=np.float64))


def checked_rate(rate: np.ndarray, name: str = "the swap rate") -> np.ndarray:
    """``rate`` as an array of probabilities; ``ValueError`` outside ``[0, 1]``."""
    rate = np.asarray(rate, dtype=np.float64)
    if not np.all((rate >= 0) & (rate <= 1)):  # NaN fails too
        raise ValueError(f"{name} is a probability and lies in [0, 1], got {rate}")
    return rate


# The pairwise objective on a finite world.


def pairing_blind(scores: np.ndarray, swap: np.ndarray) -> np.ndarray:
    """``S̄(I, c) = (S(I, c) + S(I, σc)) / 2``: the average that cannot tell a caption from its swap."""
    return (scores + scores[..., swap]) / 2


def reversal(scores: np.ndarray, swap: np.ndarray) -> np.ndarray:
    """``S^rev(I, c) = S(I, σc)``: every pairing exchanged."""
    return scores[..., swap]


@dataclass(frozen=True)
class PairWorld:
    """What the pairwise objective averages over.

    ``joint`` ``(n_images, n_captions)``: law of an image and its true caption; ``swap`` ``(n_captions,)``;
    ``unmatched`` ``(n_captions, n_captions)``: row ``c`` is the law of the unrelated caption ``c'``.
    """

    joint: np.ndarray
    swap: np.ndarray
    unmatched: np.ndarray


def pairwise_terms(scores: np.ndarray, world: PairWorld) -> tuple[float, float]:
    """``E ℓ(S(I, c) - S(I, σc))`` and ``E ℓ(S(I, c) - S(I, c'))``."""
    matched = np.sum(world.joint * logistic_loss(scores - scores[:, world.swap]))
    contrasts = logistic_loss(scores[:, :, None] - scores[:, None, :])
    return float(matched), float(np.einsum("ic,cd,icd->", world.joint, world.unmatched, contrasts))


def pairwise_objective(scores: np.ndarray, world: PairWorld, swap_rate: float) -> float:
    """``L_π(S) = π E ℓ(S(I, c) - S(I, σc)) + (1 - π) E ℓ(S(I, c) - S(I, c'))``.

    Raises ``ValueError`` for ``swap_rate`` outside ``[0, 1]``.
    """
    rate = float(checked_rate(swap_rate))
    matched, unmatched = pairwise_terms(scores, world)
    return rate * matched + (1 - rate) * unmatched


# The softmax objective.


def softened(own: np.ndarray) -> np.ndarray:
    """``S̃ = log((e^S(I,x) + e^S(I,σx)) / 2)`` for ``own`` ``(..., 2)``, the scores of ``x`` and ``σx``; same shape."""
    blind = np.logaddexp(own[..., :1], own[..., 1:]) - log(2)
    return np.broadcast_to(blind, own.shape)


def blind_rival(own: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A pairing-blind score that loses at most the sliver: ``S̃`` of the caption where that is larger, means elsewhere.

    ``own`` ``(n, 2)``: scores of ``c`` and ``σc``, which both get ``max(S(I, c), S̃(I, c))``; ``others``
    ``(n, t, r, 2)``: scores of ``x`` and ``σx``, which both get their mean; same shapes.  Source: ``prop-blind-rival``.
    """
    means = others.mean(axis=-1, keepdims=True)
    return np.maximum(own[..., :1], softened(own)), np.broadcast_to(means, others.shape)


def infonce_losses(own: np.ndarray, others: np.ndarray, held: bool) -> np.ndarray:
    """InfoNCE loss ``(n, t)`` of every image with every set of other negatives.

    ``own`` ``(n, 2)``: scores of ``c`` and ``σc``; ``others`` ``(n, t, r, 2)``: scores of ``x`` and ``σx`` of ``r``
    other captions in ``t`` sets; ``held``: whether the candidates hold ``σc``.
    """
    rest = np.logaddexp.reduce(others[..., 0], axis=-1)
    positive, swapped = own[:, :1], own[:, 1:]
    total = np.logaddexp(positive, rest)
    return (np.logaddexp(total, swapped) if held else total) - positive


# The rate at which batches hold swaps by accident.


def n_two_object_scenes(n_objects: int, n_attributes: int) -> int:
    """``C(M, 2) K (K - 1)`` scenes of two objects with different attributes; ``ValueError`` when there is none."""
    if min(n_objects, n_attributes) < 2:
        raise ValueError(f"a swap needs two objects and two attributes, got {n_objects} and {n_attributes}")
    return n_objects * (n_objects - 1) // 2 * n_attributes * (n_attributes - 1)


def implicit_swap_rate(
    batch_size: int, swap_probability: np.ndarray, caption_probability: np.ndarray | None = None
) -> float:
    """``π_impl = E_c [1 - (1 - p(σc))^(B - 1)]``: how often a batch of independent captions holds the swap of one.

    ``swap_probability``: ``p(σc)``, a number or ``(n,)``; ``caption_probability`` ``(n,)``: the law of ``c``, uniform
    when not given.  Raises ``ValueError`` for a batch without a caption or for numbers that are no probabilities.
    """
    if batch_size < 1:
        raise ValueError(f"a batch holds at least the caption itself, got {batch_size}")
    p = np.atleast_1d(checked_rate(swap_probability, "the probability of the swap"))
    with np.errstate(divide="ignore", invalid="ignore"):
        held = np.where(batch_size == 1, 0.0, -np.expm1((batch_size - 1) * np.log1p(-p)))
    if caption_probability is None:
        return float(held.mean())
    weights = checked_rate(caption_probability, "the probability of the caption")
    if weights.shape != p.shape or abs(weights.sum() - 1) > 1e-9:
        raise ValueError("the captions' probabilities must be as many as their swaps' and sum to 1")
    return float(weights @ held)


def _rank_products(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The products of two different ranks up to ``n``, and how often each occurs."""
    ranks = np.arange(1, n + 1)
    return np.unique(np.outer(ranks, ranks)[np.triu_indices(n, 1)], return_counts=True)


def zipf_swap_rate(batch_size: int, n_objects: int, n_attributes: int) -> tuple[float, float]:
    """Bound ``(B-1) E p(σc)`` and exact rate ``E[1 - (1 - p(σc))^(B-1)]`` when words follow Zipf's law.

    Objects and attributes have probabilities in proportion to one over their rank, conditioned on two different ones.
    Scenes with the same product of ranks have the same ``p`` and are summed together.  Source: ``prop-implicit-rate``.
    """
    others = batch_size - 1
    (objects, n_pairs), (attributes, n_colours) = _rank_products(n_objects), _rank_products(n_attributes)
    total = 2 * (n_pairs / objects).sum() * (n_colours / attributes).sum()
    bound = rate = 0.0
    for attribute, n in zip(attributes, n_colours, strict=True):
        p = 1 / (objects * attribute * total)
        weight = 2 * n * n_pairs * p
        bound += float(weight @ (others * p))
        rate += float(weight @ -np.expm1(others * np.log1p(-p)))
    return bound, rate
