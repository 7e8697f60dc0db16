"""Notebooks as values."""

import json

import pytest
from tiny_books import PARAMETERS, code, md, notebook, write

from bindlib.book.notebook import RUN_METADATA, dump, leftovers, numbered, read, source, strip, without_run_metadata
from bindlib.errors import BindlibError


def dirty() -> dict:
    ran = code("1") | {"execution_count": 2, "outputs": [{"output_type": "stream"}]}
    book = notebook(md("# One"), PARAMETERS, ran)
    for holder in (book, *book["cells"]):
        holder["metadata"] = holder["metadata"] | {key: {} for key in RUN_METADATA}
    return book


def test_stripping_takes_out_a_run_and_nothing_else():
    assert strip(dirty()) == notebook(md("# One"), PARAMETERS, code("1"))
    assert len(list(leftovers(dirty()))) == 2 + 4 * len(RUN_METADATA)
    assert list(leftovers(strip(dirty()))) == []


def test_run_metadata_goes_and_outputs_stay():
    assert without_run_metadata(dirty())["cells"][2]["outputs"] == dirty()["cells"][2]["outputs"]
    assert [what for _, what in leftovers(without_run_metadata(dirty()))] == ["outputs", "an execution count"]


def test_the_notebook_given_is_left_alone():
    book = dirty()
    strip(book)
    assert book == dirty()


def test_what_is_written_is_read(tmp_path):
    write(tmp_path / "a.ipynb", dump(dirty()))
    assert read(tmp_path / "a.ipynb") == dirty()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"cells": 1}'])
def test_a_file_that_is_no_notebook_is_an_error_of_one_line(tmp_path, text):
    write(tmp_path / "a.ipynb", text)
    with pytest.raises(BindlibError, match="is not a notebook") as raised:
        read(tmp_path / "a.ipynb")
    assert "\n" not in str(raised.value)


def test_cells_are_counted_over_all_kinds_and_sources_may_be_lists():
    book = notebook(md("a"), code("b"), md("c") | {"source": ["c\n", "d"]})
    assert [(number, source(cell)) for number, cell in numbered(book, "markdown")] == [(1, "a"), (3, "c\nd")]


def cell_with(**change) -> dict:
    return notebook(md("a"), code("1") | change)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (cell_with(cell_type="heading"), "cell 2"),
        (cell_with(source=None), "cell 2"),
        (cell_with(source=[1]), "cell 2"),
        (cell_with(metadata=None), "cell 2"),
        (cell_with(metadata={"tags": None}), "cell 2"),
        (cell_with(metadata={"tags": "parameters"}), "cell 2"),
        (cell_with(outputs=[None]), "cell 2"),
        (cell_with(outputs=None), "cell 2"),
        (cell_with(source="\ud800"), "surrogates"),
        (notebook() | {"cells": [md("a"), "no object"]}, "cell 2"),
        (notebook() | {"cells": [{}]}, "cell 1"),
        (notebook() | {"metadata": None}, "metadata"),
        (notebook() | {"nbformat": 3}, "nbformat"),
        (notebook() | {"nbformat": 99}, "nbformat"),
        (notebook() | {"nbformat_minor": None}, "nbformat"),
        ({"cells": []}, "nbformat"),
        ("[" * 100_000, "recursion"),
        (json.dumps(notebook() | {"metadata": {"a": 0}}).replace('"a": 0', '"a": ' + "[" * 200 + "]" * 200), "deep"),
        ('{"cells": [' + "1" * 5000 + "]}", "digits"),
    ],
)
def test_a_malformed_notebook_is_an_error_of_one_line_that_names_the_place(tmp_path, content, place):
    write(tmp_path / "a.ipynb", content)
    with pytest.raises(BindlibError, match=rf"a\.ipynb is not a notebook \(.*{place}") as raised:
        read(tmp_path / "a.ipynb")
    assert "\n" not in str(raised.value)
