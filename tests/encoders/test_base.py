import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.encoders.base import BATCH, DualEncoder, DualTower, TextEncoder, TextTower
from bindlib.errors import BindlibError


def _tower(vectors, context_length=None):
    return TextTower("toy", "none", context_length, vectors, lambda captions: [len(c.split()) for c in captions])


def _letters(captions):
    return np.array([[len(caption), caption.count("a"), 1.0] for caption in captions])


@given(st.lists(st.text(max_size=5), min_size=1, max_size=3 * BATCH))
def test_rows_follow_the_captions_whatever_the_batches(captions):
    rows = _tower(_letters).encode_text(captions)
    raw = _letters(captions)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, raw / np.linalg.norm(raw, axis=1, keepdims=True), rtol=1e-6)


def test_each_distinct_caption_is_encoded_once_in_bounded_batches():
    seen, sizes = [], []

    def vectors(captions):
        seen.extend(captions)
        sizes.append(len(captions))
        return _letters(captions)

    captions = [f"caption {i}" for i in range(2 * BATCH + 1)]
    _tower(vectors).encode_text(captions + captions)
    assert sorted(seen) == sorted(captions)
    assert max(sizes) <= BATCH


@pytest.mark.parametrize("value, word", [(np.nan, "not finite"), (np.inf, "not finite"), (0.0, "zero")])
def test_a_bad_row_is_named(value, word):
    def vectors(captions):
        return np.array([[value, 0.0] if caption == "bad one" else [1.0, 0.0] for caption in captions])

    with pytest.raises(BindlibError, match=rf"toy.*{word}.*bad one"):
        _tower(vectors).encode_text(["fine", "bad one"])


@pytest.mark.parametrize("rows", [1, 3, 0])
def test_another_number_of_rows_than_items_is_an_error(rows):
    with pytest.raises(BindlibError, match=rf"toy .*2 rows expected, got {rows}$"):
        _tower(lambda captions: np.ones((rows, 4))).encode_text(["one", "two"])


@pytest.mark.parametrize("shape", [(2,), (2, 3, 4)])
def test_rows_that_are_no_vectors_are_an_error(shape):
    with pytest.raises(BindlibError, match=r"2 rows expected, got an array of shape \(2,"):
        _tower(lambda captions: np.ones(shape)).encode_text(["one", "two"])


def test_nothing_to_encode_is_an_error():
    with pytest.raises(BindlibError, match="nothing to encode"):
        _tower(_letters).encode_text([])


def test_truncated_captions_are_those_over_the_context():
    captions = ["one", "one two", "one two three", "one two three four"]
    assert _tower(_letters, 2).count_truncated(captions) == 2
    assert _tower(_letters, None).count_truncated(captions) == 0


def test_towers_satisfy_the_protocols():
    dual = DualTower("toy", "none", None, _letters, image_vectors=lambda images: np.eye(len(images)))
    assert isinstance(_tower(_letters), TextEncoder)
    assert not isinstance(_tower(_letters), DualEncoder)
    assert isinstance(dual, DualEncoder)
    assert dual.encode_image([object(), object()]).shape == (2, 2)
