import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import tiny_onnx

from bindlib.encoders import zoo
from bindlib.encoders.onnx import MASK
from bindlib.errors import BindlibError

CAPTIONS = ["a red car and a blue dog", "a blue car", "one", "a red car and a blue dog", "two dog"]
TABLE = np.random.default_rng(0).standard_normal((len(tiny_models.VOCABULARY), 6)).astype(np.float32)
TOKENS, SENTENCE, POOLER = "last_hidden_state", "sentence_embedding", "pooler_output"


def _ids(caption: str, context: int = 999) -> list[int]:
    words = [tiny_models.VOCABULARY.index(word) for word in caption.split()]
    return [2, *words[: context - 2], 3]


def _units(rows: list[np.ndarray]) -> np.ndarray:
    return np.array([row / np.linalg.norm(row) for row in np.array(rows, dtype=np.float64)])


MEANS = _units([TABLE[_ids(caption)].mean(axis=0) for caption in CAPTIONS])
FIRSTS = _units([TABLE[_ids(caption)][0] for caption in CAPTIONS])


def _write(folder: Path, outputs=(TOKENS,), file="model.onnx", file_of_weights="", **changes) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / file).write_bytes(tiny_onnx.encoder(TABLE, outputs, file=file_of_weights, **changes))
    tiny_models.tokenizer().save(str(folder / "tokenizer.json"))
    return folder / file


def _tell(folder: Path, file: str, **told) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(told))


def _load(path: Path):
    return zoo.load_encoder(f"onnx:{path}")


def _error(path) -> str:
    with pytest.raises(BindlibError) as caught:
        _load(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize(
    "outputs, said",
    [
        ((TOKENS,), "mean of tokens"),
        ((SENTENCE,), "pooled in the graph"),
        (("anything",), "pooled in the graph"),
        ((TOKENS, SENTENCE), "pooled in the graph"),
        ((TOKENS, POOLER), "mean of tokens"),
        (("other", SENTENCE), "pooled in the graph"),
    ],
)
def test_the_output_is_chosen_by_rank_and_the_revision_says_so(outputs, said, tmp_path):
    tower = _load(_write(tmp_path, outputs))
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), MEANS, atol=1e-6)
    assert said in tower.revision


def test_tokens_are_pooled_under_the_mask(tmp_path):
    """In one batch of several lengths; the padding has vectors of its own."""
    tower = _load(_write(tmp_path))
    rows = tower.vectors(CAPTIONS)
    np.testing.assert_allclose(_units(list(rows)), MEANS, atol=1e-6)


@pytest.mark.parametrize(
    "told, expected, said",
    [
        ({"pooling_mode": "cls"}, FIRSTS, "cls of tokens"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, FIRSTS, "cls of tokens"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, MEANS, "mean of tokens"),
        ({"embedding_dimension": 6}, MEANS, "mean of tokens"),
    ],
)
def test_the_pooling_of_sentence_transformers_is_used(told, expected, said, tmp_path):
    path = _write(tmp_path)
    _tell(tmp_path, "1_Pooling/config.json", **told)
    tower = _load(path)
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), expected, atol=1e-6)
    assert said in tower.revision


@pytest.mark.parametrize(
    "told",
    [{"pooling_mode": "lasttoken"}, {"pooling_mode": ["mean", "cls"]}, {"pooling_mode_max_tokens": True}],
)
def test_a_pooling_that_is_not_known_is_refused(told, tmp_path):
    path = _write(tmp_path)
    _tell(tmp_path, "1_Pooling/config.json", **told)
    assert "export a graph that does it" in _error(path)
    _load(_write(tmp_path, (SENTENCE,)))  # pooled already


def test_a_module_behind_the_pooling_is_not_left_out_silently(tmp_path):
    path = _write(tmp_path)
    parts = [{"type": f"sentence_transformers.models.{part}"} for part in ("Transformer", "Pooling", "Normalize")]
    (tmp_path / "modules.json").write_text(json.dumps(parts))
    _load(path)
    (tmp_path / "modules.json").write_text(json.dumps([*parts, {"type": "sentence_transformers.models.Dense"}]))
    assert "Dense" in _error(path)


def _truncation(folder: Path, length: int) -> None:
    tokens = tiny_models.tokenizer()
    tokens.enable_truncation(length)
    tokens.enable_padding(length=30)  # as many files on the hub say
    tokens.save(str(folder / "tokenizer.json"))


@pytest.mark.parametrize(
    "length, prepare",
    [
        (5, lambda folder: _tell(folder, "config.json", max_position_embeddings=5)),
        (5, lambda folder: _tell(folder, "tokenizer_config.json", model_max_length=5)),
        (5, lambda folder: _truncation(folder, 5)),
        (5, lambda folder: (_tell(folder, "config.json", max_position_embeddings=9), _truncation(folder, 5))),
        (5, lambda folder: (_tell(folder, "sentence_bert_config.json", max_seq_length=5), _truncation(folder, 9))),
        (None, lambda folder: _tell(folder, "tokenizer_config.json", model_max_length=10**30)),
        (None, lambda folder: None),
    ],
)
def test_the_context_is_what_the_files_say_and_captions_are_cut_there(length, prepare, tmp_path):
    path = _write(tmp_path)
    prepare(tmp_path)
    tower = _load(path)
    assert tower.context_length == length and f"context {length}" in tower.revision
    captions = [" ".join(["dog"] * n) for n in range(1, 8)]
    expected = _units([TABLE[_ids(caption, length or 999)].mean(axis=0) for caption in captions])
    np.testing.assert_allclose(tower.encode_text(captions), expected, atol=1e-6)
    assert tower.count_truncated(captions) == sum(n + 2 > (length or 999) for n in range(1, 8))


