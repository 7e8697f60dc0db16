"""Tidy rows in files, and the store of a sweep that may be killed at any moment."""

import csv
import errno
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.errors import BindlibError
from bindlib.measurements import results, store
from bindlib.measurements.diagnostic import COUNTS, measure_encoder
from bindlib.measurements.items import Dataset, Pair, Triplet
from bindlib.measurements.provenance import Provenance, versions
from bindlib.measurements.results import COLUMNS, FORMATS, Cell, cells, read, recovered, tidy, write
from bindlib.measurements.store import Store, opened
from bindlib.scenes import Quartet
from bindlib.theory.bag_of_words import position_weighted

SUFFIXES = sorted(FORMATS)
MADE_WITH = Provenance("sha256:1", "sha256:2", 0, "cpu", "bindlib 0; numpy 1")

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8) | st.sampled_from(
    ["a,b", 'say "x"', "two\nlines", "emoji \U0001f600", "NA", "null", "1.5", " ", "=1+1", "'"]
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
intervals = st.none() | st.lists(numbers, min_size=2, max_size=2)
estimates = st.tuples(st.none() | numbers, intervals)


@st.composite
def found(draw) -> list[Cell]:
    keys = draw(st.lists(st.tuples(texts, texts), unique=True, min_size=1, max_size=4))
    return [draw(cell(*key)) for key in keys]


@st.composite
def cell(draw, encoder: str, data: str) -> Cell:
    made_with = Provenance(
        draw(texts), draw(texts), draw(st.integers(0, 2**63 - 1)), draw(st.sampled_from(["cpu", "cuda"])), draw(texts)
    )
    metrics = draw(st.lists(st.sampled_from(["usage", "ceiling", "permutation_ceiling", "gap"]), unique=True))
    rows = []
    for subset in draw(st.lists(texts, min_size=1, max_size=3, unique=True)):
        measured = {metric: draw(estimates) for metric in metrics}
        identity = {"encoder": encoder, "revision": made_with.encoder_revision,
                    "data": data, "data_revision": made_with.data_revision, "subset": subset}  # fmt: skip
        rows.append(
            identity
            | {count: draw(st.integers(0, 10**6)) for count in COUNTS}
            | {metric: value for metric, (value, _) in measured.items()}
            | {"intervals": {metric: interval for metric, (_, interval) in measured.items()}}
        )
    return Cell(encoder, data, made_with, tuple(rows))


def some_cells(n: int = 4) -> list[Cell]:
    """Plain cells, each with rows of its own."""
    made = []
    for i in range(n):
        row = {"encoder": f"e{i % 2}", "revision": "sha256:1", "data": f"d{i // 2}", "data_revision": "sha256:2",
               "subset": "all", "n": 3, "truncated": 0, "permutations": 2, "duplicates": 0, "left_out": 0,
               "usage": i / 7, "permutation_ceiling": None,
               "intervals": {"usage": [0.0, i / 3], "permutation_ceiling": None}}  # fmt: skip
        made.append(Cell(row["encoder"], row["data"], MADE_WITH, (row,)))
    return made


@given(found(), st.sampled_from(SUFFIXES))
def test_what_is_written_is_read_to_the_last_bit(tmp_path_factory, given_cells, suffix):
    path = tmp_path_factory.mktemp("rows") / f"out{suffix}"
    write(path, given_cells)
    assert read(path) == {one.key: one for one in given_cells}
    content = path.read_bytes()
    write(path, reversed(given_cells))
    assert path.read_bytes() == content, "the order in which cells are finished must not show"


class Toy:
    name, revision, context_length = "toy", "0", None

    def __init__(self):
        self.text_map = position_weighted(16, 0)

    def encode_text(self, captions):
        return [self.text_map(caption) for caption in captions]

    def count_truncated(self, captions):
        return 0


@pytest.mark.parametrize(
    "item",
    [
        Pair("a red car and a blue dog", "a blue car and a red dog", "swap"),
        Triplet("a red car and a blue dog", "a blue dog and a red car", "a blue car and a red dog"),
        Quartet("a b c", "b a c", "c a b", "c b a", "a c b"),
    ],
)
def test_measured_rows_of_every_kind_come_back(tmp_path, item):
    dataset = Dataset("d", (item, item))
    rows = tuple(measure_encoder(Toy(), dataset))
    made = Cell("toy", "d", Provenance("0", dataset.revision, 0, "cpu", versions()), rows)
    for suffix in SUFFIXES:
        write(tmp_path / f"out{suffix}", [made])
        back = read(tmp_path / f"out{suffix}")[made.key]
        assert back == made and json.dumps(back.rows) == json.dumps(rows)


def test_rows_are_tidy_and_carry_what_they_were_made_with(tmp_path):
    path = tmp_path / "out.csv"
    write(path, some_cells(1))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["metric"] for row in rows] == [
        "truncated",
        "permutations",
        "duplicates",
        "usage",
        "permutation_ceiling",
    ]
    assert {row["versions"] for row in rows} == {MADE_WITH.versions}
    assert rows[-1]["value"] == rows[-1]["low"] == "" and rows[-1]["n"] == "2", "over the permutations alone"


