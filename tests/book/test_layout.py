"""Finding the book and its pages."""

import pytest
import yaml
from tiny_books import make_book, md, write

from bindlib.book.layout import Book
from bindlib.errors import BindlibError


def test_the_book_is_found_from_any_folder_inside(tiny):
    make_book(tiny, one=[md("# One")])
    inside = tiny / "chapters" / "deep"
    inside.mkdir()
    book = Book.find(inside)
    assert book.root == tiny
    assert [page.name for page in book.pages] == ["chapters/welcome", "chapters/one"]
    assert [page.name for page in book.chapters] == ["chapters/one"]


def test_parts_and_sections_are_read_in_order(tiny):
    toc = {
        "root": "a.md",
        "parts": [
            {"chapters": [{"file": "b", "sections": [{"file": "c"}]}, {"url": "x"}]},
            {"chapters": [{"file": "d"}]},
        ],
    }
    write(tiny / "_toc.yml", yaml.safe_dump(toc))
    for name in "abcd":
        write(tiny / f"{name}.md", "# Title")
    assert [page.name for page in Book.find(tiny).pages] == list("abcd")


def test_outside_a_book_the_error_says_where_to_go(tmp_path):
    with pytest.raises(BindlibError, match=r"no _toc\.yml .* run this inside"):
        Book.find(tmp_path)


@pytest.mark.parametrize("toc", ["[1, 2]", "root: {", "", "root: nowhere"])
def test_a_table_of_contents_that_cannot_be_used_is_an_error_of_one_line(tiny, toc):
    write(tiny / "_toc.yml", toc)
    with pytest.raises(BindlibError, match=r"_toc\.yml") as raised:
        Book.find(tiny)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["one", "chapters/one", "chapters/one.ipynb", "./chapters/one.ipynb"])
def test_a_chapter_is_selected_by_any_of_its_names(tiny, name):
    book = make_book(tiny, one=[md("# One")], two=[md("# Two")])
    assert [page.name for page in book.select([name])] == ["chapters/one"]


@pytest.mark.parametrize("name", ["three", "welcome", "ne", ""])
def test_an_unknown_chapter_is_an_error_that_lists_them(tiny, name):
    book = make_book(tiny, one=[md("# One")], two=[md("# Two")])
    with pytest.raises(BindlibError, match="chapters/one, chapters/two"):
        book.select([name])
