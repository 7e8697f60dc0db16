"""Axioms: what an ideal encoder is asked to do, in a finite world, and encoders that do all of it.

An axiom asks that captions true of an image score above captions false of it.  A world is finite, so an axiom is a list
of *demands* ``(image, better, worse)``, and an encoder is two matrices of unit rows.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from math import sqrt
from typing import NamedTuple

import numpy as np

from bindlib.scenes import Atom, Scene, World, order_variants, swap

AXIOMS = ("content", "binding", "relation", "negation", "order")
Image = tuple[Atom, ...]  # what a picture shows, from left to right


@dataclass(frozen=True)
class Caption:
    """A caption of one ``kind`` and its ``meaning``, which its order variants share.

    The meaning of a ``content`` or ``negation`` caption is an object, of a ``binding`` caption a scene, of a
    ``relation`` caption a pair of objects, left and right.
    """

    text: str
    kind: str
    meaning: Hashable

    def holds(self, image: Image) -> bool:
        """Whether the caption is true of the image."""
        objects = [atom.object for atom in image]
        match self.kind:
            case "content":
                return self.meaning in objects
            case "negation":
                return self.meaning not in objects
            case "binding":
                return set(self.meaning.atoms) <= set(image)
        left, right = self.meaning
        return left in objects and right in objects and objects.index(left) < objects.index(right)


@dataclass(frozen=True)
class FiniteWorld:
    """Finitely many images and captions; which caption is true of which image is ``truth``."""

    images: tuple[Image, ...]
    captions: tuple[Caption, ...]

    def __post_init__(self):
        if not self.images or not self.captions:
            raise ValueError("a world needs at least one image and one caption")

    @classmethod
    def of(cls, vocabulary: World, sizes: Sequence[int] = (1, 2)) -> "FiniteWorld":
        """Every scene of these sizes in every order from left to right, and every caption of the vocabulary.

        Raises ``ValueError`` when the vocabulary is too small for a size.
        """
        most = min(len(vocabulary.objects), len(vocabulary.attributes))
        if not sizes or not all(1 <= k <= most for k in sizes):
            raise ValueError(f"sizes of scenes lie in 1..{most} in this vocabulary, got {tuple(sizes)}")
        scenes = [scene for k in sizes for scene in vocabulary.scenes(k)]
        images = (image for scene in scenes for image in permutations(scene.atoms))
        return cls(tuple(images), tuple(_captions(vocabulary, scenes)))

    @cached_property
    def truth(self) -> np.ndarray:
        """``(n_images, n_captions)`` bool: the truth relation."""
        return np.array([[caption.holds(image) for caption in self.captions] for image in self.images])

    @cached_property
    def meanings(self) -> np.ndarray:
        """``(n_captions,)`` int: equal for order variants of one meaning, which may share a vector."""
        return labels((caption.kind, caption.meaning) for caption in self.captions)

    @cached_property
    def words(self) -> np.ndarray:
        """``(n_captions,)`` int: equal for captions with the same multiset of words."""
        return labels(tuple(sorted(caption.text.split())) for caption in self.captions)

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """The objects that content and negation captions name."""
        return tuple(dict.fromkeys(c.meaning for c in self.captions if c.kind in ("content", "negation")))


def labels(keys: Iterator[Hashable]) -> np.ndarray:
    """Integers ``(n,)`` from 0, in order of first appearance, equal where the keys are equal."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=int)


def _captions(vocabulary: World, scenes: Sequence[Scene]) -> Iterator[Caption]:
    for o in vocabulary.objects:
        yield Caption(f"a {o}", "content", o)
    for o in vocabulary.objects:
        yield Caption(f"no {o}", "negation", o)
    for scene in scenes:
        if len(scene) > 1:  # one atom has no swap
            yield from (Caption(text, "binding", scene) for text in order_variants(scene))
    for a, b in permutations(vocabulary.objects, 2):
        yield Caption(f"a {a} left of a {b}", "relation", (a, b))


def swaps(scene: Scene) -> set[Scene]:
    """Every scene that differs from this one by exchanging two different attributes."""
    pairs = combinations(range(len(scene)), 2)
    return {swap(scene, i, j) for i, j in pairs if scene.attributes[i] != scene.attributes[j]}