def test_what_was_left_out_is_written_if_any_was(tmp_path):
    for left_out in (0, 3):
        (made,) = some_cells(1)
        made = replace(made, rows=tuple(row | {"left_out": left_out} for row in made.rows))
        write(tmp_path / "out.csv", [made])
        assert read(tmp_path / "out.csv") == {made.key: made}
        assert ((tmp_path / "out.csv").read_text().count("left_out") == 1) == bool(left_out)


def test_parquet_columns_have_types(tmp_path):
    from pyarrow.parquet import read_schema

    write(tmp_path / "out.parquet", some_cells(1))
    schema = read_schema(tmp_path / "out.parquet")
    assert tuple(schema.names) == COLUMNS
    assert [str(schema.field(name).type) for name in ("encoder", "value", "n")] == ["string", "double", "int64"]


FOREIGN = {
    "empty": b"",
    "other columns": b"encoder,value\nglove,1\n",
    "json": b'{"quartets": []}\n',
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, suffix, content):
    path = tmp_path / f"out{suffix}"
    path.write_bytes(content)
    with pytest.raises(BindlibError, match="holds no measurements") as error, opened(path):
        pass
    assert "\n" not in str(error.value)
    assert path.read_bytes() == content and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    write(path, some_cells())
    whole = path.read_bytes()
    for damaged in (whole[:-3], whole[: len(whole) // 2], whole[:5] + b"\xff\xfe" + whole[5:]):
        path.write_bytes(damaged)
        with pytest.raises(BindlibError, match="damaged, or holds no"):
            read(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_after_a_flip_of_any_bit_what_is_read_is_what_was_written_or_is_said_to_be_lost(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    written = {one.key: one for one in some_cells()}
    write(path, written.values())
    whole = path.read_bytes()
    lost = 0
    for at in random.Random(suffix).sample(range(8 * len(whole)), 300):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            found, faults = recovered(path)
        except BindlibError:
            lost += 1
            continue
        assert found.items() <= written.items(), at
        assert faults or found == written, at
        lost += bool(faults)
    assert lost > 100


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_cell_is_said_and_measured_again_and_the_damaged_file_is_kept(tmp_path, caplog, suffix):
    out = tmp_path / f"out{suffix}"
    one, two, *others = some_cells()
    rows = [row for cell in some_cells() for row in tidy(cell)]
    rows = [row | {"n": row["n"] + 64} if (row["encoder"], row["data"]) == two.key else row for row in rows]
    out.write_bytes(FORMATS[suffix].write(rows))
    found = {cell.key: cell for cell in (one, *others)}
    damaged = out.read_bytes()
    with opened(out) as kept:
        assert kept.known == found
    assert "the rows of e1 on d0 are not what was written" in caplog.text
    assert out.read_bytes() == damaged and list(tmp_path.iterdir()) == [out]
    with opened(out) as kept:
        kept.add(two)
    assert read(out) == found | {two.key: two}
    assert (tmp_path / f"{out.name}.damaged").read_bytes() == damaged
    out.write_bytes(again := FORMATS[suffix].write([*rows[:-1], rows[-1] | {"n": 1}]))
    with opened(out) as kept:
        kept.add(one)
    assert (tmp_path / f"{out.name}.damaged").read_bytes() == damaged, "the first is not overwritten by the second"
    assert (tmp_path / f"{out.name}.damaged.2").read_bytes() == again


def change(row: dict, **changes) -> dict:
    return row | changes


@pytest.mark.parametrize(
    "rows",
    [
        lambda rows: rows + rows[:1],  # twice
        lambda rows: rows[1:],  # a count is missing
        lambda rows: [*rows[:-1], change(rows[-1], seed=1)],  # made with two seeds
        lambda rows: [change(rows[0], n=1.5), *rows[1:]],
        lambda rows: [change(rows[0], value=None), *rows[1:]],
    ],
)
def test_rows_that_no_sweep_writes_are_refused(tmp_path, rows):
    given_rows = rows(tidy(some_cells(1)[0]))
    check = results._check(given_rows)
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row | {"check": check}) + "\n" for row in given_rows))
    with pytest.raises(BindlibError, match="holds no measurements"):
        read(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_no_file_can_hold_is_refused_where_it_is_measured_and_where_it_is_read(tmp_path, value):
    (whole,) = some_cells(1)
    with pytest.raises(BindlibError, match="e0 on d0: usage is"):
        replace(whole, rows=(whole.rows[0] | {"usage": value},))
    path = tmp_path / "out.jsonl"
    rows = [change(row, value=value) for row in tidy(whole)]
    path.write_text("".join(json.dumps(row | {"check": results._check(rows)}) + "\n" for row in rows))
    with pytest.raises(BindlibError, match="damaged, or holds no measurements"):
        read(path)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "''", "plain"])
