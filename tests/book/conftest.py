"""What the tests of the machinery share."""

from pathlib import Path

import pytest


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A folder whose name holds what paths may hold."""
    root = tmp_path / "a book {of} two"
    root.mkdir()
    return root
