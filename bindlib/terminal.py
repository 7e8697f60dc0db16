"""What a command writes: results to standard output (JSON or a table), all else to standard error."""

import io
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from bindlib.errors import printable

UNBROKEN = 14  # a cell of a table up to so long is never broken
BROKEN_PIPE = 141  # what a shell says of a program that the signal PIPE ended


def take_streams() -> None:
    """Let standard output carry what this program says there, and nothing else.

    Libraries may write to the file descriptor 1 itself, and the processes that they start inherit it: from here on it
    is standard error's. A closed stream swallows what is written: ``print`` would send it to the other one. A character
    that a stream cannot encode is spelled out.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for the process's life)
    if sys.stdout is sys.__stdout__ and sys.stdout.fileno() == 1:
        own = os.dup(1)
        os.dup2(2 if _is_open(2) else os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout = sys.__stdout__ = open(own, "w", encoding=sys.stdout.encoding)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def log_to_stderr(debug: bool) -> None:
    """Warnings go to standard error, each once and safe to show; with ``debug`` all that this package logs."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="bindlib: %(message)s")
    logging.getLogger().handlers[0].addFilter(_first_time())
    logging.getLogger("bindlib").setLevel(logging.DEBUG if debug else logging.WARNING)


def _first_time() -> Callable[[logging.LogRecord], bool]:
    told: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        shown = printable if record.levelno < logging.WARNING else one_line  # a traceback has lines
        record.msg, record.args = shown(record.getMessage()), ()
        return not (record.msg in told or told.add(record.msg))

    return is_new


def say(line: str) -> None:
    """A line on standard error, and one only: a line feed in what it tells of cannot begin another."""
    print(one_line(line), file=sys.stderr)


def one_line(text: str) -> str:
    """``text``, printable, with its line feeds spelled out."""
    return printable(text).replace("\n", "\\n")


def ascii_json(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON of printable ASCII characters and line feeds; ``ValueError`` if a number is not finite."""
    return json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")


@contextmanager
def output() -> Iterator[None]:
    """Write to standard output in here: a failure is then this command's, and not the interpreter's at its end."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # what is still buffered would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # whoever reads it has seen enough, as `head` has
            raise SystemExit(BROKEN_PIPE) from error
        error.filename = "standard output"
        raise


def show(rows: list[Mapping[str, Any]], as_json: bool, columns: tuple[str, ...]) -> None:
    """Print rows as JSON, or as a table of ``columns``."""
    if as_json:
        with output():
            print(ascii_json(_plain(rows), indent=2))
        return
    from rich.console import Console

    console = Console()
    # In a file a line may have any length; on a terminal a broken number is no number, so columns go first.
    limited = console.is_terminal or "COLUMNS" in os.environ
    table, shown = _fitting(console, rows, columns, console.width if limited else None)
    console.width = max(console.width, _needed(console, table))
    with console.capture() as drawn:
        console.print(table)
    with output():
        print(drawn.get(), end="")
    if left := columns[len(shown) :]:
        say(f"no room for {', '.join(left)}: a wider terminal or --json shows them")


def _fitting(console: Any, rows: list[Mapping[str, Any]], columns: tuple[str, ...], width: int | None) -> tuple:
    """The table of as many of the first columns as fit into ``width``, at least two, and those columns."""
    for n in range(len(columns), 1, -1):
        table = _table(rows, columns[:n])
        if n <= 2 or width is None or _needed(console, table) <= width:
            return table, columns[:n]
    return _table(rows, columns), columns


def _needed(console: Any, table: Any) -> int:
    return console.measure(table, options=console.options.update(width=1000)).minimum


def _table(rows: list[Mapping[str, Any]], columns: tuple[str, ...]) -> Any:
    from rich.box import SIMPLE
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for column in columns:
        cells = [printable(_cell(row.get(column))) for row in rows]
        whole = max(map(len, cells), default=0) <= UNBROKEN
        header = column.replace("_", "\n" if whole else " ")
        name = not any(" " in cell for cell in cells)  # half a name cannot be copied
        # Rich takes a column to be as narrow as its longest word, also where nothing may be broken.
        least = max(map(cell_len, cells), default=0) if whole or name else None
        table.add_column(header, no_wrap=whole or name, min_width=least, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(_cell(row.get(column)))) for column in columns))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """JSON values; JSON has no NaN and no infinity, so both become null, and half a character is spelled out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if hasattr(value, "item"):  # a NumPy scalar
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
