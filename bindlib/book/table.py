"""Rows as an accessible table: on the page as HTML, in a terminal as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from bindlib.errors import printable

NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Table:
    """A table of rows (dicts with the same keys), or of the ``columns`` named; every text is escaped.

    Numbers are shown to ``digits`` places, ``None`` as an empty cell.
    """

    rows: Sequence[dict[str, Any]]
    columns: tuple[str, ...] = ()
    digits: int = 3

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        columns = list(self.columns or self.rows[0])
        return columns, [[self._show(row[column]) for column in columns] for row in self.rows]

    def _show(self, value: Any) -> str:
        if value is None:
            return ""
        # "z": a number that rounds to zero has no sign.
        return f"{value:z.{self.digits}f}" if isinstance(value, float) else printable(str(value))

    def _repr_html_(self) -> str:
        columns, body = self._cells()
        head = "".join(f'<th scope="col">{escape(column.replace("_", " "))}</th>' for column in columns)
        lines = []
        for first, *rest in body:
            cells = "".join(f"<td>{_breaking(escape(cell))}</td>" for cell in rest)
            lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
        return (
            '<div class="bindlib-table" tabindex="0" role="group" aria-label="table of values">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        )

    def __str__(self) -> str:
        columns, body = self._cells()
        widths = [max(map(len, column)) for column in zip(columns, *body, strict=True)]
        lines = [columns, *body]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__


def _breaking(cell: str) -> str:
    """A cell that may have its interval below its value, where the table would be too wide for the page."""
    return cell.replace(f"{NO_BREAK}[", " [")


def with_interval(value: float | None, interval: Sequence[float] | None, digits: int = 3) -> str:
    """A value with its interval, as "0.19 [0.18, 0.20]" in one unbreakable line; empty for ``None``."""
    if value is None:
        return ""
    shown = f"{value:z.{digits}f}"
    bounds = "" if interval is None else f" [{interval[0]:z.{digits}f}, {interval[1]:z.{digits}f}]"
    return (shown + bounds).replace(" ", NO_BREAK)
