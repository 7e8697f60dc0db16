"""Which device a computation runs on."""

import ctypes
from typing import Literal

Device = Literal["auto", "cpu", "cuda"]


def resolve(device: Device) -> Literal["cpu", "cuda"]:
    """``"cuda"`` when it is wanted (``"auto"`` or ``"cuda"``) and torch can use it, else ``"cpu"``."""
    return "cuda" if device != "cpu" and _cuda_works() else "cpu"


def _cuda_works() -> bool:
    # Torch takes seconds to import, and without the driver's library its answer is known.
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    try:
        import torch
    except (ImportError, OSError):  # absent, or one of its shared libraries is: the CPU needs no torch
        return False
    return torch.cuda.is_available()