def test_a_spreadsheet_finds_no_formula_and_the_name_comes_back(tmp_path, name):
    path = tmp_path / "out.csv"
    made = Cell(name, "d0", MADE_WITH, tuple(row | {"encoder": name} for row in some_cells(1)[0].rows))
    write(path, [made])
    with path.open(newline="") as file:
        cells_of_text = [row["encoder"] for row in csv.DictReader(file)]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells_of_text)
    assert read(path) == {made.key: made}


def test_json_lines_are_printable_ascii(tmp_path):
    name = "a\x1b\x7f\x85\x9b\u202e\u2028é\U0001f600"
    made = Cell(name, "d0", MADE_WITH, tuple(row | {"encoder": name} for row in some_cells(1)[0].rows))
    write(tmp_path / "out.jsonl", [made])
    content = (tmp_path / "out.jsonl").read_text()
    assert content.isascii() and content.replace("\n", "").isprintable()
    assert read(tmp_path / "out.jsonl") == {made.key: made}


def test_the_inverse_of_tidy():
    rows = [row for one in some_cells() for row in tidy(one)]
    assert cells(rows) == {one.key: one for one in some_cells()}
    assert cells(sorted(rows, key=lambda row: row["metric"] != "permutation_ceiling")) == cells(rows), "in any order"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"out{suffix}"
    write(path, some_cells(1))
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match=f"No space.*{path.name}"):
            patch.setattr(os, name, full)
            write(path, some_cells())
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@settings(max_examples=40)
@given(st.permutations(range(4)), st.integers(0, 4), st.integers(0, 4), st.sampled_from(SUFFIXES), st.booleans())
def test_killed_anywhere_and_resumed_the_file_is_the_same(tmp_path_factory, order, first, second, suffix, garbage):
    """Two sweeps die after some cells, without a chance to tidy up; the third finishes."""
    folder = tmp_path_factory.mktemp("sweep")
    whole, out = folder / f"whole{suffix}", folder / f"out{suffix}"
    all_cells = some_cells()
    with opened(whole) as kept:
        for one in all_cells:
            kept.add(one)

    left = Path(f"{out}.cells")
    left.mkdir()
    for stop in (first, second):
        dying = Store(out, left)
        for i in order[:stop]:
            if all_cells[i].key not in dying.known:
                dying.add(all_cells[i])
        if garbage:
            (left / ".x.jsonl.part").write_bytes(b"half a r")
    with opened(out) as kept:
        assert set(kept.known) == {all_cells[i].key for i in order[: max(first, second)]}
        for one in all_cells:
            if one.key not in kept.known:
                kept.add(one)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == sorted([out.name, whole.name])


