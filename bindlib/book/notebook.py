"""Notebooks as plain JSON values: reading, writing, and what must not be kept of a run."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from bindlib.errors import BindlibError

# Paths of the machine, times of the run, and the state of live widgets.
RUN_METADATA = {"papermill", "execution", "widgets"}

Notebook = dict
Cell = dict


def read(path: Path) -> Notebook:
    """The notebook at ``path``; raises ``BindlibError`` when the file holds none."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BindlibError(f"{path} is not a notebook ({error}): save it again from JupyterLab") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise BindlibError(f"{path} is not a notebook (it has no list of cells): save it again from JupyterLab")
    return notebook


def dump(notebook: Notebook) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def source(cell: Cell) -> str:
    """The text of a cell, which the format stores as a string or as a list of lines."""
    return "".join(cell["source"])


def tags(cell: Cell) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def numbered(notebook: Notebook, kind: str | None = None) -> Iterator[tuple[int, Cell]]:
    """The cells, or those of one ``cell_type``, with their position counted from 1 over all cells."""
    for number, cell in enumerate(notebook["cells"], start=1):
        if kind in (None, cell["cell_type"]):
            yield number, cell


def leftovers(notebook: Notebook) -> Iterator[tuple[int, str]]:
    """What a run left in the notebook: pairs of cell number (0 is the notebook itself) and what it holds."""
    for number, cell in enumerate([notebook, *notebook["cells"]]):
        for key in RUN_METADATA & cell.get("metadata", {}).keys():
            yield number, f"{key} metadata"
        if cell.get("outputs"):
            yield number, "outputs"
        if cell.get("execution_count") is not None:
            yield number, "an execution count"


def strip(notebook: Notebook) -> Notebook:
    """A copy with nothing of a run in it: no outputs, execution counts or run metadata."""
    notebook = without_run_metadata(notebook)
    for _, cell in numbered(notebook, "code"):
        cell["outputs"], cell["execution_count"] = [], None
    return notebook


def without_run_metadata(notebook: Notebook) -> Notebook:
    """A copy without ``RUN_METADATA``, but with its outputs."""
    notebook = deepcopy(notebook)
    for holder in (notebook, *notebook["cells"]):
        for key in RUN_METADATA & holder.get("metadata", {}).keys():
            del holder["metadata"][key]
    return notebook
