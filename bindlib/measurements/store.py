"""Where a sweep keeps what it has finished, so that it can be killed at any moment and go on later.

A finished cell is a small file in a folder beside the results, since neither Parquet nor CSV can grow without a moment
at which half of a row is written. At the end the cells are merged into the results in one step, and the folder goes.
"""

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from bindlib.errors import BindlibError
from bindlib.measurements.results import FORMATS, Cell, Key, read, recovered, write
from bindlib.storage import put

LOG = logging.getLogger("bindlib")


class Store:
    """The cells in the results ``out`` and in the folder beside it; ``known`` has them by encoder and data.

    A damaged cell of ``out`` is said, and not known; ``out`` as it was is put beside before anything is written to it.
    """

    def __init__(self, out: Path, folder: Path) -> None:
        self._out, self._folder = out, folder
        self.known: dict[Key, Cell] = {}
        self._faults: list[str] = []
        if out.exists():
            self.known, self._faults = recovered(out)
        for fault in self._faults:
            LOG.warning("%s is damaged: %s; what is asked for of it is measured again, the rest left out", out, fault)
        for path in folder.glob("*.jsonl"):
            try:
                self.known |= read(path)
            except BindlibError as error:
                LOG.warning("a finished cell is measured again: %s", error)

    def add(self, cell: Cell) -> None:
        """Keep a finished cell, in place of one of the same encoder and data."""
        self.known[cell.key] = cell
        write(self._folder / f"{hashlib.sha256(json.dumps(cell.key).encode()).hexdigest()[:32]}.jsonl", [cell])

    def merge(self) -> None:
        """Put the cells that were added, now or by a sweep that was killed, into the results."""
        if any(self._folder.glob("*.jsonl")):
            if self._faults:
                aside = _free(self._out.with_name(f"{self._out.name}.damaged"))
                put(aside, self._out.read_bytes())
                LOG.warning("%s was damaged: as it was it is kept as %s", self._out, aside)
                self._faults = []
            write(self._out, self.known.values())
        for path in (*self._folder.glob("*.jsonl"), *self._folder.glob(".*.part")):
            path.unlink()


def _free(path: Path) -> Path:
    """``path``, or with the first number behind it that no file has yet."""
    names = chain([path], (path.with_name(f"{path.name}.{n}") for n in count(2)))
    return next(name for name in names if not name.exists())


@contextmanager
def opened(out: Path) -> Iterator[Store]:
    """The store of the results ``out``, for this process alone; merged at the end, also after a failure.

    Raises ``BindlibError``, before anything is written, on an unknown ending, a folder that is missing or can't be
    written, an ``out`` that holds something else, and while another sweep writes to it.
    """
    out = Path(os.path.realpath(out))
    if out.suffix.lower() not in FORMATS:
        raise BindlibError(f"--out {out} has an unknown ending: name it {', '.join(FORMATS)}")
    if not out.parent.is_dir():
        raise BindlibError(f"--out {out}: there is no folder {out.parent}: make it first")
    if out.exists() and not out.is_file():
        raise BindlibError(f"--out {out} is no regular file: choose another")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise BindlibError(f"--out {out}: the folder {out.parent} cannot be written: choose another")
    folder = out.with_name(f"{out.name}.cells")
    with _alone(folder, out):
        try:
            store = Store(out, folder)
            try:
                yield store
            finally:
                store.merge()
        finally:
            with suppress(OSError):  # not empty: cells wait for a rerun, or it holds files that are not ours
                folder.rmdir()


@contextmanager
def _alone(folder: Path, out: Path) -> Iterator[None]:
    """Hold the folder; the system lets it go when this process ends, however it ends."""
    while True:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
                break  # else the last sweep has just removed it
        except BlockingIOError:
            os.close(descriptor)
            raise BindlibError(f"another sweep is writing to {out}: wait for it, or choose another --out") from None
        os.close(descriptor)
    try:
        yield
    finally:
        os.close(descriptor)
