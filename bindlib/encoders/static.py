"""Static word vectors: a caption is the mean of its words, so word order is lost by construction."""

import re
from pathlib import Path

import numpy as np

from bindlib.encoders.base import TextTower
from bindlib.encoders.weights import revision

WORD = re.compile(r"\w+|[^\w\s]")


def words(caption: str) -> list[str]:
    """The words of a caption, lower-cased; a punctuation mark is a word of its own, as in GloVe's training text."""
    return WORD.findall(caption.lower())


def glove(name: str, table: Path, index: Path) -> TextTower:
    """The mean of a caption's word vectors, an exact bag of words.

    ``table`` is an ``.npy`` file ``(n_words, dim)``, ``index`` a Parquet file whose column ``index`` lists the words.
    Words without a vector are dropped; a caption left with none has the vector zero, which ``encode_text`` refuses.
    Captions with the same words in another order get bit-identical vectors. Nothing is cut, however long.

    Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014.
    """
    from pyarrow.parquet import read_table

    vectors = np.load(table, mmap_mode="r")
    row = {word: i for i, word in enumerate(read_table(index)["index"].to_pylist())}

    def mean(caption: str) -> np.ndarray:
        # Floating-point sums depend on their order: sorting makes equal bags equal to the last bit.
        rows = sorted(row[word] for word in words(caption) if word in row)
        return vectors[rows].sum(axis=0, dtype=np.float64) / max(len(rows), 1)

    return TextTower(name, revision(table), None, lambda captions: np.stack([mean(caption) for caption in captions]))
