from functools import cache

import pytest

from bindlib.encoders.zoo import load_encoder


@pytest.fixture(scope="session")
def encoder():
    """``encoder(name)`` loads each encoder once a session."""
    import torch

    torch.set_num_threads(1)
    return cache(load_encoder)
