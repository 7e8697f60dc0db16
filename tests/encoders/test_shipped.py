import csv
import json
import re
import shutil
import socket

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from bindlib.encoders import drawn, shipped, zoo
from bindlib.encoders.base import DualEncoder
from bindlib.encoders.weights import file_hash
from bindlib.errors import BindlibError
from bindlib.scenes import World

NAMES = tuple(shipped.CHECKPOINTS)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        pytest.fail("the network was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(8)
    scenes = drawn.disjoint_groups(5, rng).reshape(60, 4)
    return drawn.pictures(scenes, rng), drawn.captions(scenes, rng.random(60) < 0.5)


def test_five_rates_in_word_disjoint_groups_and_one_training_in_ordinary_batches_are_shipped():
    settings = [shipped.metadata(shipped.weights(f"shipped:{name}", name))["setting"] for name in NAMES]
    rates = [setting["swap_rate"] for setting in settings if setting["batches"] == "disjoint"]
    assert len(set(rates)) >= 5 and min(rates) == 0 and max(rates) == 1
    assert [setting["batches"] for setting in settings].count("ordinary") >= 1
    for name, setting in zip(NAMES, settings, strict=True):
        assert name == (f"{setting['swap_rate']:g}" if setting["batches"] == "disjoint" else "ordinary")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_file_is_small_known_and_says_what_made_it(name):
    stem, sha256 = shipped.CHECKPOINTS[name]
    path = shipped.weights(f"shipped:{name}", name)
    assert path.parent == shipped.FOLDER and file_hash(path) == sha256 and path.stat().st_size < 4e6
    assert {tensor.dtype for tensor in load_file(path).values()} == {torch.float16}
    told = shipped.metadata(path)
    setting = told["setting"]
    assert told["command"].startswith("bindlib train --swap-rate") and told["versions"]["torch"]
    assert all(file_hash(shipped.FOLDER / part) == digest for part, digest in told["sha256"].items())
    with open(shipped.FOLDER / f"{stem}.csv", newline="", encoding="utf-8") as file:
        log = list(csv.DictReader(file))
    assert int(log[-1]["step"]) == setting["steps"]
    card = next(card for card in zoo.CARDS if card.name == "shipped:RATE")
    assert f"{stem} {sha256}" in card.source and name in card.description


def test_what_ships_is_small_and_each_file_of_it_is_meant():
    files = {path.name for path in shipped.FOLDER.iterdir() if path.name != "__pycache__"}
    stems = {stem for stem, _ in shipped.CHECKPOINTS.values()}
    parts = {"__init__.py", f"{shipped.ARCH}.json", "tokenizer.json", "tokenizer_config.json", "open_clip_config.json"}
    assert files == parts | {f"{stem}.{end}" for stem in stems for end in ("safetensors", "csv")}
    assert sum(path.stat().st_size for path in shipped.FOLDER.iterdir()) < 10e6


def test_the_weights_and_their_files_travel_with_the_package():
    import tomllib

    with open(shipped.FOLDER.parents[2] / "pyproject.toml", "rb") as file:
        packaged = tomllib.load(file)["tool"]["setuptools"]["package-data"]["bindlib.encoders.shipped"]
    ends = {path.suffix for path in shipped.FOLDER.iterdir() if path.is_file() and path.suffix != ".py"}
    assert {pattern.removeprefix("*") for pattern in packaged} == ends


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_encoder_is_the_checkpoint_in_open_clip(name, encoder, pictures):
    """Against open_clip's own loading, transform and encoding, one item at a time."""
    import open_clip

    images, texts = pictures[0][:3], pictures[1][:3]
    model = open_clip.CLIP(**json.loads((shipped.FOLDER / "bindlib-drawn.json").read_text()))
    model.load_state_dict({key: value.float() for key, value in load_file(shipped.weights("", name)).items()})
    vocabulary = json.loads((shipped.FOLDER / "tokenizer.json").read_text())["model"]["vocab"]
    tower = encoder(f"shipped:{name}")
    assert isinstance(tower, DualEncoder) and tower.context_length == 10 and tower.name == f"shipped:{name}"
    for image, text in zip(images, texts, strict=True):
        pixels = (torch.from_numpy(np.asarray(image, dtype=np.float32)) / 255 - 0.5) / 0.25
        tokens = torch.tensor([[vocabulary[word] for word in ["<start>", *text.split(), "<end>", "<pad>"]]])
        with torch.inference_mode():
            expected = model.encode_image(pixels.permute(2, 0, 1)[None], normalize=True)[0].numpy()
            np.testing.assert_allclose(tower.encode_image([image])[0], expected, atol=2e-6)
            np.testing.assert_allclose(
                tower.encode_text([text])[0], model.encode_text(tokens, normalize=True)[0].numpy(), atol=2e-6
            )


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_encoder_finds_the_caption_of_a_picture_among_those_that_share_no_word(name, encoder, pictures):
    images, texts = pictures
    tower = encoder(f"shipped:{name}")
    image, text = tower.encode_image(images).reshape(5, 12, -1), tower.encode_text(texts).reshape(5, 12, -1)
    scores = image @ text.swapaxes(1, 2)
    assert (scores.argmax(axis=2) == np.arange(12)).mean() > 0.95


def test_each_word_of_a_drawn_scene_is_one_token_and_the_end_has_the_largest_number():
    tokenizer = shipped.tokenizer()
    atoms = World(drawn.GLYPHS, drawn.HUES)
    words = [*atoms.objects, *atoms.attributes, "a", "an", "and"]
    ids = [tokenizer([word])[0, 1].item() for word in words]
    assert len(set(ids)) == len(words) and tokenizer([words[0]])[0, 2].item() == 63 > max(ids)
    rows = tokenizer(["an olive K and a red A", "olive and red, K and A"])
    assert (rows == 63).sum(dim=1).tolist() == [1, 1] and (rows != tokenizer.tokenizer.unk_token_id).all()
    assert rows[1].tolist()[3:5] == tokenizer(["red K"])[0, 1:3].tolist(), "punctuation is no word"


def test_unknown_words_are_an_error_and_what_is_too_long_is_counted(encoder):
    tower = encoder(f"shipped:{NAMES[0]}")
    with pytest.raises(BindlibError, match=r"every word of 'a red car'.*such as 'a red A"):
        tower.encode_text(["a red A and a blue K", "a red car"])
    assert tower.count_truncated(["a red A and a blue K", "a red A and a blue K and a green 7"]) == 1


def test_the_first_weights_depend_on_the_seed_alone():
    before = torch.get_rng_state()
    first, again, other = (shipped.new_model(seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["text_projection"], other["text_projection"])
    assert sum(value.numel() for value in first.values()) == 713_089


@pytest.mark.parametrize("wrong", ["", "2", "gone.safetensors", "/", "\0.safetensors", "x" * 5000 + ".safetensors"])
def test_a_wrong_name_is_answered_with_the_right_ones(wrong):
    with pytest.raises(BindlibError, match=f"{', '.join(NAMES)}.*shipped:FOLDER/model.safetensors"):
        zoo.require(f"shipped:{wrong}")


def test_a_damaged_file_is_refused(monkeypatch, tmp_path):
    stem, _ = shipped.CHECKPOINTS["1"]
    content = bytearray((shipped.FOLDER / f"{stem}.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / f"{stem}.safetensors").write_bytes(content)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    for which in ("1", "0"):
        with pytest.raises(BindlibError, match="missing or not the known file"):
            zoo.require(f"shipped:{which}")


@pytest.mark.parametrize("content", [b"", b"\x80\x02c", None])
def test_a_file_that_was_not_trained_here_is_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    if content is None:
        save_file({"weight": torch.zeros(3)}, path)
        with safe_open(path, "pt") as file:
            assert file.metadata() is None
    else:
        path.write_bytes(content)
    with pytest.raises(BindlibError, match="not written by bindlib train"):
        zoo.load_encoder(f"shipped:{path}")


@pytest.mark.parametrize("change", ["none", "no config", "other config", "other tokenizer"])
def test_a_checkpoint_is_read_as_it_was_trained_or_not_at_all(change, tmp_path, monkeypatch):
    """Alone it would get another preprocessing, and with another tokenizer other words."""
    path = tmp_path / "mine.safetensors"
    path.write_bytes(shipped.weights("", "1").read_bytes())
    config, blame = (shipped.FOLDER / shipped.CONFIG).read_text(), tmp_path / shipped.CONFIG
    if change != "no config":
        blame.write_text(config if change != "other config" else config.replace("0.25", "0.5"))
    if change == "other tokenizer":
        other = tmp_path / "package"
        shutil.copytree(shipped.FOLDER, other)
        blame = other / "tokenizer.json"
        blame.write_text(blame.read_text().replace('"red"', '"gold"'))
        monkeypatch.setattr(shipped, "FOLDER", other)
    if change == "none":
        tower = zoo.load_encoder(f"shipped:{path}")
        np.testing.assert_array_equal(
            tower.encode_text(["a red A"]), zoo.load_encoder("shipped:1").encode_text(["a red A"])
        )
        return
    with pytest.raises(BindlibError, match=f"{re.escape(str(blame))} is missing or not the one.*trained with"):
        zoo.load_encoder(f"shipped:{path}")
