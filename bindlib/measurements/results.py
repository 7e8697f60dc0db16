"""Measurements as tidy rows in a file: one row for each encoder, data, subset and metric.

The column ``check`` holds a digest of all rows of the same encoder and data. Whatever befalls the file, rows are taken
as they were written, or not at all.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError
from bindlib.measurements.diagnostic import COUNTS, Row
from bindlib.measurements.provenance import Provenance
from bindlib.storage import put
from bindlib.terminal import ascii_json

TYPES = {
    "encoder": str, "data": str, "subset": str, "metric": str, "value": float, "low": float, "high": float, "n": int,
} | {field.name: field.type for field in fields(Provenance)} | {"check": str}  # fmt: skip
COLUMNS = tuple(TYPES)
IF_ANY = ("left_out",)  # counts that are written where they are not 0
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one
COMMITTED = Path(__file__).parent / "results"
Tidy = dict[str, Any]
Key = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """The rows of one encoder on one data, as ``measure_encoder`` gives them, and what they were made with.

    Raises ``BindlibError`` for a value that is not finite, which no file could give back.
    """

    encoder: str
    data: str
    provenance: Provenance
    rows: tuple[Row, ...]

    def __post_init__(self):
        for row in self.rows:
            for metric, interval in row["intervals"].items():
                if bad := [v for v in (row[metric], *(interval or ())) if v is not None and not math.isfinite(v)]:
                    raise BindlibError(
                        f"{self.encoder} on {self.data}: {metric} is {bad[0]}: check the vectors that it gives"
                    )

    @property
    def key(self) -> Key:
        return self.encoder, self.data


def tidy(cell: Cell) -> list[Tidy]:
    """One row a subset and metric, with the columns ``COLUMNS``; counts are metrics without an interval.

    ``n`` is the number of items that the value is over; ``low`` and ``high`` are the 95 % interval.
    """
    rows = list(_unchecked(cell))
    return [row | {"check": _check(rows)} for row in rows]


def _unchecked(cell: Cell) -> Iterator[Tidy]:
    provenance = asdict(cell.provenance)
    for row in cell.rows:
        counts = [count for count in COUNTS[1:] if row[count] or count not in IF_ANY]
        for metric in (*counts, *row["intervals"]):
            low, high = row["intervals"].get(metric) or (None, None)
            n = row["permutations" if metric.startswith("permutation_") else "n"]
            value = None if row[metric] is None else float(row[metric])
            cells = (cell.encoder, cell.data, row["subset"], metric, value, low, high, n)
            yield dict(zip(COLUMNS, cells, strict=False)) | provenance


def _check(rows: Iterable[Tidy]) -> str:
    """A digest of rows of one cell, in whatever order they stand."""
    lines = sorted(json.dumps([row[name] for name in COLUMNS if name != "check"]) for row in rows)
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def cells(rows: Iterable[Tidy]) -> dict[Key, Cell]:
    """The inverse of ``tidy``. Raises ``ValueError`` for rows that it can't have made, or that stand there twice."""
    return {key: _of_one_cell(key, of_cell) for key, of_cell in _by_cell(rows).items()}


def _by_cell(rows: Iterable[Tidy]) -> dict[Key, list[Tidy]]:
    grouped: dict[Key, list[Tidy]] = {}
    for row in rows:
        grouped.setdefault((row["encoder"], row["data"]), []).append(row)
    return grouped


def _of_one_cell(key: Key, rows: Sequence[Tidy]) -> Cell:
    if {row["check"] for row in rows} != {_check(rows)}:
        raise ValueError(f"the rows of {key[0]} on {key[1]} are not what was written")
    subsets: dict[str, list[Tidy]] = {}
    for row in rows:
        subsets.setdefault(row["subset"], []).append(row)
    found = {Provenance(**{field.name: row[field.name] for field in fields(Provenance)}) for row in rows}
    if len(found) > 1:
        raise ValueError(f"the rows of {key[0]} on {key[1]} were made with different things")
    (provenance,) = found
    return Cell(*key, provenance, tuple(_wide(key, provenance, *subset) for subset in subsets.items()))


def _wide(key: Key, provenance: Provenance, subset: str, rows: list[Tidy]) -> Row:
    found = {row["metric"]: row["value"] for row in rows}
    values = dict.fromkeys(IF_ANY, 0.0) | found
    if len(found) < len(rows) or not values.keys() >= set(COUNTS[1:]) or None in (values[c] for c in COUNTS[1:]):
        raise ValueError(f"the rows of {key[0]} on {key[1]}, subset {subset}, are not one a metric")
    measured = [row for row in rows if row["metric"] not in COUNTS]
    interval = {row["metric"]: None if row["low"] is None else [row["low"], row["high"]] for row in measured}
    return {
        "encoder": key[0], "revision": provenance.encoder_revision,
        "data": key[1], "data_revision": provenance.data_revision,
        "subset": subset, "n": next(row["n"] for row in rows if row["metric"] in COUNTS),
        **{count: int(values[count]) for count in COUNTS[1:]},
        **{row["metric"]: row["value"] for row in measured},
        "intervals": interval,
    }  # fmt: skip


