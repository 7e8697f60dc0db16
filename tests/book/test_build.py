"""Whole builds of tiny books: what is done again, what is left as it was, and what the reader gets."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tiny_books import PARAMETERS, alive, code, make_book, md, wait_until, write

from bindlib.book.build import _recover, _rendering_report, _replace, build
from bindlib.book.cache import Parameters
from bindlib.book.execute import Runner
from bindlib.book.layout import Book
from bindlib.errors import BindlibError, CheckFailed

COUNT = code("import os\nwith open(f'../{os.getpid()}.ran', 'w') as file:\n    pass", "remove-cell")
ONE = [
    md("(one)=\n# One"),
    PARAMETERS,
    COUNT,
    code("x = 2 / 3"),
    md(
        ":::{admonition} At most {eval}`f'{x:.3f}'`\n| a |\n|---|\n| {eval}`'a|b <i>'` |\n:::\n\n"
        "Roles look like `{eval}`."
    ),
]
TWO = [md("# Two\n\nSee {ref}`one`."), PARAMETERS, COUNT, code("print(seed)")]


class Quiet:
    """A listener that keeps what it is told."""

    def __init__(self):
        self.heard = []

    def __getattr__(self, event):
        return lambda *told: self.heard.append((event, *told))

    def names(self, event):
        return sorted(told[0].name for kind, *told in self.heard if kind == event)


def run(root, only=(), force=False, **parameters):
    book, listener = Book.find(root), Quiet()
    outcome = build(Runner(book, Parameters(**parameters), jobs=2), listener, book.select(only), force)
    return outcome, listener


def ran(root) -> int:
    return len(list(root.glob("*.ran")))


def pages(root) -> dict:
    """Contents and times of all rendered files: what must not be touched."""
    html = root / "_build/html"
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in html.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A book that was built once."""
    root = tmp_path_factory.mktemp("books") / "a book {of} two"
    root.mkdir()
    make_book(root, one=ONE, two=TWO)
    run(root)
    return root


@pytest.fixture
def built(first, tmp_path):
    """A copy of it, to change."""
    return shutil.copytree(first, tmp_path / "a copy", copy_function=shutil.copy2)


def test_the_reader_gets_values_in_prose_and_nothing_of_the_machine(first):
    one = (first / "_build/html/chapters/one.html").read_text()
    assert "At most 0.667" in one and "<td" in one and "a|b &lt;i&gt;" in one and "{eval}</span>" in one
    assert "bindlib.book.prose" not in one
    assert "_build/html/chapters/one.html" not in one and (first / "_build/html/index.html").is_file()
    texts = (path for path in (first / "_build/html").rglob("*") if path.suffix in (".html", ".js", ".ipynb", ".json"))
    assert [path for path in texts if str(first) in path.read_text(encoding="utf-8", errors="replace")] == []


def test_the_times_are_kept(first):
    timings = json.loads((first / "_build/timings.json").read_text())
    assert timings["profile"] == "ci" and timings["seed"] == 0
    assert timings["execution_seconds"] > 0 and timings["rendering_seconds"] > 0
    assert {name: chapter["executed_now"] for name, chapter in timings["chapters"].items()} == {
        "chapters/one": True,
        "chapters/two": True,
    }


def test_with_nothing_changed_nothing_is_done(built):
    before, runs = pages(built), ran(built)
    outcome, listener = run(built)
    assert outcome.fresh == 0 and outcome.rendering is None and listener.heard == []
    assert pages(built) == before and ran(built) == runs == 2


def test_only_a_changed_chapter_runs_again_and_changed_pages_are_rendered(built):
    write(built / "chapters/one.ipynb", (built / "chapters/one.ipynb").read_text().replace("2 / 3", "1 / 8"))
    write(built / "chapters/welcome.md", "# Hello again\n")
    outcome, listener = run(built)
    assert listener.names("executed") == ["chapters/one"] and outcome.rendering > 0
    assert ran(built) == 3
    assert "At most 0.125" in (built / "_build/html/chapters/one.html").read_text()
    assert "Hello again" in (built / "_build/html/chapters/welcome.html").read_text()


def test_a_damaged_entry_of_the_cache_costs_a_run_and_nothing_else(built):
    entry = next((built / "_build/executed").rglob("two.json"))
    entry.write_text(entry.read_text()[:-100])
    outcome, listener = run(built)
    assert listener.names("executed") == ["chapters/two"]
    assert outcome.rendering is None  # the same results give the same pages


def test_only_the_chapters_asked_for_run_and_others_are_shown_as_they_ran(built):
    for name in ("one", "two"):
        path = built / f"chapters/{name}.ipynb"
        write(path, path.read_text().replace("2 / 3", "1 / 8").replace("print(seed)", "print('second')"))
    shutil.rmtree(built / "_build/html")
    _, listener = run(built, only=["one"])
    assert listener.names("executed") == ["chapters/one"] and listener.names("stale") == ["chapters/two"]
    assert "At most 0.125" in (built / "_build/html/chapters/one.html").read_text()
    assert "second" not in (built / "_build/html/chapters/two.html").read_text()


def test_a_chapter_that_never_ran_is_shown_without_results(built):
    next((built / "_build/executed").rglob("one.json")).unlink()
    _, listener = run(built, only=["two"], seed=1)
    assert listener.names("executed") == ["chapters/two"] and listener.names("stale") == ["chapters/one"]
    one = (built / "_build/html/chapters/one.html").read_text()
    assert "At most …" in one and "not executed" in one


