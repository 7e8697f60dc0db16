"""What captions are measured in: quartets, pairs and triplets, and a named set of one kind."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from functools import cached_property

import numpy as np

from bindlib.scenes import Quartet

ALL = "all"  # the subset of every item


@dataclass(frozen=True)
class Pair:
    """A caption and its hard negative, as in SugarCrepe; ``subset`` names the group it is reported in, if any."""

    caption: str
    negative: str
    subset: str = ""


@dataclass(frozen=True)
class Triplet:
    """A query, a positive that means the same, and a swapped text that does not; ``subset`` as in ``Pair``."""

    query: str
    positive: str
    swapped: str
    subset: str = ""


Item = Quartet | Pair | Triplet
KINDS: dict[str, type[Item]] = {"quartets": Quartet, "pairs": Pair, "triplets": Triplet}
COLUMNS = {name: tuple(f.name for f in fields(kind) if f.name != "subset") for name, kind in KINDS.items()}
# The two texts of an item between which words are exchanged.
SWAP = {"quartets": ("caption", "swap"), "pairs": ("caption", "negative"), "triplets": ("query", "swapped")}


@dataclass(frozen=True)
class Dataset:
    """A named, non-empty set of items of one kind. Raises ``ValueError`` for none, for several kinds, and for a subset
    named ``"all"``, which is the subset of every item. ``left_out`` has the subset, or ``""``, of each item that could
    not be used."""

    name: str
    items: tuple[Item, ...]
    left_out: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "items", tuple(self.items))
        if len({type(item) for item in self.items}) != 1:
            raise ValueError(f"the data {self.name!r} should hold items of one kind, at least one")
        if ALL in self._subset_of_each:
            raise ValueError(f"a subset of {self.name!r} is named {ALL!r}, which is the name for every item")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def kind(self) -> str:
        """``"quartets"``, ``"pairs"`` or ``"triplets"``."""
        return next(name for name, kind in KINDS.items() if isinstance(self.items[0], kind))

    @cached_property
    def revision(self) -> str:
        """A short name for the items, their order and what was left out, whatever file they came from."""
        left_out = [self.left_out] if self.left_out else []
        content = json.dumps([self.kind, [astuple(item) for item in self.items], *left_out])
        return f"sha256:{hashlib.sha256(content.encode()).hexdigest()[:16]}"

    @cached_property
    def captions(self) -> tuple[tuple[str, ...], ...]:
        """The texts of each item, in the order of ``COLUMNS[kind]``."""
        return tuple(tuple(getattr(item, column) for column in COLUMNS[self.kind]) for item in self.items)

    @property
    def _subset_of_each(self) -> list[str]:
        return [getattr(item, "subset", "") for item in self.items]

    def subsets(self) -> dict[str, np.ndarray]:
        """The indices of the items of each named subset, in order of appearance, and of ``"all"``, which is last."""
        of_each = np.array(self._subset_of_each, dtype=object)
        names = [name for name in dict.fromkeys(of_each) if name]
        return {name: np.flatnonzero(of_each == name) for name in names} | {ALL: np.arange(len(self))}

    def permuted(self) -> np.ndarray:
        """Which items ``(n,)`` exchange words only: the two texts of ``SWAP[kind]`` are exact word permutations."""
        return np.array([is_permutation(*(getattr(item, name) for name in SWAP[self.kind])) for item in self.items])


# A word may have apostrophes and hyphens inside ("woman's", "crescent-shaped"); each other mark counts as a word. Texts
# are parted only where GloVe's tokens and BERT's are both parted: "5€" and "dog👍" are one token of BERT's, and any
# white space but these four may be none. So the tokens of two texts with the same words are the same.
_MARK = r"!-/:-@\[-^`{-~‐-―‘-‟…"
_PART = rf"[^ \t\r\n{_MARK}]+"
WORD = re.compile(rf"{_PART}(?:['’‐‑-]{_PART})*|[{_MARK}]")


def is_permutation(caption: str, other: str) -> bool:
    """Whether the two texts have the same words and punctuation marks in another order, lower-cased.

    No encoder that adds up its words can tell such texts apart.
    """
    first, second = (WORD.findall(text.lower()) for text in (caption, other))
    return first != second and sorted(first) == sorted(second)


def distinct(texts: Iterable[Iterable[str]]) -> list[str]:
    """Every text of the items once, sorted."""
    return sorted({text for item in texts for text in item})
