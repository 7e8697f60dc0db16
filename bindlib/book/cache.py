"""Executed notebooks, kept until something that could change them changes."""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from glob import escape
from hashlib import sha256
from pathlib import Path

import bindlib
from bindlib.book.layout import Book, Page
from bindlib.book.notebook import Notebook, dump, read, strip
from bindlib.storage import put

DATA_VARIABLE = "BINDLIB_DATA"
LIBRARIES = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Parameters:
    """What every chapter is told."""

    profile: str = "ci"
    device: str = "cpu"
    seed: int = 0

    def to_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Executed:
    """A chapter as it ran: the notebook as it goes on the page, and how long it took.

    ``key`` stands for everything that the run depended on; ``fresh`` says that it ran just now.
    """

    notebook: Notebook
    seconds: float
    key: str
    fresh: bool = False


def key(book: Book, page: Page, parameters: Parameters) -> str:
    """A digest of all that an executed chapter depends on: what it says, what it is told, and what it calls."""
    told = json.dumps(parameters.to_dict() | inherited())
    return digest(dump(strip(read(page.source))), told, environment(book.root))


def inherited() -> dict[str, str]:
    """The variables that a run inherits and that may change what it finds: where data, libraries and devices are."""
    found = {name: os.environ[name] for name in (DATA_VARIABLE, *LIBRARIES) if os.environ.get(name)}
    if DATA_VARIABLE in found:
        found[DATA_VARIABLE] = os.path.abspath(found[DATA_VARIABLE])  # a path that holds in every folder
    return found


def environment(root: Path) -> str:
    """A digest of the code that runs: bindlib's sources, the locked versions, the Python version."""
    constraints = root / "constraints.txt"
    locked = constraints.read_text(encoding="utf-8", errors="replace") if constraints.is_file() else ""
    return digest(_package(), locked, sys.version)


def digest(*parts: str) -> str:
    # Each part is hashed on its own, so that text cannot move from one part to the next unseen.
    return sha256(
        "".join(sha256(part.encode("utf-8", "surrogatepass")).hexdigest() for part in parts).encode()
    ).hexdigest()


def tree_digest(root: Path, files: Iterable[Path]) -> str:
    """A digest of the names and contents of ``files`` below ``root``."""
    lines = (f"{file.relative_to(root)} {sha256(file.read_bytes()).hexdigest()}" for file in sorted(files))
    return digest(*lines)


def load(book: Book, page: Page, parameters: Parameters) -> Executed | None:
    """The last run of a chapter with these parameters, up to date or not; ``None`` if there is none that is intact."""
    return _entry(_file(book, page, parameters))


def load_any(book: Book, page: Page) -> Executed | None:
    """The last intact run of a chapter, whatever its parameters were."""
    files = (book.build / "executed").glob(f"*/{escape(page.name)}.json")
    return next(filter(None, map(_entry, sorted(files, key=os.path.getmtime, reverse=True))), None)


def _entry(file: Path) -> Executed | None:
    try:
        entry = json.loads(file.read_text(encoding="utf-8"))
        if digest(entry["notebook"]) != entry["digest"]:
            return None
        return Executed(json.loads(entry["notebook"]), entry["seconds"], entry["key"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def save(book: Book, page: Page, parameters: Parameters, executed: Executed) -> None:
    text = dump(executed.notebook)
    entry = {"key": executed.key, "seconds": executed.seconds, "digest": digest(text), "notebook": text}
    write_atomically(_file(book, page, parameters), json.dumps(entry))


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` never holds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, text.encode())


def _file(book: Book, page: Page, parameters: Parameters) -> Path:
    folder = f"{parameters.profile}-{parameters.device}-{parameters.seed}"
    return book.build / "executed" / folder / f"{page.name}.json"


@cache
def _package() -> str:
    folder = Path(bindlib.__file__).parent
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return tree_digest(folder, files)
