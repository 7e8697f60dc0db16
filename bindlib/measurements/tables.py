"""Measurements as tables for a terminal: one a kind of data, its telling numbers first, and how to read them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

UNTRAINED = "random-clip:"  # encoders of this family have random weights: the null
# By the metric that only this kind of data has. ``NAME_interval`` is the 95 % interval of the metric ``NAME``.
COLUMNS = {
    "usage": ("binding_to_order", "binding_to_order_interval", "ceiling", "cap", "usage", "usage_interval"),
    "accuracy": ("permutations", "permutation_accuracy", "accuracy", "accuracy_interval", "ties"),
    "zero_share": ("permutations", "permutation_ceiling", "zero_share", "ceiling", "ceiling_interval"),
}
# What to look at, by the same metric.
READING = {
    "usage": "binding_to_order is the number to look at: at 1 a swap of the attributes moves a caption no farther than "
    "another order of the same scene (blank: neither moves it). usage alone shows no binding{seen}",
    "accuracy": "permutation_accuracy is the number to look at, where only words move: 0.5 is chance, and a bag of "
    "words is at 0 unless the positive has the same words too{null}",
    "zero_share": "permutation_ceiling is the number to look at, where only words move: a bag of words is at 0. A "
    "ceiling bounds what images can do; how large is large depends on the encoder{null}",
}
Rows = Sequence[Mapping[str, Any]]


def tables(rows: Rows) -> Iterator[tuple[Rows, tuple[str, ...]]]:
    """The rows of each kind of data and the columns to show: data and subset where they vary, what was cut if any.

    The encoders that are the null are marked with a star, which the lines of ``reading`` explain.
    """
    for mark, columns in COLUMNS.items():
        if of_kind := [row for row in rows if mark in row]:
            named = [name for name in ("data", "subset") if len({row[name] for row in rows}) > 1]
            cut = [name for name in ("left_out", "truncated") if any(row[name] for row in of_kind)]
            shown = ("encoder", *named, "n", *cut, *columns)
            yield [{name: _cell(row, name) for name in shown} for row in of_kind], shown


def reading(rows: Rows) -> Iterator[str]:
    """For each kind of data one line: which number to look at, why not usage, and where the null stands."""
    nulls = [row for row in rows if row["encoder"].startswith(UNTRAINED)]
    null = "; the null (*) has random weights" if nulls else f"; measure {UNTRAINED}0 too, the null"
    used = sorted(f"{row['usage']:.2f}" for row in nulls if "usage" in row)
    span = used[0] if len(set(used)) == 1 else f"{used[0]} to {used[-1]}" if used else ""
    seen = f": the null (*), random weights, uses {span} here" if used else (
        f": random weights may use more of their cap than trained ones; measure {UNTRAINED}0 too")  # fmt: skip
    for mark, line in READING.items():
        if any(mark in row for row in rows):
            yield line.format(seen=seen, null=null)


def _cell(row: Mapping[str, Any], column: str) -> Any:
    if column == "encoder" and row[column].startswith(UNTRAINED):
        return f"{row[column]}*"
    metric = column.removesuffix("_interval")
    if metric == column:
        return row[column]
    return "{:.3f}..{:.3f}".format(*row["intervals"][metric]) if row["intervals"].get(metric) else ""
