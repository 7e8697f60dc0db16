"""Live figures of what is computed anew at each change: readouts and picture follow as soon as they are there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ipywidgets as widgets

from bindlib.book.controls import Value
from bindlib.book.figure import Figure
from bindlib.explorers.live import Latest, Live, failure


@dataclass(frozen=True)
class Measured(Figure):
    """A figure whose picture is made of what was measured at its values: ``drawn(**values)`` is the figure to show."""

    drawn: Callable[..., Figure] | None = field(default=None, repr=False, compare=False)

    def svg(self, **values: Value) -> str:
        """The picture of ``drawn`` as SVG, its controls at ``values``."""
        return super().svg(**values) if self.drawn is None else self.drawn(**values).svg(**values)


class Fresh(Live):
    """The widget of a figure whose ``computed`` takes long: it is called in a thread, for the newest values only.

    ``busy`` says whether it is at work, or what error stopped it; ``settle()`` waits for readouts and picture.
    """

    def __init__(self, figure: Figure):
        self.busy = widgets.HTML()
        self._computing = Latest(self._compute)
        super().__init__(figure)
        self.children = (*self.children, self.busy)

    def settle(self, timeout: float = 60) -> bool:
        """Wait until readouts and picture are those of the controls; whether each came within ``timeout`` seconds."""
        return self._computing.settle(timeout) and super().settle(timeout)

    def _changed(self, _change: Any) -> None:
        self._computing.ask()

    def _compute(self) -> None:
        self.busy.value = "<p>Computing …</p>"
        try:
            super()._changed(None)
        except Exception as error:
            self._readouts.value, self.busy.value = "", failure(error)
            raise
        self.busy.value = ""
