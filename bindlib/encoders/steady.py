"""Whether an encoder is a function: the same caption, the same vector, whatever it is encoded with."""

from dataclasses import is_dataclass, replace

import numpy as np

from bindlib.encoders.base import Nowhere, TextEncoder

CAPTIONS = 6
ROUNDING = 1e-4  # between unit vectors: above what float32 and the order of a sum do


def unsteadiness(encoder: TextEncoder, captions: list[str]) -> float:
    """The greatest distance between two unit vectors that ``encoder`` gives one of the first few distinct ``captions``.

    They are encoded twice, none read from a store: together, and in two other batches in the opposite order.
    """
    few = list(dict.fromkeys(captions))[:CAPTIONS]
    if is_dataclass(encoder) and hasattr(encoder, "store"):
        encoder = replace(encoder, store=Nowhere())
    turned, cut = few[::-1], (len(few) + 1) // 2
    together = np.asarray(encoder.encode_text(few), dtype=np.float64)
    apart = np.concatenate([encoder.encode_text(part) for part in (turned[:cut], turned[cut:]) if part])[::-1]
    if apart.shape != together.shape:
        return float("inf")
    return float(np.linalg.norm(together - apart, axis=1).max())
