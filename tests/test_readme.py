"""What the README shows must work as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

from bindlib.encoders.zoo import load_encoder
from bindlib.measurements.datasets import load
from bindlib.measurements.diagnostic import IDENTITY, measure_encoder
from bindlib.measurements.tables import COLUMNS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    (code,) = blocks("python")
    name = re.search(r"# (\w+)\.py", code)[1]
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return load_encoder(f"python:{name}:encode")


def test_the_encoder_measures_the_example_files(encoder, tmp_path):
    kinds = []
    for number, text in enumerate(blocks("csv")):
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        data = load(str(path), strict=True)
        kinds.append(data.kind)
        row = measure_encoder(encoder, data)[-1]
        assert row["n"] == text.count("\n") - 1 == row["permutations"], "the examples exchange words only"
        if data.kind == "pairs":
            assert row["ceiling"] == 0, "counts of letters are blind to swaps"
    assert kinds == ["pairs", "triplets"]
    assert np.allclose(np.linalg.norm(encoder.encode_text(["a red car"]), axis=1), 1)


def test_every_number_that_a_table_shows_is_explained():
    words = set(re.findall(r"^\| ([a-z ]+) \|", README, re.MULTILINE))
    shown = {name for columns in COLUMNS.values() for name in columns} - set(IDENTITY)
    known = {"ties", "accuracy", "zero share"}  # explained by the help of their kind, or by their names
    for name in shown:
        plain = name.removesuffix("_interval").replace("_", " ").removeprefix("permutation ")
        assert plain.removesuffix("s") in words or plain in words | known, name
