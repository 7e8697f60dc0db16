import json
import logging
import pickle
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from bindlib.encoders import hub, zoo
from bindlib.encoders.sentence_transformer import _missing_weights
from bindlib.errors import BindlibError

CAPTIONS = ["a red car and a blue dog", "a blue car", "one", "a red car and a blue dog", "two dog"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A folder with a tiny sentence transformer; not to be changed."""
    return tiny_models.save_sentence_transformer(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def _load(folder: Path):
    return zoo.load_encoder(f"sentence-transformers:{folder}")


def _error(name: str) -> str:
    with pytest.raises(BindlibError) as caught:
        zoo.load_encoder(name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


def _by_hand(folder: Path, captions: list[str]) -> np.ndarray:
    """Unit rows from transformers alone, one caption at a time, pooled by hand."""
    from transformers import AutoModel

    model, tokens = AutoModel.from_pretrained(folder).eval(), tiny_models.tokenizer()
    tokens.enable_truncation(tiny_models.CONTEXT)
    with torch.no_grad():
        rows = [
            model(torch.tensor([tokens.encode(c).ids])).last_hidden_state[0].mean(0).double().numpy() for c in captions
        ]
    return np.array([row / np.linalg.norm(row) for row in rows])


def test_a_folder_gives_what_its_transformer_gives(saved):
    tower = _load(saved)
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), _by_hand(saved, CAPTIONS), atol=1e-6)
    assert tower.context_length == tiny_models.CONTEXT
    assert tower.name == f"sentence-transformers:{saved}"


def test_a_bare_transformer_gets_the_mean_of_its_tokens(tmp_path):
    folder = tiny_models.save_bert(tmp_path)
    np.testing.assert_allclose(_load(folder).encode_text(CAPTIONS), _by_hand(folder, CAPTIONS), atol=1e-6)


def test_a_relative_path_is_a_folder_too(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    assert _load(Path(saved.name)).revision == _load(saved).revision


def test_captions_are_cut_exactly_where_they_count_as_cut(saved):
    tower = _load(saved)
    base = [" ".join(["dog"] * n) for n in range(1, 20)]
    ends = [np.array([caption + end for caption in base]) for end in (" car", " horse")]
    unread = np.all(tower.encode_text(list(ends[0])) == tower.encode_text(list(ends[1])), axis=1)
    assert [tower.count_truncated([caption]) for caption in ends[0]] == list(map(int, unread))
    assert 0 < unread.sum() < len(unread)


def test_the_prompt_of_a_model_is_read_and_counted(saved, tmp_path):
    prompted = tiny_models.save_sentence_transformer(
        tmp_path, prompts={"query": "one two "}, default_prompt_name="query"
    )
    tower, plain = _load(prompted), _load(saved)
    np.testing.assert_allclose(tower.encode_text(["a dog"]), plain.encode_text(["one two a dog"]), atol=1e-6)
    captions = [" ".join(["dog"] * n) for n in range(1, 14)]
    assert tower.count_truncated(captions) == plain.count_truncated([f"one two {c}" for c in captions])


@pytest.mark.parametrize("part", ["model.safetensors", "tokenizer.json", "1_Pooling/config.json", "modules.json"])
def test_the_revision_is_the_content_of_all_that_is_read(part, saved, folder, tmp_path):
    before = _load(saved).revision
    assert _load(folder).revision == before
    (folder / "README.md").write_text("another description")
    for beside in (".git/objects/pack.json", ".cache/huggingface/download/model.safetensors.metadata"):
        (folder / beside).parent.mkdir(parents=True)
        (folder / beside).write_text("written by git or a download, and not the model's")
    assert _load(folder).revision == before
    if part.endswith(".safetensors"):
        weights = load_file(folder / part)
        name = next(name for name in weights if name.endswith("word_embeddings.weight"))
        weights[name][5] += 1
        save_file(weights, folder / part, metadata={"format": "pt"})
    else:
        (folder / part).write_text((folder / part).read_text() + "\n")
    assert _load(folder).revision != before


def test_half_precision_weights_are_computed_in_float32(folder, tmp_path):
    halves = {key: tensor.half() for key, tensor in load_file(folder / "model.safetensors").items()}
    rounded = Path(shutil.copytree(folder, tmp_path / "rounded"))
    save_file({key: tensor.float() for key, tensor in halves.items()}, rounded / "model.safetensors", {"format": "pt"})
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text()) | {"dtype": "float16"}
    (folder / "config.json").write_text(json.dumps(config))
    np.testing.assert_allclose(_load(folder).encode_text(CAPTIONS), _by_hand(rounded, CAPTIONS), atol=1e-6)


class _Payload:
    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "model.pt", "2_Dense/pytorch_model.bin"])
def test_weights_in_a_pickle_are_refused_and_no_code_runs(file, folder, tmp_path):
    target, path = tmp_path / "it-ran", folder / file
    if path.parent == folder:
        (folder / "model.safetensors").unlink()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(_Payload(target)))
    message = _error(f"sentence-transformers:{folder}")
    assert f"{path} is a pickle, so it is refused" in message and "model.safetensors" in message
    assert not target.exists()


def test_a_pickle_beside_safetensors_is_not_read(folder, saved, tmp_path):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Payload(tmp_path / "it-ran")))
    np.testing.assert_array_equal(_load(folder).encode_text(CAPTIONS), _load(saved).encode_text(CAPTIONS))
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize("where", ["modules.json", "config.json"])
def test_code_of_the_model_is_refused_and_does_not_run(where, folder, tmp_path):
    (folder / "modeling_mine.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w')\nclass Mine: pass\n")
    told = json.loads((folder / where).read_text())
    if where == "modules.json":
        told[0]["type"] = "modeling_mine.Mine"
    else:
        told |= {
            "model_type": "mine",
            "auto_map": {"AutoConfig": "modeling_mine.Mine", "AutoModel": "modeling_mine.Mine"},
        }
    (folder / where).write_text(json.dumps(told))
    message = _error(f"sentence-transformers:{folder}")
    assert "it needs code of its own, which is not run" in message
    assert not (tmp_path / "it-ran").exists()


def test_weights_that_are_missing_are_an_error_and_not_drawn_at_random(folder):
    weights = load_file(folder / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    save_file({k: v for k, v in weights.items() if k != name}, folder / "model.safetensors", metadata={"format": "pt"})
    message = _error(f"sentence-transformers:{folder}")
    assert "lacks weights" in message and "output.dense.weight" in message


def test_a_pooler_that_is_missing_and_weights_left_over_are_no_error(folder, saved, capfd):
    weights = load_file(folder / "model.safetensors")
    kept = {key: tensor for key, tensor in weights.items() if not key.startswith("pooler.")}
    assert len(kept) < len(weights)
    save_file(kept | {"cls.seq_relationship.bias": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"})
    np.testing.assert_array_equal(_load(folder).encode_text(CAPTIONS), _load(saved).encode_text(CAPTIONS))
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("propagates", [False, True])  # transformers chooses by the variable CI
def test_what_transformers_reports_is_read_and_its_log_left_as_it_was(propagates, monkeypatch, caplog):
    from transformers.utils import logging as transformers_logging

    logger = transformers_logging.get_logger("transformers")
    monkeypatch.setattr(logger, "propagate", propagates)
    before = logger.level, list(logger.handlers), propagates
    with _missing_weights() as missing:
        logging.getLogger("transformers.modeling_utils").warning("key | MISSING | ")
    assert missing == ["key"] and not caplog.records
    assert (logger.level, list(logger.handlers), logger.propagate) == before


def test_weights_of_another_shape_are_one_line(folder):
    config = json.loads((folder / "config.json").read_text()) | {"intermediate_size": 48}
    (folder / "config.json").write_text(json.dumps(config))
    assert f"could not load {folder}" in _error(f"sentence-transformers:{folder}")


@pytest.mark.parametrize("file", ["config.json", "modules.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_file_is_one_line_that_names_the_folder(file, folder):
    (folder / file).write_bytes(b"{ no such thing")
    assert str(folder) in _error(f"sentence-transformers:{folder}")


def test_a_folder_without_a_model_is_told(tmp_path):
    assert f"{tmp_path} holds no model" in _error(f"sentence-transformers:{tmp_path}")


@pytest.mark.parametrize(
    "source, hint",
    [
        ("", "write sentence-transformers:FOLDER"),
        ("./no-such-folder", "names no folder that is there"),
        ("/no/such/folder", "names no folder that is there"),
        ("a/b/c", "names no folder that is there"),
        ("~no-such-user/a/b", "names no folder that is there"),
        ("a\0b", "names no folder that is there"),
        ("x" * 5000, "names no folder that is there"),
        (__file__, "is a file: give the folder"),
    ],
)
def test_a_bad_name_is_told_before_anything_is_loaded(source, hint):
    for find in (zoo.require, zoo.load_encoder):
        with pytest.raises(BindlibError, match=hint) as caught:
            find(f"sentence-transformers:{source}")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """A machine with no network and an empty cache of the hub, which is returned."""
    import socket

    from huggingface_hub import constants

    def refuse(*args, **kwargs):
        raise socket.gaierror("the test has no network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield tmp_path / "hub"
    assert constants.HF_HUB_OFFLINE is False


@pytest.mark.parametrize("source, asked", [("me/mine", "me/mine"), ("tiny", "sentence-transformers/tiny")])
def test_the_hub_out_of_reach_is_told_at_once(source, asked, offline):
    start = time.monotonic()
    message = _error(f"sentence-transformers:{source}")
    assert time.monotonic() - start < 20  # the hub's client alone retries for longer
    for part in (f"could not download sentence-transformers:{source}", "local cache", f"{asked} on the hub"):
        assert part in message


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _in_cache(hub_cache: Path, saved: Path) -> Path:
    """A model as the hub's client keeps it: files named by their content, linked from a folder of the commit."""
    model = hub_cache / "models--me--mine"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    for path in (path for path in saved.rglob("*") if path.is_file()):
        blob = model / "blobs" / hub.file_hash(path)
        link = model / "snapshots" / COMMIT / path.relative_to(saved)
        for place in (blob, link):
            place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, blob)
        link.symlink_to(blob)
    return model


