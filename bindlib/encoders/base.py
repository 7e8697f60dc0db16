"""What an encoder is: captions (and images) in, unit vectors out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from bindlib.errors import BindlibError


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
# Below this distance two unit vectors are one point to float32 rounding, and the order of two such distances is noise.
SAME_POINT = 1e-6


@dataclass(frozen=True)
class TextTower:
    """A ``TextEncoder`` made of functions.

    ``vectors`` maps at most ``BATCH`` captions to rows ``(n, dim)`` of any length. ``lengths`` maps captions to their
    numbers of tokens, special tokens included, before anything is cut; only needed with a ``context_length``.
    """

    name: str
    revision: str
    context_length: int | None
    vectors: Callable[[list[str]], np.ndarray]
    lengths: Callable[[list[str]], list[int]] | None = None

    def encode_text(self, captions: list[str]) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32; equal captions share one row. Errors as in ``TextEncoder``."""
        unique = list(dict.fromkeys(captions))
        row = {caption: i for i, caption in enumerate(unique)}
        return _encode(self.vectors, unique, self.name)[[row[caption] for caption in captions]]

    def count_truncated(self, captions: list[str]) -> int:
        """How many captions have more tokens than ``context_length``."""
        if self.context_length is None:
            return 0
        return sum(n > self.context_length for n in self.lengths(list(captions)))


@dataclass(frozen=True, kw_only=True)
class DualTower(TextTower):
    """A ``DualEncoder`` made of functions; ``image_vectors`` maps at most ``BATCH`` PIL images to rows ``(n, dim)``."""

    image_vectors: Callable[[list], np.ndarray]

    def encode_image(self, images: list) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32. Errors as in ``DualEncoder``."""
        return _encode(self.image_vectors, list(images), self.name)


def _encode(vectors: Callable[[list], np.ndarray], items: list, encoder: str) -> np.ndarray:
    if not items:
        raise BindlibError(f"{encoder} was given nothing to encode: give it at least one item")
    batches = [vectors(items[start : start + BATCH]) for start in range(0, len(items), BATCH)]
    return unit_rows(np.concatenate(batches), encoder, items)
