"""Tiny books, to build in a temporary folder."""

import json
import time
from pathlib import Path

import psutil
import yaml

from bindlib.book.layout import Book

CONFIG = {
    "title": "A tiny book",
    "copyright": "2026",
    "only_build_toc_files": True,
    "parse": {"myst_enable_extensions": ["colon_fence", "dollarmath"]},
    "sphinx": {"config": {"html_show_sourcelink": False}},
}


def md(source: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *tags: str) -> dict:
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


PARAMETERS = code('profile = "ci"\ndevice = "cpu"\nseed = 0', "parameters", "hide-input")


def notebook(*cells: dict) -> dict:
    cells = [cell | {"id": f"cell-{number}"} for number, cell in enumerate(cells)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def write(path: Path, content: dict | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def make_book(root: Path, **chapters: list[dict]) -> Book:
    """A book with a welcome page and these notebooks, each a list of cells, in ``chapters/``."""
    names = [f"chapters/{name}" for name in chapters]
    toc = {"format": "jb-book", "root": "chapters/welcome", "chapters": [{"file": name} for name in names]}
    write(root / "_toc.yml", yaml.safe_dump(toc))
    write(root / "_config.yml", yaml.safe_dump(CONFIG))
    write(root / "chapters/welcome.md", "# Welcome\n")
    for name, cells in zip(names, chapters.values(), strict=True):
        write(root / f"{name}.ipynb", notebook(*cells))
    return Book.find(root)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()