def test_a_model_of_the_hub_is_found_in_the_cache_and_named_by_its_commit(offline, saved):
    _in_cache(offline, saved)
    tower = zoo.load_encoder("sentence-transformers:me/mine")
    np.testing.assert_array_equal(tower.encode_text(CAPTIONS), _load(saved).encode_text(CAPTIONS))
    assert tower.revision == f"{_load(saved).revision}, commit {COMMIT[:12]}"


def test_a_damaged_file_of_the_hub_s_cache_is_refused(offline, saved):
    model = _in_cache(offline, saved)
    blob = (model / "snapshots" / COMMIT / "model.safetensors").resolve()
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    assert f"{blob} is damaged: remove it" in _error("sentence-transformers:me/mine")


@pytest.mark.parametrize("kind", ["CLIP", "Siglip"])
def test_a_dual_encoder_is_cut_at_its_context_and_padded_as_it_was_trained(kind, tmp_path):
    """Held against transformers called plainly, a caption at a time."""
    from transformers import AutoModel

    folder = tiny_models.save_dual(tmp_path, kind)
    captions = [*CAPTIONS, " ".join(["dog"] * 20), " ".join(["dog"] * 10)]
    tower, model, tokens = _load(folder), AutoModel.from_pretrained(folder).eval(), tiny_models.tokenizer()
    tokens.enable_truncation(tiny_models.CONTEXT)
    if kind == "Siglip":
        tokens.enable_padding(length=tiny_models.CONTEXT, pad_token="[PAD]")
    with torch.no_grad():
        found = [model.get_text_features(torch.tensor([tokens.encode(caption).ids])) for caption in captions]
    rows = np.concatenate([getattr(row, "pooler_output", row).double().numpy() for row in found])
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(tower.encode_text(captions), expected, atol=1e-5)
    assert tower.context_length == tiny_models.CONTEXT and tower.count_truncated(captions) == 1


def test_a_pooling_that_the_folder_does_not_name_is_said(saved, tmp_path, caplog):
    _load(saved)
    assert not caplog.text
    _load(tiny_models.save_bert(tmp_path))
    assert f"{tmp_path} does not say how its token vectors are pooled" in caplog.text and "their mean" in caplog.text


def test_unknown_words_are_counted(saved):
    assert _load(saved).unknown(["a red car", "a \U0001f600 car", "what is this"]) == [0, 1, 3]


def test_a_vocabulary_of_an_odd_name_is_part_of_the_revision_and_an_adapter_alone_is_refused(folder):
    before = _load(folder).revision
    (folder / "bpe.codes").write_text("a b 1")
    assert _load(folder).revision != before
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text("{}")
    assert "merge the two" in _error(f"sentence-transformers:{folder}")