def test_a_folder_with_one_graph_is_enough_and_its_tokenizer_may_lie_above(tmp_path):
    path = _write(tmp_path)
    expected = _load(path)
    (tmp_path / "onnx").mkdir()
    path.rename(tmp_path / "onnx" / "model.onnx")
    for source in (tmp_path, tmp_path / "onnx", tmp_path / "onnx" / "model.onnx"):
        tower = _load(source)
        np.testing.assert_array_equal(tower.encode_text(CAPTIONS), expected.encode_text(CAPTIONS))
        assert tower.revision == expected.revision
    _write(tmp_path, file="second.onnx")
    assert "holds 2 .onnx files" in _error(tmp_path)


@pytest.mark.parametrize("graph", ["model.onnx", "model [fp32].onnx"])
@pytest.mark.parametrize("file", ["graph", "tokenizer.json", "weights.bin"])
def test_the_revision_is_the_content_of_graph_data_and_tokenizer(file, graph, tmp_path):
    """A graph may keep its weights in a file of any name."""
    path = _write(tmp_path, file=graph, file_of_weights="weights.bin" if file == "weights.bin" else "")
    (tmp_path / "weights.bin").write_bytes(TABLE.tobytes())
    before = _load(path)
    np.testing.assert_allclose(before.encode_text(CAPTIONS), MEANS, atol=1e-6)
    (tmp_path / "README.md").write_text("words")
    assert _load(path).revision == before.revision
    if file == "graph":
        path.write_bytes(tiny_onnx.encoder(TABLE + 1, (TOKENS,)))
    elif file == "tokenizer.json":
        (tmp_path / file).write_text((tmp_path / file).read_text() + "\n")
    else:
        (tmp_path / file).write_bytes((TABLE + 1).tobytes())
    after = _load(path)
    assert after.revision != before.revision
    assert np.allclose(after.encode_text(CAPTIONS), MEANS, atol=1e-6) == (file == "tokenizer.json")


def test_the_packaged_graph_and_a_copy_of_it_agree(encoder, tmp_path):
    """Its other outputs are token vectors and integers."""
    graph, tokens = (file.locate() for file in next(c for c in zoo.CARDS if c.name == "paraphrase-l3").files)
    (tmp_path / "mine.onnx").symlink_to(graph)
    shutil.copy(tokens, tmp_path)
    tower, packaged = _load(tmp_path / "mine.onnx"), encoder("paraphrase-l3")
    np.testing.assert_array_equal(tower.encode_text(CAPTIONS), packaged.encode_text(CAPTIONS))
    assert "pooled in the graph" in tower.revision and tower.revision != packaged.revision


@pytest.mark.parametrize(
    "inputs, hint",
    [
        ({"input_ids": tiny_onnx.TEXT["input_ids"], "pixel_values": (tiny_onnx.FLOAT, ("n", 3))}, "input pixel_values"),
        ({"input_ids": (tiny_onnx.INT64, (1, 4)), "attention_mask": (tiny_onnx.INT64, (1, 5))}, "do not agree"),
        ({"input_ids": (tiny_onnx.INT64, ("n",))}, "give a graph of (texts, tokens)"),
        ({"input_ids": (tiny_onnx.FLOAT, ("n", "tokens"))}, "is no ONNX graph that runs here"),
    ],
)
def test_a_graph_that_does_not_read_captions_is_told(inputs, hint, tmp_path):
    assert hint in _error(_write(tmp_path, inputs=inputs))


def test_a_graph_whose_output_is_not_clear_is_told(tmp_path):
    message = _error(_write(tmp_path, ("first", "second")))
    assert "no output that is clearly a text's (first, second)" in message


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_named(file, tmp_path):
    path = _write(tmp_path)
    (tmp_path / file).write_bytes(b"{ no such thing")
    assert str(tmp_path / file) in _error(path)


def test_a_missing_tokenizer_is_told_before_the_graph_is_loaded(tmp_path):
    path = tmp_path / "deep" / "er" / "model.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not read")
    tiny_models.tokenizer().save(str(tmp_path / "tokenizer.json"))  # too far up
    for find in (zoo.require, zoo.load_encoder):
        with pytest.raises(BindlibError, match=r"has no tokenizer\.json beside it or one folder up"):
            find(f"onnx:{path}")


