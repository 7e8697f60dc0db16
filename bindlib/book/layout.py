"""Where the book's files are: the sources that authors write and the folders that a build makes."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from bindlib.errors import BindlibError

DOCUMENT_SUFFIXES = (".ipynb", ".md")


@dataclass(frozen=True)
class Page:
    """One document of the table of contents; ``name`` is its path from the book's root, without suffix."""

    name: str
    source: Path

    @property
    def is_notebook(self) -> bool:
        return self.source.suffix == ".ipynb"


@dataclass(frozen=True)
class Book:
    """A folder that holds ``_toc.yml``, and the pages that it lists, in order."""

    root: Path
    pages: tuple[Page, ...]

    @classmethod
    def find(cls, start: Path | None = None) -> "Book":
        """The book that ``start`` (default: the current folder) lies in.

        Raises ``BindlibError`` when no ``_toc.yml`` is found upward, or when it is malformed or lists a missing page.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "_toc.yml").is_file():
                return cls(folder, tuple(_pages(folder)))
        raise BindlibError(f"no _toc.yml in {start} or above: run this inside the book's folder")

    @property
    def chapters(self) -> tuple[Page, ...]:
        """The pages that are executed."""
        return tuple(page for page in self.pages if page.is_notebook)

    @property
    def build(self) -> Path:
        return self.root / "_build"

    @property
    def html(self) -> Path:
        return self.build / "html"

    @property
    def staging(self) -> Path:
        return self.build / "stage"

    def select(self, names: Iterable[str]) -> tuple[Page, ...]:
        """The chapters called ``names``, each a full name, its last part, or a path to the notebook.

        Raises ``BindlibError`` with the list of chapters when a name is unknown or fits more than one.
        """
        return tuple(self._chapter(name) for name in names)

    def _chapter(self, name: str) -> Page:
        wanted = name.removesuffix(".ipynb").removeprefix("./")
        fits = [page for page in self.chapters if page.name == wanted or page.name.endswith(f"/{wanted}")]
        if len(fits) != 1:
            known = ", ".join(page.name for page in self.chapters)
            problem = "fits more than one chapter" if fits else "is no chapter"
            raise BindlibError(f"{name!r} {problem}: choose from {known or '(the book has no notebook)'}")
        return fits[0]


def files(folder: Path) -> Iterator[Path]:
    """The regular files below ``folder``, in order.

    Sockets, pipes and dangling links (an editor's locks) are left out; linked folders, which may form loops, are not
    entered, nor are those that Jupyter and Python make.  Raises ``OSError`` for a folder that cannot be read.
    """

    def fail(error: OSError):
        raise error

    for where, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(set(folders) - {".ipynb_checkpoints", "__pycache__"})
        yield from (path for name in sorted(names) if (path := Path(where, name)).is_file())


def read_text(path: Path) -> str:
    """The text of a source file; raises ``BindlibError`` when it is not in UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BindlibError(f"{path} is not text in UTF-8 (byte {error.start}): save it in UTF-8") from error


def emptied(folder: Path) -> Path:
    """``folder``, made anew; raises ``OSError`` when what was there cannot be removed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _pages(root: Path) -> Iterator[Page]:
    toc = root / "_toc.yml"
    text = read_text(toc)
    try:
        names = list(_listed(yaml.safe_load(text)))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise BindlibError(f"{toc} is no table of contents: {' '.join(str(error).split())}") from error
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or parts[0] in ("/", "//", "_build") or ".." in parts:
            raise BindlibError(f"{toc} lists {name!r}: a page must lie in the book, and not in _build")
        sources = [root / f"{name}{suffix}" for suffix in DOCUMENT_SUFFIXES]
        source = next((path for path in sources if path.is_file()), None)
        if source is None:
            raise BindlibError(f"{toc} lists {name}, but there is no {name}.ipynb or {name}.md: add it or unlist it")
        yield Page(name, source)


def _listed(entry: dict) -> Iterator[str]:
    """The documents of a ``_toc.yml`` entry, depth first."""
    if not isinstance(entry, dict):
        raise TypeError(f"expected a mapping, got {entry!r}")
    for key in ("root", "file"):
        if key in entry:
            yield str(entry[key]).removesuffix(".md").removesuffix(".ipynb")
    for key in ("parts", "chapters", "sections"):
        for child in entry.get(key) or ():
            yield from _listed(child)
