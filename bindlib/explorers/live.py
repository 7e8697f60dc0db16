"""A figure with a kernel behind it: the same controls as on the page, the readouts computed by `bindlib`."""

import base64
import threading
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import ipywidgets as widgets

from bindlib.book.controls import Control, Value
from bindlib.book.figure import Figure, Readout

_WIDE = {"description_width": "16rem"}
_ROW = widgets.Layout(width="auto", max_width="42rem")


class Latest:
    """Does ``action`` for the newest request, in a thread of its own: requests that a newer one overtook are dropped.

    A drag asks for more pictures than can be drawn; only the last one has to be.
    """

    def __init__(self, action: Callable[..., None]):
        self._action, self._lock = action, threading.Lock()
        self._waiting: dict[str, Any] | None = None
        self._idle = threading.Event()
        self._idle.set()

    def ask(self, **values: Any) -> None:
        """Ask for ``action(**values)``; returns at once."""
        with self._lock:
            self._waiting = values
            if not self._idle.is_set():
                return
            self._idle.clear()
        threading.Thread(target=self._work, daemon=True).start()

    def settle(self, timeout: float = 60) -> bool:
        """Wait until nothing is asked for; whether that came within ``timeout`` seconds."""
        return self._idle.wait(timeout)

    def _work(self) -> None:
        while True:
            with self._lock:
                values, self._waiting = self._waiting, None
                if values is None:
                    self._idle.set()
                    return
            try:
                self._action(**values)
            except Exception:
                self._go_on()
                raise

    def _go_on(self) -> None:
        """After a failure: what was asked for meanwhile is still done, and nobody waits for ever."""
        with self._lock:
            if self._waiting is None:
                self._idle.set()
                return
        threading.Thread(target=self._work, daemon=True).start()


class Live(widgets.VBox):
    """The widget of a `Figure`: its controls, its picture and its readouts.

    ``inputs`` holds the control widgets by signal; ``said`` the readouts as they were last computed, by signal;
    ``settle()`` waits for the picture.
    """

    def __init__(self, figure: Figure):
        if figure.computed is None:
            raise ValueError("a live figure computes its readouts: give Figure(computed=...)")
        self.figure, self.said = figure, {}
        self.inputs = {control.name: _input(control) for control in figure.controls}
        self._picture, self._readouts = widgets.HTML(), widgets.HTML()
        self._drawing = Latest(self._draw)
        for control in self.inputs.values():
            control.observe(self._changed, "value")
        prompt = [widgets.HTML(f"<p><b>Predict first.</b> {escape(figure.prompt)}</p>")] if figure.prompt else []
        super().__init__([*prompt, *self.inputs.values(), self._readouts, self._picture])
        self._changed(None)

    @property
    def values(self) -> dict[str, Value]:
        """The controls' values, by signal."""
        return {name: control.value for name, control in self.inputs.items()}

    def settle(self, timeout: float = 60) -> bool:
        """Wait until the picture is that of the controls; whether it came within ``timeout`` seconds."""
        return self._drawing.settle(timeout)

    def _changed(self, _change: Any) -> None:
        values = self.values
        self.said = dict(self.figure.computed(**values))
        rows = "".join(
            f"<tr><th scope='row' style='text-align: left; padding-right: 1rem'>{escape(readout.label)}</th>"
            f"<td data-signal='{escape(readout.signal)}'>{escape(_shown(readout, self.said[readout.signal]))}</td></tr>"
            for readout in self.figure.readouts
        )
        self._readouts.value = f"<table role='status'>{rows}</table>"
        self._drawing.ask(**values)

    def _draw(self, **values: Value) -> None:
        self._picture.value = picture(self.figure.svg(**values), self.figure.alt)


def picture(svg: str, says: str) -> str:
    """An SVG as an HTML image with the alternative text ``says``."""
    encoded = base64.b64encode(svg.encode()).decode("ascii")
    return f"<img alt='{escape(says, quote=True)}' style='max-width: 100%' src='data:image/svg+xml;base64,{encoded}'>"


def failure(error: Exception) -> str:
    """An error in place of what was asked for, as HTML."""
    return f"<p role='alert'>It stopped with an error: {escape(str(error))}</p>"


def _input(control: Control) -> widgets.Widget:
    named = {"description": control.label, "style": _WIDE, "layout": _ROW}
    if control.kind == "checkbox":
        return widgets.Checkbox(value=control.value, indent=False, description=control.label, layout=_ROW)
    if control.kind == "select":
        options = list(zip(control.labels, control.options, strict=True))
        return widgets.Dropdown(options=options, value=control.value, **named)
    steps = round((control.high - control.low) / control.step)
    options = [(f"{control.at(i):g}", control.at(i)) for i in range(steps + 1)]
    # Exact steps, where a FloatSlider would add up rounding noise.
    return widgets.SelectionSlider(options=options, value=control.value, continuous_update=True, **named)


def _shown(readout: Readout, value: Any) -> str:
    """A readout in its d3 format; Python's formats have the same letters for those that the book uses."""
    return format(value, readout.format) if isinstance(value, int | float) else str(value)


class Job(widgets.VBox):
    """A long computation that shows its progress and can be stopped.

    ``steps`` is called with the control values and yields ``(done, of, shown)``: how far it is, and a displayable HTML
    string of what it has found so far.  It is stopped between two steps.
    """

    def __init__(self, controls: tuple[Control, ...], steps: Callable[..., Iterator[tuple[int, int, str]]]):
        self.inputs = {control.name: _input(control) for control in controls}
        self.start, self.stop = widgets.Button(description="Compute"), widgets.Button(description="Stop", disabled=True)
        self.progress, self.found = widgets.IntProgress(description="", layout=_ROW), widgets.HTML()
        self._steps, self._asked, self._thread = steps, threading.Event(), None
        self.start.on_click(lambda _: self.run())
        self.stop.on_click(lambda _: self._asked.set())
        buttons = widgets.HBox([self.start, self.stop])
        super().__init__([*self.inputs.values(), buttons, self.progress, self.found])

    @property
    def values(self) -> dict[str, Value]:
        """The controls' values, by signal."""
        return {name: control.value for name, control in self.inputs.items()}

    def run(self) -> None:
        """Begin, unless it is running; returns at once."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._asked.clear()
        self._busy(True)
        self._thread = threading.Thread(target=self._work, args=(self.values,), daemon=True)
        self._thread.start()

    def settle(self, timeout: float = 60) -> bool:
        """Wait until it has finished or stopped; whether that came within ``timeout`` seconds."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _work(self, values: dict[str, Value]) -> None:
        try:
            for done, of, shown in self._steps(**values):
                self.progress.max, self.progress.value, self.found.value = of, done, shown
                if self._asked.is_set():
                    self.found.value = f"{shown}<p>Stopped.</p>"
                    return
        except Exception as error:
            self.found.value = failure(error)
            raise
        finally:
            self._busy(False)

    def _busy(self, busy: bool) -> None:
        self.start.disabled, self.stop.disabled = busy, not busy
