"""The smoothness-binding frontier: captions close to a shared anchor are close to each other.

Vectors are unit rows ``(..., dim)`` float64.  ``delta`` is ``1 - cosine``, in ``[0, 2]``, without units.
"""

from collections.abc import Callable

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem
from bindlib.theory.bag_of_words import ceiling, unit


def smoothness(text: np.ndarray, swapped: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """``δ = 1 - min(<t(c), t̄>, <t(σc), t̄>)``: how far the farther caption is from the anchor; shape ``(...)``."""
    return 1 - np.minimum(np.sum(text * anchor, axis=-1), np.sum(swapped * anchor, axis=-1))


def _checked(delta: np.ndarray) -> np.ndarray:
    delta = np.asarray(delta, dtype=np.float64)
    outside = ~((delta > -1e-9) & (delta < 2 + 1e-9))  # a cosine may exceed 1 by rounding; NaN is outside
    if np.any(outside):
        raise ValueError(f"delta is 1 - cosine and lies in [0, 2], got {delta[outside].flat[0]}")
    return np.clip(delta, 0.0, 2.0)


def paper_cap(delta: np.ndarray) -> np.ndarray:
    """``2 sqrt(2 δ)``, the source paper's cap on the ceiling (Theorem G.3); exceeds the trivial 2 when ``δ > 1/2``.

    Raises ``ValueError`` for ``delta`` outside ``[0, 2]``.
    """
    return 2 * np.sqrt(2 * _checked(delta))


def sharp_cap(delta: np.ndarray) -> np.ndarray:
    """``2 sqrt(δ (2 - δ))`` up to ``δ = 1`` and 2 beyond: attained for every ``δ`` in every dimension ≥ 2 (ours).

    Raises ``ValueError`` for ``delta`` outside ``[0, 2]``.
    """
    delta = np.minimum(_checked(delta), 1.0)
    return 2 * np.sqrt(delta * (2 - delta))


def smallest_delta(d: np.ndarray) -> np.ndarray:
    """``δ* = 1 - sqrt(1 - d²/4)``: the smallest ``δ`` of any unit anchor, for captions at distance ``d`` ≤ 2."""
    return 1 - np.sqrt(1 - np.asarray(d, dtype=np.float64) ** 2 / 4)


def usage(d: np.ndarray, cap: np.ndarray) -> np.ndarray:
    """Share ``d / cap`` of the cap that the encoder uses; 0 where the cap is 0, since then ``d`` is 0 too."""
    d, cap = np.broadcast_arrays(np.asarray(d, dtype=np.float64), np.asarray(cap, dtype=np.float64))
    return np.divide(d, cap, out=np.zeros(d.shape), where=cap > 0)


def saturating_captions(delta: float, dim: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchor, caption and swap ``(dim,)`` whose distance equals ``sharp_cap(delta)``, in a random position.

    ``t = (1 - δ) a + sqrt(δ (2 - δ)) e`` and its mirror image, ``e`` orthogonal to ``a``; for ``δ > 1`` the pair of
    ``δ = 1``, already antipodal.  Raises ``ValueError`` for ``dim < 2`` or ``delta`` outside ``[0, 2]``.
    """
    if dim < 2:
        raise ValueError(f"two distinct captions at equal distance from an anchor need dim >= 2, got {dim}")
    height = 1 - min(float(_checked(delta)), 1.0)
    anchor, side = np.linalg.qr(rng.standard_normal((dim, 2)))[0].T
    offset = np.sqrt(1 - height**2) * side
    return anchor, height * anchor + offset, height * anchor - offset


UNIT_ANCHOR, UNIT_CAPTIONS = "the anchor is unit", "the captions are unit"
FRONTIER = Theorem(
    "thm-frontier",
    "m(s) ≤ d(s) ≤ 2 sqrt(2 δ) for unit anchor, captions and image.",
    (UNIT_ANCHOR, UNIT_CAPTIONS),
    tolerance=1e-12,
)
SHARP = Theorem(
    "thm-sharp-frontier",
    "d(s) ≤ 2 sqrt(δ (2 - δ)) for δ ≤ 1 and d(s) ≤ 2 beyond, with equality for every δ in every dimension ≥ 2.",
    (UNIT_ANCHOR, UNIT_CAPTIONS),
    tolerance=1e-12,
)
MIDPOINT = Theorem(
    "prop-midpoint-anchor",
    "Over all unit anchors δ ≥ 1 - sqrt(1 - d²/4), attained at the midpoint, where the sharp usage is 1.",
    (UNIT_ANCHOR, UNIT_CAPTIONS, "the captions are neither equal nor antipodal"),
    tolerance=1e-12,
)


def _draw_captions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchor and captions at random angles from it, leaning to opposite sides often enough to probe the cap."""
    dim = int(2 ** rng.integers(1, 10))
    anchor, t, t_swap = saturating_captions(rng.uniform(0, 1) ** 3, dim, rng)
    noise = 10 ** rng.uniform(-8, 1) * rng.standard_normal((2, dim)) / np.sqrt(dim)
    return anchor, unit(t + noise[0]), unit(t_swap + noise[1])


def _worst(excess: Callable, instances: int, seed: int) -> tuple[float, dict]:
    """The largest ``excess(rng) -> (slack, witness)`` over as many draws."""
    rng = np.random.default_rng(seed)
    return max((excess(rng) for _ in range(instances)), key=lambda pair: pair[0])


def certify_frontier(seed: int = 0, instances: int = 5000) -> Certificate:
    """Random captions around a random anchor, from near-saturating to unrelated, and the image that attains ``d``."""

    def excess(rng):
        anchor, t, t_swap = _draw_captions(rng)
        d, delta = float(ceiling(t, t_swap)), float(smoothness(t, t_swap, anchor))
        return d - float(paper_cap(delta)), {"dim": len(anchor), "delta": delta, "ceiling": d}

    return FRONTIER.certificate(seed, instances, *_worst(excess, instances, seed))


def mutate_frontier(seed: int = 0) -> Certificate:
    """Without the unit anchor: twice as long, it is within ``δ = 0`` of two captions at 60 degrees from it."""
    anchor, t, t_swap = saturating_captions(0.5, 8, np.random.default_rng(seed))
    d, delta = float(ceiling(t, t_swap)), max(float(smoothness(t, t_swap, 2 * anchor)), 0.0)
    witness = {"anchor_norm": 2.0, "delta": delta, "ceiling": d}
    return FRONTIER.certificate(seed, 1, d - float(paper_cap(delta)), witness, dropped=UNIT_ANCHOR)


def certify_sharp(seed: int = 0, instances: int = 5000) -> Certificate:
    """The bound on random captions, and equality on as many saturating pairs."""

    def excess(rng):
        anchor, t, t_swap = _draw_captions(rng)
        d, delta = float(ceiling(t, t_swap)), float(smoothness(t, t_swap, anchor))
        # Below the square root a rounding error of 1e-16 in delta becomes 1e-8 in the cap, so compare squares.
        over = d**2 - float(sharp_cap(delta)) ** 2
        target = rng.uniform(0, 2)
        _, t, t_swap = saturating_captions(target, len(anchor), rng)
        missed = abs(float(ceiling(t, t_swap)) ** 2 - float(sharp_cap(target)) ** 2)
        return max(over, missed), {"dim": len(anchor), "delta": delta, "ceiling": d}

    return SHARP.certificate(seed, instances, *_worst(excess, instances, seed))


def mutate_sharp(seed: int = 0) -> Certificate:
    """Without unit captions: a fifth longer, a saturating pair overshoots its own cap."""
    anchor, t, t_swap = saturating_captions(0.2, 8, np.random.default_rng(seed))
    d, delta = float(ceiling(1.2 * t, 1.2 * t_swap)), float(smoothness(1.2 * t, 1.2 * t_swap, anchor))
    witness = {"caption_norm": 1.2, "delta": delta, "ceiling": d}
    return SHARP.certificate(seed, 1, d**2 - float(sharp_cap(delta)) ** 2, witness, dropped=UNIT_CAPTIONS)


def certify_midpoint(seed: int = 0, instances: int = 5000) -> Certificate:
    """Random pairs against random anchors, near the midpoint and far, and against the midpoint itself."""

    def excess(rng):
        anchor, t, t_swap = _draw_captions(rng)
        midpoint, d = unit(t + t_swap), float(ceiling(t, t_swap))
        nearby = unit(midpoint + 10 ** rng.uniform(-4, 0) * anchor)
        below = max(float(smallest_delta(d) - smoothness(t, t_swap, a)) for a in (anchor, nearby))
        missed = abs(float(smallest_delta(d) - smoothness(t, t_swap, midpoint)))
        return max(below, missed), {"dim": len(anchor), "ceiling": d}

    return MIDPOINT.certificate(seed, instances, *_worst(excess, instances, seed))


def mutate_midpoint(seed: int = 0) -> Certificate:
    """Without the unit anchor: the midpoint stretched to twice the length has a smaller, even negative, ``δ``."""
    _, t, t_swap = saturating_captions(0.2, 8, np.random.default_rng(seed))
    d, delta = float(ceiling(t, t_swap)), float(smoothness(t, t_swap, 2 * unit(t + t_swap)))
    witness = {"anchor_norm": 2.0, "delta": delta, "ceiling": d}
    return MIDPOINT.certificate(seed, 1, float(smallest_delta(d)) - delta, witness, dropped=UNIT_ANCHOR)


CLAIMS = (
    Claim(FRONTIER, certify_frontier, mutate_frontier),
    Claim(SHARP, certify_sharp, mutate_sharp),
    Claim(MIDPOINT, certify_midpoint, mutate_midpoint),
)
