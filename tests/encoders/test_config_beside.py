import json
import random

import pytest

from bindlib.encoders.config_beside import config_beside
from bindlib.errors import BindlibError

NOTHING = {"model_cfg": {}, "preprocess_cfg": {}}


@pytest.fixture
def beside(tmp_path):
    return tmp_path / "open_clip_config.json"


def _error(beside) -> str:
    with pytest.raises(BindlibError) as caught:
        config_beside(beside.with_name("model.pt"))
    message = str(caught.value)
    assert message.startswith(f"{beside}: ") and "\n" not in message and "mend it" in message
    return message


def test_no_file_or_empty_parts_say_nothing(beside):
    assert config_beside(beside.with_name("model.pt")) == NOTHING
    for told in ({}, {"model_cfg": None, "preprocess_cfg": {}}, {"other": 1}):
        beside.write_text(json.dumps(told))
        assert config_beside(beside.with_name("model.pt")) == NOTHING


def test_good_values_are_returned(beside):
    told = {
        "model_cfg": {"quick_gelu": False, "embed_dim": 8},
        "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.1] * 3, "interpolation": "bilinear", "resize_mode": "squash"},
    }
    beside.write_text(json.dumps(told))
    assert config_beside(beside.with_name("model.pt")) == told


@pytest.mark.parametrize("value", [[], 0, "", False, "x", [1], 3.5])
@pytest.mark.parametrize("key", ["model_cfg", "preprocess_cfg"])
def test_parts_that_are_no_objects_are_errors(key, value, beside):
    beside.write_text(json.dumps({key: value}))
    assert f"{key} must be an object" in _error(beside)


@pytest.mark.parametrize("value", [0, 1, "false", [], {}])
def test_an_activation_that_is_no_truth_value_is_an_error(value, beside):
    beside.write_text(json.dumps({"model_cfg": {"quick_gelu": value}}))
    assert "quick_gelu must be true or false" in _error(beside)


@pytest.mark.parametrize(
    "told",
    [
        *[{"interpolation": value} for value in ("nearest", 3, ["bicubic"])],
        *[{"mean": value} for value in ("white", [1, 2], [None] * 3)],
        *[{"std": value} for value in ([0, 0, 0], "x")],
        *[{"resize_mode": value} for value in ("stretch", 1)],
        {"mode": "CMYK"},
    ],
    ids=repr,
)
def test_values_that_open_clip_cannot_use_are_errors(told, beside):
    beside.write_text(json.dumps({"preprocess_cfg": told}))
    assert "preprocess_cfg" in _error(beside)


@pytest.mark.parametrize("text", ["", "[1", "[1]", "3", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass")])
def test_what_is_no_json_object_is_an_error(text, beside):
    beside.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert "is not" in _error(beside)


def test_a_file_that_cannot_be_read_is_an_error(beside, monkeypatch):
    beside.mkdir()
    assert "cannot be read" in _error(beside)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    assert "cannot be read: Permission denied" in _error(beside)


def test_random_json_is_read_or_refused(beside):
    """Any value anywhere: the answer or one line, never another exception."""
    rng = random.Random(0)
    values = [None, True, 0, -1, 1e308, float("nan"), "", "bicubic", [], [0.5] * 3, {}, [[1]], "squash", 10**400]
    keys = ["size", "mode", "mean", "std", "interpolation", "resize_mode", "fill_color", "other"]
    refused = 0
    for _ in range(200):
        told = {key: rng.choice(values) for key in rng.sample(keys, rng.randint(0, 3))}
        beside.write_text(json.dumps({"preprocess_cfg": told, "model_cfg": rng.choice([{}, {"quick_gelu": True}])}))
        try:
            config_beside(beside.with_name("model.pt"))
        except BindlibError:
            refused += 1
    assert 0 < refused < 200
