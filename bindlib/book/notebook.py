"""Notebooks as plain JSON values: reading, writing, and what must not be kept of a run."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError

MAX_DEPTH = 100  # of values in values; copying a notebook recurses

# Paths of the machine, times of the run, and the state of live widgets.
RUN_METADATA = {"papermill", "execution", "widgets"}

Notebook = dict
Cell = dict


def read(path: Path) -> Notebook:
    """The notebook at ``path``; raises ``BindlibError`` when the file holds none that can be worked with."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        fault = _fault(notebook)
        dump(notebook).encode()
    except (ValueError, RecursionError) as error:  # text, JSON, a huge number, half a character
        fault = " ".join(str(error).split())
    if fault:
        raise BindlibError(f"{path} is not a notebook ({fault}): save it again from JupyterLab")
    return notebook


def _fault(notebook: Any) -> str:
    """What keeps a JSON value from being a notebook of format 4, as far as this package relies on it, or ``""``."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        return "it has no list of cells"
    if notebook.get("nbformat") != 4 or not isinstance(notebook.get("nbformat_minor"), int):
        return "its nbformat and nbformat_minor are not those of format 4"
    if not isinstance(notebook.get("metadata"), dict):
        return "it has no metadata"
    if _deep(notebook):
        return f"values lie more than {MAX_DEPTH} deep in it"
    faults = ((number, _cell_fault(cell)) for number, cell in enumerate(notebook["cells"], start=1))
    return next((f"cell {number} {fault}" for number, fault in faults if fault), "")


def _cell_fault(cell: Any) -> str:
    if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        return "is not a code, markdown or raw cell"
    if not isinstance(cell.get("source"), str) and not _strings(cell.get("source")):
        return "has no source"
    if not isinstance(cell.get("metadata"), dict) or not _strings(cell["metadata"].get("tags", [])):
        return "has no metadata with a list of tags"
    outputs = cell.get("outputs", [])
    if not isinstance(outputs, list) or not all(isinstance(out, dict) and "output_type" in out for out in outputs):
        return "has outputs of no type"
    return ""


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        inside = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [value for values in inside for value in values]
    return bool(level)


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
