"""What a reader sees of a notebook is enough to run it, and what the page removes stands folded in JupyterLab."""

import builtins
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

from bindlib.book.notebook import Notebook, numbered, read, source, tags

CHAPTERS = Path(__file__).parents[2] / "chapters"
REMOVED = {"remove-cell", "remove-input"}
NOTEBOOKS = sorted(path.relative_to(CHAPTERS).as_posix() for path in CHAPTERS.rglob("*.ipynb"))


def names(code: str) -> tuple[set[str], set[str]]:
    """The global names that a cell reads and those that it binds."""
    top = symtable.symtable(code, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    return set(_read(top, True)), bound


def _read(table: symtable.SymbolTable, top: bool) -> Iterator[str]:
    yield from (s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global()))
    for inner in table.get_children():
        yield from _read(inner, False)


def unseen(notebook: Notebook) -> list[tuple[int, str]]:
    """Names that a visible cell reads, and that no cell before it binds or, last of all, one that the page removes."""
    seen, found = set(dir(builtins)) | {"display", "get_ipython"}, []
    for number, cell in numbered(notebook, "code"):
        reads, bound = names(source(cell))
        if REMOVED & set(tags(cell)):
            seen -= bound
        else:
            found += [(number, name) for name in sorted(reads - seen - bound)]
            seen |= bound
    return found


def open_in_lab(notebook: Notebook) -> list[int]:
    """Cells that the page removes or folds with their output, as it does a solution's, and that stand open in Lab."""
    wanted = {"remove-cell": {"source_hidden"}, "hide-output": {"source_hidden", "outputs_hidden"}}
    return [
        number
        for number, cell in numbered(notebook, "code")
        for tag, keys in wanted.items()
        if tag in tags(cell) and not all(cell["metadata"].get("jupyter", {}).get(key) for key in keys)
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_visible_cells_need_no_others(name):
    assert unseen(read(CHAPTERS / name)) == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_answers_and_checks_are_folded_in_lab(name):
    assert open_in_lab(read(CHAPTERS / name)) == []


def cells(*of: tuple[str, str]) -> Notebook:
    return {
        "cells": [{"cell_type": "code", "source": code, "metadata": {"tags": [tag] if tag else []}} for code, tag in of]
    }


@pytest.mark.parametrize(
    ("of", "found"),
    [
        ([("a = 1", "remove-cell"), ("a", "")], [(2, "a")]),
        ([("a = 1", ""), ("a = 2", "remove-input"), ("def f(): return a", "hide-input")], [(3, "a")]),
        ([("import a.b as c", "hide-input"), ("[c for x in c]; x", "")], [(2, "x")]),
        ([("def f(n):\n    return f(n)", ""), ("a = f(len('b'))\na", "")], []),
    ],
)
def test_names_that_are_not_seen_are_found(of, found):
    assert unseen(cells(*of)) == found


def test_open_cells_are_found():
    folded = cells(("1", "remove-cell"), ("2", "hide-output"), ("3", "remove-cell"))
    folded["cells"][2]["metadata"]["jupyter"] = {"source_hidden": True}
    assert open_in_lab(folded) == [1, 2]
