"""Every committed result is named, and has a command that makes it again; a small part of each is made here."""

import csv
import subprocess
from pathlib import Path

import pytest

from bindlib import remake
from bindlib.encoders import shipped
from bindlib.errors import BindlibError, CheckFailed
from bindlib.storage import read_rows

ROOT = Path(__file__).parents[1]
NAMED = {file for row in remake.listing() for file in row["files"]}
# Files of data that hold no results: what an architecture is, how its words are numbered.
DEFINITIONS = {"bindlib-drawn.json", "open_clip_config.json", "tokenizer.json", "tokenizer_config.json"}
DATA = {".csv", ".json", ".jsonl", ".parquet", ".safetensors", ".npy", ".npz", ".pt", ".bin", ".gz", ".zip"}


def committed_data():
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    names = (
        told.split("\0")
        if told
        else [str(p.relative_to(ROOT)) for d in ("bindlib", "tests") for p in (ROOT / d).rglob("*")]
    )
    return {name for name in names if Path(name).suffix in DATA and Path(name).name not in DEFINITIONS}


def test_every_committed_result_is_named_and_nothing_else():
    code = {file for file in NAMED if file.endswith(".py")}
    assert NAMED - code == committed_data() and all((ROOT / file).is_file() for file in NAMED)
    assert len({row["name"] for row in remake.listing()}) == len(remake.MADE) + len(remake.TAKEN)
    assert tuple(stem for stem, _ in shipped.CHECKPOINTS.values()) == remake.STEMS


@pytest.mark.parametrize("made", remake.MADE, ids=lambda made: made.name)
def test_the_columns_name_every_committed_row(made):
    for file, keys in made.files.items():
        rows = read_rows(ROOT / file, keys)
        assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows) > 0


@pytest.mark.parametrize("name", [made.name for made in remake.MADE])
def test_a_part_made_again_is_as_committed(name, tmp_path):
    told = []
    assert remake.remake(name, tmp_path, True, told.append) > 0
    before = len(told)
    assert remake.remake(name, tmp_path, True, told.append) > 0, "the same call once more"
    assert len(told) in (before, 2 * before)


def table(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["name", "x"], *cells])


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Results of two rows in a repository of its own, and what makes them."""
    monkeypatch.setattr(remake, "ROOT", tmp_path)
    table(tmp_path / "kept/toy.csv", [("a", 1), ("b", "nan")])
    made = {"rows": [("a", 1.0004), ("b", "nan")]}

    def make(folder, part, tell):
        table(folder / "toy.csv", made["rows"][: 1 if part else None])

    monkeypatch.setattr(remake, "MADE", (remake.Made("toy", "", "", {"kept/toy.csv": ("name",)}, make, 1e-3),))
    return made


@pytest.mark.parametrize(("part", "n"), [(True, 1), (False, 2)])
def test_what_agrees_is_counted(toy, tmp_path, part, n):
    assert remake.remake("toy", tmp_path / "out", part, print) == n


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", 1.002), ("b", "nan")], "toy.csv: a: x is 1.002, committed 1"),
        ([("a", 1), ("b", 0)], "b: x is 0, committed nan"),
        ([("a", 1)], "b: no such row is made"),
        ([("a", 1), ("b", "nan"), ("c", 2)], "c: no such row is committed"),
        ([("a", ""), ("b", "nan")], "a: x is , committed 1"),
    ],
)
def test_what_differs_is_a_failure_and_is_named(toy, tmp_path, rows, words):
    toy["rows"] = rows
    with pytest.raises(CheckFailed, match=words):
        remake.remake("toy", tmp_path / "out", False, print)


def test_a_stopped_call_goes_on_and_numbers_keep_their_digits(tmp_path):
    made = []

    def part(name, stops=False):
        made.append(name)
        if stops:
            raise RuntimeError("stopped")
        return [{"name": "0.02", "x": 1 / 3}], [{"y": len(name)}]

    parts = {"a/b": lambda: part("a/b"), "c 0.1": lambda: part("c 0.1", stops=len(made) < 2)}
    with pytest.raises(RuntimeError, match="stopped"):
        list(remake.finished(tmp_path, parts, lambda line: None, ["name"]))
    found = list(remake.finished(tmp_path, parts, lambda line: None, ["name"]))
    assert made == ["a/b", "c 0.1", "c 0.1"]
    assert found == [[[{"name": "0.02", "x": 1 / 3}], [{"y": n}]] for n in (3, 5)]


def test_bad_input(tmp_path):
    with pytest.raises(BindlibError, match="no results are called 'all': say one of zoo, pixels"):
        remake.remake("all", tmp_path, True, print)
    (tmp_path / "file").touch()
    with pytest.raises(BindlibError, match="file is no folder: give another name"):
        remake.remake("zoo", tmp_path / "file", True, print)


def test_the_pages_name_every_result_with_its_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for made in remake.MADE:
        assert f"`{made.name}`" in readme, made.name
    for page in ("README.md", "chapters/welcome.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert "bindlib remake" in text and "but for two" not in text
    ledger = (ROOT / "chapters/back/reproduction.ipynb").read_text(encoding="utf-8")
    assert "remake.listing()" in ledger