def test_a_failing_chapter_leaves_the_book_and_exits_with_1(built):
    before = pages(built)
    write(built / "chapters/two.ipynb", (built / "chapters/two.ipynb").read_text().replace("print(seed)", "1 / 0"))
    finished = command(built)
    assert finished.wait() == 1
    assert "bindlib: chapters/two, cell 4, line 1: 1 / 0\n" in (words := finished.stderr.read())
    assert "ZeroDivisionError" in words and "build.py" not in words
    assert pages(built) == before


def test_a_warning_of_the_renderer_leaves_the_book_and_is_not_forgotten(built):
    before = pages(built)
    write(built / "chapters/welcome.md", "# Welcome\n\n{ref}`nowhere`\n")
    for _ in range(2):
        with pytest.raises(
            CheckFailed, match=r"(?s)rendering failed.*chapters/welcome\.md.*undefined label: 'nowhere'"
        ):
            run(built)
    assert pages(built) == before


def command(root) -> subprocess.Popen:
    line = [sys.executable, "-m", "bindlib.cli", "book", "--device", "cpu"]
    return subprocess.Popen(line, cwd=root, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_executing_nothing_stays_behind_and_the_next_build_works(built, number):
    before = pages(built)
    hang = "open('../hangs', 'w'); import time; time.sleep(60)"
    source = (built / "chapters/two.ipynb").read_text()
    write(built / "chapters/two.ipynb", source.replace("print(seed)", hang))
    family = stop(built, number, (built / "hangs").exists)
    assert len(family) >= 2  # papermill and its kernel
    assert pages(built) == before
    write(built / "chapters/two.ipynb", source)
    outcome, _ = run(built)
    assert outcome.fresh == 0 and outcome.rendering is None


def test_stopped_while_rendering_no_half_written_page_is_seen_and_the_next_build_works(built):
    before = pages(built)
    write(built / "chapters/welcome.md", "# Hello again\n")
    stop(built, signal.SIGINT, (built / "_build/render/_build/html").exists)
    assert pages(built) == before
    outcome, _ = run(built)
    assert outcome.fresh == 0
    assert "Hello again" in (built / "_build/html/chapters/welcome.html").read_text()


def stop(root, number, when) -> list[int]:
    """Start a build, stop it once ``when()`` is true, and return the processes that it had, all of them ended."""
    process = command(root)
    assert wait_until(when, 60)
    family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    asked = time.monotonic()
    process.send_signal(number)
    assert process.wait(20) == 130 and time.monotonic() - asked < 10
    assert "stopped" in process.stderr.read()
    assert wait_until(lambda: not any(map(alive, family)))
    return family


def test_two_builds_do_not_share_a_folder(built):
    class Nested(Quiet):
        def start(self, chapters):
            with pytest.raises(BindlibError, match=f"another build is at work.*process {os.getpid()} "):
                run(built)
            raise CheckFailed("enough")

    book = Book.find(built)
    with pytest.raises(CheckFailed, match="enough"):
        build(Runner(book, Parameters(seed=9)), Nested())


def test_old_pages_come_back_when_new_ones_cannot_be_put_in_place(tmp_path):
    html = tmp_path / "html"
    write(html / "index.html", "old")
    with pytest.raises(FileNotFoundError):
        _replace(html, tmp_path / "missing")
    assert (html / "index.html").read_text() == "old"
    html.rename(tmp_path / "html.old")  # as a build leaves it that is killed between two renames
    _recover(html)
    assert (html / "index.html").read_text() == "old"
    write(tmp_path / "new/index.html", "new")
    _replace(html, tmp_path / "new")
    assert (html / "index.html").read_text() == "new" and not (tmp_path / "html.old").exists()


def test_killed_while_rendering_the_next_build_ends_what_survives_and_says_so(built):
    write(built / "chapters/welcome.md", "# Hello again\n")
    process = command(built)
    assert wait_until((built / "_build/render/_build").exists, 60)
    family = psutil.Process(process.pid).children(recursive=True)
    family[0].suspend()  # so that the outcome does not hang on who is faster
    process.kill()
    process.wait()
    outcome, listener = run(built)
    assert not any(alive(survivor.pid) for survivor in family)
    ((line,),) = [told for kind, *told in listener.heard if kind == "told"]
    assert f"process {process.pid} " in line and str(family[0].pid) in line
    assert outcome.rendering > 0
    assert "Hello again" in (built / "_build/html/chapters/welcome.html").read_text()


@pytest.mark.parametrize("debris", ["file", "link"])
def test_what_stands_in_the_way_of_the_build_folder_is_named(tiny, debris):
    make_book(tiny, one=ONE)
    if debris == "file":
        write(tiny / "_build", "")
    else:
        (tiny / "_build").symlink_to("nowhere")
    finished = command(tiny)
    assert finished.wait() == 2
    assert finished.stderr.read() == f"bindlib: {tiny / '_build'}: File exists\n"


def test_the_report_of_a_crash_is_plain_and_shows_the_lines_around_it(tmp_path):
    book, log = Book(tmp_path, ()), tmp_path / "log"
    noise = [f"reading {i}" for i in range(50)]
    write(log, "\n".join([*noise, "\x1b[31mException occurred:\x1b[0m", "  why", *noise]))
    lines = _rendering_report(book, log, 2, 1.0).splitlines()
    assert "Exception occurred:" in lines and "  why" in lines and len(lines) == 8
    write(log, "\n".join(noise))
    assert len(_rendering_report(book, log, 2, 1.0).splitlines()) == 21
