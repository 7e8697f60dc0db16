"""Encoders without weights, for the tests of sweeps: importable here, in worker processes, and as ``python:toys:NAME``.

``slow`` writes its process's id to ``$TOYS/started`` and then waits until ``$TOYS/go`` is there.
"""

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

REVISION = "toys 1"  # their vectors depend on nothing but this file


def _rows(captions: list[str], salt: str) -> np.ndarray:
    seeds = [int.from_bytes(hashlib.sha256((salt + caption).encode()).digest()[:8], "little") for caption in captions]
    return np.stack([np.random.default_rng(seed).standard_normal(8) + 2 for seed in seeds])


def one(captions: list[str]) -> np.ndarray:
    print("an encoder that prints")
    return _rows(captions, "1")


def two(captions: list[str]) -> np.ndarray:
    return _rows(captions, "2")


def three(captions: list[str]) -> np.ndarray:
    time.sleep(float(os.environ.get("TOYS_SECONDS", "0")))
    return _rows(captions, "3")


def broken(captions: list[str]) -> np.ndarray:
    raise RuntimeError("out of\nluck")


def dies(captions: list[str]) -> np.ndarray:
    os.kill(os.getpid(), signal.SIGKILL)


def slow(captions: list[str]) -> np.ndarray:
    folder = Path(os.environ["TOYS"])
    (folder / f"started-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
    return _rows(captions, "slow")
