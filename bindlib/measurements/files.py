"""Files of captions: JSON of quartets; CSV and JSON lines of quartets, pairs or triplets, told apart by their columns.

A file is taken whole or refused in one line that says where its first fault lies. Nothing in it is dropped or mended:
a benchmark that quietly lost some of its items would no longer be the benchmark.
"""

import csv
import io
import json
import os.path
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError
from bindlib.measurements.items import ALL, COLUMNS, KINDS, SWAP, Item

QUARTETS = f'{{"quartets": [{{{", ".join(COLUMNS["quartets"])}}}, ...]}}'
THREE_KINDS = "; ".join(f"{kind} have the columns {', '.join(columns)}" for kind, columns in COLUMNS.items())
Record = tuple[str, Any]  # where it stands in the file, and what stands there


def read(data: str) -> tuple[Item, ...]:
    """The items of the file at the path ``data``: at least one, and all of one kind.

    * ``.json``: an object with the list ``"quartets"``.
    * ``.csv``: comma-separated with a header; ``.jsonl``: one object a line. Columns stand in any order; ``subset`` (of
      pairs and triplets) may be missing; other columns and blank lines are ignored.

    The text is UTF-8 and is taken as it stands; equal items are kept. Raises ``BindlibError`` on anything else, on an
    empty text, and on a text that equals the one it should differ from.
    """
    if not os.path.exists(data):
        raise BindlibError(
            f"no data named {data!r}: give quartets, quartets:WORDING, drawn, sugarcrepe, or the path of a .csv, "
            ".jsonl or .json file"
        )
    if not os.path.isfile(data):  # reading a pipe may wait for ever
        raise BindlibError(f"{data} cannot be read as it is no regular file: give a .csv, .jsonl or .json file")
    reader = READERS.get(Path(data).suffix.lower())
    if reader is None:
        raise BindlibError(f"{data} has an unknown ending: name it .csv, .jsonl or .json after what it holds")
    kind, records = reader(data, _text(data))
    if not records:
        raise BindlibError(f"{data} holds no {kind}: add at least one")
    return _items(data, kind, records)


def _text(path: str) -> str:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BindlibError(f"{path} cannot be read ({error.strerror or error}): check its permissions") from None
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise BindlibError(f"{path} cannot be read as UTF-8 text, it looks like UTF-16 or binary: save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BindlibError(f"{path} cannot be read as UTF-8 text ({error}): save it as UTF-8") from None


def _json(data: str, text: str) -> tuple[str, list[Record]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, or a number too long for Python
        raise BindlibError(f"{data} is not valid JSON ({error}): mend it, or give a file {QUARTETS}") from None
    records = content.get("quartets") if isinstance(content, dict) else None
    if not isinstance(records, list):
        raise BindlibError(f"{data} has no list under the key 'quartets': it should read {QUARTETS}")
    return "quartets", [(f"quartet {i} (counted from 0)", record) for i, record in enumerate(records)]


def _json_lines(data: str, text: str) -> tuple[str, list[Record]]:
    records = []
    for number, line in enumerate(io.StringIO(text), 1):  # not splitlines(), which breaks at characters of a caption
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BindlibError(f"{data}, line {number}: is not valid JSON ({error}): write one object a line") from None
        if not isinstance(record, dict):
            raise BindlibError(f"{data}, line {number}: should be an object, not {type(record).__name__}")
        records.append((f"line {number}", record))
    return _kind(data, list(records[0][1]) if records else []), records


def _csv(data: str, text: str) -> tuple[str, list[Record]]:
    rows = _csv_rows(data, text)
    _, header = next(rows, (0, []))
    names = [name.strip().lower() for name in header]
    if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), "")):
        raise BindlibError(f"{data} has {mark!r} between its columns: save it with commas")
    kind = _kind(data, names)
    records = []
    for number, cells in rows:
        if any(cell.strip() for cell in cells[len(names) :]):
            raise BindlibError(
                f"{data}, line {number}: has {len(cells)} cells where the header names {len(names)}: "
                "put quotes around a text that holds a comma"
            )
        records.append((f"line {number}", dict(zip(names, cells, strict=False))))
    return kind, records


def _csv_rows(data: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold anything, each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise BindlibError(
                f"{data}, line {number}: is not valid CSV ({error}): close each quote, and double one inside quotes"
            ) from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield number, cells


READERS = {".json": _json, ".jsonl": _json_lines, ".csv": _csv}


def _kind(data: str, names: list[str]) -> str:
    """The one kind whose columns are all among ``names``."""
    fitting = [kind for kind, columns in COLUMNS.items() if set(columns) <= set(names)]
    if len(fitting) == 1 and all(names.count(name) == 1 for name in (*COLUMNS[fitting[0]], "subset") if name in names):
        return fitting[0]
    found = ", ".join(map(repr, names))[:200] or "no columns"
    raise BindlibError(f"{data} should have the columns of one kind of data, each once, and has {found}: {THREE_KINDS}")


def _items(data: str, kind: str, records: list[Record]) -> tuple[Item, ...]:
    faults = [(where, fault) for where, record in records if (fault := _fault(kind, record))]
    if faults:
        where, fault = faults[0]
        more = f" (and {len(faults) - 1} more, next {faults[1][0]})" if len(faults) > 1 else ""
        raise BindlibError(f"{data}, {where}: {fault}{more}")
    return tuple(
        KINDS[kind](*(record[name] for name in COLUMNS[kind]), **_subset(kind, record)) for _, record in records
    )


def _subset(kind: str, record: dict[str, Any]) -> dict[str, str]:
    return {} if kind == "quartets" else {"subset": str(record.get("subset") or "").strip()}


def _fault(kind: str, record: Any) -> str:
    """What is wrong with a record, and the cure; empty if nothing is."""
    columns = COLUMNS[kind]
    if not isinstance(record, dict):
        return f"should be an object with the keys {', '.join(columns)}, not {type(record).__name__}"
    for name in columns:
        if name not in record:
            return f"{name!r} is missing: give {', '.join(columns)}"
        if not isinstance(record[name], str) or not record[name].strip():
            return f"{name!r} should be a caption, a string with words in it"
    subset = _subset(kind, record)
    for name, text in [*((name, record[name]) for name in columns), *subset.items()]:
        if "\0" in text or not _encodable(text):
            return f"{name!r} holds a NUL or half a character (a lone surrogate): replace it"
    if ALL in subset.values():
        return f"the subset {ALL!r} is the name for every item: give it another name, or none"
    for first, second in [SWAP[kind]] if kind == "quartets" else combinations(columns, 2):
        if record[first].split() == record[second].split():  # no encoder should be asked to see white space
            return f"{first!r} and {second!r} are the same text: give two that differ"
    return ""


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
