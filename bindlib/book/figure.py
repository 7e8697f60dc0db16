"""A figure of the book: a chart that works with no kernel, with its text alternative and readouts."""

from dataclasses import dataclass, field

import altair as alt


@dataclass(frozen=True)
class Readout:
    """A number that the page states in words beside the controls.

    ``signal`` names a top-level parameter of the chart (a slider's value, or one given by an expression);
    ``format`` is a d3 number format.
    """

    signal: str
    label: str
    format: str = ".4f"


@dataclass(frozen=True)
class Figure:
    """An Altair chart, what it shows in words (``alt``), its readouts, and the prediction to make before moving it."""

    chart: alt.TopLevelMixin
    alt: str
    readouts: tuple[Readout, ...] = ()
    prompt: str | None = None
    table: tuple[dict, ...] = field(default=())