@pytest.mark.parametrize(
    "source, hint",
    [
        ("", "holds 0 .onnx files"),
        ("/no/such/model.onnx", "names no .onnx file that is there"),
        (__file__, "names no .onnx file that is there"),
        ("~no-such-user/model.onnx", "is no path that can be read"),
        ("a\0b.onnx", "names no .onnx file that is there"),
        ("x" * 5000, "is no path that can be read"),
    ],
)
def test_a_bad_path_is_told(source, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert hint in _error(source)


def _panics(told: dict) -> None:
    """A tokenizer whose template names a token that it does not have: a panic in Rust."""
    told["post_processor"]["special_tokens"] = {}


def _knows_no_unknown(told: dict) -> None:
    told["model"]["unk_token"] = "[NOPE]"


def _backtracks(told: dict) -> None:
    told["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(x+x+)+y"}, "content": ""}


@pytest.mark.parametrize(
    "change, caption",
    [(_panics, "one"), (_knows_no_unknown, "strange"), (_backtracks, "x" * 40)],
    ids=["panic", "no unknown token", "backtracking"],
)
def test_a_tokenizer_that_fails_is_one_line_at_loading_or_at_a_caption(change, caption, tmp_path):
    path = _write(tmp_path)
    told = json.loads((tmp_path / "tokenizer.json").read_text())
    change(told)
    (tmp_path / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(BindlibError) as caught:
        _load(path).encode_text([caption])
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


def _padded(caption: str, length: int, direction: str = "right") -> list[int]:
    ids = _ids(caption, length)
    padding = [0] * (length - len(ids))
    return padding + ids if direction == "left" else ids + padding


@pytest.mark.parametrize("direction", ["right", "left"])
def test_padding_that_the_vectors_depend_on_is_kept(direction, tmp_path):
    """The graph's mean is over all positions, padding included, as one that reads the last position depends on it."""
    path = _write(tmp_path, (SENTENCE,))
    plain = _load(path)
    tokens = tiny_models.tokenizer()
    tokens.enable_padding(length=20, direction=direction)
    tokens.save(str(tmp_path / "tokenizer.json"))
    tower = _load(path)
    expected = _units([TABLE[_padded(caption, 20, direction)].mean(axis=0) for caption in CAPTIONS])
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), expected, atol=1e-6)
    assert "padded to 20" in tower.revision and "padded" not in plain.revision
    assert not np.allclose(plain.encode_text(CAPTIONS), expected, atol=1e-2)


@pytest.mark.parametrize("shape", [("n", 9), (1, 9), (4, 9), (2, "tokens")])
def test_a_graph_of_fixed_shape_gets_what_it_asks_for(shape, tmp_path):
    inputs = {name: (tiny_onnx.INT64, shape) for name in tiny_onnx.TEXT}
    tower = _load(_write(tmp_path, (SENTENCE,), inputs=inputs))
    captions = [*CAPTIONS[1:3], " ".join(["dog"] * 12)]
    width = shape[1] if isinstance(shape[1], int) else None
    rows = [_padded(caption, width) if width else _ids(caption) for caption in captions]
    expected = _units([TABLE[row].mean(axis=0) for row in rows])
    np.testing.assert_allclose(tower.encode_text(captions), expected, atol=1e-6)
    assert tower.context_length == width and tower.count_truncated(captions) == (1 if width else 0)


def test_a_data_file_in_a_folder_below_is_part_of_the_revision(tmp_path):
    path = _write(tmp_path, file_of_weights="data/weights.bin")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights.bin").write_bytes(TABLE.tobytes())
    before = _load(path)
    np.testing.assert_allclose(before.encode_text(CAPTIONS), MEANS, atol=1e-6)
    (tmp_path / "data" / "weights.bin").write_bytes((TABLE + 1).tobytes())
    assert _load(path).revision != before.revision


def test_unknown_tokens_are_counted(tmp_path):
    assert _load(_write(tmp_path)).unknown(["a red car", "a \U0001f600 car", "what is this"]) == [0, 1, 3]


INT32 = 6


@pytest.mark.parametrize(
    "ids, mask, element, of_mask",
    [("input_ids", MASK, INT32, INT32), ("tokens", "mask", tiny_onnx.INT64, tiny_onnx.FLOAT)],
    ids=["int32", "names"],
)
def test_integers_and_names_of_other_exporters_are_fed(ids, mask, element, of_mask, tmp_path):
    path, shape = _write(tmp_path), ("n", "tokens")
    node = tiny_onnx._node("Gather", ["table", ids], TOKENS)
    inputs = {ids: (element, shape), mask: (of_mask, shape)}
    outputs = {TOKENS: (tiny_onnx.FLOAT, (*shape, 6))}
    path.write_bytes(tiny_onnx.graph([node], inputs, outputs, {"table": TABLE}))
    np.testing.assert_allclose(_load(path).encode_text(CAPTIONS), MEANS, atol=1e-6)


def test_what_a_graph_needs_and_what_can_be_given_are_both_told(tmp_path):
    strange = {"input_ids": tiny_onnx.TEXT["input_ids"], "pixel_values": (tiny_onnx.FLOAT, ("n", 3))}
    message = _error(_write(tmp_path, inputs=strange))
    assert "pixel_values, tensor(float)" in message and "input_ids (or tokens" in message
