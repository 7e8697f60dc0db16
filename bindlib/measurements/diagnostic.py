"""The text-only diagnostic: where an encoder's captions stand against the smoothness-binding frontier.

Definitions: section "The frontier" of the book; the source paper's Figures 3 and 11 for ceiling, cap and usage.
The order distance and the ratio to it are ours.
"""

import logging
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from bindlib.encoders.base import TextEncoder
from bindlib.measurements.datasets import load_quartets
from bindlib.scenes import Quartet
from bindlib.theory import frontier
from bindlib.theory.bag_of_words import ceiling

# Below this distance two vectors are the same point to float32 rounding, so an order of two such distances is noise.
SAME_POINT = 1e-6

Arrays = dict[str, np.ndarray]


def embed_quartets(encoder: TextEncoder, quartets: list[Quartet]) -> np.ndarray:
    """Vectors ``(n, 5, dim)`` float64 of the captions of each quartet, in the order of its fields; each text once."""
    texts = sorted({text for quartet in quartets for text in astuple(quartet)})
    row = {text: i for i, text in enumerate(texts)}
    vectors = np.asarray(encoder.encode_text(texts), dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[[[row[text] for text in astuple(quartet)] for quartet in quartets]]


def centroid_anchor(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(n, 5, dim)`` with each anchor replaced by the direction of the mean of its four captions."""
    centroid = vectors[:, :4].mean(axis=1)
    centroid /= np.linalg.norm(centroid, axis=1, keepdims=True)
    return np.concatenate([vectors[:, :4], centroid[:, None]], axis=1)


def per_quartet(vectors: np.ndarray) -> Arrays:
    """The quantities of each quartet, each ``(n,)``, from ``vectors`` ``(n, 5, dim)``.

    ``order_distance`` and ``order_closer`` average the two captions, each against its own order variant.
    """
    text, swapped, text_reordered, swapped_reordered, anchor = np.moveaxis(vectors, 1, 0)
    d = ceiling(text, swapped)
    delta = frontier.smoothness(text, swapped, anchor)
    cap, sharp_cap = frontier.paper_cap(delta), frontier.sharp_cap(delta)
    order = np.stack([ceiling(text, text_reordered), ceiling(swapped, swapped_reordered)])
    return {
        "ceiling": d,
        "delta": delta,
        "cap": cap,
        "usage": frontier.usage(d, cap),
        "sharp_cap": sharp_cap,
        "sharp_usage": frontier.usage(d, sharp_cap),
        "order_distance": order.mean(axis=0),
        "order_closer": (order < d - SAME_POINT).mean(axis=0),
    }


def _binding_to_order(d: np.ndarray, order: np.ndarray, axis: int = -1) -> np.ndarray:
    """Ratio of means; NaN where both are rounding noise."""
    top, bottom = d.mean(axis=axis), order.mean(axis=axis)
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > SAME_POINT)


def _interval(statistic: Callable, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> list[float] | None:
    """95 % percentile bootstrap interval over quartets; ``None`` for a single quartet or an undefined statistic."""
    if len(data[0]) < 2 or np.isnan(statistic(*data)):
        return None
    result = bootstrap(
        data, statistic, paired=True, vectorized=True, n_resamples=2000, method="percentile", rng=rng, batch=500
    )
    return [float(result.confidence_interval.low), float(result.confidence_interval.high)]


def summarise(arrays: Arrays, rng: np.random.Generator) -> dict[str, Any]:
    """Means over quartets, the binding-to-order ratio of means (``None`` if both vanish), and ``intervals``."""
    ratio = (arrays["ceiling"], arrays["order_distance"])
    means = {name: float(values.mean()) for name, values in arrays.items()}
    intervals = {name: _interval(np.mean, (values,), rng) for name, values in arrays.items()}
    value = float(_binding_to_order(*ratio))
    return means | {
        "binding_to_order": None if np.isnan(value) else value,
        "intervals": intervals | {"binding_to_order": _interval(_binding_to_order, ratio, rng)},
    }


FIELDS = ("encoder", "revision", "data", "n", "ceiling", "delta", "cap", "usage", "sharp_cap", "sharp_usage",
          "order_distance", "binding_to_order", "order_closer", "truncated", "intervals")  # fmt: skip


def measure_encoder(encoder: TextEncoder, quartets: list[Quartet], data: str, seed: int = 0) -> dict[str, Any]:
    """One JSON-ready row: the diagnostic of ``encoder`` on ``quartets``, with 95 % intervals over quartets.

    ``data`` names the quartets in the row; ``truncated`` counts captions longer than the encoder's context.
    """
    numbers = summarise(per_quartet(embed_quartets(encoder, quartets)), np.random.default_rng(seed))
    texts = sorted({text for quartet in quartets for text in astuple(quartet)})
    if truncated := encoder.count_truncated(texts):
        logging.getLogger("bindlib").warning(
            "%s reads %s tokens: %d of %d captions are longer and lose their end, where a swap is invisible",
            encoder.name, encoder.context_length, truncated, len(texts),
        )  # fmt: skip
    row = numbers | {
        "encoder": encoder.name,
        "revision": encoder.revision,
        "data": data,
        "n": len(quartets),
        "truncated": truncated,
    }
    return {field: row[field] for field in FIELDS}


def measure(encoders: list[str], data: str = "quartets", device: str = "cpu", seed: int = 0) -> list[dict[str, Any]]:
    """One row for each named encoder on ``data``; see ``measure_encoder``.

    Raises ``BindlibError`` for bad data or an encoder that cannot be loaded, before anything is measured.
    """
    from bindlib.encoders.zoo import load_encoder

    quartets = load_quartets(data)
    loaded = [load_encoder(name, device) for name in encoders]
    return [measure_encoder(encoder, quartets, data, seed) for encoder in loaded]
