"""A build's progress on the terminal: a bar where there is one, plain lines in a log."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bindlib.book.build import Outcome
from bindlib.book.layout import Page


class Terminal:
    """Listens to a build and writes to standard error."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
        columns += (MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = None

    def __enter__(self) -> "Terminal":
        self._progress.start()
        return self

    def __exit__(self, *_) -> None:
        self._progress.stop()

    def told(self, line: str) -> None:
        self._say(line)

    def start(self, chapters: int) -> None:
        self._say(f"executing {_count(chapters)}")
        self._task = self._progress.add_task("executing", total=chapters)

    def executed(self, page: Page, seconds: float) -> None:
        self._say(f"  {page.name}: {seconds:.1f} s")
        self._progress.advance(self._task)

    def stale(self, page: Page) -> None:
        self._say(f"  {page.name}: not asked for; shown as it last ran, or without results if it never did")

    def rendering(self) -> None:
        self._say("rendering")
        self._progress.add_task("rendering", total=None)

    def finished(self, outcome: Outcome) -> None:
        if outcome.fresh:
            parts = [f"executed {_count(outcome.fresh)} in {outcome.execution:.1f} s"]
        else:
            parts = ["no chapter to execute"]
        if outcome.rendering is None:
            parts.append("nothing to render")
        else:
            parts.append(f"rendered in {outcome.rendering:.1f} s")
        self._say(f"{', '.join(parts)}; the book is at\n{outcome.index}")

    def _say(self, line: str) -> None:
        self._progress.console.print(line)


def _count(chapters: int) -> str:
    return f"{chapters} chapter{'' if chapters == 1 else 's'}"
