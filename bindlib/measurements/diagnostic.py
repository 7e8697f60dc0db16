"""The text-only diagnostic: where an encoder's captions stand against the smoothness-binding frontier.

Definitions: section "The frontier" of the book; the source paper's Figures 3 and 11 for ceiling, cap and usage.
The order distance and the ratio to it are ours.
"""

import logging
import warnings
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
from scipy.stats import DegenerateDataWarning, bootstrap

from bindlib.encoders.base import SAME_POINT, TextEncoder, unit_rows
from bindlib.measurements.datasets import KEYS, built_in_quartets, load_quartets
from bindlib.scenes import ANCHOR_WORDINGS, Quartet
from bindlib.theory import frontier
from bindlib.theory.bag_of_words import ceiling, unit

Arrays = dict[str, np.ndarray]


def embed_quartets(encoder: TextEncoder, quartets: list[Quartet]) -> np.ndarray:
    """Vectors ``(n, 5, dim)`` float64 of the captions of each quartet, in the order of its fields; each text once."""
    texts = _texts(quartets)
    row = {text: i for i, text in enumerate(texts)}
    vectors = unit(unit_rows(encoder.encode_text(texts), encoder.name, texts).astype(np.float64))
    return vectors[[[row[text] for text in astuple(quartet)] for quartet in quartets]]


def _texts(quartets: list[Quartet]) -> list[str]:
    """Every caption of the quartets once, sorted."""
    return sorted({text for quartet in quartets for text in astuple(quartet)})


def centroid_anchor(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(n, 5, dim)`` with each anchor replaced by the direction of the mean of its four captions."""
    return _with_anchor(vectors, vectors[:, :4])


def midpoint_anchor(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(n, 5, dim)`` with each anchor replaced by the midpoint of caption and swap, the best anchor."""
    return _with_anchor(vectors, vectors[:, :2])


def _with_anchor(vectors: np.ndarray, around: np.ndarray) -> np.ndarray:
    return np.concatenate([vectors[:, :4], unit(around.mean(axis=1))[:, None]], axis=1)


def per_quartet(vectors: np.ndarray) -> Arrays:
    """The quantities of each quartet, each ``(n,)``, from ``vectors`` ``(n, 5, dim)``.

    ``order_distance`` and ``order_closer`` average the two captions, each against its own order variant.
    """
    text, swapped, text_reordered, swapped_reordered, anchor = np.moveaxis(vectors, 1, 0)
    d = ceiling(text, swapped)
    d = np.where(d < SAME_POINT, 0.0, d)  # else rounding noise over the cap of rounding noise would be a usage
    delta = np.maximum(frontier.smoothness(text, swapped, anchor), 0.0)
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
    """95 % percentile bootstrap interval over quartets; ``None`` for one quartet, or if a resample is undefined."""
    n = len(data[0])
    if n < 2 or np.isnan(statistic(*data)):
        return None
    batch = max(1, 2_000_000 // n)  # resamples at a time, so that memory does not grow with the data
    with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):  # undefined resamples are met below
        result = bootstrap(
            data, statistic, paired=True, vectorized=True, n_resamples=2000, method="percentile", rng=rng, batch=batch
        )
    low, high = np.percentile(result.bootstrap_distribution, (2.5, 97.5))
    return None if np.isnan(low) else [float(low), float(high)]


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
    texts = _texts(quartets)
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


def measure(
    encoders: list[str],
    data: str = "quartets",
    device: str = "cpu",
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """One row for each named encoder on ``data``; see ``measure_encoder``.  ``tell`` is given a line of progress each.

    Raises ``BindlibError`` for bad data, an unknown encoder or a missing package before anything is measured.
    """
    from bindlib.encoders.zoo import load_encoder, require

    quartets = load_quartets(data)
    for name in encoders:
        require(name)
    rows = []
    for i, name in enumerate(encoders, 1):
        tell(f"measuring {name} ({i} of {len(encoders)}) on {len(quartets)} quartets")
        rows.append(measure_encoder(load_encoder(name, device), quartets, data, seed))
    return rows


def usage_by_wording(encoder: TextEncoder, n: int) -> list[float]:
    """Mean usage (of the paper's cap) on ``n`` built-in quartets under each wording of the anchor, in their order."""
    wordings = range(len(ANCHOR_WORDINGS))
    quartets = [quartet for wording in wordings for quartet in built_in_quartets(wording, n)]
    vectors = embed_quartets(encoder, quartets).reshape(len(wordings), n, len(KEYS), -1)
    return [float(per_quartet(of_wording)["usage"].mean()) for of_wording in vectors]
