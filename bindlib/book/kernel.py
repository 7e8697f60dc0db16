"""The kernel that a chapter runs in: how it is started, what must be true in it, and how much it may say.

What must be true is tried in the kernel itself, in a hidden first cell: whatever the cause, a kernel in which an
``assert`` or a warning is lost fails the build.
"""

import json
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any, TextIO

import bindlib
from bindlib.book.notebook import Notebook

NAME = "python3"
GUARD = "bindlib_guard"  # the metadata key of the hidden first cell
FAULT = "application/vnd.bindlib.fault+json"  # an output in the place of what was too long

# In characters, of one cell. The longest text of the book has some 6,000, its largest figure 800,000.
MAX_TEXT = 100_000
MAX_OUTPUT = 5_000_000
MAX_TRACEBACK = 20_000

_COUNTED = ("stream", "display_data", "update_display_data", "execute_result", "comm_open", "comm_msg")
_START = "__import__('bindlib.book.kernel', fromlist=['start']).start({!r}, {!r})"


def specify(folder: Path) -> None:
    """Write the kernel's specification below ``folder``, which goes before all others as ``JUPYTER_PATH``."""
    place = folder / "kernels" / NAME
    place.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    text = json.dumps({"argv": argv, "display_name": NAME, "language": "python"})
    (place / "kernel.json").write_text(text, encoding="utf-8")


def guarded(notebook: Notebook) -> Notebook:
    """A copy to execute whose hidden first cell calls ``start``; it has no number, and goes with papermill's own."""
    notebook = deepcopy(notebook)
    code = _START.format(_package(), sys.version)
    cell = {"cell_type": "code", "metadata": {GUARD: True}, "source": code, "outputs": [], "execution_count": None}
    if notebook["nbformat_minor"] >= 5:
        cell["id"] = "guard"
    notebook["cells"].insert(0, cell)
    return notebook


def start(package: str, version: str) -> None:
    """In the kernel: see that nothing in it is switched off, and let no cell say too much from here on.

    Raises ``RuntimeError`` where an assert or a warning would pass unseen, or when the build imported another
    ``package`` or runs on another ``version`` of Python: the key of the cache would not be true.
    """
    if not _asserts_run():
        raise RuntimeError("asserts do not run in it: start Python without -O (PYTHONOPTIMIZE)")
    if not _warnings_show():
        raise RuntimeError("warnings are not shown in it: take the filter away (-W, sitecustomize, IPython's settings)")
    if (_package(), sys.version) != (package, version):
        here = f"{_package()} on Python {sys.version.split()[0]}"
        raise RuntimeError(f"it imports {here}, and the build {package} on {version.split()[0]}: install bindlib once")
    from IPython import get_ipython

    shell = get_ipython()
    meter = Meter(shell.kernel.session.send, (sys.stdout, sys.stderr))
    shell.kernel.session.send = meter
    shell.events.register("pre_run_cell", meter.begin)
    shell.events.register("post_run_cell", meter.end)


def _package() -> str:
    return str(Path(bindlib.__file__).resolve())


def _asserts_run() -> bool:
    try:
        exec("assert False")  # compiled here and now, as a cell is
    except AssertionError:
        return True
    return False


def _warnings_show() -> bool:
    with warnings.catch_warnings(record=True) as seen:
        try:
            exec("import warnings\nwarnings.warn('a trial', stacklevel=1)", {"__name__": "__main__"})
        except UserWarning:  # made an error: that is seen too
            return True
    return bool(seen)


