import logging
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindlib.encoders import cache, zoo
from bindlib.encoders.base import BATCH, Nowhere, TextTower
from bindlib.errors import BindlibError

DIM = 8
CAPTIONS = [f"a caption number {i}, {'and so on, ' * (i % 5)}" for i in range(3 * BATCH)]


def rows_of(captions: list[str]) -> np.ndarray:
    """A row a caption that depends on nothing else."""
    return np.array([np.random.default_rng(list(caption.encode())).standard_normal(DIM) for caption in captions])


class Toy:
    """A tower that notes what it had to encode, with its cache in ``folder``."""

    def __init__(self, folder: Path, **changes):
        self.encoded: list[str] = []
        made_by = cache.digest("toy", changes.get("revision", "1"))
        tower = TextTower("toy", "1", None, self._vectors, store=cache.Embeddings(folder / cache.FILE, made_by))
        self.encode, self.store = tower.encode_text, tower.store

    def _vectors(self, captions):
        self.encoded += captions
        return rows_of(captions)


TRUTH = TextTower("toy", "1", None, rows_of).encode_text(CAPTIONS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A folder with a cache of ``CAPTIONS``; not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    Toy(folder).encode(CAPTIONS)
    return folder


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    shutil.copy(whole / cache.FILE, tmp_path)
    return tmp_path


def _lines(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_rows_are_the_same_bits_cold_and_warm_and_no_caption_is_encoded_twice(tmp_path, caplog):
    first, second = Toy(tmp_path), Toy(tmp_path)
    np.testing.assert_array_equal(first.encode(CAPTIONS[:100] * 2), np.concatenate([TRUTH[:100]] * 2))
    np.testing.assert_array_equal(second.encode(CAPTIONS[::-1]), TRUTH[::-1])
    assert sorted(first.encoded) == sorted(CAPTIONS[:100])
    assert sorted(second.encoded) == sorted(CAPTIONS[100:])
    assert _lines(caplog) == []


@pytest.mark.parametrize("name", ["minilm", "random-clip:0"])
def test_a_real_encoder_gives_the_same_bits_cold_and_warm(name, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    plain, captions = encoder(name).encode_text(CAPTIONS[:40]), CAPTIONS[:40]
    np.testing.assert_array_equal(cache.cached(encoder(name), "cpu").encode_text(captions), plain)
    warm = cache.cached(encoder(name), "cpu")
    object.__setattr__(warm, "vectors", None)
    np.testing.assert_array_equal(warm.encode_text(captions), plain)
    # New captions beside known ones fall into other batches.
    mixed = cache.cached(encoder(name), "cpu").encode_text(CAPTIONS[30:50])
    np.testing.assert_allclose(mixed, encoder(name).encode_text(CAPTIONS[30:50]), atol=1e-6)


def _keys(monkeypatch, **changes) -> bytes:
    told = {"name": "minilm", "revision": "a", "device": "cpu", "implementation": b"1"} | changes
    monkeypatch.setattr(cache, "implementation", lambda: told["implementation"])
    tower = TextTower(told["name"], told["revision"], None, rows_of)
    return cache.cached(tower, told["device"]).store.made_by


@pytest.mark.parametrize("change", [{"name": "b"}, {"revision": "b"}, {"device": "cuda"}, {"implementation": b"2"}])
def test_whatever_makes_another_row_makes_another_key(change, monkeypatch):
    assert _keys(monkeypatch) == _keys(monkeypatch)
    assert _keys(monkeypatch) != _keys(monkeypatch, **change)


def test_another_encoder_finds_nothing(copy):
    other = Toy(copy, revision="2")
    other.encode(CAPTIONS)
    assert len(other.encoded) == len(CAPTIONS)


@given(st.lists(st.text(st.characters(), max_size=4), min_size=2, max_size=3))
def test_parts_do_not_run_into_each_other(parts):
    joined = ["".join(parts[:2]), *parts[2:]]
    assert cache.digest(*parts) != cache.digest(*joined)
    assert cache.digest(*parts) == cache.digest(*parts)


def test_code_and_versions_are_in_the_key(monkeypatch):
    before = cache.implementation.__wrapped__()
    assert before == cache.implementation.__wrapped__()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "version", lambda library: "other" if library == "torch" else "0")
        assert cache.implementation.__wrapped__() != before
    hashed = []
    monkeypatch.setattr(cache, "file_hash", lambda path: hashed.append(path.name) or "")
    cache.implementation.__wrapped__()
    assert {"base.py", "zoo.py", "onnx.py", "open_clip.py", "tokenizer.json"} <= {*hashed}


def _damage_is_harmless(folder: Path) -> None:
    toy = Toy(folder)
    np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    again = Toy(folder)
    np.testing.assert_array_equal(again.encode(CAPTIONS), TRUTH)
    assert again.encoded == []


@settings(max_examples=300)
@given(st.data())
def test_a_flipped_bit_anywhere_never_changes_a_row(whole, tmp_path_factory, data):
    content = bytearray((whole / cache.FILE).read_bytes())
    written = np.flatnonzero(np.frombuffer(content, np.uint8))
    content[data.draw(st.sampled_from(list(written)))] ^= 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("flipped")
    (folder / cache.FILE).write_bytes(content)
    _damage_is_harmless(folder)


@settings(max_examples=100)
@given(st.data())
def test_a_truncated_or_overwritten_file_never_changes_a_row(whole, tmp_path_factory, data):
    content = (whole / cache.FILE).read_bytes()
    start = data.draw(st.integers(0, len(content)))
    rest = data.draw(st.one_of(st.just(b""), st.binary(max_size=300).map(lambda b: b + content[start + len(b) :])))
    folder = tmp_path_factory.mktemp("cut")
    (folder / cache.FILE).write_bytes(content[:start] + rest)
    _damage_is_harmless(folder)


def test_a_damaged_row_is_told_in_one_line_and_encoded_again(copy, caplog):
    with sqlite3.connect(copy / cache.FILE) as database:
        for rowid, value in database.execute("SELECT id, value FROM rows LIMIT 3").fetchall():
            value = bytearray(value)
            value[20] ^= 1
            database.execute("UPDATE rows SET value = ? WHERE id = ?", (bytes(value), rowid))
    database.close()
    toy = Toy(copy)
    np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    assert len(toy.encoded) == 3
    (line,) = _lines(caplog)
    assert f"it is damaged (3 of {len(CAPTIONS)} embeddings fail their checksums): starting it anew" in line
    assert str(copy) in line and "\n" not in line
    after = Toy(copy)
    after.encode(CAPTIONS)
    assert after.encoded == []


def test_a_row_under_the_key_of_another_is_not_taken_for_it(copy):
    with sqlite3.connect(copy / cache.FILE) as database:
        (first, one), (second, two) = database.execute("SELECT id, value FROM rows LIMIT 2").fetchall()
        database.executemany("UPDATE rows SET value = ? WHERE id = ?", [(two, first), (one, second)])
    database.close()
    np.testing.assert_array_equal(Toy(copy).encode(CAPTIONS), TRUTH)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough for a header" * 100, b"\0" * 5000])
def test_a_file_that_is_no_database_is_replaced_with_one_warning(content, tmp_path, caplog):
    (tmp_path / cache.FILE).write_bytes(content)
    toy = Toy(tmp_path)
    for _ in range(3):
        np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    (line,) = _lines(caplog)
    assert "it is damaged (file is not a database): starting it anew" in line
    assert len(toy.encoded) == len(CAPTIONS)


def test_what_sqlite_says_in_several_lines_is_told_in_one(tmp_path, caplog, monkeypatch):
    def damaged(*_):
        raise sqlite3.DatabaseError("*** in database main ***\nFragmentation of 9 bytes on page 4")

    monkeypatch.setattr(cache.Embeddings, "_check", damaged)
    np.testing.assert_array_equal(Toy(tmp_path).encode(CAPTIONS), TRUTH)
    assert all("\n" not in line for line in _lines(caplog))
    assert "(*** in database main *** Fragmentation of 9 bytes on page 4)" in _lines(caplog)[0]


@pytest.mark.parametrize("place", ["a file", "/proc/1/no-such-folder", "/dev/null", "a folder of its name"])
def test_where_nothing_can_be_kept_measuring_goes_on_with_one_warning(place, tmp_path, caplog):
    folder = tmp_path / "cache" if place.startswith("a ") else Path(place)
    if place == "a file":
        folder.write_text("mine")
    if place == "a folder of its name":
        (folder / cache.FILE).mkdir(parents=True)
    toy = Toy(folder)
    for _ in range(3):
        np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    (line,) = _lines(caplog)
    assert "going on without it" in line and cache.VARIABLE in line and "\n" not in line
    assert len(toy.encoded) == 3 * len(CAPTIONS)
    if place == "a file":
        assert folder.read_text() == "mine"


def test_what_can_only_be_read_is_read(copy, monkeypatch, caplog):
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **kw: connect(f"file:{path}?mode=ro", uri=True, **kw))
    toy = Toy(copy)
    new = [f"new {i}" for i in range(2 * BATCH)]
    toy.encode(new + CAPTIONS)
    np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    assert sorted(toy.encoded) == sorted(new)
    (line,) = _lines(caplog)
    assert "cannot be written (attempt to write a readonly database)" in line


def test_a_cache_that_another_process_blocks_is_left_alone(copy, monkeypatch, caplog):
    monkeypatch.setattr(cache, "PATIENCE_SECONDS", 0.05)
    blocker = sqlite3.connect(copy / cache.FILE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    np.testing.assert_array_equal(Toy(copy).encode(CAPTIONS), TRUTH)
    blocker.close()
    (line,) = _lines(caplog)
    assert "cannot be read (database is locked): going on without it" in line
    after = Toy(copy)
    after.encode(CAPTIONS)
    assert after.encoded == []


def test_rows_that_are_no_vectors_are_never_kept(tmp_path):
    bad = TextTower("toy", "1", None, lambda captions: np.full((len(captions), DIM), np.nan), store=Toy(tmp_path).store)
    for _ in range(2):
        with pytest.raises(BindlibError, match="not finite"):
            bad.encode_text(["a"])
    assert Toy(tmp_path).store.get(["a"]) == {}


def test_a_captions_half_character_is_no_fault(tmp_path):
    store = cache.Embeddings(tmp_path / cache.FILE, b"")
    store.put({"\ud800": np.ones(3, np.float32)})
    np.testing.assert_array_equal(store.get(["\ud800", "\udc00"])["\ud800"], np.ones(3))


def _child(folder: Path, code: str, **kw) -> subprocess.Popen:
    """A process with this module's ``Toy`` on the cache in ``folder``."""
    start = (
        f"import sys, logging; sys.path.insert(0, {str(Path(__file__).parent)!r}); logging.basicConfig()\n"
        f"from test_cache import *; folder = Path({str(folder)!r})\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", start + code], stderr=subprocess.PIPE, text=True, env=env, **kw)


def test_a_full_disk_costs_one_warning_and_no_row(tmp_path):
    """No file may grow beyond six pages."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (49152, 49152))

    child = _child(
        tmp_path,
        "for _ in range(3):\n    toy = Toy(folder); big = [f'{i}' for i in range(2000)]\n"
        "    assert (toy.encode(CAPTIONS + big)[: len(CAPTIONS)] == TRUTH).all()\n",
        preexec_fn=limit,
    )
    told = child.communicate(timeout=60)[1].splitlines()
    assert child.returncode == 0, told
    assert len(told) == 1 and "cannot be written (" in told[0] and "going on without it" in told[0]
    np.testing.assert_array_equal(Toy(tmp_path).encode(CAPTIONS), TRUTH)


def test_sqlite_s_own_word_for_a_full_disk_is_understood(copy, monkeypatch, caplog):
    connect = sqlite3.connect

    def full(path, **kw):
        database = connect(path, **kw)
        database.execute("PRAGMA max_page_count = 1")  # no less than there are already
        return database

    monkeypatch.setattr(sqlite3, "connect", full)
    toy = Toy(copy)
    toy.encode([f"{i}" for i in range(2000)] + CAPTIONS)
    np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
    (line,) = _lines(caplog)
    assert "cannot be written (database or disk is full)" in line


def test_several_processes_share_a_cache(tmp_path):
    code = "captions = CAPTIONS[int(sys.stdin.readline()) :: 2] + CAPTIONS[:50]\nToy(folder).encode(captions * 2)\n"
    children = [_child(tmp_path, code, stdin=subprocess.PIPE) for _ in range(4)]
    for i, child in enumerate(children):  # all at once, after their imports
        child.stdin.write(f"{i % 2}\n")
        child.stdin.flush()
    assert [child.communicate(timeout=60)[1] for child in children] == [""] * 4
    after = Toy(tmp_path)
    np.testing.assert_array_equal(after.encode(CAPTIONS), TRUTH)
    assert after.encoded == []


def test_a_writer_killed_at_any_moment_leaves_whole_rows(tmp_path, caplog):
    code = (
        "import itertools\nToy(folder).encode(CAPTIONS)\nprint(flush=True)\n"
        "for i in itertools.count(): Toy(folder).store.put({f'{i} {j}': np.ones(500, np.float32) for j in range(64)})\n"
    )
    rng = np.random.default_rng(0)
    for _ in range(4):
        child = _child(tmp_path, code, stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(rng.uniform(0.02, 0.2))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        toy = Toy(tmp_path)
        np.testing.assert_array_equal(toy.encode(CAPTIONS), TRUTH)
        assert toy.encoded == []
    assert _lines(caplog) == []


def test_the_folder_is_the_named_one_or_the_user_s(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "named"))
    assert cache.folder() == tmp_path / "named"
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / ("xdg/bindlib" if sys.platform == "linux" else cache.folder())
    assert Path(__file__).parents[2] not in cache.folder().parents


def test_clearing_removes_the_cache_and_nothing_else(monkeypatch, copy):
    monkeypatch.setenv(cache.VARIABLE, str(copy))
    size = (copy / cache.FILE).stat().st_size
    (copy / f"{cache.FILE}-journal").write_bytes(b"x" * 10)
    (copy / "mine").write_text("mine")
    assert cache.clear() == size + 10
    assert [path.name for path in copy.iterdir()] == ["mine"]
    assert cache.clear() == 0


def test_only_encoders_worth_it_and_known_by_their_revision_are_cached(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    (tmp_path / "my_encoder_in_no_cache.py").write_text("def encode(captions): return [[1.0]] * len(captions)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("glove", "python:my_encoder_in_no_cache:encode"):
        assert isinstance(zoo.load_encoder(name, cache=True).store, Nowhere)
    assert isinstance(zoo.load_encoder("random-clip:0").store, Nowhere)
    store = zoo.load_encoder("random-clip:0", cache=True).store
    assert isinstance(store, cache.Embeddings) and store.path == tmp_path / cache.FILE


def test_warnings_go_to_the_log_of_the_package():
    assert cache.log.name.startswith("bindlib.") and cache.log.getEffectiveLevel() <= logging.WARNING


def test_the_command_clears_the_cache_and_says_where_it_was(copy):
    run = subprocess.run(
        [sys.executable, "-m", "bindlib.cli", "encoders", "--clear-cache"],
        capture_output=True,
        text=True,
        env=os.environ | {cache.VARIABLE: str(copy)},
    )
    assert (run.returncode, run.stdout, list(copy.iterdir())) == (0, "", [])
    assert run.stderr.startswith("removed 0.0 MB of embeddings from ") and str(copy) in run.stderr


def test_where_there_is_no_home_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    tower = TextTower("mine", "0", None, lambda captions: np.ones((len(captions), 2)))
    for named in ("", "~no-such-user/cache"):
        monkeypatch.setenv(cache.VARIABLE, named)
        assert cache.folder() is None and cache.clear() == 0
        assert cache.cached(tower, "cpu").encode_text(["one"]).shape == (1, 2)
