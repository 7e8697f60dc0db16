"""Measurements as tables for a terminal: one a kind of data, with the numbers that there is room for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# By the metric that only this kind of data has. ``NAME_interval`` is the 95 % interval of the metric ``NAME``.
COLUMNS = {
    "usage": ("ceiling", "cap", "usage", "usage_interval", "binding_to_order", "binding_to_order_interval"),
    "accuracy": ("accuracy", "accuracy_interval", "ties", "permutations", "permutation_accuracy"),
    "zero_share": ("ceiling", "ceiling_interval", "zero_share", "permutations", "permutation_ceiling"),
}
Rows = Sequence[Mapping[str, Any]]


def tables(rows: Rows) -> Iterator[tuple[Rows, tuple[str, ...]]]:
    """The rows of each kind of data and the columns to show: data and subset where they vary, truncated if any is."""
    for mark, columns in COLUMNS.items():
        if of_kind := [row for row in rows if mark in row]:
            named = [name for name in ("data", "subset") if len({row[name] for row in rows}) > 1]
            cut = ["truncated"] if any(row["truncated"] for row in of_kind) else []
            shown = ("encoder", *named, "n", *columns, *cut)
            yield [{name: _cell(row, name) for name in shown} for row in of_kind], shown


def _cell(row: Mapping[str, Any], column: str) -> Any:
    metric = column.removesuffix("_interval")
    if metric == column:
        return row[column]
    return "{:.3f}..{:.3f}".format(*row["intervals"][metric]) if row["intervals"].get(metric) else ""
