"""Measurements as tidy rows in a file: one row for each encoder, data, subset and metric."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError
from bindlib.measurements.diagnostic import COUNTS, Row
from bindlib.measurements.provenance import Provenance
from bindlib.storage import put

TYPES = {
    "encoder": str, "data": str, "subset": str, "metric": str, "value": float, "low": float, "high": float, "n": int,
} | {field.name: field.type for field in fields(Provenance)}  # fmt: skip
COLUMNS = tuple(TYPES)
COMMITTED = Path(__file__).parent / "results"
Tidy = dict[str, Any]
Key = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """The rows of one encoder on one data, as ``measure_encoder`` gives them, and what they were made with."""

    encoder: str
    data: str
    provenance: Provenance
    rows: tuple[Row, ...]

    @property
    def key(self) -> Key:
        return self.encoder, self.data


def tidy(cell: Cell) -> Iterator[Tidy]:
    """One row a subset and metric, with the columns ``COLUMNS``; counts are metrics without an interval.

    ``n`` is the number of items that the value is over; ``low`` and ``high`` are the 95 % interval.
    """
    provenance = asdict(cell.provenance)
    for row in cell.rows:
        for metric in (*COUNTS[1:], *row["intervals"]):
            low, high = row["intervals"].get(metric) or (None, None)
            n = row["permutations" if metric.startswith("permutation_") else "n"]
            value = None if row[metric] is None else float(row[metric])
            cells = (cell.encoder, cell.data, row["subset"], metric, value, low, high, n)
            yield dict(zip(COLUMNS, cells, strict=False)) | provenance


def cells(rows: Iterable[Tidy]) -> dict[Key, Cell]:
    """The inverse of ``tidy``. Raises ``ValueError`` for rows that it can't have made, or that stand there twice."""
    grouped: dict[Key, dict[Provenance, dict[str, list[Tidy]]]] = {}
    for row in rows:
        provenance = Provenance(**{field.name: row[field.name] for field in fields(Provenance)})
        of_cell = grouped.setdefault((row["encoder"], row["data"]), {})
        of_cell.setdefault(provenance, {}).setdefault(row["subset"], []).append(row)
    for key, of_cell in grouped.items():
        if len(of_cell) > 1:
            raise ValueError(f"the rows of {key[0]} on {key[1]} were made with different things")
    return {key: _cell(key, *next(iter(of_cell.items()))) for key, of_cell in grouped.items()}


def _cell(key: Key, provenance: Provenance, subsets: dict[str, list[Tidy]]) -> Cell:
    return Cell(*key, provenance, tuple(_wide(key, provenance, *subset) for subset in subsets.items()))


def _wide(key: Key, provenance: Provenance, subset: str, rows: list[Tidy]) -> Row:
    values = {row["metric"]: row["value"] for row in rows}
    if len(values) < len(rows) or not values.keys() >= set(COUNTS[1:]) or None in (values[c] for c in COUNTS[1:]):
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

    Raises ``BindlibError`` on an ending other than .parquet, .csv and .jsonl, and on a file of something else;
    ``OSError`` if it can't be read.
    """
    reader, content = _format(path).read, path.read_bytes()
    try:
        rows = [_typed(row) for row in reader(content)]
        if not rows:
            raise ValueError("it has no rows")
        return cells(rows)
    except Exception as error:  # each format has its own ways of being damaged
        problem = " ".join(str(error).split())[:200]
        raise BindlibError(
            f"{path} is damaged, or holds no measurements ({problem}): move it, or choose another --out"
        ) from error


def committed(name: str) -> list[Cell]:
    """The cells that the package carries under this name, in order of encoder and data: what a page can't measure."""
    return list(read(COMMITTED / f"{name}.csv").values())


def write(path: Path, found: Iterable[Cell]) -> None:
    """Write the cells as tidy rows, in order of encoder and data; ``path`` never holds half of them."""
    ordered = sorted(found, key=lambda cell: cell.key)
    put(path, _format(path).write([row for cell in ordered for row in tidy(cell)]))


def _typed(row: Mapping[str, Any]) -> Tidy:
    if tuple(row) != COLUMNS:
        raise ValueError(f"its columns should be {', '.join(COLUMNS)}")
    for name, kind in TYPES.items():
        absent = row[name] is None and kind is float
        if not absent and type(row[name]) is not kind:
            raise ValueError(f"{name} should be {kind.__name__}, and {row[name]!r} is not")
    return dict(row)


def _read_csv(content: bytes) -> Iterator[Mapping[str, Any]]:
    for row in csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), strict=True):
        yield {k: v if TYPES.get(k, str) is str else None if v == "" else TYPES[k](v) for k, v in row.items()}


def _write_csv(rows: list[Tidy]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _read_jsonl(content: bytes) -> Iterator[Mapping[str, Any]]:
    return (json.loads(line) for line in io.StringIO(content.decode("utf-8")))


def _write_jsonl(rows: list[Tidy]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode()


def _read_parquet(content: bytes) -> Iterator[Mapping[str, Any]]:
    from pyarrow import BufferReader
    from pyarrow.parquet import read_table

    return iter(read_table(BufferReader(content)).to_pylist())


def _write_parquet(rows: list[Tidy]) -> bytes:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    arrow = {str: pa.string(), float: pa.float64(), int: pa.int64()}
    sink = io.BytesIO()
    write_table(pa.Table.from_pylist(rows, pa.schema([(name, arrow[kind]) for name, kind in TYPES.items()])), sink)
    return sink.getvalue()


@dataclass(frozen=True)
class Format:
    read: Callable[[bytes], Iterator[Mapping[str, Any]]]
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
