"""Child processes that can be ended for certain: on time-out, on Ctrl-C, and with everything they started."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from threading import Event

import psutil

POLL_SECONDS = 0.1

_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Cancelled(Exception):
    """The build is being stopped; the process was killed."""


def run(command: list[str], folder: Path, log: Path, env: dict[str, str], timeout: float, cancel: Event) -> int | None:
    """Run ``command`` in ``folder``, its output in ``log``: its exit status, or ``None`` after ``timeout`` seconds.

    Raises ``Cancelled`` once ``cancel`` is set.  However it ends, what it started does not stay behind.
    """
    deadline = time.monotonic() + timeout
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            close_fds=False,  # a child that outlives a killed build goes on holding the lock that it may inherit
        )
        try:
            while time.monotonic() < deadline:
                if cancel.is_set():
                    raise Cancelled
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(POLL_SECONDS)
            return None
        finally:
            _kill(process)


def words(text: str) -> str:
    """``text`` without the codes that colour it on a terminal."""
    return _COLOUR.sub("", text)


def _kill(process: subprocess.Popen) -> None:
    """Kill the process group of ``process`` and of each descendant.

    A Jupyter kernel leads a session of its own, so the group of ``process`` alone would leave it running.
    """
    groups = {process.pid}
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(ProcessLookupError):
                groups.add(os.getpgid(child.pid))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):  # gone already; macOS calls that not permitted
            os.killpg(group, signal.SIGKILL)
    process.wait()
