"""Files appear whole or not at all, whoever else writes them."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from bindlib import storage
from bindlib.storage import ABANDONED_SECONDS, put

WRITERS, SIZE = 4, 1 << 20


def write(path: Path, letter: bytes, barrier) -> None:
    for _ in range(20):
        barrier.wait()
        put(path, letter * SIZE)


def test_writers_at_the_same_time_each_leave_a_whole_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(WRITERS, timeout=30.0)  # a writer that fails lets the others go
    path = tmp_path / "file"
    put(path, b"z" * SIZE)
    letters = [b"a", b"b", b"c", b"d"]
    writers = [context.Process(target=write, args=(path, letter, barrier)) for letter in letters]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        content = path.read_bytes()
        seen.add((len(content), len(set(content))))
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert seen == {(SIZE, 1)}
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_writers_left_is_cleared_away_and_nothing_else(tmp_path):
    path, old = tmp_path / "a [file].csv", time.time() - ABANDONED_SECONDS - 1
    names = [".a [file].csv.0123.part", ".a [file].csv.4567.part", ".a f.csv.0123.part", "a [file].csv.0123.part"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in (names[0], *names[2:]):
        os.utime(tmp_path / name, (old, old))
    put(path, b"whole")
    assert {left.name for left in tmp_path.iterdir()} == {path.name, *names[1:]}


def test_a_failure_names_the_file_and_leaves_what_was_there(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        put(tmp_path / "folder", b"x")
    assert (raised.value.filename, raised.value.filename2) == (str(tmp_path / "folder"), None)
    with pytest.raises(FileNotFoundError) as raised:
        put(tmp_path / "none" / "file", b"x")
    assert raised.value.filename == str(tmp_path / "none" / "file")
    put(tmp_path / "file", b"before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        put(tmp_path / "file", b"after")
    assert raised.value.filename == str(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"before"
    assert {left.name for left in tmp_path.iterdir()} == {"file", "folder"}


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    put(tmp_path / ("x" * 255), b"whole")
    assert (tmp_path / ("x" * 255)).read_bytes() == b"whole"
