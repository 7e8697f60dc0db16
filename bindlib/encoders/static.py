"""Static word vectors: a caption is the mean of its words, so word order is lost by construction."""

import logging
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bindlib.encoders.base import TextTower
from bindlib.encoders.weights import revision

log = logging.getLogger(__name__)

WORD = re.compile(r"\w+|[^\w\s]")


def words(caption: str) -> list[str]:
    """The words of a caption, lower-cased; a punctuation mark is a word of its own, as in GloVe's training text."""
    return WORD.findall(caption.lower())


@dataclass(frozen=True, kw_only=True)
class BagOfWords(TextTower):
    """A ``TextTower`` that reads only the words in ``known`` and warns, once a call, about captions with others."""

    known: Container[str]

    def encode_text(self, captions: list[str]) -> np.ndarray:
        """Unit rows ``(n, dim)``, float32. Errors as in ``TextEncoder``."""
        unknown = [next((word for word in words(caption) if word not in self.known), None) for caption in captions]
        if dropped := [word for word in unknown if word is not None]:
            log.warning(
                "%s: %d of %d captions have words without a vector, which are dropped; the first is %r",
                *(self.name, len(dropped), len(captions), dropped[0]),
            )
        return super().encode_text(captions)


def glove(name: str, table: Path, index: Path) -> TextTower:
    """The mean of a caption's word vectors, an exact bag of words.

    ``table`` is an ``.npy`` file ``(n_words, dim)``, ``index`` a Parquet file whose column ``index`` lists the words.
    Words without a vector are dropped with a warning; a caption left with none has the vector zero, which
    ``encode_text`` refuses.
    Captions with the same words in another order get bit-identical vectors. Nothing is cut, however long.

    Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014.
    """
    from pyarrow.parquet import read_table

    matrix = np.load(table, mmap_mode="r")
    row = {word: i for i, word in enumerate(read_table(index)["index"].to_pylist())}

    def mean(caption: str) -> np.ndarray:
        # Floating-point sums depend on their order: sorting makes equal bags equal to the last bit.
        rows = sorted(row[word] for word in words(caption) if word in row)
        return matrix[rows].sum(axis=0, dtype=np.float64) / max(len(rows), 1)

    def vectors(captions: list[str]) -> np.ndarray:
        return np.stack([mean(caption) for caption in captions])

    return BagOfWords(name, revision(table), None, vectors, known=row.keys())
