"""Files of captions: JSON of quartets; CSV and JSON lines of quartets, pairs or triplets, told apart by their columns.

A file whose form is wrong is refused in one line. An item that cannot be used is left out, counted and named: one
slip of whoever made a benchmark should not keep all of it from being measured, and nothing may be lost unsaid. Nothing
is mended.
"""

import csv
import io
import json
import logging
import os.path
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError
from bindlib.measurements.items import ALL, COLUMNS, KINDS, SWAP, Item

QUARTETS = f'{{"quartets": [{{{", ".join(COLUMNS["quartets"])}}}, ...]}}'
THREE_KINDS = "; ".join(f"{kind} have the columns {', '.join(columns)}" for kind, columns in COLUMNS.items())
# The texts of an item that must differ. A query may equal its positive: that one is found at no distance.
DIFFERENT = {kind: [SWAP[kind]] for kind in KINDS} | {"triplets": [("query", "swapped"), ("positive", "swapped")]}
NAMED = 3  # so many of the items that are left out are named
LOG = logging.getLogger("bindlib")


@dataclass(frozen=True)
class Record:
    """Where an item stands in the file, and what stands there: ``content``, or the ``fault`` that leaves none."""

    where: str
    content: Any = None
    fault: str = ""


def read(data: str, strict: bool = False) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The usable items of the file at the path ``data``: at least one, all of one kind; and ``Dataset.left_out``.

    * ``.json``: an object with the list ``"quartets"``.
    * ``.csv``: comma-separated with a header; ``.jsonl``: one object a line. Columns stand in any order; ``subset`` (of
      pairs and triplets) may be missing; other columns and blank lines are ignored.

    The text is UTF-8 and is taken as it stands; equal items are kept. An item is unusable that lacks a text, has an
    empty one, or one that equals the text it should differ from, but for white space. Unusable items are left out with
    a warning that counts them and names the first. Raises ``BindlibError`` on a file of another form, on one without a
    usable item, and with ``strict`` on any unusable item.
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
    return _items(data, kind, records, strict)


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
    return "quartets", [Record(f"quartet {i} (counted from 0)", record) for i, record in enumerate(records)]


def _json_lines(data: str, text: str) -> tuple[str, list[Record]]:
    # Not splitlines(), which breaks at characters of a caption.
    lines = ((number, line) for number, line in enumerate(io.StringIO(text), 1) if line.strip())
    records = [_json_record(f"line {number}", line) for number, line in lines]
    objects = [record.content for record in records if not record.fault]
    if records and not objects:
        raise BindlibError(f"{data}, {records[0].where}: {records[0].fault}")
    return _kind_of_first(data, objects), records


def _json_record(where: str, line: str) -> Record:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Record(where, fault=f"is not valid JSON ({error}): write one object a line")
    if not isinstance(content, dict):
        return Record(where, fault=f"should be an object, not {type(content).__name__}")
    return Record(where, content)


def _csv(data: str, text: str) -> tuple[str, list[Record]]:
    rows = _csv_rows(data, text)
    header = next((cells for _, cells in rows if any(cell.strip() for cell in cells)), [])
    names = [name.strip().lower() for name in header]
    if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), "")):
        raise BindlibError(f"{data} has {mark!r} between its columns: save it with commas")
    kind = _kind(data, names)
    return kind, [_csv_record(f"line {number}", names, cells) for number, cells in rows]


def _csv_record(where: str, names: list[str], cells: list[str]) -> Record:
    if any(cell.strip() for cell in cells[len(names) :]):
        cure = "put quotes around a text that holds a comma"
        return Record(where, fault=f"has {len(cells)} cells where the header names {len(names)}: {cure}")
    return Record(where, dict(zip(names, cells, strict=False)))


def _csv_rows(data: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are no blank lines, each with the number of its first line."""
    limit = csv.field_size_limit(max(len(text), csv.field_size_limit()))  # Python's own is 131,072 characters a cell
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        while True:
            number = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                cure = "close each quote, and double one inside quotes"
                raise BindlibError(f"{data}, line {number}: is not valid CSV ({error}): {cure}") from None
            if cells is None:
                return
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                yield number, cells
    finally:
        csv.field_size_limit(limit)


READERS = {".json": _json, ".jsonl": _json_lines, ".csv": _csv}


def _kind(data: str, names: list[str]) -> str:
    """The one kind whose columns are all among ``names``."""
    fitting = [kind for kind, columns in COLUMNS.items() if set(columns) <= set(names)]
    if len(fitting) == 1 and all(names.count(name) == 1 for name in (*COLUMNS[fitting[0]], "subset") if name in names):
        return fitting[0]
    found = ", ".join(map(repr, names))[:200] or "no columns"
    raise BindlibError(f"{data} should have the columns of one kind of data, each once, and has {found}: {THREE_KINDS}")


def _kind_of_first(data: str, objects: list[dict]) -> str:
    """The kind of the first object that has one; if none has, what is wrong with the first."""
    for one in objects:
        with suppress(BindlibError):
            return _kind(data, list(one))
    return _kind(data, list(objects[0]) if objects else [])


def _items(data: str, kind: str, records: list[Record], strict: bool) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    faults = {record.where: fault for record in records if (fault := record.fault or _fault(kind, record.content))}
    if faults and (strict or len(faults) == len(records)):
        (where, fault), *others = faults.items()
        more = f" (and {len(others)} more, next {others[0][0]})" if others else ""
        raise BindlibError(f"{data}, {where}: {fault}{more}")
    if faults:
        LOG.warning("%s", _left_out(data, faults, len(records)))
    usable = [record.content for record in records if record.where not in faults]
    items = tuple(KINDS[kind](*(one[name] for name in COLUMNS[kind]), **_subset(kind, one)) for one in usable)
    known = {item.subset for item in items} if kind != "quartets" else set()
    subsets = (_subset_of_unusable(kind, record.content) for record in records if record.where in faults)
    return items, tuple(name if name in known else "" for name in subsets)


def _left_out(data: str, faults: dict[str, str], n: int) -> str:
    first = "; ".join(f"{where}: {fault}" for where, fault in list(faults.items())[:NAMED])
    more = f"; and {len(faults) - NAMED} more" if len(faults) > NAMED else ""
    return f"{data}: {len(faults)} of {n} items cannot be used and are left out (--strict refuses them). {first}{more}"


def _subset(kind: str, record: dict[str, Any]) -> dict[str, str]:
    name = record.get("subset")
    return {} if kind == "quartets" else {"subset": "" if name is None else str(name).strip()}


def _subset_of_unusable(kind: str, record: Any) -> str:
    return _subset(kind, record).get("subset", "") if isinstance(record, dict) else ""


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
    if kind != "quartets" and not isinstance(record.get("subset", ""), str | int | float | None):
        return "'subset' should be a name, a string or a number"
    subset = _subset(kind, record)
    for name, text in [*((name, record[name]) for name in columns), *subset.items()]:
        if "\0" in text or not _encodable(text):
            return f"{name!r} holds a NUL or half a character (a lone surrogate): replace it"
    if ALL in subset.values():
        return f"the subset {ALL!r} is the name for every item: give it another name, or none"
    for first, second in DIFFERENT[kind]:
        if record[first].split() == record[second].split():  # no encoder should be asked to see white space
            return f"{first!r} and {second!r} are the same text: give two that differ"
    return ""


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
