"""Encoders × data: every cell measured once, on this machine's cores or on a Dask cluster, and kept when finished."""

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from uuid import uuid4

from bindlib.device import resolve
from bindlib.encoders import zoo
from bindlib.encoders.base import TextEncoder
from bindlib.errors import STOPS, BindlibError, reason
from bindlib.measurements import store
from bindlib.measurements.cluster import running_on
from bindlib.measurements.datasets import load
from bindlib.measurements.diagnostic import Row, measure_encoder
from bindlib.measurements.items import Dataset
from bindlib.measurements.provenance import Provenance, versions
from bindlib.measurements.results import Cell, Key

LOG = logging.getLogger("bindlib")


@dataclass(frozen=True)
class Settings:
    """How every cell of a sweep is measured; ``device`` as in ``bindlib.device.resolve``, ``strict`` as in ``load``."""

    device: str = "cpu"
    seed: int = 0
    cache: bool = True
    strict: bool = False


@dataclass(frozen=True)
class Task:
    """A cell to be measured, with the data's content: where it is measured there may be no such file.

    It holds no arrays: joblib would put them on one worker of a cluster, and they would be lost with it.

    ``known`` is what the finished cell was made with, if there is one. ``sweep`` tells one sweep from the next: a
    worker may outlive both, and a file of weights may change between them.
    """

    encoder: str
    dataset: Dataset
    settings: Settings
    sweep: str
    known: Provenance | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a task: a ``cell``, or a ``problem`` in one line; neither if the known cell is still right."""

    key: Key
    cell: Cell | None = None
    problem: str = ""
    warnings: tuple[str, ...] = ()
    traceback: str = ""


@dataclass(frozen=True)
class Sweep:
    """The rows of the cells asked for, in the order of encoders and data; what failed; how many were measured now."""

    rows: list[Row]
    failures: list[str]
    measured: int


def sweep(
    encoders: Sequence[str],
    data: Sequence[str],
    settings: Settings = Settings(),
    *,
    jobs: int = 1,
    out: Path | None = None,
    cluster: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Sweep:
    """Measure each encoder on each data, in ``jobs`` processes or on the Dask cluster at ``cluster``.

    With ``out`` a cell is kept there when it is finished, and only measured if it is missing there, or was made with
    another revision, seed, device or version, or by an encoder that is not ``identified``; other cells in ``out`` stay.
    An encoder that fails does not stop the others. The rows do not depend on ``jobs`` or on the order in which cells
    are finished, beyond the rounding of an encoder whose vectors depend on the batch that they are computed in.

    Raises ``BindlibError`` before anything is measured: bad data, an unknown encoder, a missing package, an ``out``
    that can't be used, a cluster that does not answer; and when the cluster is lost.
    """
    datasets = {dataset.name: dataset for dataset in (load(name, settings.strict) for name in data)}
    encoders = list(dict.fromkeys(encoders))
    for name in encoders:
        zoo.require(name)
    if out is not None:
        subsets = [name for dataset in datasets.values() for name in dataset.subsets()]
        _check_names([*encoders, *datasets, *subsets])
    with ExitStack() as stack:
        kept = stack.enter_context(store.opened(out)) if out is not None else None
        run = stack.enter_context(running_on(cluster, jobs, _lost))
        finished = dict(kept.known) if kept else {}
        made_with = {key: cell.provenance for key, cell in finished.items()}
        this = uuid4().hex
        tasks = [
            Task(encoder, dataset, settings, this, made_with.get((encoder, dataset.name)))
            for encoder in encoders
            for dataset in datasets.values()
        ]
        problems, measured, warned = {}, 0, set()
        for number, outcome in enumerate(run(measure_cell, tasks), 1):
            _report(outcome, f"({number} of {len(tasks)})", tell, warned)
            if outcome.problem:
                problems[outcome.key] = outcome.problem
            elif outcome.cell:
                measured += 1
                finished[outcome.key] = outcome.cell
                if kept:
                    kept.add(outcome.cell)
    keys = [(task.encoder, task.dataset.name) for task in tasks]
    rows = [row for key in keys if key in finished and key not in problems for row in finished[key].rows]
    return Sweep(rows, _failures(keys, problems), measured)


def _lost(task: Task) -> Outcome:
    problem = "each process that measured it died, perhaps for want of memory"
    return Outcome((task.encoder, task.dataset.name), problem=problem)


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not name.isprintable():  # half a character cannot be written to a file
            raise BindlibError(f"{name!r} has characters that --out cannot hold: rename the file")


def _report(outcome: Outcome, progress: str, tell: Callable[[str], None], warned: set[str]) -> None:
    for warning in dict.fromkeys(outcome.warnings):
        if warning in warned:
            continue
        warned.add(warning)
        LOG.warning("%s", warning)
    if outcome.traceback:
        LOG.debug("%s", outcome.traceback)
    state = "failed" if outcome.problem else "measured" if outcome.cell else "measured before"
    tell("{} on {}: {} {}".format(*outcome.key, state, progress))


def _failures(keys: Sequence[Key], problems: dict[Key, str]) -> list[str]:
    """One line an encoder and problem, naming the data unless the encoder failed on all in the same way."""
    lines = []
    for encoder, data in keys:
        if problem := problems.get((encoder, data)):
            everywhere = all(problems.get(key) == problem for key in keys if key[0] == encoder)
            line = problem if problem.startswith(encoder) else f"{encoder}: {problem}"
            lines.append(line if everywhere else f"on {data}, {line}")
    return list(dict.fromkeys(lines))


# One cell at a time in a process: torch and tokenizers spread each over its threads, and a tokenizer serves one caller.
_TURN = Lock()


def measure_cell(task: Task) -> Outcome:
    """Measure one cell, wherever this runs; a failure is an ``Outcome`` too."""
    key = task.encoder, task.dataset.name
    with _TURN, redirect_stdout(sys.stderr), _collected_warnings() as warnings:
        try:
            return Outcome(key, _measured(task), warnings=tuple(warnings))
        except STOPS:
            raise
        except BaseException as error:  # a panic of a library in Rust, or an exit, is no Exception
            return Outcome(key, problem=reason(error), warnings=tuple(warnings), traceback=traceback.format_exc())


def _measured(task: Task) -> Cell | None:
    device = resolve(task.settings.device)
    encoder = _encoder(task.encoder, device, task.settings.cache, task.sweep)
    if isinstance(encoder, BaseException):
        raise encoder
    ran_on = zoo.device_of(task.encoder, device)
    provenance = Provenance(encoder.revision, task.dataset.revision, task.settings.seed, ran_on, versions())
    if provenance == task.known:
        if getattr(encoder, "identified", True):
            return None
        LOG.warning("%s: measured anew, as its module declares no REVISION and no FILES that its vectors depend on",
                    task.encoder)  # fmt: skip
    return Cell(
        task.encoder, task.dataset.name, provenance, tuple(measure_encoder(encoder, task.dataset, task.settings.seed))
    )


@lru_cache(maxsize=1)
def _encoder(name: str, device: str, cache: bool, sweep: str) -> TextEncoder | BaseException:
    """The encoder, loaded once a process and sweep; or why it can't be, found out once."""
    try:
        return zoo.load_encoder(name, device, cache)
    except STOPS:
        raise
    except BaseException as error:
        return error


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """What is logged in here, for the process that asked: a worker's own log is seen by nobody."""
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())
    propagates, LOG.propagate = LOG.propagate, False
    LOG.addHandler(handler)
    try:
        yield found
    finally:
        LOG.removeHandler(handler)
        LOG.propagate = propagates