class Meter:
    """Stands before the kernel's ``send`` and its ``streams``: what a cell says above the limits ends it, unsent.

    In the place of the first message that was too much an output of the type ``FAULT`` says so.
    """

    def __init__(self, send: Callable, streams: Iterable[TextIO] = ()):
        self._send, self._streams = send, tuple(streams)
        self._lock = threading.RLock()
        self.begin()
        self._running = False

    def begin(self, *_) -> None:
        """A cell starts."""
        self._written = self._text = self._all = 0
        self._over = self._interrupted = False
        self._running = True
        for stream in self._streams:  # again for each cell: IPython puts a write of its own there and takes it back
            if not isinstance(stream.write, _Bounded):
                stream.write = _Bounded(stream.write, self._write)

    def end(self, *_) -> None:
        """Its code has ended: an interrupt would hit the kernel's own."""
        with self._lock:
            self._running = False

    def _write(self, write: Callable, text: str) -> None:
        """Let pass one character more than may be sent: a kernel sends so late that a loop could fill the memory."""
        room = MAX_TEXT + 1 - self._written
        self._written += len(text)
        if room > 0:
            write(text[:room])
        if len(text) >= room:
            self._stop()

    def __call__(self, stream, message, content=None, *args, **options) -> Any:
        whole = isinstance(message, dict)
        kind, body = (message["header"]["msg_type"], message["content"]) if whole else (message, content)
        if kind in ("error", "execute_reply") and "traceback" in body:
            return self._send(stream, kind, _brief(body), *args, **options)
        if kind not in _COUNTED:
            return self._send(stream, message, content, *args, **options)
        with self._lock:
            if not self._over:
                if not (fault := self._count(kind, body)):
                    return self._send(stream, message, content, *args, **options)
                self._over = True
                parent = message["parent_header"] if whole else options.get("parent")
                shown = {"data": {FAULT: fault}, "metadata": {}, "transient": {}}
                self._send(stream, "display_data", shown, parent=parent, ident=options.get("ident"))
            if kind != "stream":  # that has been stopped where it was written
                self._stop()
        return None

    def _stop(self) -> None:
        """End the cell, if its code still runs: at once, or from another thread by one interrupt."""
        with self._lock:
            if self._running and threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt
            if self._running and not self._interrupted:
                self._interrupted = True
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def _count(self, kind: str, body: dict) -> str:
        """Add a message to what the cell said: what is too much by now, or ``""``."""
        data = {"text/plain": body["text"]} if kind == "stream" else body.get("data", {})
        self._text += sum(_length(value) for kind, value in data.items() if _is_text(kind))
        self._all += _length(data) + _length(body.get("metadata", {}))
        for said, limit, what in ((self._text, MAX_TEXT, "text"), (self._all, MAX_OUTPUT, "output")):
            if said > limit:
                return f"more than {limit:,} characters of {what} in one cell: show less, or keep it in a variable"
        return ""


class _Bounded:
    """The ``write`` of a stream, by way of a meter."""

    def __init__(self, write: Callable, bound: Callable):
        self._write, self._bound = write, bound

    def __call__(self, text: str) -> int:
        if not isinstance(text, str):
            return self._write(text)  # which says what is wrong
        self._bound(self._write, text)
        return len(text)


def _is_text(kind: str) -> bool:
    """Whether a type of output is read word by word when the page is rendered; a value of the prose is."""
    return kind.startswith("text/") or kind.startswith("application/vnd.bindlib.prose")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, default=str))


def _brief(body: dict) -> dict:
    """An error whose parts are short enough to be read; a traceback keeps its ends."""
    return body | {
        "evalue": shortened(str(body.get("evalue", ""))),
        "traceback": [shortened("\n".join(map(str, body["traceback"])))],
    }


def shortened(text: str, limit: int = MAX_TRACEBACK) -> str:
    """``text``, or its beginning and end with a word on how much is left out between."""
    if len(text) <= limit:
        return text
    left_out = f"\n... {len(text) - limit:,} characters left out ...\n"
    return text[: limit // 2] + left_out + text[-(limit // 2) :]


def faults(outputs: Iterable[dict]) -> list[str]:
    """What was refused among the outputs of a cell."""
    return ["".join(output["data"][FAULT]) for output in outputs if FAULT in output.get("data", {})]
