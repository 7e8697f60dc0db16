"""One build at a time in a book's folder; what a killed one left running is ended.

The builds of this process and all that they start carry its ``IDENTITY`` in their environment, and the lock file holds
the same, so that what is ended provably belongs to the build that is gone.
"""

import fcntl
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, TextIO

import psutil

from bindlib.book.process import IDENTITY, VARIABLE
from bindlib.errors import BindlibError

WAIT_SECONDS = 5.0  # for what was killed to let go
_CLOCK_SECONDS = 2.0  # a start reads differently after the clock was set


@dataclass(frozen=True)
class Owner:
    """The process of a build: on which machine, since when (seconds of the epoch), and what its children carry."""

    pid: int
    started: float
    machine: str
    identity: str

    @classmethod
    def here(cls) -> Self:
        return cls(os.getpid(), psutil.Process().create_time(), platform.node(), IDENTITY)

    @classmethod
    def read(cls, file: TextIO) -> Self | None:
        """The owner that a lock file names; ``None`` when it names none, as after a build that came to its end."""
        file.seek(0)
        try:
            owner = cls(**json.loads(file.read()))
        except (ValueError, TypeError, RecursionError):
            return None
        kinds = zip(asdict(owner).values(), (int, float, str, str), strict=True)
        sensible = all(isinstance(value, kind) for value, kind in kinds) and 0 <= owner.started < 1e11
        return owner if sensible and owner.identity else None

    def is_gone(self) -> bool:
        """Whether the process has surely ended; that of another machine is not known to have."""
        if self.machine != platform.node():
            return False
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _CLOCK_SECONDS
            return not same or process.status() == psutil.STATUS_ZOMBIE
        except psutil.AccessDenied:
            return False
        except (psutil.NoSuchProcess, ValueError, OverflowError):
            return True

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started))
        return f"process {self.pid} on {self.machine}, since {since}"


@contextmanager
def alone(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the build folder.  What a killed build left is ended, and ``tell`` is told.

    Raises ``BindlibError``, which names the process, while another build is at work.
    """
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("a+", encoding="utf-8") as file:
        _take(file, folder, tell)
        os.set_inheritable(file.fileno(), True)
        try:
            _write(file, json.dumps(asdict(Owner.here())))
            yield
        finally:
            _write(file, "")
            fcntl.flock(file, fcntl.LOCK_UN)


def _take(file: TextIO, folder: Path, tell: Callable[[str], None]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        owner, free = Owner.read(file), _locked(file)
        if owner and owner.is_gone() and (ended := _end_family(owner.identity)):
            tell(f"the build of {owner} was killed: its processes {', '.join(map(str, ended))} are ended now")
        if free:
            return
        if owner is None or not owner.is_gone() or time.monotonic() > deadline:
            who = owner if owner and not owner.is_gone() else f"process {', '.join(_holders(file)) or '(unknown)'}"
            raise BindlibError(f"another build is at work in {folder} ({who}): wait for it, or stop it")
        time.sleep(0.1)


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _end_family(identity: str) -> list[int]:
    """Kill every process that carries ``identity``, until there is none: their process ids."""
    ended = []
    while family := [process for process in psutil.process_iter() if _carries(process, identity)]:
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, WAIT_SECONDS)
        ended += [process.pid for process in family]
        if all(map(_runs, family)):  # nothing helps
            break
    return sorted(set(ended))


def _carries(process: psutil.Process, identity: str) -> bool:
    with suppress(psutil.Error, OSError):
        return process.pid != os.getpid() and _runs(process) and process.environ().get(VARIABLE) == identity
    return False


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _holders(file: TextIO) -> list[str]:
    """The other processes that have the lock file open, as far as the system tells."""
    found, here = [], os.path.realpath(file.name)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and any(opened.path == here for opened in process.open_files()):
                found.append(str(process.pid))
    return found


def _write(file: TextIO, text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
