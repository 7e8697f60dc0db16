"""Running chapters: papermill in a process of its own for each notebook, several at a time."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from threading import Event

from bindlib.book import cache, kernel, prose
from bindlib.book.cache import Executed, Parameters
from bindlib.book.checks import page_faults
from bindlib.book.kernel import shortened
from bindlib.book.layout import Book, Page, emptied
from bindlib.book.notebook import Notebook, dump, read, source, strip, without_run_metadata
from bindlib.book.process import environment, run, words
from bindlib.errors import BindlibError, CheckFailed

ATTEMPTS = 2
TIMEOUT_SECONDS = {"ci": 900.0, "full": 4 * 3600.0}


@dataclass(frozen=True)
class Runner:
    """How chapters are executed: with which parameters, how many at a time, and for how long each at most (seconds)."""

    book: Book
    parameters: Parameters
    jobs: int = 1
    timeout: float = TIMEOUT_SECONDS["ci"]

    def run_all(self, pages: Iterable[Page], done: Callable[[Page, Executed], None]) -> None:
        """Execute ``pages``, keep each in the cache, and tell ``done`` of it.

        The first failure stops the others and is raised as ``CheckFailed``.
        """
        cancel = Event()
        with ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(self._execute, page, cancel): page for page in pages}
            try:
                for future in as_completed(running):
                    executed = future.result()
                    cache.save(self.book, running[future], self.parameters, executed)
                    done(running[future], executed)
            except BaseException:
                cancel.set()
                pool.shutdown(cancel_futures=True)
                raise
        rmtree(self.book.build / "run", ignore_errors=True)

    def _execute(self, page: Page, cancel: Event) -> Executed:
        start = time.monotonic()
        key = cache.key(self.book, page, self.parameters)
        folder = emptied(self.book.build / "run" / page.name)
        asked = kernel.guarded(prose.instrument(strip(read(page.source))))
        (folder / "in.ipynb").write_text(dump(asked), encoding="utf-8")
        kernel.specify(folder)
        notebook = self._papermill(page, folder, cancel)
        if faults := list(page_faults(notebook)):
            raise CheckFailed("\n".join(f"{page.name}, {fault}" for fault in faults))
        try:
            settled = prose.settle(notebook)
        except CheckFailed as error:
            raise CheckFailed(f"{page.name}, {error}") from error
        return Executed(settled, time.monotonic() - start, key, fresh=True)

    def _papermill(self, page: Page, folder: Path, cancel: Event) -> Notebook:
        """The executed notebook; only a kernel that hung or died is given a second chance."""
        command = [sys.executable, "-m", "papermill", "in.ipynb", "out.ipynb", "--kernel", kernel.NAME]
        command += ["--cwd", str(page.source.parent), "--no-progress-bar", "--log-level", "WARNING"]
        command += ["--parameters_yaml", json.dumps(self.parameters.to_dict())]
        for _ in range(ATTEMPTS):
            output, log = folder / "out.ipynb", folder / "log.txt"
            output.unlink(missing_ok=True)
            status = run(command, folder, log, self._env(folder), self.timeout, cancel)
            if status == 0:
                return without_run_metadata(read(output))
            notebook = _read_partial(output)
            if failure := failing_cell(notebook):
                raise CheckFailed(f"{page.name}, {failure}")
            said = words(log.read_text(encoding="utf-8", errors="replace"))
            if status is not None and "DeadKernelError" not in said:
                raise CheckFailed(f"{page.name}: papermill failed before a cell did:\n{shortened(said.strip())}")
        problem = f"ran longer than {self.timeout:g} s" if status is None else "lost its kernel (out of memory?)"
        raise CheckFailed(f"{page.name} {problem}, {ATTEMPTS} times, at {running_cell(notebook)}")

    def _env(self, folder: Path) -> dict[str, str]:
        """A run's environment: nothing of the user's Jupyter or IPython settings, and a fair share of the cores."""
        return environment() | {
            **cache.inherited(),
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_PATH": str(folder),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "PYTHONHASHSEED": "0",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "OMP_NUM_THREADS": str(max(1, cores() // self.jobs)),
        }


def cores() -> int:
    """The number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def failing_cell(notebook: Notebook) -> str | None:
    """Which cell of a run raised or said too much, its line and its traceback, or ``None``."""
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", ())
        errors = [out for out in outputs if out["output_type"] == "error"]
        if errors and kernel.GUARD in cell.get("metadata", {}):
            return f"its kernel cannot be used: {errors[0]['evalue']}"
        told = ["\n".join(out["traceback"]) or out["ename"] for out in errors]
        if not told and _papermill(cell).get("exception"):  # IPython prints the traceback of an ExceptionGroup
            told = ["".join(text for out in outputs for text in out.get("text", ())).strip()]
        refused = kernel.faults(outputs)
        if told or refused:
            traceback = words(told[0]) if told else ""
            return f"{_place(notebook, cell, traceback)}\n{refused[0] if refused else shortened(traceback)}".rstrip()
    return None


def running_cell(notebook: Notebook) -> str:
    """The cell that a run which was cut short was in: the last that was started."""
    started = [cell for cell in notebook["cells"] if _papermill(cell).get("start_time")]
    return _place(notebook, started[-1], "") if started else "its start"


def _papermill(cell: dict) -> dict:
    """What papermill noted of the run of a cell."""
    return cell.get("metadata", {}).get("papermill", {})


def _place(notebook: Notebook, cell: dict, traceback: str) -> str:
    """The committed cell that ``cell`` stands for, and the line of it that the traceback names (else the first)."""
    origin = cell.get("metadata", {}).get(prose.ORIGIN, {})
    named = re.search(rf"Cell In\[{cell.get('execution_count')}\], line (\d+)", traceback)
    line = int(named[1]) if named else 1
    if origin.get("recorder"):
        text = next(source(other) for other in notebook["cells"] if _stands_for(other, origin["cell"]))
        role = prose.roles(text)[line - 1]
        line = text.count("\n", 0, role.start) + 1
    else:
        text = source(cell)
    shown = (text.splitlines() or [""])[line - 1].strip()
    return f"cell {origin.get('cell', '0 (parameters)')}, line {line}: {shown}"


def _stands_for(cell: dict, number: int) -> bool:
    return cell.get("metadata", {}).get(prose.ORIGIN) == {"cell": number}


def _read_partial(path: Path) -> Notebook:
    """The notebook that a broken run left, which may be missing or half written."""
    try:
        return read(path)
    except (OSError, BindlibError):
        return {"cells": []}
