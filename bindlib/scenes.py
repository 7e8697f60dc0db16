"""Scenes and captions: the words everything else is made of.

A scene is a set of ``k`` atoms (an object with its attribute) with distinct objects.  Everything here
is a pure, hashable value; every draw takes ``rng``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import comb, perm

import numpy as np


def article(word: str) -> str:
    """The article before ``word``, by its first letter: "an orange", "a car"."""
    return "an" if word[:1].lower() in tuple("aeiou") else "a"


@dataclass(frozen=True, order=True)
class Atom:
    """An object bound to one attribute: ``Atom("car", "red")`` is a red car.

    Its words carry "an" before a vowel letter, else "a".  Raises ``ValueError`` for an empty word.
    """

    object: str
    attribute: str

    def __post_init__(self):
        if not (self.object.strip() and self.attribute.strip()):
            raise ValueError(f"an atom needs an object and an attribute, got {self.object!r} and {self.attribute!r}")

    def __str__(self) -> str:
        return f"{article(self.attribute)} {self.attribute} {self.object}"


@dataclass(frozen=True)
class Scene:
    """A set of atoms with distinct objects, kept sorted by object so that equal sets are equal values.

    Raises ``ValueError`` when the scene is empty or names an object twice.
    """

    atoms: tuple[Atom, ...]

    def __post_init__(self):
        object.__setattr__(self, "atoms", tuple(sorted(self.atoms)))
        if not self.atoms:
            raise ValueError("a scene needs at least one atom")
        if len(set(self.objects)) < len(self.atoms):
            raise ValueError(f"a scene names each object once, got {', '.join(self.objects)}")

    @classmethod
    def of(cls, **attribute_of_object: str) -> "Scene":
        """``Scene.of(car="red", dog="blue")``."""
        return cls(tuple(Atom(o, a) for o, a in attribute_of_object.items()))

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects, sorted."""
        return tuple(atom.object for atom in self.atoms)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes, in the order of the objects."""
        return tuple(atom.attribute for atom in self.atoms)

    def __len__(self) -> int:
        return len(self.atoms)

    def __str__(self) -> str:
        return caption(self)


def swap(scene: Scene, i: int = 0, j: int = 1) -> Scene:
    """The scene with the attributes of atoms ``i`` and ``j`` exchanged; its captions use the same words.

    Raises ``ValueError`` when the two attributes are equal, since nothing would change.
    """
    atoms = list(scene.atoms)
    if atoms[i].attribute == atoms[j].attribute:
        raise ValueError(f"swapping equal attributes changes nothing: {scene}")
    atoms[i], atoms[j] = Atom(atoms[i].object, atoms[j].attribute), Atom(atoms[j].object, atoms[i].attribute)
    return Scene(tuple(atoms))


def caption(scene: Scene, order: tuple[int, ...] | None = None) -> str:
    """The caption naming the atoms in ``order``, a permutation of their indices (default: sorted by object).

    Raises ``ValueError`` for another ``order``.
    """
    if order is not None and sorted(order) != list(range(len(scene))):
        raise ValueError(f"order must be a permutation of 0..{len(scene) - 1}, got {order}")
    atoms = scene.atoms if order is None else [scene.atoms[i] for i in order]
    return " and ".join(map(str, atoms))


def order_variants(scene: Scene) -> list[str]:
    """All ``k!`` captions that mean the scene, the plain caption first."""
    return [caption(scene, order) for order in permutations(range(len(scene)))]


ANCHOR_WORDINGS = (
    "{an_o1} and {an_o2}, one {a1} and one {a2}",
    "{an_o1}, {an_o2}, and the colours {a1} and {a2}",
    "one {a1} thing and one {a2} thing: {an_o1} and {an_o2}",
    "{a1} and {a2}, {o1} and {o2}",
)


def neutral_anchor(scene: Scene, wording: int = 0) -> str:
    """A caption with both objects and both attributes of a two-atom scene, and no pairing.

    ``wording`` indexes ``ANCHOR_WORDINGS``: the anchor is a choice, and its spread is reported.  Objects and attributes
    are listed in the scene's order, so a reader of "respectively" could still pair them.  Raises ``ValueError`` unless
    the scene has two atoms.
    """
    if len(scene) != 2:
        raise ValueError(f"a neutral anchor is worded for two atoms, got {len(scene)}")
    (o1, o2), (a1, a2) = scene.objects, scene.attributes
    named = {f"an_{key}": f"{article(word)} {word}" for key, word in (("o1", o1), ("o2", o2))}
    return ANCHOR_WORDINGS[wording].format(o1=o1, o2=o2, a1=a1, a2=a2, **named)


@dataclass(frozen=True)
class Quartet:
    """The five captions of the text-only diagnostic: two pairings, an order variant of each, an anchor."""

    caption: str
    swap: str
    caption_reordered: str
    swap_reordered: str
    anchor: str

    @classmethod
    def of(cls, scene: Scene, wording: int = 0) -> "Quartet":
        """The quartet of a two-atom scene; ``ValueError`` for another size or equal attributes."""
        swapped = swap(scene)
        backwards = (1, 0)
        return cls(
            caption(scene),
            caption(swapped),
            caption(scene, backwards),
            caption(swapped, backwards),
            neutral_anchor(scene, wording),
        )


@dataclass(frozen=True)
class World:
    """A vocabulary of ``M`` objects and ``K`` attributes, each distinct, else ``ValueError``."""

    objects: tuple[str, ...]
    attributes: tuple[str, ...]

    def __post_init__(self):
        for words in (self.objects, self.attributes):
            if len(set(words)) < len(words):
                raise ValueError(f"the words of a vocabulary are distinct, got {', '.join(words)}")

    def n_scenes(self, k: int) -> int:
        """Number of ``k``-scenes whose attributes are all distinct: ``C(M, k) K! / (K - k)!``."""
        return comb(len(self.objects), k) * perm(len(self.attributes), k)

    def scenes(self, k: int) -> Iterator[Scene]:
        """Every ``k``-scene whose attributes are all distinct."""
        for objects, attributes in product(combinations(self.objects, k), permutations(self.attributes, k)):
            yield Scene(tuple(map(Atom, objects, attributes)))

    def draw(self, k: int, rng: np.random.Generator) -> Scene:
        """One uniform ``k``-scene with distinct attributes.

        Raises ``ValueError`` when the vocabulary is too small for ``k``.
        """
        if not 1 <= k <= min(len(self.objects), len(self.attributes)):
            raise ValueError(f"k must lie in 1..{min(len(self.objects), len(self.attributes))} in this world, got {k}")
        objects = rng.choice(self.objects, size=k, replace=False)
        attributes = rng.choice(self.attributes, size=k, replace=False)
        return Scene(tuple(map(Atom, objects.tolist(), attributes.tolist())))


WORLD = World(
    objects=("ball", "bird", "book", "car", "cat", "chair", "cube", "cup", "dog", "hat", "horse", "table"),
    attributes=("black", "blue", "brown", "green", "pink", "purple", "red", "white", "yellow"),
)
RED_CAR_BLUE_DOG = Scene.of(car="red", dog="blue")
