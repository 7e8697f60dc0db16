"""Bag-of-words collapse: a text map that reads only the words cannot bind them.

Vectors are rows: ``(n, dim)`` float64, unit length unless said otherwise; distances and margins have no units.
"""

import zlib
from collections.abc import Callable
from math import sqrt

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.scenes import RED_CAR_BLUE_DOG, WORLD, Scene, caption, swap

TextMap = Callable[[str], np.ndarray]  # a caption to a unit vector (dim,)


def unit(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(..., dim)`` divided by their lengths; raises ``ValueError`` for a vector without a direction."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.all((norms > 0) & np.isfinite(norms)):
        raise ValueError("a vector that is zero, NaN or too long to measure has no direction")
    return vectors / norms


def margin(image: np.ndarray, text: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Binding margin ``m = <i, t(c) - t(σc)>``, ``(...)`` from three ``(..., dim)``; positive if the encoder binds.

    Source: the paper's Figure 4, which calls it M(s).
    """
    return np.sum(image * (text - swapped), axis=-1)


def ceiling(text: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Ceiling ``d = ||t(c) - t(σc)||``, ``(...)`` in ``[0, 2]``: the largest margin any unit image vector can have.

    Source: the paper's Figures 11 and 12; ``prop-ceiling`` of the book.
    """
    return np.linalg.norm(text - swapped, axis=-1)


def best_image(text: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """The unit image vector ``(t(c) - t(σc)) / d``, ``(..., dim)``, that attains the ceiling (``prop-ceiling``).

    Raises ``ValueError`` where the two captions coincide, since then every margin is zero.
    """
    if np.any(ceiling(text, swapped) == 0):
        raise ValueError("the two captions have the same vector: every image has margin 0, none is best")
    return unit(text - swapped)


def word_vector(word: str, dim: int, seed: int) -> np.ndarray:
    """A fixed standard normal vector ``(dim,)`` for each word and seed."""
    return np.random.default_rng([zlib.crc32(word.encode()), seed]).standard_normal(dim)


def superposition(dim: int, seed: int) -> TextMap:
    """The pairing-blind map ``normalise(Σ_w v_w)``, ``(dim,)``; order does not enter, not even through rounding."""
    return lambda text: unit(np.sum([word_vector(w, dim, seed) for w in sorted(text.split())], axis=0))


def multiset_hash(dim: int, seed: int) -> TextMap:
    """The least structured pairing-blind map: an unrelated random unit vector ``(dim,)`` for every word multiset."""
    return lambda text: unit(word_vector(" ".join(sorted(text.split())), dim, seed))


def position_weighted(dim: int, seed: int, strength: float = 0.5) -> TextMap:
    """A map to ``(dim,)`` that is *not* pairing-blind: word ``j`` of the caption weighs ``1 + strength · j``."""

    def encode(text: str) -> np.ndarray:
        weighted = [(1 + strength * j) * word_vector(w, dim, seed) for j, w in enumerate(text.split())]
        return unit(np.sum(weighted, axis=0))

    return encode


def attention_rows(
    text: str, dim: int, seed: int, *, layers: int = 2, causal: bool = False, positions: bool = False
) -> np.ndarray:
    """The rows ``(n_words, dim)`` that a random transformer leaves before pooling.

    Each layer is single-head self-attention on normalised rows and a ``tanh`` map, both residual, with Gaussian weights
    fixed by ``seed``.  ``positions`` adds a random vector for each place; ``causal`` lets a word attend only to itself
    and the words before it.
    """
    tokens = text.split()
    n = len(tokens)
    x = np.stack([word_vector(w, dim, seed) for w in tokens])
    if positions:
        x = x + np.stack([word_vector(f"position {j}", dim, seed) for j in range(n)])
    rng = np.random.default_rng([seed, dim, layers])
    hidden = np.where(np.tri(n, dtype=bool) | (not causal), 0.0, -np.inf)
    for _ in range(layers):
        query, key, value, mlp = rng.standard_normal((4, dim, dim)) / sqrt(dim)
        x = unit(x)
        scores = (x @ query) @ (x @ key).T * sqrt(dim) + hidden
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        x = x + (weights / weights.sum(axis=1, keepdims=True)) @ x @ value
        x = x + np.tanh(x @ mlp)
    return x


def attention_tower(
    text: str, dim: int, seed: int, *, pool: Callable[..., np.ndarray] = np.mean, **switches: bool | int
) -> np.ndarray:
    """A random transformer text tower, a unit vector ``(dim,)``: ``attention_rows`` pooled over the words.

    ``pool`` is a NumPy reduction with an ``axis``; ``switches`` are those of ``attention_rows``.
    """
    return unit(pool(attention_rows(text, dim, seed, **switches), axis=0))


def _draw_scene(rng: np.random.Generator) -> Scene:
    return WORLD.draw(int(rng.integers(2, 5)), rng)


def _draw_swap(rng: np.random.Generator) -> tuple[str, str]:
    """The captions of a random scene and of a random swap of it."""
    scene = _draw_scene(rng)
    i, j = rng.choice(len(scene), size=2, replace=False)
    return caption(scene), caption(swap(scene, i, j))


RUNNING_PAIR = caption(RED_CAR_BLUE_DOG), caption(swap(RED_CAR_BLUE_DOG))

COLLAPSE = Theorem(
    "thm-bag-of-words-collapse",
    "If t(c) depends on the word multiset of c only, then m(s) = 0 for every unit image vector.",
    ("t depends on the word multiset only",),
    tolerance=0.0,
)
CEILING = Theorem(
    "prop-ceiling",
    "|m(s)| ≤ d(s) = ||t(c) - t(σc)|| for every unit image vector, with equality at (t(c) - t(σc)) / d(s).",
    ("the image vector is unit",),
    tolerance=1e-12,
)
POSITION_BLIND = Theorem(
    "prop-position-blind",
    "A self-attention tower with no position embeddings (added, rotary or relative), no causal mask and a pooling that "
    "ignores order gives two captions with the same multiset of tokens the same vector.",
    ("no position embeddings", "no causal mask", "pooling ignores order"),
    tolerance=1e-12,
)


def certify_collapse(seed: int = 0, instances: int = 2000) -> Certificate:
    """``|m|`` for random pairing-blind maps (sums, multiset hashes), any swap of 2 to 4 atoms, ``dim`` 2 to 512."""

    def case(rng):
        dim, make = int(2 ** rng.integers(1, 10)), (superposition, multiset_hash)[rng.integers(2)]
        encode, pair = make(dim, int(rng.integers(2**31))), _draw_swap(rng)
        image = unit(rng.standard_normal(dim))
        m = abs(float(margin(image, *map(encode, pair))))
        return m, {"caption": pair[0], "swap": pair[1], "margin": m, "dim": dim}

    return COLLAPSE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_collapse(seed: int = 0) -> Certificate:
    """Without pairing-blindness: words weighted by position; the stored witness is the running example."""
    t, t_swap = map(position_weighted(64, seed), RUNNING_PAIR)
    m = float(margin(best_image(t, t_swap), t, t_swap))
    witness = {"caption": RUNNING_PAIR[0], "swap": RUNNING_PAIR[1], "margin": m, "dim": 64}
    return COLLAPSE.certificate(seed, 1, m, witness, dropped="t depends on the word multiset only")


def certify_ceiling(seed: int = 0, instances: int = 5000) -> Certificate:
    """Bound and attainment for random unit captions, some nearly equal, and unit images, ``dim`` 2 to 512."""

    def case(rng):
        dim = int(2 ** rng.integers(1, 10))
        t = unit(rng.standard_normal(dim))
        t_swap = unit(t + 10 ** rng.uniform(-6, 1) * rng.standard_normal(dim))
        image, d = unit(rng.standard_normal(dim)), float(ceiling(t, t_swap))
        excess = abs(margin(image, t, t_swap)) - d
        missed = abs(margin(best_image(t, t_swap), t, t_swap) - d)
        return np.max([excess, missed]), {"dim": dim, "ceiling": d}

    return CEILING.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_ceiling(seed: int = 0) -> Certificate:
    """Without the unit length of the image vector: twice the best image has twice the ceiling as margin."""
    t, t_swap = unit(np.random.default_rng(seed).standard_normal((2, 64)))
    d = float(ceiling(t, t_swap))
    m = float(margin(2 * best_image(t, t_swap), t, t_swap))
    witness = {"margin": m, "ceiling": d, "image_norm": 2.0}
    return CEILING.certificate(seed, 1, m - d, witness, dropped="the image vector is unit")


def certify_position_blind(seed: int = 0, instances: int = 500) -> Certificate:
    """Distance under a random permutation of words: towers of 1 to 4 layers, ``dim`` 8 to 64, mean or max pooling."""

    def case(rng):
        text, dim, layers = caption(_draw_scene(rng)), int(2 ** rng.integers(3, 7)), int(rng.integers(1, 5))
        other = " ".join(rng.permutation(text.split()))
        tower, pool = int(rng.integers(2**31)), (np.mean, np.max)[rng.integers(2)]
        d = ceiling(*(attention_tower(x, dim, tower, layers=layers, pool=pool) for x in (text, other)))
        return d, {"caption": text, "permuted": other, "distance": float(d), "dim": dim, "layers": layers}

    return POSITION_BLIND.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_position_blind(seed: int = 0) -> Certificate:
    """With a causal mask and still no position embeddings: the mask leaks the order."""
    d = float(ceiling(*(attention_tower(c, 64, seed, causal=True) for c in RUNNING_PAIR)))
    witness = {"caption": RUNNING_PAIR[0], "swap": RUNNING_PAIR[1], "distance": d, "dim": 64}
    return POSITION_BLIND.certificate(seed, 1, d, witness, dropped="no causal mask")


CLAIMS = (
    Claim(COLLAPSE, certify_collapse, mutate_collapse),
    Claim(CEILING, certify_ceiling, mutate_ceiling),
    Claim(POSITION_BLIND, certify_position_blind, mutate_position_blind),
)
