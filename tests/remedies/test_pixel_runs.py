import csv
import json
import math

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from typer.testing import CliRunner

from bindlib.cli import app
from bindlib.encoders import shipped
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.remedies import pixel_runs as pr
from bindlib.remedies import pixel_throttle as pt
from bindlib.remedies.trained_throttle import one_thread

SETTING = pt.Setting(0.5, seed=3, steps=6, log_every=2)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(pt, "GROUPS", 1)
    monkeypatch.setattr(pt, "ORDINARY", 16)
    monkeypatch.setattr(pr, "CHECK_SCENES", 8)
    with one_thread():
        yield


@pytest.fixture
def trained(tmp_path):
    return pr.train(SETTING, tmp_path / "uninterrupted")


def rows(folder):
    with open(folder / pr.LOG, newline="", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stop_before(monkeypatch, step):
    def advance(trainer, real=pt.Trainer.advance):
        if trainer.step + 1 == step:
            raise KeyboardInterrupt
        return real(trainer)

    monkeypatch.setattr(pt.Trainer, "advance", advance)


@pytest.mark.parametrize("step", [2, 3, 4, 6])
def test_a_training_that_was_killed_goes_on_to_the_same_bytes(tmp_path, trained, step):
    folder = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_before(patch, step)
        pr.train(SETTING, folder)
    assert {path.name for path in folder.iterdir()} == ({pr.STATE} if step > 2 else set())
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        real = pt.Trainer.advance
        patch.setattr(pt.Trainer, "advance", lambda trainer: (taken.append(trainer.step), real(trainer))[1])
        pr.train(SETTING, folder)
    assert contents(folder) == contents(trained.parent)
    assert taken == list(range((step - 1) // 2 * 2, 6)), "what was done before the state was saved is not done again"


def test_a_disk_that_fills_up_leaves_the_state_before(tmp_path, trained, monkeypatch):
    folder, saved = tmp_path / "full", []

    def save_file(tensors, path, told, real=pr.save_file):
        real(tensors, path, told)
        saved.append(path)
        if len(saved) == 2:
            path.write_bytes(path.read_bytes()[:1000])
            raise SafetensorError("No space left on device")

    with monkeypatch.context() as patch, pytest.raises(BindlibError, match=r"No space left on device.*make room"):
        patch.setattr(pr, "save_file", save_file)
        pr.train(SETTING, folder)
    assert [path.name for path in folder.iterdir()] == [pr.STATE]
    assert shipped.metadata(folder / pr.STATE)["step"] == 2
    pr.train(SETTING, folder)
    assert contents(folder) == contents(trained.parent)


def test_a_training_leaves_the_random_state_and_the_threads_alone(tmp_path):
    torch.set_num_threads(2)
    before, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()
    pr.train(pt.Setting(0.5, steps=1), tmp_path)
    assert torch.equal(torch.get_rng_state(), before) and np.array_equal(np.random.get_state()[1], legacy)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("change", [{"seed": 4}, {"swap_rate": 0.25}, {"batches": "ordinary"}])
def test_another_setting_gives_other_weights(tmp_path, trained, change):
    other = pr.train(pt.Setting(**(vars(SETTING) | change)), tmp_path / "other")
    assert not torch.equal(*(load_file(path)["text_projection"] for path in (other, trained)))


def test_the_checkpoint_is_small_half_precision_and_says_what_made_it(trained):
    assert trained.stat().st_size < 4e6
    assert {str(tensor.dtype) for tensor in load_file(trained).values()} == {"torch.float16"}
    told = shipped.metadata(trained)
    assert told["setting"] == vars(SETTING) and set(told["versions"]) >= {"bindlib", "torch", "open_clip_torch"}
    assert told["command"] == "bindlib train --swap-rate 0.5 --batches disjoint --seed 3 --steps 6"
    assert told["device"] == "cpu"
    assert all(len(digest) == 64 for digest in told["sha256"].values())
    assert {path.name for path in trained.parent.iterdir()} == {pr.CHECKPOINT, pr.LOG, pr.CONFIG}


def test_the_log_holds_the_loss_against_its_sliver(tmp_path, trained):
    log = rows(trained.parent)
    assert [row["step"] for row in log] == [2, 4, 6]
    for row in log:
        assert row["sliver"] == pytest.approx(0.5 * math.log(2) / 2, rel=1e-5)
        assert 0 <= row["accuracy_held_in"] <= 1 and 0 <= row["accuracy_held_out"] <= 1 and row["loss"] > 0
        assert row["binding_to_order"] == pytest.approx(row["d"] / row["order_distance"], rel=1e-4)
    trainer = pt.Trainer(SETTING)
    losses = [trainer.advance() for _ in range(6)]
    np.testing.assert_allclose([row["loss"] for row in log], np.mean(np.reshape(losses, (3, 2)), axis=1), rtol=1e-4)
    odd = pr.train(pt.Setting(0.0, steps=3, log_every=2), tmp_path / "odd")
    assert [row["step"] for row in rows(odd.parent)] == [2, 3]


def test_a_folder_holds_one_training(trained, monkeypatch):
    before = contents(trained.parent)
    with pytest.raises(BindlibError, match="another training"):
        pr.train(pt.Setting(0.5, seed=4, steps=6, log_every=2), trained.parent)
    monkeypatch.setattr(pt.Trainer, "advance", lambda trainer: pytest.fail("a finished training is not repeated"))
    assert pr.train(SETTING, trained.parent) == trained and contents(trained.parent) == before


@pytest.mark.parametrize("content", [b"", b"no safetensors", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_foreign_state_is_refused_and_kept(tmp_path, content):
    state = tmp_path / pr.STATE
    state.write_bytes(content)
    with pytest.raises(BindlibError, match="remove it to train anew"):
        pr.train(SETTING, tmp_path)
    assert state.read_bytes() == content


def test_a_file_in_place_of_the_folder_is_told_and_kept(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(BindlibError, match="is no folder: give another name"):
        pr.train(SETTING, tmp_path / "x")
    assert (tmp_path / "x").read_text() == "mine"


def test_the_command_trains_what_the_zoo_loads(tmp_path):
    words = ["train", "--swap-rate", "0.5", "--seed", "3", "--steps", "2", "--device", "cpu", "--out"]
    result = CliRunner().invoke(app, [*words, str(tmp_path / "x")])
    assert result.exit_code == 0, result.output
    path = tmp_path / "x" / pr.CHECKPOINT
    assert f"shipped:{path}" in result.stderr and result.stdout == ""
    assert load_encoder(f"shipped:{path}").encode_text(["a red A and a blue K"]).shape == (1, 64)


def test_the_state_is_readable_without_running_code(tmp_path):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_before(patch, 3)
        pr.train(SETTING, tmp_path)
    with safe_open(tmp_path / pr.STATE, "np") as file:
        assert json.loads(file.metadata()["bindlib"])["step"] == 2


@pytest.mark.parametrize("kept", [pr.STATE, pr.CHECKPOINT])
def test_after_a_flip_of_any_bit_a_file_is_refused(tmp_path, kept):
    with pytest.MonkeyPatch.context() as patch:
        if kept == pr.STATE:
            stop_before(patch, 3)
            with pytest.raises(KeyboardInterrupt):
                pr.train(SETTING, tmp_path)
        else:
            pr.train(SETTING, tmp_path)
    path = tmp_path / kept
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    for at in [*rng.integers(8 * header, size=20), *rng.integers(8 * len(whole), size=20)]:
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << int(at % 8)
        path.write_bytes(damaged)
        with pytest.raises(BindlibError, match=r"remove it|another folder"):
            pr.train(SETTING, tmp_path)
        if kept == pr.CHECKPOINT:
            with pytest.raises(BindlibError):
                shipped.load("x", str(path), "cpu")


@pytest.mark.parametrize(
    "told", ["[]", "null", "1", "[" * 5000, '{"sha256": 1}', '{"sha256": {"../x": ""}}', '{"step": {}}']
)
def test_odd_metadata_is_one_line(tmp_path, told):
    path = tmp_path / pr.CHECKPOINT
    pr.save_file({"a": torch.zeros(1)}, path, {"bindlib": told})
    with pytest.raises(BindlibError):
        shipped.load("x", str(path), "cpu")
    with pytest.raises(BindlibError):
        pr.train(SETTING, tmp_path)


def test_a_state_of_something_else_with_a_right_checksum_is_one_line(tmp_path):
    pr._save({"optimiser x": torch.zeros(1)}, {"setting": vars(SETTING), "step": 2, "log": []}, tmp_path / pr.STATE)
    with pytest.raises(BindlibError, match="not of a training"):
        pr.train(SETTING, tmp_path)
