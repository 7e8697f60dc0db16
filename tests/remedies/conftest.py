import pytest

from bindlib.remedies.trained_throttle import one_thread


@pytest.fixture
def quiet():
    """Torch on one thread, as where the committed results were made."""
    with one_thread():
        yield
