"""A chapter runs again when, and only when, something that it depends on has changed."""

import json
import os
from dataclasses import replace

import pytest
from tiny_books import PARAMETERS, code, make_book, md, notebook, write

from bindlib.book import cache
from bindlib.book.cache import Executed, Parameters
from bindlib.book.process import INHERITED

CELLS = [md("# One"), PARAMETERS, code("1 + 1")]


@pytest.fixture
def book(tiny):
    return make_book(tiny, one=CELLS)


def key(book, **parameters):
    return cache.key(book, book.chapters[0], Parameters(**parameters))


def test_the_key_follows_each_dependency(book, monkeypatch):
    write(book.root / "constraints.txt", "numpy==1")
    keys = [key(book), key(book, seed=1), key(book, profile="full"), key(book, device="cuda")]
    write(book.root / "constraints.txt", "numpy==2")
    keys.append(key(book))
    write(book.root / "chapters/one.ipynb", notebook(*CELLS, md("more")))
    keys.append(key(book))
    for name in (cache.DATA_VARIABLE, *cache.LIBRARIES):
        monkeypatch.setenv(name, "somewhere")
        keys.append(key(book))
    monkeypatch.setattr(cache, "_package", lambda: "other sources of bindlib")
    keys.append(key(book))
    monkeypatch.setattr(cache.sys, "version", "4.0")
    keys.append(key(book))
    assert len(set(keys)) == len(keys)


def test_what_a_run_inherits_is_of_the_key_or_changes_no_result(book, monkeypatch):
    harmless = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME", "BINDLIB_CACHE"}
    harmless |= {"PYTHONDONTWRITEBYTECODE", "JUPYTER_ALLOW_INSECURE_WRITES"}
    assert set(INHERITED) == harmless | {cache.DATA_VARIABLE, *cache.LIBRARIES}


def test_outputs_saved_from_jupyterlab_do_not_change_the_key(book):
    before = key(book)
    ran = [cell | ({"execution_count": 7, "outputs": []} if cell["cell_type"] == "code" else {}) for cell in CELLS]
    write(book.root / "chapters/one.ipynb", notebook(*ran))
    assert key(book) == before


def test_every_source_file_of_the_package_counts(tmp_path, monkeypatch):
    package = tmp_path / "bindlib"
    write(package / "__init__.py", "")
    write(package / "deep" / "module.py", "x = 1")
    monkeypatch.setattr(cache.bindlib, "__file__", str(package / "__init__.py"))
    digests = []
    for text in ("x = 1", "x = 2"):
        write(package / "deep" / "module.py", text)
        digests.append(cache._package.__wrapped__())
    write(package / "deep" / "__pycache__" / "module.pyc", "compiled")
    digests.append(cache._package.__wrapped__())
    assert digests[0] != digests[1] == digests[2]


def entry(book):
    return next((book.build / "executed").rglob("*.json"))


def test_what_is_saved_is_loaded_and_other_parameters_have_their_own(book):
    page, parameters = book.chapters[0], Parameters()
    executed = Executed(notebook(md("done")), 1.5, "k")
    cache.save(book, page, parameters, executed)
    assert cache.load(book, page, parameters) == executed
    assert cache.load(book, page, replace(parameters, profile="full")) is None
    assert cache.load(book, page, replace(parameters, seed=3)) is None


def test_the_last_intact_run_is_found_whatever_its_parameters(book):
    page = book.chapters[0]
    assert cache.load_any(book, page) is None
    for time, profile in enumerate(["ci", "full", "late"], start=1):
        cache.save(book, page, Parameters(profile), Executed(notebook(md(profile)), 1.0, "k"))
        os.utime(cache._file(book, page, Parameters(profile)), (time, time))
    cache._file(book, page, Parameters("late")).write_text("{", encoding="utf-8")
    os.utime(cache._file(book, page, Parameters("late")), (9, 9))
    assert cache.load_any(book, page).notebook == notebook(md("full"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace("done", "gone"),
        lambda text: json.dumps({"key": "k"}),
    ],
    ids=["cut", "empty", "a list", "altered", "incomplete"],
)
def test_a_damaged_entry_is_no_entry(book, damage):
    page, parameters = book.chapters[0], Parameters()
    cache.save(book, page, parameters, Executed(notebook(md("done")), 1.5, "k"))
    entry(book).write_text(damage(entry(book).read_text()))
    assert cache.load(book, page, parameters) is None
