"""The smoothness-binding frontier: captions close to a shared anchor are close to each other.

Vectors are unit rows ``(..., dim)`` float64.  ``delta`` is ``1 - cosine``, in ``[0, 2]``, without units.
"""

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.bag_of_words import best_image, ceiling, margin, unit


def smoothness(text: np.ndarray, swapped: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """``δ = 1 - min(<t(c), t̄>, <t(σc), t̄>)``, ``(...)`` in ``[0, 2]``: how far the farther caption is from the anchor.

    Source: the paper's Figure 11.
    """
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
    """``δ* = 1 - sqrt(1 - d²/4)``, ``(...)``: the smallest ``δ`` of any unit anchor, for captions at distance ``d``.

    Source: ``prop-midpoint-anchor`` (ours).  Raises ``ValueError`` for ``d`` outside ``[0, 2]``.
    """
    d = np.asarray(d, dtype=np.float64)
    if not np.all((d >= 0) & (d < 2 + 1e-9)):
        raise ValueError("d is a distance of unit vectors and lies in [0, 2]")
    return 1 - np.sqrt(np.maximum(1 - d**2 / 4, 0))


def usage(d: np.ndarray, cap: np.ndarray) -> np.ndarray:
    """Share ``d / cap``, ``(...)``, of the cap that the encoder uses; 0 where the cap is 0, since then ``d`` is 0 too.

    Source: the paper's Figure 3, with ``paper_cap``.  Raises ``ValueError`` where one is negative or NaN.
    """
    d, cap = np.broadcast_arrays(np.asarray(d, dtype=np.float64), np.asarray(cap, dtype=np.float64))
    if not np.all((d >= 0) & (cap >= 0)):
        raise ValueError("d and cap are distances and not negative")
    return np.divide(d, cap, out=np.zeros(d.shape), where=cap > 0)


def saturating_captions(delta: float, dim: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchor, caption and swap, each ``(dim,)``: smoothness ``delta``, distance ``sharp_cap(delta)``, random position.

    With ``h = 1 - δ`` and ``e`` orthogonal to the anchor ``a``: ``t = h a + sqrt(1 - h²) e``, and its swap is the
    mirror image ``h a - sqrt(1 - h²) e`` if ``h ≥ 0``, else the antipode ``-t``.  Source: ``thm-sharp-frontier``
    (ours).
    Raises ``ValueError`` for ``dim < 2`` or ``delta`` outside ``[0, 2]``.
    """
    if dim < 2:
        raise ValueError(f"two distinct captions at equal distance from an anchor need dim >= 2, got {dim}")
    h = 1 - float(_checked(delta))
    anchor, side = np.linalg.qr(rng.standard_normal((dim, 2)))[0].T
    offset = np.sqrt(max(1 - h**2, 0.0)) * side
    return anchor, h * anchor + offset, abs(h) * anchor - offset


UNIT_ANCHOR, UNIT_CAPTIONS, UNIT_IMAGE = "the anchor is unit", "the captions are unit", "the image is unit"
FRONTIER = Theorem(
    "thm-frontier",
    "m(s) ≤ d(s) ≤ 2 sqrt(2 δ), and in dimension 2 or more no constant below 2 sqrt(2) will do for every δ.",
    (UNIT_ANCHOR, UNIT_CAPTIONS, UNIT_IMAGE),
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

# The checks compare squares: under a square root a rounding error of 1e-16 becomes one of 1e-8.


def _draw_captions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anchor and captions at random angles from it, leaning to opposite sides often enough to probe the cap."""
    dim = int(2 ** rng.integers(1, 10))
    anchor, t, t_swap = saturating_captions(rng.uniform(0, 1) ** 3, dim, rng)
    noise = 10 ** rng.uniform(-8, 1) * rng.standard_normal((2, dim)) / np.sqrt(dim)
    return anchor, unit(t + noise[0]), unit(t_swap + noise[1])


def certify_frontier(seed: int = 0, instances: int = 5000) -> Certificate:
    """Both inequalities on random captions with random and best images; the constant on pairs that saturate."""

    def case(rng):
        anchor, t, t_swap = _draw_captions(rng)
        image = unit(rng.standard_normal(len(anchor)))
        d, delta = ceiling(t, t_swap), smoothness(t, t_swap, anchor)
        over_d = [margin(i, t, t_swap) - d for i in (image, best_image(t, t_swap))]
        over_cap = d**2 - paper_cap(delta) ** 2
        # On a saturating pair d² is exactly cap² (1 - δ/2), so d / sqrt(δ) tends to 2 sqrt(2).
        target = rng.uniform(0, 1)
        _, t, t_swap = saturating_captions(target, len(anchor), rng)
        missed = abs(ceiling(t, t_swap) ** 2 - paper_cap(target) ** 2 * (1 - target / 2))
        return np.max([*over_d, over_cap, missed]), {"dim": len(anchor), "delta": float(delta), "ceiling": float(d)}

    return FRONTIER.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_frontier(seed: int = 0) -> Certificate:
    """Without the unit anchor: twice as long, it is within ``δ = 0`` of two captions at 60 degrees from it."""
    anchor, t, t_swap = saturating_captions(0.5, 8, np.random.default_rng(seed))
    d, delta = float(ceiling(t, t_swap)), max(float(smoothness(t, t_swap, 2 * anchor)), 0.0)
    witness = {"anchor_norm": 2.0, "delta": delta, "ceiling": d}
    return FRONTIER.certificate(seed, 1, d**2 - float(paper_cap(delta)) ** 2, witness, dropped=UNIT_ANCHOR)


def certify_sharp(seed: int = 0, instances: int = 5000) -> Certificate:
    """The bound on random captions; unit length, smoothness and equality on as many saturating pairs."""

    def case(rng):
        anchor, t, t_swap = _draw_captions(rng)
        d, delta = ceiling(t, t_swap), smoothness(t, t_swap, anchor)
        over = d**2 - sharp_cap(delta) ** 2
        target = rng.uniform(0, 2)
        anchor, t, t_swap = saturating_captions(target, len(anchor), rng)
        not_unit = np.abs(np.linalg.norm([anchor, t, t_swap], axis=1) - 1).max()
        not_delta = abs(smoothness(t, t_swap, anchor) - target)
        missed = abs(ceiling(t, t_swap) ** 2 - sharp_cap(target) ** 2)
        witness = {"dim": len(anchor), "delta": float(delta), "ceiling": float(d)}
        return np.max([over, not_unit, not_delta, missed]), witness

    return SHARP.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_sharp(seed: int = 0) -> Certificate:
    """Without unit captions: a fifth longer, a saturating pair overshoots its own cap."""
    anchor, t, t_swap = saturating_captions(0.2, 8, np.random.default_rng(seed))
    d, delta = float(ceiling(1.2 * t, 1.2 * t_swap)), float(smoothness(1.2 * t, 1.2 * t_swap, anchor))
    witness = {"caption_norm": 1.2, "delta": delta, "ceiling": d}
    return SHARP.certificate(seed, 1, d**2 - float(sharp_cap(delta)) ** 2, witness, dropped=UNIT_CAPTIONS)


def certify_midpoint(seed: int = 0, instances: int = 5000) -> Certificate:
    """Random pairs against random anchors, near the midpoint and far, and against the midpoint itself."""

    def case(rng):
        anchor, t, t_swap = _draw_captions(rng)
        midpoint, d = unit(t + t_swap), ceiling(t, t_swap)
        nearby = unit(midpoint + 10 ** rng.uniform(-4, 0) * anchor)
        best, of_midpoint = 1 - smallest_delta(d), 1 - smoothness(t, t_swap, midpoint)
        closer = [max(1 - smoothness(t, t_swap, a), 0) ** 2 - best**2 for a in (anchor, nearby)]
        missed = abs(of_midpoint**2 - best**2)
        not_one = abs(d**2 - sharp_cap(1 - of_midpoint) ** 2)
        return np.max([*closer, missed, not_one]), {"dim": len(anchor), "ceiling": float(d)}

    return MIDPOINT.certificate(seed, instances, *worst_case(case, instances, seed))


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
