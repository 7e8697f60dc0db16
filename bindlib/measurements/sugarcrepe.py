"""SugarCrepe: 7,511 COCO captions, each with a hard negative, in seven subsets.

Source: Hsieh et al., "SugarCrepe", NeurIPS 2023 Datasets and Benchmarks, arXiv 2306.14610; the files of
github.com/RAIVNLab/sugar-crepe at a pinned commit, MIT licence (copyright 2023 RAIVN Lab).
"""

import hashlib
import json
import logging
import os
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from queue import Empty, SimpleQueue
from ssl import SSLError
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from bindlib.errors import BindlibError, system_fault
from bindlib.measurements.items import Dataset, Pair

COMMIT = "0047054b243992f0fad63d6f64f7544862daf846"
URL = f"https://raw.githubusercontent.com/RAIVNLab/sugar-crepe/{COMMIT}/data"
DATA_VARIABLE = "BINDLIB_DATA"
TIMEOUT_SECONDS = 30  # without a byte
DEADLINE_SECONDS = 300  # for a file, of under 500 kB
log = logging.getLogger("bindlib")


@dataclass(frozen=True)
class Subset:
    """A subset of SugarCrepe: the size in bytes and the SHA-256 of its file ``NAME.json``."""

    name: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}.json"

    def problem(self, content: bytes) -> str:
        """Why ``content`` is not this file; empty if it is."""
        found = hashlib.sha256(content).hexdigest()
        return "" if found == self.sha256 else f"SHA-256 expected {self.sha256}, found {found}"


SUBSETS = (
    Subset("replace_obj", 361126, "9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898"),
    Subset("replace_att", 176843, "9fe55fd4c0a9ad1f85d486d9f6d0215b41f867eb025026e7f7b5ce44352545ee"),
    Subset("replace_rel", 312629, "356bcc2fc4c6aed3f4d9fd50acc58489bb1fe70c28791f9368d4cbf9ea39cdc9"),
    Subset("swap_obj", 57569, "073cdb8e253d053614e80710834d9773b09dbc1dd0a412f6f9492262caa1dcad"),
    Subset("swap_att", 154665, "7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0"),
    Subset("add_obj", 484593, "1b9d76b93139a937b8dc1ada92a4f05ecc821bb3c291d752428bafadd4bb0682"),
    Subset("add_att", 158863, "012d88d729693d193760e6f3393b06a1cf874380a9db0062e937201199fe044d"),
)


def load(folder: Path | None = None, url: str = URL, subsets: tuple[Subset, ...] = SUBSETS) -> Dataset:
    """SugarCrepe as pairs, in the order of ``subsets`` and of its files.

    Its files are read from ``folder``, by default ``sugarcrepe`` in ``data_folder()``, and checked; those that are
    missing there are downloaded from ``url`` first. Raises ``BindlibError`` for a file that is not the pinned one, for
    a folder that can't be used, and for a download that fails.
    """
    folder = folder or data_folder() / "sugarcrepe"
    if not all((folder / subset.file).exists() for subset in subsets):
        log.warning("downloading SugarCrepe (MIT licence, under 2 MB) from %s to %s", url, folder)
    return Dataset("sugarcrepe", tuple(pair for subset in subsets for pair in _pairs(folder, url, subset)))


def _pairs(folder: Path, url: str, subset: Subset) -> list[Pair]:
    path = folder / subset.file
    try:
        if not path.exists():
            download(f"{url}/{subset.file}", path, subset)
        content = path.read_bytes()
    except OSError as error:
        raise BindlibError(
            f"SugarCrepe cannot be kept in {folder} ({system_fault(error)}): set {DATA_VARIABLE} to a folder that can "
            "be read and written"
        ) from None
    if problem := subset.problem(content):
        raise BindlibError(f"{path} is not the pinned file of SugarCrepe ({problem}): remove it to download it again")
    return [Pair(item["caption"], item["negative_caption"], subset.name) for item in json.loads(content).values()]


def data_folder() -> Path:
    """Where data lies: the folder that ``BINDLIB_DATA`` names, which must exist, or the user's data folder."""
    if not (named := os.environ.get(DATA_VARIABLE)):
        from platformdirs import user_data_path

        try:
            return user_data_path("bindlib", appauthor=False)
        except RuntimeError as error:  # there is no home
            raise BindlibError(f"there is no place to keep data ({error}): set {DATA_VARIABLE} to a folder") from None
    if not Path(named).is_dir():
        raise BindlibError(f"{DATA_VARIABLE} is {named!r}, which is no folder: create it, or unset {DATA_VARIABLE}")
    return Path(named)


def download(url: str, path: Path, subset: Subset) -> None:
    """Download ``url`` to ``path``, where the file appears whole and checked, or not at all.

    What arrives is kept beside it as ``NAME.part``, and a later call asks for the rest only. Raises ``BindlibError``
    for a download that is refused, cut off or not the pinned file, and ``OSError`` for a fault of the disk.
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    retry = f"check the network and run it again, or put {path.name} into {path.parent} yourself"
    with FileLock(path.with_suffix(".lock")):  # a second process waits, and then finds the file
        if path.exists():
            return
        fault = _fetch(url, part, subset.size)
        have = part.stat().st_size if part.exists() else 0
        if have < subset.size:
            raise BindlibError(
                f"{url}: {have} of {subset.size} bytes have arrived ({fault or 'it was cut off'}): {retry}"
            )
        if problem := subset.problem(part.read_bytes()):
            part.unlink()
            raise BindlibError(f"{url} is not the pinned file ({problem}) and was thrown away: {retry}")
        os.replace(part, path)


def _fetch(url: str, part: Path, size: int) -> str:
    """Add what is missing of ``size`` bytes to ``part``; why it ended early, or empty.

    A server that ignores the range sends the whole file, which replaces the part.
    """
    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return ""
    arrived: SimpleQueue[tuple[str, bytes | str]] = SimpleQueue()
    # In a thread, as a server that drips its headers, or sends from one place to the next, is past every timeout.
    Thread(target=_ask, args=(url, have, size, arrived), daemon=True).start()
    deadline = time.monotonic() + DEADLINE_SECONDS
    mode = "wb"
    while True:
        try:
            what, value = arrived.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return f"it took longer than {DEADLINE_SECONDS} s"
        if what == "end":
            return value
        if what == "begins":
            mode = value
            continue
        with open(part, mode) as file:
            file.write(value)
        mode = "ab"


def _ask(url: str, have: int, size: int, arrived: SimpleQueue) -> None:
    """Put what the server sends: how it begins, its blocks, and why it ended early (empty if it did not)."""
    arrived.put(("end", " ".join(_asked(url, have, size, arrived).split())))


def _asked(url: str, have: int, size: int, arrived: SimpleQueue) -> str:
    try:
        request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
        with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            resumed = answer.status == HTTPStatus.PARTIAL_CONTENT
            arrived.put(("begins", "ab" if resumed else "wb"))
            got = have if resumed else 0
            while got <= size and (block := answer.read1(1 << 16)):  # longer, it is not the file
                arrived.put(("block", block))
                got += len(block)
    except HTTPError as error:
        return f"the server answers {error.code} {error.reason}"
    except URLError as error:
        return f"the server cannot be reached, {error.reason}"
    except (HTTPException, ConnectionError, TimeoutError, SSLError) as error:
        return f"it was cut off, {error or type(error).__name__}"
    except Exception as error:  # an address that urllib cannot take apart, to which a server redirects
        return f"the server sends to a place that is none, {type(error).__name__}: {error}"
    return ""
