"""What an encoder is: captions (and images) in, unit vectors out."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import parent_process
from typing import Protocol, runtime_checkable

import numpy as np

from bindlib.decisions import SINGLE
from bindlib.errors import BindlibError, CheckFailed, printable, reason


@runtime_checkable
class TextEncoder(Protocol):
    """A text tower.

    ``revision`` identifies the weights (a content hash or a seed); ``context_length`` is the number of tokens the tower
    reads, special tokens included, or ``None`` when it reads everything.
    """

    name: str
    revision: str
    context_length: int | None

    def encode_text(self, captions: list[str]) -> np.ndarray:
        """Unit rows, ``(n, dim)`` float32, one a caption; raises ``BindlibError`` on NaN or zero rows."""

    def count_truncated(self, captions: list[str]) -> int:
        """How many captions are longer than the context and lose their end."""


@runtime_checkable
class DualEncoder(TextEncoder, Protocol):
    """A text tower and an image tower into one space."""

    def encode_image(self, images: list) -> np.ndarray:
        """Unit rows, ``(n, dim)`` float32, one a PIL image."""


def unit_rows(vectors: np.ndarray, encoder: str, items: list[str]) -> np.ndarray:
    """Rows of ``vectors`` ``(n, dim)`` scaled to length 1, float32.

    Raises ``BindlibError`` naming the encoder if the rows are not one an item, and the first item whose vector is zero
    or not finite.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(items):
        got = len(vectors) if vectors.ndim == 2 else f"an array of shape {vectors.shape}"
        raise BindlibError(f"{encoder} must give one row an item: {len(items)} rows expected, got {got}")
    norms = np.linalg.norm(vectors, axis=-1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if len(bad):
        kind = "zero" if norms[bad[0]] == 0 else "not finite"
        raise BindlibError(
            f"{encoder} gave a vector that is {kind} for {str(items[bad[0]])[:80]!r}: "
            "drop the item, or check the encoder's weights"
        )
    return (vectors / norms[:, None]).astype(np.float32)


BATCH = 64
MANY_BATCHES = 30
# Below this distance two unit vectors are one point to float32 rounding, and the order of two such distances is noise.
SAME_POINT = SINGLE


@contextmanager
def failing(told: str, kind: type[BindlibError] = CheckFailed) -> Iterator[None]:
    """One line, ``told`` and the reason, in place of whatever a library or a user's code raises in here.

    A panic of a library in Rust, or an exit, is no ``Exception``; none of them may stop what others go on with.
    """
    try:
        yield
    except (BindlibError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise kind(f"{told}: {reason(error)} (--debug shows the traceback)") from error


class Store(Protocol):
    """Where the unit rows of captions are kept from one call to the next, if they are."""

    def get(self, captions: list[str]) -> dict[str, np.ndarray]:
        """The rows ``(dim,)`` float32 of those captions that are known."""

    def put(self, rows: dict[str, np.ndarray]) -> None:
        """Keep these rows."""


class Nowhere:
    """The store that keeps nothing."""

    def get(self, captions: list[str]) -> dict[str, np.ndarray]:
        return {}

    def put(self, rows: dict[str, np.ndarray]) -> None:
        pass


@dataclass(frozen=True)
class TextTower:
    """A ``TextEncoder`` made of functions.

    ``vectors`` maps at most ``BATCH`` captions to rows ``(n, dim)`` of any length. ``lengths`` maps captions to their
    numbers of tokens, special tokens included, before anything is cut; only needed with a ``context_length``.
    ``unknown`` maps captions to their numbers of tokens that stand for any unknown word, where a tokenizer has one.
    ``identified``: the revision tells all that a vector depends on; else no number can be used again.
    """

    name: str
    revision: str
    context_length: int | None
    vectors: Callable[[list[str]], np.ndarray]
    lengths: Callable[[list[str]], list[int]] | None = None
    unknown: Callable[[list[str]], list[int]] | None = field(default=None, kw_only=True)
    identified: bool = field(default=True, kw_only=True)
    store: Store = field(default=Nowhere(), kw_only=True, repr=False, compare=False)

    def encode_text(self, captions: list[str]) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32; equal captions share one row. Errors as in ``TextEncoder``."""
        rows = self.store.get(list(dict.fromkeys(captions)))
        missing = [caption for caption in dict.fromkeys(captions) if caption not in rows]
        for batch in _progress(self._batches(missing), f"{self.name}: encoding"):
            fresh = dict(zip(batch, self.encode_batch(batch), strict=True))
            self.store.put(fresh)
            rows |= fresh
        return _stacked([rows[caption] for caption in captions], self.name)

    def encode_batch(self, captions: list[str]) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32, of at most ``BATCH`` captions: encoded together, and now."""
        with failing(f"{self.name} failed"):
            vectors = self.vectors(captions)
        return unit_rows(vectors, self.name, captions)

    def _batches(self, captions: list[str]) -> list[list[str]]:
        """The longest captions first.  With tokens to count, a batch has captions of one length only.

        Nothing is padded then, so a caption's row hardly depends on its batch.
        """
        if self.lengths is None:
            return _chunks(sorted(captions, key=len, reverse=True))
        counts = dict(zip(captions, self._lengths(captions), strict=True)) if captions else {}
        read = {caption: min(n, self.context_length or n) for caption, n in counts.items()}
        ordered = sorted(captions, key=read.get, reverse=True)
        return [chunk for _, group in groupby(ordered, read.get) for chunk in _chunks(list(group))]

    def count_truncated(self, captions: list[str]) -> int:
        """How many captions have more tokens than ``context_length``."""
        if self.context_length is None:
            return 0
        return sum(n > self.context_length for n in self._lengths(list(captions)))

    def _lengths(self, captions: list[str]) -> list[int]:
        with failing(f"{self.name} failed while it counted tokens"):
            return self.lengths(captions)


@dataclass(frozen=True, kw_only=True)
class DualTower(TextTower):
    """A ``DualEncoder`` made of functions; ``image_vectors`` maps at most ``BATCH`` PIL images to rows ``(n, dim)``."""

    image_vectors: Callable[[list], np.ndarray]

    def encode_image(self, images: list) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32. Errors as in ``DualEncoder``."""
        batches = _progress(_chunks(list(images)), f"{self.name}: encoding images")
        with failing(f"{self.name} failed on images"):
            rows = [unit_rows(self.image_vectors(batch), self.name, batch) for batch in batches]
        return np.concatenate(rows) if rows else _stacked([], self.name)


def _chunks(items: list) -> list[list]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def _stacked(rows: list[np.ndarray], encoder: str) -> np.ndarray:
    if not rows:
        raise BindlibError(f"{encoder} was given nothing to encode: give it at least one item")
    if len(sizes := {row.size for row in rows}) > 1:
        raise BindlibError(f"{encoder} must give vectors of one length, got {sorted(sizes)}")
    return np.stack(rows)


def _progress(batches: list[list], what: str) -> Iterable[list]:
    """The batches; with a bar on standard error if they are many and a person looks on."""
    if len(batches) < MANY_BATCHES or not sys.stderr.isatty() or parent_process() is not None:
        return batches
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import track

    return track(batches, escape(printable(what)), console=Console(stderr=True), transient=True)