def read(path: Path) -> dict[Key, Cell]:
    """The cells of a file that ``write`` made.

    Raises ``BindlibError`` on an ending other than .parquet, .csv and .jsonl, on a file of something else, and on
    damage; ``OSError`` if it can't be read.
    """
    found, faults = recovered(path)
    if faults:
        raise _refused(path, faults[0])
    return found


def recovered(path: Path) -> tuple[dict[Key, Cell], list[str]]:
    """The whole cells of a file that ``write`` made, and what is wrong with the others, a line each.

    Errors as in ``read``, but for damage that leaves some rows readable.
    """
    reader, content = _format(path).read, path.read_bytes()
    try:
        rows = list(reader(content))
    except Exception as error:  # each format has its own ways of being damaged
        raise _refused(path, " ".join(str(error).split())[:200]) from error
    readable = [row for row in rows if row is not None]
    if not readable:
        raise _refused(path, f"it has no rows with the columns {', '.join(COLUMNS)}")
    found, faults = {}, []
    for key, of_cell in _by_cell(readable).items():
        try:
            found[key] = _of_one_cell(key, of_cell)
        except ValueError as error:
            faults.append(str(error))
    if lost := len(rows) - len(readable):
        faults.append(f"{lost} of its {len(rows)} rows cannot be read")
    return found, faults


def _refused(path: Path, problem: str) -> BindlibError:
    return BindlibError(f"{path} is damaged, or holds no measurements ({problem}): move it, or choose another --out")


def committed(name: str) -> list[Cell]:
    """The cells that the package carries under this name, in order of encoder and data: what a page can't measure."""
    return list(read(COMMITTED / f"{name}.csv").values())


def write(path: Path, found: Iterable[Cell]) -> None:
    """Write the cells as tidy rows, in order of encoder and data; ``path`` never holds half of them."""
    ordered = sorted(found, key=lambda cell: cell.key)
    put(path, _format(path).write([row for cell in ordered for row in tidy(cell)]))


def _row(make: Callable[[Any], Mapping[str, Any]], what: Any) -> Tidy | None:
    """The row that ``make`` makes of ``what``; ``None`` if that is none."""
    try:
        row = dict(make(what))
        whole = tuple(row) == COLUMNS and all(_fits(row[name], kind) for name, kind in TYPES.items())
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return row if whole else None


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return value is None or (type(value) is float and math.isfinite(value))
    return type(value) is kind


def _read_csv(content: bytes) -> Iterator[Tidy | None]:
    reader = csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline=""), strict=True)
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise ValueError(f"its columns should be {', '.join(COLUMNS)}")
    while True:
        try:
            row = next(reader, None)
        except csv.Error:  # the next line begins anew
            yield None
            continue
        if row is None:
            return
        yield _row(_from_csv, row)


def _from_csv(row: Mapping[str, str]) -> Tidy:
    return {name: _text(v) if TYPES[name] is str else None if v == "" else TYPES[name](v) for name, v in row.items()}


def _text(cell: str) -> str:
    return cell.removeprefix("'")


def _no_formula(text: str) -> str:
    """``text`` with an apostrophe before what a spreadsheet would compute, and before an apostrophe; see ``_text``."""
    return f"'{text}" if text.startswith((*FORMULA, "'")) else text


def _write_csv(rows: list[Tidy]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _no_formula(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows)
    return text.getvalue().encode()


def _read_jsonl(content: bytes) -> Iterator[Tidy | None]:
    return (_row(json.loads, line) for line in io.StringIO(content.decode("utf-8", "replace")))


def _write_jsonl(rows: list[Tidy]) -> bytes:
    return "".join(ascii_json(row) + "\n" for row in rows).encode()


def _read_parquet(content: bytes) -> Iterator[Tidy | None]:
    from pyarrow import BufferReader
    from pyarrow.parquet import read_table

    return (_row(dict, row) for row in read_table(BufferReader(content)).to_pylist())


def _write_parquet(rows: list[Tidy]) -> bytes:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    arrow = {str: pa.string(), float: pa.float64(), int: pa.int64()}
    sink = io.BytesIO()
    write_table(pa.Table.from_pylist(rows, pa.schema([(name, arrow[kind]) for name, kind in TYPES.items()])), sink)
    return sink.getvalue()


@dataclass(frozen=True)
class Format:
    read: Callable[[bytes], Iterator[Tidy | None]]  # ``None`` stands for a row that cannot be read
    write: Callable[[list[Tidy]], bytes]


FORMATS = {
    ".parquet": Format(_read_parquet, _write_parquet),
    ".csv": Format(_read_csv, _write_csv),
    ".jsonl": Format(_read_jsonl, _write_jsonl),
}


def _format(path: Path) -> Format:
    if path.suffix.lower() not in FORMATS:
        raise BindlibError(f"--out {path} has an unknown ending: name it {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]
