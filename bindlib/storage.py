"""Files that are never half written, and committed tables of rows as CSV."""

import csv
import io
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from secrets import token_hex
from typing import Any

ABANDONED_SECONDS = 3600.0  # after so long a temporary file has no writer any more

Row = dict[str, Any]


def put(path: Path, content: bytes) -> None:
    """Let the file hold ``content``, and at no moment half of it. Raises ``OSError``, which names the file.

    Of several writers at a time each writes a whole file, and the last one's stays.
    """
    start = f".{path.name[:40]}"  # a name has at most 255 bytes
    _clear(path.parent, start)
    temporary = path.with_name(f"{start}.{token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the name on an empty file
        os.replace(temporary, path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # a full disk names none, and else it is the temporary one
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _clear(folder: Path, start: str) -> None:
    """Remove what killed writers left; one that is at work now has not been for so long."""
    for left in folder.glob(f"{escape(start)}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink()


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], number: str, note: str = "") -> None:
    """Write rows of equal keys as CSV, floats in the format ``number``, below a comment line with the ``note``."""
    text = io.StringIO(newline="")
    if note:
        text.write(f"# {note}\n")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: format(v, number) if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, text.getvalue().encode())


def read_rows(path: Path, words: Sequence[str] = ()) -> list[Row]:
    """The rows of a file of `write_rows`; a cell that reads as a number is one, except in the columns ``words``."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = (line for i, line in enumerate(file) if i or not line.startswith("# "))
        return [{k: v if k in words else _value(v) for k, v in row.items()} for row in csv.DictReader(lines)]


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
