import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.encoders.base import BATCH, MANY_BATCHES, DualEncoder, DualTower, TextEncoder, TextTower
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


def _batches(tower, captions):
    seen = []

    def vectors(batch):
        seen.append(batch)
        return _letters(batch)

    replace(tower, vectors=vectors).encode_text(captions)
    return seen


@given(st.lists(st.text("ab ", max_size=12), min_size=1, max_size=3 * BATCH), st.sampled_from([None, 2]))
def test_a_batch_holds_captions_that_are_read_to_one_length_the_longest_first(captions, context):
    batches = _batches(_tower(_letters, context), captions)
    lengths = [{min(len(c.split()), context or 99) for c in batch} for batch in batches]
    assert all(len(distinct) == 1 for distinct in lengths)
    flat = [distinct.pop() for distinct in lengths]
    assert flat == sorted(flat, reverse=True)
    assert len(batches) <= len(set(flat)) + len(captions) // BATCH


@given(st.lists(st.text(max_size=12), min_size=1, max_size=3 * BATCH))
def test_without_tokens_to_count_characters_are_counted(captions):
    batches = _batches(TextTower("toy", "none", None, _letters), captions)
    assert [len(c) for batch in batches for c in batch] == sorted(map(len, set(captions)), reverse=True)
    assert all(len(batch) == BATCH for batch in batches[:-1])


def test_tokens_are_counted_of_captions_that_are_not_known_only():
    kept = {"one": np.array([1.0, 0.0, 0.0], np.float32)}

    class Known:
        def get(self, captions):
            return {c: kept[c] for c in captions if c in kept}

        def put(self, rows):
            kept.update(rows)

    counted = []
    tower = _tower(_letters)
    tower = replace(tower, store=Known(), lengths=lambda captions: counted.extend(captions) or [1] * len(captions))
    rows = tower.encode_text(["two", "one", "two"])
    assert counted == ["two"]
    np.testing.assert_array_equal(rows[1], kept["one"])
    np.testing.assert_array_equal(rows[[0, 2]], [kept["two"]] * 2)
    tower.encode_text(["one", "two"])
    assert counted == ["two"]


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "stream, batches, in_child, shown",
    [
        (_Terminal, MANY_BATCHES, False, True),
        (_Terminal, MANY_BATCHES - 1, False, False),
        (io.StringIO, MANY_BATCHES, False, False),
        (_Terminal, MANY_BATCHES, True, False),
    ],
)
def test_a_bar_is_shown_for_many_batches_at_a_terminal_only(stream, batches, in_child, shown, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr("bindlib.encoders.base.parent_process", lambda: in_child or None)
    captions = [f"caption {i}" for i in range(batches * BATCH)]
    TextTower("[bold]toy", "none", None, _letters).encode_text(captions)
    assert ("[bold]toy: encoding" in sys.stderr.getvalue()) is shown
    assert shown or sys.stderr.getvalue() == ""
    assert capsys.readouterr().out == ""


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
