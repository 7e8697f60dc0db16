"""Child processes that can be ended for certain: on time-out, on Ctrl-C, and with everything they started."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Event

import psutil

import bindlib

POLL_SECONDS = 0.1

VARIABLE = "BINDLIB_BUILD"
IDENTITY = token_hex(16)  # carried by all that this process starts here, and by nothing else

# What a child inherits. All else stays out, and with it whatever changes unseen what a child computes or checks:
# PYTHONOPTIMIZE, PYTHONWARNINGS, another PYTHONPATH, LD_PRELOAD, numbers of threads, settings of NumPy and torch.
INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME", "BINDLIB_CACHE", "BINDLIB_DATA"),
    *("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE", "JUPYTER_ALLOW_INSECURE_WRITES"),
)

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


def environment() -> dict[str, str]:
    """The environment of a child: a few variables of ours, text in UTF-8, and the bindlib that is running here."""
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    home = Path(bindlib.__file__).resolve().parent.parent
    if home.name not in ("site-packages", "dist-packages"):  # there a child finds it by itself
        env["PYTHONPATH"] = str(home)
    return env | {VARIABLE: IDENTITY, "PYTHONUTF8": "1"}


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