def test_killed_between_the_merge_and_the_end_nothing_is_there_twice(tmp_path):
    out = tmp_path / "out.csv"
    with opened(out) as kept:
        kept.add(some_cells()[0])
    once = out.read_bytes()
    left = Path(f"{out}.cells")
    left.mkdir()
    Store(out, left).add(some_cells()[0])
    with opened(out):
        pass
    assert out.read_bytes() == once


def test_a_cell_replaces_the_one_of_the_same_encoder_and_data(tmp_path):
    out, old = tmp_path / "out.csv", some_cells()
    with opened(out) as kept:
        for one in old:
            kept.add(one)
    new = replace(old[1], provenance=replace(MADE_WITH, seed=5))
    with opened(out) as kept:
        kept.add(new)
    assert read(out) == {one.key: one for one in (old[0], new, *old[2:])}


def test_what_was_finished_is_kept_after_a_failure(tmp_path):
    out = tmp_path / "out.csv"
    with pytest.raises(ZeroDivisionError), opened(out) as kept:
        kept.add(some_cells()[0])
        raise ZeroDivisionError
    assert len(read(out)) == 1 and list(tmp_path.iterdir()) == [out]


def test_with_the_disk_full_the_finished_cells_wait(tmp_path, monkeypatch):
    out = tmp_path / "out.csv"

    def full(path, cells):
        if path == out:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, cells)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"), opened(out) as kept:
        patch.setattr(store, "write", full)
        kept.add(some_cells()[0])
    assert not out.exists()
    with opened(out) as kept:
        assert set(kept.known) == {some_cells()[0].key}
    assert len(read(out)) == 1


def test_a_finished_cell_that_is_damaged_is_forgotten_and_said(tmp_path, caplog):
    out = tmp_path / "out.csv"
    left = Path(f"{out}.cells")
    left.mkdir()
    for one in some_cells(2):
        Store(out, left).add(one)
    damaged = sorted(left.iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with opened(out) as kept:
        assert len(kept.known) == 1
    assert caplog.text.count("measured again") == 1 and len(read(out)) == 1


def test_a_stranger_in_the_folder_of_cells_stays(tmp_path):
    out = tmp_path / "out.csv"
    stranger = tmp_path / "out.csv.cells" / "notes.txt"
    stranger.parent.mkdir()
    stranger.write_text("mine")
    with opened(out) as kept:
        kept.add(some_cells()[0])
    assert stranger.read_text() == "mine" and out.exists()


def test_two_sweeps_on_one_file_are_refused(tmp_path):
    out = tmp_path / "out.csv"
    with opened(out) as kept:
        with pytest.raises(BindlibError, match="another sweep is writing"), opened(tmp_path / "." / "out.csv"):
            pass
        kept.add(some_cells()[0])
    with opened(out) as kept:
        assert len(kept.known) == 1


@pytest.mark.parametrize(
    ("name", "says"), [("out.txt", "unknown ending"), ("out", "unknown ending"), ("no/out.csv", "there is no folder")]
)
def test_an_out_that_cannot_be_is_said_at_once(tmp_path, name, says):
    with pytest.raises(BindlibError, match=says), opened(tmp_path / name):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_in_place_of_the_file(tmp_path):
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(BindlibError, match="no regular file"), opened(tmp_path / "out.csv"):
        pass


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """Simulated, as root may write everywhere."""
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(BindlibError, match="cannot be written: choose another"), opened(tmp_path / "out.csv"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "real" / "out.csv")
    with opened(link) as kept:
        kept.add(some_cells()[0])
    assert link.is_symlink() and len(read(link)) == 1


def test_the_sort_is_by_name(tmp_path):
    write(tmp_path / "out.jsonl", reversed(some_cells()))
    keys = [(row["encoder"], row["data"]) for row in map(json.loads, (tmp_path / "out.jsonl").open())]
    assert keys == sorted(keys) and results.COLUMNS[0] == "encoder"
