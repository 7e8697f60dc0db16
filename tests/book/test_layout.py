"""Finding the book and its pages."""

import os

import pytest
import yaml
from tiny_books import make_book, md, write

from bindlib.book.checks import source_findings
from bindlib.book.layout import Book, emptied, files
from bindlib.book.stage import stage
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


@pytest.mark.parametrize("name", ["/etc/hosts", "../outside", "chapters/../../outside", "", ".", "_build/stage/page"])
def test_a_page_outside_the_book_is_refused(tiny, name):
    for path in (tiny / "_build/stage/page.md", tiny / ".md", tiny.parent / "outside.md"):
        write(path, "# Page")
    write(tiny / "_toc.yml", yaml.safe_dump({"root": name}))
    with pytest.raises(BindlibError, match="must lie in the book"):
        Book.find(tiny)


@pytest.mark.parametrize("content", [b"root: \xff", b"&a\nroot: a\nchapters: [*a]", b"[" * 5000, b"root: 2024-99-99"])
def test_contents_that_python_cannot_take_are_an_error_of_one_line(tiny, content):
    (tiny / "_toc.yml").write_bytes(content)
    write(tiny / "a.md", "# A")
    with pytest.raises(BindlibError, match=r"_toc\.yml") as raised:
        Book.find(tiny)
    assert "\n" not in str(raised.value)


def debris(folder) -> None:
    """What editors, accidents and other programs leave among the sources."""
    (folder / ".#one.md").symlink_to("user@host.123")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe.ipynb")
    for name in ("folder.md", "folder.ipynb"):
        (folder / name).mkdir()


def test_only_regular_files_are_listed_checked_and_staged(tiny):
    book = make_book(tiny)
    debris(tiny / "chapters")
    write(tiny / "chapters/folder.md/inside.svg", "<svg/>")
    names = {path.relative_to(tiny).as_posix() for path in files(tiny / "chapters")}
    assert names == {"chapters/welcome.md", "chapters/folder.md/inside.svg"}
    assert source_findings(book) == []
    stage(book, {})
    staged = {path.relative_to(book.staging).as_posix() for path in book.staging.rglob("*") if path.is_file()}
    assert staged == names | {"_toc.yml", "_config.yml"}


def test_a_page_that_is_not_utf8_is_named(tiny):
    book = make_book(tiny)
    (tiny / "chapters/latin.md").write_bytes(b"caf\xe9")
    for use in (source_findings, lambda book: stage(book, {})):
        with pytest.raises(BindlibError, match=r"chapters/latin\.md is not text in UTF-8"):
            use(book)


def test_a_folder_is_made_anew_whatever_was_there_or_the_cause_is_told(tmp_path, monkeypatch):
    write(tmp_path / "full/file", "x")
    write(tmp_path / "file", "x")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "linked").symlink_to("full")
    for name in ("dangling", "linked", "file", "none/deep"):
        assert list(emptied(tmp_path / name).iterdir()) == []
    assert (tmp_path / "full/file").exists()
    assert list(emptied(tmp_path / "full").iterdir()) == []
    write(tmp_path / "full/file", "x")
    monkeypatch.setattr(os, "unlink", deny)
    with pytest.raises(PermissionError):
        emptied(tmp_path / "full")


def deny(path, **_):
    raise PermissionError(13, "Permission denied", path)
