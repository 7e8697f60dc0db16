"""Files that are never half written, and committed tables of rows as CSV."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def put(path: Path, content: bytes) -> None:
    """Let the file hold ``content``, and at no moment half of it. Raises ``OSError``, which names the file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the name on an empty file
        os.replace(temporary, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk names none
        raise
    finally:
        temporary.unlink(missing_ok=True)


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
