"""The folder that Jupyter Book renders: the book's sources with executed notebooks in place of the committed ones."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from bindlib.book import prose
from bindlib.book.layout import Book, emptied, files, read_text
from bindlib.book.notebook import Notebook, dump, read, strip
from bindlib.errors import BindlibError

_NOT_EXECUTED = "```{warning}\nThis page was not executed in this build: its results are missing.\n```"


def stage(book: Book, executed: Mapping[str, Notebook]) -> None:
    """Fill ``book.staging`` anew; chapters that are not among ``executed`` (by page name) appear without results."""
    emptied(book.staging)
    _copy_sources(book)
    (book.staging / "_config.yml").write_text(_config(book), encoding="utf-8")
    for page in book.chapters:
        notebook = executed.get(page.name) or _unexecuted(read(page.source))
        target = book.staging / f"{page.name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dump(notebook), encoding="utf-8")


def _copy_sources(book: Book) -> None:
    sources = {book.root / "_toc.yml", *filter(Path.is_file, book.root.glob("*.bib"))}
    sources |= {page.source for page in book.pages}
    for folder in {Path(page.name).parts[0] for page in book.pages} | {"_static"}:
        if (book.root / folder).is_dir():
            sources |= set(files(book.root / folder))
    for path in sorted(sources):
        target = book.staging / path.relative_to(book.root)
        if path.suffix == ".md":
            read_text(path)  # what is not UTF-8 is said here, in one line
        if path.suffix != ".ipynb":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)


def _config(book: Book) -> str:
    """The book's settings; what is rendered has been executed, so that nothing is executed again."""
    path = book.root / "_config.yml"
    if not path.is_file():
        raise BindlibError(f"{path} is missing: Jupyter Book's settings go there")
    text = read_text(path)
    try:
        config = yaml.safe_load(text) or {}
        config["execute"] = (config.get("execute") or {}) | {"execute_notebooks": "off"}
    except (yaml.YAMLError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BindlibError(f"{path} holds no settings: {' '.join(str(error).split())}") from error
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _unexecuted(notebook: Notebook) -> Notebook:
    notebook = prose.unknown(strip(notebook))
    note = {"cell_type": "markdown", "metadata": {}, "source": _NOT_EXECUTED}
    note |= {"id": "not-executed"} if notebook.get("nbformat_minor", 0) >= 5 else {}
    after_title = 1 if notebook["cells"] and notebook["cells"][0]["cell_type"] == "markdown" else 0
    notebook["cells"].insert(after_title, note)
    return notebook