@lru_cache(maxsize=64)
def contrasts(world: FiniteWorld, axiom: str) -> np.ndarray:
    """``(n, 2)`` pairs of captions that the axiom compares.  Raises ``ValueError`` for an unknown axiom."""
    compares = {
        "content": lambda a, b: a.kind == b.kind == "content",
        "binding": lambda a, b: a.kind == b.kind == "binding" and b.meaning in swaps(a.meaning),
        "relation": lambda a, b: a.kind == b.kind == "relation" and a.meaning == b.meaning[::-1],
        "negation": lambda a, b: {a.kind, b.kind} == {"content", "negation"} and a.meaning == b.meaning,
        "order": lambda a, b: a.kind == b.kind and a.meaning == b.meaning,
    }
    if axiom not in compares:
        raise ValueError(f"the axioms are {', '.join(AXIOMS)}; got {axiom!r}")
    found = [ij for ij in combinations(range(len(world.captions)), 2)
             if compares[axiom](*(world.captions[i] for i in ij))]  # fmt: skip
    return np.array(found, dtype=int).reshape(-1, 2)


def demands(world: FiniteWorld, axiom: str) -> np.ndarray:
    """``(n, 3)`` rows ``(image, better, worse)``: of two captions compared, one true and one false of the image.

    The order axiom makes none: it asks that vectors be close, not that scores differ.
    """
    if axiom == "order":
        return np.empty((0, 3), dtype=int)
    rows = [
        (image, *(pair if world.truth[image, pair[0]] else pair[::-1]))
        for pair in contrasts(world, axiom)
        for image in np.flatnonzero(world.truth[:, pair[0]] != world.truth[:, pair[1]])
    ]
    return np.array(rows, dtype=int).reshape(-1, 3)


class Encoder(NamedTuple):
    """A dual encoder of a finite world: unit rows, ``images`` ``(n_images, dim)``, ``texts`` ``(n_captions, dim)``."""

    images: np.ndarray
    texts: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """``(n_images, n_captions)`` inner products."""
        return self.images @ self.texts.T

    def margins(self, demanded: np.ndarray) -> np.ndarray:
        """``<i(I), t(better) - t(worse)>`` for every demand, ``(n,)``."""
        image, better, worse = demanded.T
        return np.sum(self.images[image] * (self.texts[better] - self.texts[worse]), axis=-1)


@dataclass(frozen=True)
class AxiomCheck:
    """How an encoder does on one axiom: its worst ``margin`` over ``demands``, and the demand or pair where that is.

    The margin of the order axiom is ``ε`` less the largest distance of two order variants.
    """

    axiom: str
    holds: bool
    margin: float
    demands: int
    worst: str


def check_axiom(world: FiniteWorld, axiom: str, encoder: Encoder, epsilon: float = 0.0) -> AxiomCheck:
    """The axiom as a predicate on encoders; an axiom that demands nothing in this world holds, with infinite margin.

    ``epsilon`` is the distance that the order axiom allows.
    """
    text = [caption.text for caption in world.captions]
    if axiom == "order":
        pairs = contrasts(world, axiom)
        margins = epsilon - np.linalg.norm(encoder.texts[pairs[:, 0]] - encoder.texts[pairs[:, 1]], axis=-1)
        named = [f"“{text[a]}” and “{text[b]}”" for a, b in pairs]
    else:
        rows = demands(world, axiom)
        margins = encoder.margins(rows)
        named = [f"“{text[b]}” above “{text[w]}”" for _, b, w in rows]
    if len(margins) == 0:
        return AxiomCheck(axiom, True, np.inf, 0, "")
    worst, at = float(margins.min()), int(margins.argmin())
    return AxiomCheck(axiom, worst >= 0 if axiom == "order" else worst > 0, worst, len(margins), named[at])


def truth_table_encoder(truth: np.ndarray, meanings: np.ndarray | None = None) -> Encoder:
    """The encoder of the satisfiability theorem in ``n_images + n_captions`` dimensions: true scores ``γ``, false 0.

    ``truth`` is ``(n_images, n_captions)`` bool; ``γ = 1 / sqrt(max_c #{I : c true of I})``.  Captions with one label
    in ``meanings`` share a vector, and must be true of the same images (``ValueError``).
    """
    truth, n_images, n_captions = _checked(truth), *np.shape(truth)
    meanings = np.arange(n_captions) if meanings is None else meanings
    first = np.array([np.flatnonzero(meanings == m)[0] for m in meanings])
    if np.any(truth != truth[:, first]):
        raise ValueError("captions of one meaning must be true of the same images")
    counts = truth.sum(axis=0)
    gamma = 1 / sqrt(max(counts.max(), 1))
    padding = np.sqrt(np.maximum(0, 1 - gamma**2 * counts))
    texts = np.zeros((n_captions, n_images + n_captions))
    texts[:, :n_images] = gamma * truth.T
    texts[np.arange(n_captions), n_images + first] = padding
    return Encoder(np.eye(n_images, n_images + n_captions), texts)


