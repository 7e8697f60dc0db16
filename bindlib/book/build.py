"""From sources to a rendered book: execute what changed, stage, check, render, and only then replace the old book."""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from bindlib.book import cache
from bindlib.book.cache import Executed
from bindlib.book.execute import Runner
from bindlib.book.layout import Book, Page, emptied
from bindlib.book.lock import alone
from bindlib.book.process import environment, run, words
from bindlib.book.stage import stage
from bindlib.errors import CheckFailed


class Listener(Protocol):
    """What a build tells of its progress."""

    def told(self, line: str) -> None:
        """What else there is to know."""

    def start(self, chapters: int) -> None:
        """So many chapters are about to be executed."""

    def executed(self, page: Page, seconds: float) -> None: ...

    def stale(self, page: Page) -> None:
        """A chapter that was not asked for is shown as it last ran, or without results if it never did."""

    def rendering(self) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """What a build did.  Times are in seconds; ``rendering`` is ``None`` when the rendered book was up to date."""

    index: Path
    chapters: dict[str, Executed]
    execution: float
    rendering: float | None

    @property
    def fresh(self) -> int:
        return sum(chapter.fresh for chapter in self.chapters.values())


def build(runner: Runner, listener: Listener, only: Sequence[Page] = (), force: bool = False) -> Outcome:
    """Bring ``_build/html`` up to date.

    With ``only``, other chapters are not executed: each is shown as it last ran, or without results if it never did.
    ``force`` executes chapters that have not changed, and renders.

    Raises ``CheckFailed`` with a report when a chapter or the rendering fails; the previous pages then stay.
    """
    book = runner.book
    with alone(book.build, listener.told):
        start = time.monotonic()
        chapters = _execute(runner, listener, only, force)
        execution = time.monotonic() - start
        stage(book, {name: chapter.notebook for name, chapter in chapters.items()})
        strict = len(chapters) == len(book.chapters)
        rendering = _render(runner, listener, strict, force)
        outcome = Outcome(book.html / "index.html", chapters, execution, rendering)
        if outcome.fresh or rendering is not None:
            _write_timings(runner, outcome)
        return outcome


def _execute(runner: Runner, listener: Listener, only: Sequence[Page], force: bool) -> dict[str, Executed]:
    """The executed notebook of every chapter that has one, by page name."""
    chapters, due = {}, []
    for page in runner.book.chapters:
        asked = not only or page in only
        last = cache.load(runner.book, page, runner.parameters)
        current = last and last.key == cache.key(runner.book, page, runner.parameters)
        if asked and (force or not current):
            due.append(page)
            continue
        if not current:
            listener.stale(page)
            last = last or cache.load_any(runner.book, page)
        if last:
            chapters[page.name] = last

    def done(page: Page, executed: Executed) -> None:
        chapters[page.name] = executed
        listener.executed(page, executed.seconds)

    if due:
        listener.start(len(due))
        runner.run_all(due, done)
    return chapters


def _render(runner: Runner, listener: Listener, strict: bool, force: bool) -> float | None:
    """Render the staged book in a folder of its own and put it in place: the seconds taken, ``None`` if not needed."""
    book, record = runner.book, runner.book.build / "html.key"
    sources = (path for path in book.staging.rglob("*") if path.is_file())
    key = cache.digest(cache.tree_digest(book.staging, sources), cache.environment(book.root), str(strict))
    _recover(book.html)
    if not force and _read(record) == key and (book.html / "index.html").is_file():
        return None
    listener.rendering()
    start = time.monotonic()
    rendered = _jupyter_book(book, strict, runner.timeout)
    record.unlink(missing_ok=True)
    _replace(book.html, rendered)
    cache.write_atomically(record, key)
    shutil.rmtree(book.build / "render")
    return time.monotonic() - start


def _jupyter_book(book: Book, strict: bool, timeout: float) -> Path:
    """The folder with the freshly rendered pages.

    Always from nothing: Sphinx repeats no warning of a page that it does not read again, so a page with a warning
    would pass the second time.  Pages that were not executed lack the figures that others refer to, hence ``strict``.
    """
    output, log = emptied(book.build / "render"), book.build / "render.log"
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", str(book.staging), "--path-output", str(output)]
    command += ["-W", "--keep-going"] if strict else []
    status = run(command, book.root, log, environment(), timeout, Event())
    if status != 0:
        raise CheckFailed(_rendering_report(book, log, status, timeout))
    return output / "_build" / "html"


def _rendering_report(book: Book, log: Path, status: int | None, timeout: float) -> str:
    text = words(log.read_text(encoding="utf-8", errors="replace"))
    lines = text.replace(f"{book.staging}{os.sep}", "").splitlines()
    faults = [line for line in lines if "WARNING" in line or "ERROR" in line] or _around_errors(lines) or lines[-20:]
    problem = f"took longer than {timeout:g} s" if status is None else "failed"
    return "\n".join([f"rendering {problem} (whole log: {log})", *faults])


def _around_errors(lines: list[str]) -> list[str]:
    """The lines that speak of an error, each with the three before and after it."""
    hits = [i for i, line in enumerate(lines) if re.search("exception|error", line, re.IGNORECASE)]
    return [line for i, line in enumerate(lines) if any(abs(i - hit) <= 3 for hit in hits)]


def _replace(html: Path, rendered: Path) -> None:
    """Put the folder ``rendered`` in the place of ``html``."""
    old = _aside(html)
    _remove(old)
    try:
        if html.exists():
            html.rename(old)
        rendered.rename(html)
    finally:
        _recover(html)
    _remove(old)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _recover(html: Path) -> None:
    """Bring the old pages back if a build was ended between taking them away and putting the new ones in place."""
    if not html.exists() and _aside(html).exists():
        _aside(html).rename(html)


def _aside(html: Path) -> Path:
    return html.with_name("html.old")


def _write_timings(runner: Runner, outcome: Outcome) -> None:
    chapters = {
        name: {"seconds": round(chapter.seconds, 2), "executed_now": chapter.fresh}
        for name, chapter in sorted(outcome.chapters.items())
    }
    rendering = None if outcome.rendering is None else round(outcome.rendering, 2)
    timings = runner.parameters.to_dict() | {
        "jobs": runner.jobs,
        "execution_seconds": round(outcome.execution, 2),
        "rendering_seconds": rendering,
        "chapters": chapters,
    }
    cache.write_atomically(runner.book.build / "timings.json", json.dumps(timings, indent=2) + "\n")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
