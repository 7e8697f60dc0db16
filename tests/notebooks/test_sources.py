"""The committed sources of the book keep to its rules, and the hook that strips outputs does."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from bindlib.book.checks import source_findings
from bindlib.book.layout import Book
from bindlib.book.notebook import leftovers, read

ROOT = Path(__file__).parents[2]


def test_the_sources_have_no_faults():
    assert [str(finding) for finding in source_findings(Book.find(ROOT))] == []


def test_every_notebook_is_a_chapter():
    book = Book.find(ROOT)
    listed = {page.source for page in book.chapters}
    found = {path for path in (ROOT / "chapters").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts}
    assert found == listed


def test_the_hook_takes_out_all_that_the_check_objects_to(tmp_path):
    dirty = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"papermill": {"input_path": "/somewhere"}, "widgets": {}, "kernelspec": {"name": "python3"}},
        "cells": [
            {
                "cell_type": "code",
                "id": "a",
                "execution_count": 3,
                "metadata": {
                    "papermill": {"duration": 1},
                    "execution": {"iopub.status.busy": "now"},
                    "tags": ["parameters"],
                },
                "source": "1",
                "outputs": [{"output_type": "execute_result", "execution_count": 3, "data": {}, "metadata": {}}],
            },
            {"cell_type": "markdown", "id": "b", "metadata": {"papermill": {}}, "source": "text"},
        ],
    }
    path = tmp_path / "dirty.ipynb"
    path.write_text(json.dumps(dirty))
    assert len(list(leftovers(read(path)))) == 7
    program, *options = shlex.split(hook("nbstripout")["entry"])
    subprocess.run([Path(sys.executable).with_name(Path(program).name), *options, path], check=True)
    assert list(leftovers(read(path))) == []
    assert read(path)["cells"][0]["metadata"] == {"tags": ["parameters"]}


def hook(name: str) -> dict:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    return next(hook for repository in repositories for hook in repository["hooks"] if hook["id"] == name)
