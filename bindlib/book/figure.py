"""A figure of the book: a chart that works with no kernel, with its text alternative and readouts."""

import base64
import json
import struct
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import altair as alt

from bindlib.book import palette
from bindlib.book.controls import Control, Value
from bindlib.errors import BindlibError

SPEC_MIME = "application/vnd.vegalite.v5+json"
# Altair 6 announces v6, a type that nbformat refuses; JupyterLab draws the same spec under this one.

_COMPOSITE = ("hconcat", "vconcat", "concat", "facet", "repeat")
_FACET_CHANNELS = ("row", "column", "facet")
_TITLE_LETTERS = 40  # what fits under a chart on a screen 390 pixels wide
_WIDTH = 640
_STILL_SCALE = 2


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
    """An Altair chart, what it shows in words (``alt``), its readouts, and the prediction to make before moving it.

    A single view or a layered chart takes the width of the page, whatever width it names, and redraws when
    that changes; a facet or a concatenation keeps its own width and scrolls in its own box on a narrow screen.
    ``answer`` stands folded below the prompt.  ``table`` holds the rows that stand behind the picture, for a reader who
    cannot use it.  ``computed`` maps values of the controls, by name, to the readouts by signal, as `bindlib` computes
    them: the page's expressions are held against it, and the live figure shows it.

    Raises `BindlibError` when ``alt`` is empty, when a number is not JSON (NaN, or a NumPy scalar), or when a
    readout names a parameter the chart does not have.
    """

    chart: alt.TopLevelMixin
    alt: str
    readouts: tuple[Readout, ...] = ()
    prompt: str | None = None
    answer: str | None = None
    table: tuple[dict, ...] = field(default=())
    computed: Callable[..., Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise BindlibError("a figure needs alt text: pass Figure(alt=...) saying what the picture shows")
        try:
            json.dumps([self._drawing, self.table], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise BindlibError(f"a figure's data must be plain JSON ({error}): drop NaN, use None or floats") from None
        known = {param["name"] for param in self._drawing.get("params", ())}
        for readout in self.readouts:
            if readout.signal not in known:
                raise BindlibError(
                    f"readout {readout.signal!r} is no parameter of the chart (it has {', '.join(sorted(known))}):"
                    " add it with chart.add_params(alt.param(name=..., expr=...))"
                )

    @cached_property
    def _drawing(self) -> dict:
        with alt.theme.enable(palette.THEME_NAME):
            return _wrap_titles(self.chart.to_dict())

    @cached_property
    def controls(self) -> tuple[Control, ...]:
        """The bound parameters of the chart, in their order."""
        return tuple(Control.of(param) for param in self._drawing.get("params", ()) if "bind" in param)

    def settings(self) -> Iterator[dict[str, Value]]:
        """Values of all controls: as at first, then each control at its ends and its middle, the others as at first."""
        first = {control.name: control.value for control in self.controls}
        yield first
        for control in self.controls:
            yield from (first | {control.name: value} for value in control.stops() if value != control.value)

    def grid(self) -> list[dict[str, Any]]:
        """The parity grid, plain JSON: ``set`` (control values) and ``shown`` (what ``computed`` makes of them).

        Raises `BindlibError` when a readout is NaN or infinite at one of these settings.
        """
        if self.computed is None:
            return []
        names = [readout.signal for readout in self.readouts]
        found = ((values, self.computed(**values)) for values in self.settings())
        return [{"set": values, "shown": {name: _json(name, shown[name]) for name in names}} for values, shown in found]

    def spec(self) -> dict:
        """The Vega-Lite specification for a notebook, with what the page adds to it in ``usermeta["bindlib"]``.

        Its width is fixed and its ground is white, because a notebook's output area has no width of its own and may
        be dark; `bindlib.book.render` makes both follow the page.
        """
        words = {"alt": self.alt, "prompt": self.prompt, "answer": self.answer}
        words["readouts"] = [asdict(r) for r in self.readouts]
        words["table"] = [dict(row) for row in self.table]
        words["grid"] = self.grid()
        words["columns"] = list(self.table[0]) if self.table else []  # a notebook file sorts the keys of a row
        return self._picture() | {"description": self.alt, "usermeta": {"bindlib": words}}

    def still(self, **values: Value) -> bytes:
        """The picture as PNG bytes, its controls at ``values`` or as at first: what remains without scripts."""
        import vl_convert

        return vl_convert.vegalite_to_png(self._set(values), scale=_STILL_SCALE)

    def svg(self, **values: Value) -> str:
        """The picture as SVG, its controls at ``values`` or as at first."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self._set(values))

    def _set(self, values: Mapping[str, Value]) -> dict:
        picture = self._picture()
        params = [p | {"value": values[p["name"]]} if p["name"] in values else p for p in picture.get("params", ())]
        return picture | ({"params": params} if params else {})

    def _picture(self) -> dict:
        picture = dict(self._drawing, background=palette.LIGHT_PAGE)
        if takes_page_width(picture):
            picture |= {"width": _WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
        return picture

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """The types a notebook stores, and their metadata: the specification, a still picture, and the alt text."""
        still = self.still()
        png = base64.b64encode(still).decode("ascii")
        width, height = (pixels // _STILL_SCALE for pixels in png_size(still))
        data = {SPEC_MIME: self.spec(), "image/png": png, "text/plain": self.alt}
        # The page's renderer meets one type at a time, so the specification travels with its own still picture.
        metadata = {SPEC_MIME: {"still": png, "height": height}, "image/png": {"alt": self.alt, "width": width}}
        return data, metadata


def _json(signal: str, value: Any) -> Any:
    """A readout as plain JSON, a NumPy scalar as its value."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not isfinite(value):
        raise BindlibError(f"the readout {signal!r} is {value}, which tells nobody anything: compute words instead")
    return value


def takes_page_width(spec: dict) -> bool:
    """Whether Vega-Lite can fit this specification to its container: a single view or layers, not a composition."""
    if any(key in spec for key in _COMPOSITE):
        return False
    return not any(channel in spec.get("encoding", {}) for channel in _FACET_CHANNELS)


def _wrap_titles(spec):
    """The same specification with every long title of an x axis set on several lines, which Vega does not do itself."""
    if isinstance(spec, list):
        return [_wrap_titles(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    wrapped = {key: _wrap_titles(part) for key, part in spec.items() if key != "data"}
    x = wrapped.get("x")
    if isinstance(x, dict) and isinstance(x.get("title"), str):
        lines = textwrap.wrap(x["title"], _TITLE_LETTERS) or [""]
        wrapped["x"] = x | {"title": lines if len(lines) > 1 else x["title"]}
    return wrapped | {key: spec[key] for key in ("data",) if key in spec}


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels, read from a PNG's header."""
    return struct.unpack(">II", png[16:24])
