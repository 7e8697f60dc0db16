import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Shared cores stall: a slow example is no failure, and speed is measured elsewhere.
settings.register_profile("book", deadline=None)
settings.load_profile("book")

DATA = Path(__file__).parent / "data"

# A run in the background of a shell ignores Ctrl-C, and so would the commands that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    if not __debug__:
        raise pytest.UsageError("asserts do not run: start Python without -O (PYTHONOPTIMIZE)")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory) -> None:
    """No test reads or writes the user's cache of embeddings."""
    os.environ["BINDLIB_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def quartets_file() -> Path:
    return DATA / "quartets_60.json"


@pytest.fixture(scope="session")
def independent_quartets(quartets_file) -> dict:
    """60 quartets and what was measured on them independently of this code."""
    return json.loads(quartets_file.read_text())
