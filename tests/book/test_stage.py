"""What is handed to Jupyter Book."""

import json

import pytest
import yaml
from tiny_books import PARAMETERS, code, make_book, md, notebook, write

from bindlib.book.stage import stage
from bindlib.errors import BindlibError


def test_executed_chapters_and_other_sources_are_staged_and_drafts_are_not(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS])
    write(tiny / "chapters/draft.ipynb", notebook(md("# Draft")))
    write(tiny / "chapters/.ipynb_checkpoints/one.md", "old")
    write(tiny / "chapters/picture.svg", "<svg/>")
    write(tiny / "references.bib", "@book{a}")
    write(tiny / "_build/stage/left.md", "from an earlier build")
    executed = notebook(md("# One, executed"))
    stage(book, {"chapters/one": executed})
    files = {str(path.relative_to(book.staging)) for path in book.staging.rglob("*") if path.is_file()}
    chapters = {"chapters/welcome.md", "chapters/one.ipynb", "chapters/picture.svg"}
    assert files == {"_config.yml", "_toc.yml", "references.bib"} | chapters
    assert json.loads((book.staging / "chapters/one.ipynb").read_text()) == executed


def test_execution_is_off_whatever_the_settings_say(tiny):
    book = make_book(tiny)
    write(tiny / "_config.yml", "title: T\nexecute: {execute_notebooks: force, timeout: 5}\n")
    stage(book, {})
    staged = yaml.safe_load((book.staging / "_config.yml").read_text())
    assert staged == {"title": "T", "execute": {"execute_notebooks": "off", "timeout": 5}}


def test_a_chapter_that_did_not_run_says_so_and_shows_no_results(tiny):
    cells = [md("# One"), PARAMETERS, code("1 + 1") | {"outputs": [{"output_type": "stream"}]}, md("is {eval}`x`")]
    book = make_book(tiny, one=cells)
    stage(book, {})
    staged = json.loads((book.staging / "chapters/one.ipynb").read_text())["cells"]
    assert "not executed" in staged[1]["source"]
    assert staged[3]["outputs"] == [] and staged[4]["source"] == "is …"


@pytest.mark.parametrize("settings", [None, "title: {", "- a\n- b", "execute: yes"])
def test_settings_that_cannot_be_used_are_an_error_of_one_line(tiny, settings):
    book = make_book(tiny)
    (tiny / "_config.yml").unlink()
    if settings is not None:
        write(tiny / "_config.yml", settings)
    with pytest.raises(BindlibError, match=r"_config\.yml") as raised:
        stage(book, {})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("settings", [b"title: \xff", b"[" * 5000, b"a: 2024-99-99"])
def test_settings_that_python_cannot_take_are_an_error_of_one_line(tiny, settings):
    book = make_book(tiny)
    (tiny / "_config.yml").write_bytes(settings)
    with pytest.raises(BindlibError, match=r"_config\.yml") as raised:
        stage(book, {})
    assert "\n" not in str(raised.value)
