"""The folder that Jupyter Book renders: the book's sources with executed notebooks in place of the committed ones."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from bindlib.book import prose
from bindlib.book.layout import Book
from bindlib.book.notebook import Notebook, dump, read, strip
from bindlib.errors import BindlibError

_NOT_SOURCES = shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints", "__pycache__")
_NOT_EXECUTED = "```{warning}\nThis page was not executed in this build: its results are missing.\n```"


def stage(book: Book, executed: Mapping[str, Notebook]) -> None:
    """Fill ``book.staging`` anew; chapters that are not among ``executed`` (by page name) appear without results."""
    shutil.rmtree(book.staging, ignore_errors=True)
    book.staging.mkdir(parents=True)
    _copy_sources(book)
    (book.staging / "_config.yml").write_text(_config(book), encoding="utf-8")
    for page in book.chapters:
        notebook = executed.get(page.name) or _unexecuted(read(page.source))
        target = book.staging / f"{page.name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dump(notebook), encoding="utf-8")


def _copy_sources(book: Book) -> None:
    for folder in {Path(page.name).parts[0] for page in book.pages} | {"_static"}:
        if (book.root / folder).is_dir():
            shutil.copytree(book.root / folder, book.staging / folder, ignore=_NOT_SOURCES)
    top = [page.source for page in book.pages if page.source.parent == book.root and not page.is_notebook]
    for path in (book.root / "_toc.yml", *sorted(book.root.glob("*.bib")), *top):
        shutil.copy2(path, book.staging / path.name)


def _config(book: Book) -> str:
    """The book's settings; what is rendered has been executed, so that nothing is executed again."""
    path = book.root / "_config.yml"
    if not path.is_file():
        raise BindlibError(f"{path} is missing: Jupyter Book's settings go there")
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        config["execute"] = (config.get("execute") or {}) | {"execute_notebooks": "off"}
    except (yaml.YAMLError, TypeError, AttributeError) as error:
        raise BindlibError(f"{path} holds no settings: {' '.join(str(error).split())}") from error
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _unexecuted(notebook: Notebook) -> Notebook:
    notebook = prose.unknown(strip(notebook))
    note = {"cell_type": "markdown", "metadata": {}, "source": _NOT_EXECUTED}
    note |= {"id": "not-executed"} if notebook.get("nbformat_minor", 0) >= 5 else {}
    after_title = 1 if notebook["cells"] and notebook["cells"][0]["cell_type"] == "markdown" else 0
    notebook["cells"].insert(after_title, note)
    return notebook
