"""Where the book's files are: the sources that authors write and the folders that a build makes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

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


def _pages(root: Path) -> Iterator[Page]:
    toc = root / "_toc.yml"
    try:
        names = list(_listed(yaml.safe_load(toc.read_text(encoding="utf-8"))))
    except (yaml.YAMLError, TypeError, UnicodeDecodeError) as error:
        raise BindlibError(f"{toc} is no table of contents: {' '.join(str(error).split())}") from error
    for name in names:
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
