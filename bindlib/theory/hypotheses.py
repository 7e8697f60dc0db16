"""What is asked of an encoder and what is supposed about it: axioms, dimension and hypotheses as one problem.

`worst_margin` measures an encoder against a problem from its arrays alone; nothing is believed that it does not
confirm.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

import numpy as np

from bindlib.theory.axioms import AXIOMS, Encoder, FiniteWorld, contrasts, demands, labels
from bindlib.theory.bag_of_words import ceiling
from bindlib.theory.frontier import sharp_cap

ROUNDING = 1e-12  # of unit lengths and of the equations of a hypothesis


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """What is added to the axioms.

    ``margin``: every demand with at least this margin, in [0, 2].  ``pairing_blind``: captions with the same words
    share a vector.  ``delta``: each caption and its swap lie within smoothness ``delta``, in [0, 2], of some unit
    anchor. ``pooled``: a binding caption is the normalised sum of orthonormal codes of its atoms, and the image of a
    scene has the vector of the scene's caption.  ``texts``: the text vectors ``(n_captions, dim)``, unit, are given.

    Raises ``ValueError`` for a value out of range, and for given texts together with a hypothesis about texts.
    """

    margin: float = 0.0
    pairing_blind: bool = False
    delta: float | None = None
    pooled: bool = False
    texts: np.ndarray | None = None

    def __post_init__(self):
        for name, value in (("margin", self.margin), ("delta", self.delta)):
            if value is not None and not 0 <= value <= 2:
                raise ValueError(f"{name} lies in [0, 2], got {value}")
        if self.texts is not None:
            if self.pairing_blind or self.pooled or self.delta is not None:
                raise ValueError("given text vectors leave nothing to suppose about them: drop the other hypotheses")
            lengths = np.linalg.norm(np.asarray(self.texts, dtype=float), axis=-1)
            if not np.all(np.abs(lengths - 1) < ROUNDING):
                raise ValueError("given text vectors must be unit rows")


@dataclass(frozen=True, eq=False)
class Problem:
    """Axioms of a world, a dimension (``None``: free) and hypotheses, in classes of images and texts that share
    vectors.

    Raises ``ValueError`` for an unknown axiom, a dimension below 1, and given texts of the wrong shape.
    """

    world: FiniteWorld
    axioms: tuple[str, ...]
    dim: int | None
    hypotheses: Hypotheses

    def __post_init__(self):
        if unknown := set(self.axioms) - set(AXIOMS):
            raise ValueError(f"the axioms are {', '.join(AXIOMS)}; got {', '.join(sorted(unknown))}")
        if self.dim is not None and self.dim < 1:
            raise ValueError(f"a dimension is at least 1, got {self.dim}")
        texts, n = self.hypotheses.texts, len(self.world.captions)
        if texts is not None and np.shape(texts) != (n, self.dim):
            raise ValueError(f"give one text vector of dim coordinates for each of {n} captions, and dim")

    @cached_property
    def text_class(self) -> np.ndarray:
        """``(n_captions,)``: which captions share a vector, by hypothesis or because they mean the same."""
        if self.hypotheses.texts is not None:
            return np.arange(len(self.world.captions))
        return self.world.words if self.hypotheses.pairing_blind else self.world.meanings

    @cached_property
    def image_class(self) -> np.ndarray:
        """``(n_images,)``: which images share a vector; pooled codes do not see the order from left to right."""
        if self.hypotheses.pooled:
            return labels(frozenset(image) for image in self.world.images)
        return np.arange(len(self.world.images))

    @cached_property
    def rows(self) -> np.ndarray:
        """The demands of all axioms, ``(n, 3)``, between images and captions."""
        found = [demands(self.world, axiom) for axiom in AXIOMS if axiom in self.axioms]
        return np.concatenate([np.empty((0, 3), dtype=int), *found])

    @cached_property
    def demanded(self) -> np.ndarray:
        """The demands between classes."""
        image, better, worse = self.rows.T
        classes = self.image_class[image], self.text_class[better], self.text_class[worse]
        return np.unique(np.stack(classes, axis=1), axis=0)

    @cached_property
    def truth(self) -> np.ndarray:
        """The truth relation between classes; a class of captions is true where one of them is."""
        table = np.zeros(self.sizes, dtype=bool)
        for caption, c in enumerate(self.text_class):
            np.logical_or.at(table[:, c], self.image_class, self.world.truth[:, caption])
        return table

    @cached_property
    def swap_pairs(self) -> np.ndarray:
        """Pairs of different text classes that a swap exchanges, ``(n, 2)``."""
        pairs = np.sort(self.text_class[contrasts(self.world, "binding")], axis=1)
        return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)

    @property
    def binds(self) -> bool:
        """Whether some caption must be told from its swap."""
        return "binding" in self.axioms and len(contrasts(self.world, "binding")) > 0

    @cached_property
    def gains(self) -> np.ndarray:
        """What smoothness leaves of each demand's margin: half the cap where a caption is told from its swap, else 1.

        Captions at distance at most ``cap`` differ by at most ``cap`` times a unit vector ``u``, so they may be put at
        ``u`` and ``-u`` and their margins multiplied by ``cap / 2``.  That needs pairs without common captions.
        """
        gains, pairs = np.ones(len(self.demanded)), self.swap_pairs
        if self.hypotheses.delta is not None and len(np.unique(pairs)) == pairs.size:
            swapped = (np.sort(self.demanded[:, None, 1:]) == pairs).all(axis=-1).any(axis=-1)
            gains[swapped] = sharp_cap(self.hypotheses.delta) / 2
        return gains

    @property
    def sizes(self) -> tuple[int, int]:
        """How many classes of images and of texts there are."""
        return int(self.image_class.max()) + 1, int(self.text_class.max()) + 1

    @property
    def first_caption(self) -> np.ndarray:
        """``(n_texts,)``: the first caption of each class."""
        return np.unique(self.text_class, return_index=True)[1]

    def spread(self, encoder: Encoder) -> Encoder:
        """An encoder of the classes as one of the images and captions."""
        return Encoder(encoder.images[self.image_class], encoder.texts[self.text_class])


def worst_margin(problem: Problem, encoder: Encoder) -> float:
    """The worst margin over all demands, from the arrays of an encoder of images and captions; ``inf`` without demands.

    ``-inf`` when they break the order axiom or a hypothesis: unit rows, the dimension, and what ``Hypotheses`` says.
    """
    images, texts = encoder
    world = problem.world
    fits = (len(images), len(texts)) == (len(world.images), len(world.captions)) and images.shape[1] == texts.shape[1]
    if not fits or problem.dim not in (None, texts.shape[1]):
        return -inf
    lengths = np.linalg.norm(np.vstack(encoder), axis=1)
    if not np.all(np.abs(lengths - 1) < ROUNDING) or not _keeps(problem, encoder):
        return -inf
    return float(encoder.margins(problem.rows).min()) if len(problem.rows) else inf


def _keeps(problem: Problem, encoder: Encoder) -> bool:
    """Whether the arrays keep to the order axiom and to the hypotheses."""
    (images, texts), world, h = encoder, problem.world, problem.hypotheses
    order, swapped = contrasts(world, "order").T, contrasts(world, "binding").T
    if "order" in problem.axioms and not np.array_equal(texts[order[0]], texts[order[1]]):
        return False
    if h.pairing_blind and not np.array_equal(texts, texts[np.unique(world.words, return_index=True)[1]][world.words]):
        return False
    # Some unit anchor lies within delta of both captions exactly when their distance keeps to the sharp cap.
    if h.delta is not None and np.any(ceiling(*texts[swapped]) > sharp_cap(h.delta) + ROUNDING):
        return False
    if h.pooled:
        bound = binding_captions(world)
        gram = texts[bound] @ texts[bound].T
        if np.any(np.abs(gram - overlaps(world)[np.ix_(bound, bound)]) > ROUNDING):
            return False
        if not all(np.array_equal(images[i], texts[c]) for i, c in own_captions(world).items()):
            return False
    return h.texts is None or np.array_equal(texts, h.texts)


def binding_captions(world: FiniteWorld) -> np.ndarray:
    """Indices of the captions that bind attributes to two objects or more."""
    return np.array([c for c, caption in enumerate(world.captions) if caption.kind == "binding"], dtype=int)


def own_captions(world: FiniteWorld) -> dict[int, int]:
    """For each image that a binding caption describes in full, that caption."""
    meaning: dict[Hashable, int] = {frozenset(world.captions[c].meaning.atoms): int(c) for c in binding_captions(world)}
    return {i: meaning[frozenset(image)] for i, image in enumerate(world.images) if frozenset(image) in meaning}


def overlaps(world: FiniteWorld) -> np.ndarray:
    """Cosines ``|s ∩ s'| / sqrt(|s| |s'|)`` of pooled orthonormal codes; 0 where a caption is no binding caption."""
    atoms = [set(c.meaning.atoms) if c.kind == "binding" else set() for c in world.captions]
    return np.array([[len(a & b) / sqrt(max(len(a) * len(b), 1)) for b in atoms] for a in atoms])


def all_atoms(world: FiniteWorld) -> list:
    """The atoms of the images, sorted."""
    return sorted({atom for image in world.images for atom in image})