def signed_encoder(truth: np.ndarray) -> Encoder:
    """The signed table in ``n_images`` dimensions: true scores ``1/sqrt(n_images)``, false the negative of it."""
    truth, n_images, _ = _checked(truth), *np.shape(truth)
    return Encoder(np.eye(n_images), np.where(truth.T, 1.0, -1.0) / sqrt(n_images))


def _checked(truth: np.ndarray) -> np.ndarray:
    truth = np.asarray(truth)
    if truth.ndim != 2 or 0 in truth.shape or truth.dtype != bool:
        raise ValueError(f"truth is a bool matrix (n_images, n_captions), got {truth.dtype} of shape {truth.shape}")
    return truth


def margin_bound(
    n_images: int,
    n_captions: int,
    demanded: np.ndarray,
    weights: np.ndarray,
    scale: tuple[np.ndarray, np.ndarray] | None = None,
    gains: np.ndarray | float = 1.0,
) -> float:
    """A number that the worst margin of *no* encoder exceeds, in any dimension, for any non-negative ``weights`` (n,).

    With ``A = Σ_d y_d e_I (e_better - e_worse)^T`` and positive ``scale = (p, q)`` on images and captions:
    ``||P^-1/2 A Q^-1/2||_op sqrt(Σ p · Σ q) / Σ y``.  With ``gains`` it bounds the worst of ``g_d`` times the margins.
    """
    p, q = (np.ones(n_images), np.ones(n_captions)) if scale is None else scale
    a = contrast_matrix(n_images, n_captions, demanded, gains * weights)
    scaled = a / np.sqrt(p)[:, None] / np.sqrt(q)
    return float(np.linalg.norm(scaled, 2) * sqrt(p.sum() * q.sum()) / weights.sum())


def contrast_matrix(n_images: int, n_captions: int, demanded: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``Σ_d y_d e_I (e_better - e_worse)^T``, ``(n_images, n_captions)``."""
    image, better, worse = demanded.T
    plus, minus = (np.bincount(image * n_captions + c, weights, n_images * n_captions) for c in (better, worse))
    return (plus - minus).reshape(n_images, n_captions)


def find_cycle(demanded: np.ndarray) -> list[tuple[int, int, int]]:
    """Demands of one image that go in a circle, ``c_1`` above ``c_2`` above ... above ``c_1``; empty without one."""
    for image in np.unique(demanded[:, 0]):
        above: dict[int, list[int]] = {}
        for _, better, worse in demanded[demanded[:, 0] == image].tolist():
            above.setdefault(better, []).append(worse)
        if path := _circle(above):
            return [(int(image), a, b) for a, b in zip(path, path[1:] + path[:1], strict=True)]
    return []


def _circle(above: dict[int, list[int]]) -> list[int]:
    """A directed cycle of the graph by depth-first search, as its nodes in order; empty when there is none."""
    done: set[int] = set()
    for start in above:
        path, branches = [start], [iter(above[start])]
        while path:
            following = next(branches[-1], None)
            if following is None:
                done.add(path.pop())
                branches.pop()
            elif following in path:
                return path[path.index(following) :]
            elif following not in done:
                path.append(following)
                branches.append(iter(above.get(following, ())))
    return []


def ranked_encoder(n_images: int, n_captions: int, demanded: np.ndarray) -> Encoder:
    """An encoder that meets every demand, in ``n_images + n_captions`` dimensions, when they go in no circle.

    At each image a caption scores in proportion to how many demands one can walk down from it.  Raises ``ValueError``
    naming the circle when there is one.
    """
    if cycle := find_cycle(demanded):
        raise ValueError(f"no encoder meets demands that go in a circle: {cycle}")
    height = np.zeros((n_images, n_captions))
    for _ in range(n_captions):
        lifted = height.copy()
        np.maximum.at(lifted, (demanded[:, 0], demanded[:, 1]), height[demanded[:, 0], demanded[:, 2]] + 1)
        if np.array_equal(lifted, height):
            break
        height = lifted
    table = height.T / max(np.linalg.norm(height, axis=0).max(), 1)
    padding = np.diag(np.sqrt(np.maximum(0, 1 - np.sum(table**2, axis=1))))
    return Encoder(np.eye(n_images, n_images + n_captions), np.hstack([table, padding]))
