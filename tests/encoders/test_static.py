from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.encoders.static import glove, words
from bindlib.errors import BindlibError

WORDS = ["a", "red", "car", "and", "blue", "dog", ",", "the", "on", "with", "left", "behind", "qzxqzx"]


def test_words_are_lower_case_and_punctuation_stands_alone():
    assert words("A red car, a BLUE-ish dog.") == ["a", "red", "car", ",", "a", "blue", "-", "ish", "dog", "."]


@settings(deadline=None)  # the first draw loads the encoder
@given(st.data())
def test_any_order_of_the_same_words_is_bit_identical(encoder, data):
    caption = [*data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)), "red"]
    other = data.draw(st.permutations(caption))
    rows = encoder("glove").encode_text([" ".join(caption), " ".join(other).upper()])
    np.testing.assert_array_equal(rows[0], rows[1])


def test_words_are_added_in_an_order_of_their_own(tmp_path):
    """Vectors whose floating-point sum depends on the order of the terms."""
    np.save(tmp_path / "table.npy", np.array([[1e16, 1.0], [1.0, 1.0], [-1e16, 1.0]]))
    pq.write_table(pa.table({"index": ["big", "one", "minus"]}), tmp_path / "index.parquet")
    toy = glove("toy", tmp_path / "table.npy", tmp_path / "index.parquet")
    rows = toy.encode_text([" ".join(order) for order in permutations(["big", "one", "minus"])])
    np.testing.assert_array_equal(rows, rows[[0] * 6])


def test_unknown_words_are_dropped_and_a_caption_of_them_is_an_error(encoder):
    glove = encoder("glove")
    rows = glove.encode_text(["a red car", "a qzxqzx red car"])
    np.testing.assert_array_equal(rows[0], rows[1])
    with pytest.raises(BindlibError, match="glove gave a vector that is zero for 'qzxqzx'"):
        glove.encode_text(["a red car", "qzxqzx"])


def test_captions_with_unknown_words_are_counted_in_one_warning(encoder, caplog):
    captions = ["a red car", "a qzxqzx red car", "the wqwqwq qzxqzx dog", *[f"dog {n} qzxqzx" for n in range(200)]]
    encoder("glove").encode_text(captions)
    (record,) = caplog.records
    assert record.getMessage() == (
        "glove: 202 of 203 captions have words without a vector, which are dropped; the first is 'qzxqzx'"
    )
    caplog.clear()
    encoder("glove").encode_text(["A red car, and a blue dog."])
    assert caplog.records == []


def test_a_repeated_word_counts_twice(encoder):
    rows = encoder("glove").encode_text(["red car", "red red car", "red red car car"])
    assert not np.array_equal(rows[0], rows[1])
    np.testing.assert_allclose(rows[0], rows[2], atol=1e-7)
