"""The text-only diagnostic: where an encoder's captions stand, by quartets, pairs or triplets.

Definitions: section "The frontier" of the book; the source paper's Figures 3, 11 and 12 for ceiling, cap and usage.
The order distance and the ratio to it are ours.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from bindlib.decisions import decided
from bindlib.encoders.base import SAME_POINT, TextEncoder, failing, unit_rows
from bindlib.encoders.steady import ROUNDING, unsteadiness
from bindlib.measurements.datasets import built_in_quartets
from bindlib.measurements.estimates import Estimate, mean, quantile, share, statistic
from bindlib.measurements.items import ALL, Dataset, distinct
from bindlib.scenes import ANCHOR_WORDINGS, Quartet
from bindlib.theory import frontier
from bindlib.theory.bag_of_words import ceiling, unit

LOG = logging.getLogger("bindlib")
Arrays = dict[str, np.ndarray]
Summary = dict[str, Estimate]
Row = dict[str, Any]

QUARTET_MEANS = ("ceiling", "delta", "cap", "usage", "sharp_cap", "sharp_usage", "order_distance", "order_closer")
DECILES = range(10, 100, 10)  # percent
CHUNK = 4096  # items at a time: the float64 vectors of all items of a large file would not fit into memory


def embed(encoder: TextEncoder, captions: Sequence[tuple[str, ...]]) -> Iterator[np.ndarray]:
    """Unit vectors of the ``k`` captions of each item, ``(m, k, dim)`` float64 with ``m <= CHUNK``; each text once."""
    texts = distinct(captions)
    row = {text: i for i, text in enumerate(texts)}
    vectors = unit_rows(encoder.encode_text(texts), encoder.name, texts)
    rows = np.array([[row[text] for text in item] for item in captions])
    for start in range(0, len(rows), CHUNK):
        yield unit(vectors[rows[start : start + CHUNK]].astype(np.float64))


def embed_quartets(encoder: TextEncoder, quartets: list[Quartet]) -> np.ndarray:
    """Vectors ``(n, 5, dim)`` float64 of the captions of each quartet, in the order of its fields; each text once."""
    return np.concatenate(list(embed(encoder, [astuple(quartet) for quartet in quartets])))


def centroid_anchor(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(n, 5, dim)`` with each anchor replaced by the direction of the mean of its four captions."""
    return _with_anchor(vectors, vectors[:, :4])


def midpoint_anchor(vectors: np.ndarray) -> np.ndarray:
    """``vectors`` ``(n, 5, dim)`` with each anchor replaced by the midpoint of caption and swap, the best anchor."""
    return _with_anchor(vectors, vectors[:, :2])


def _with_anchor(vectors: np.ndarray, around: np.ndarray) -> np.ndarray:
    return np.concatenate([vectors[:, :4], unit(around.mean(axis=1))[:, None]], axis=1)


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    d = ceiling(a, b)
    return np.where(d < SAME_POINT, 0.0, d)  # else rounding noise over the cap of rounding noise would be a usage


def per_quartet(vectors: np.ndarray) -> Arrays:
    """The quantities of each quartet, each ``(n,)``, from ``vectors`` ``(n, 5, dim)``.

    ``order_distance`` and ``order_closer`` average the two captions, each against its own order variant.
    """
    text, swapped, text_reordered, swapped_reordered, anchor = np.moveaxis(vectors, 1, 0)
    d = _distance(text, swapped)
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


def per_pair(vectors: np.ndarray) -> Arrays:
    """``ceiling`` ``(n,)``, the distance of each caption from its negative, from ``vectors`` ``(n, 2, dim)``."""
    return {"ceiling": _distance(vectors[:, 0], vectors[:, 1])}


def per_triplet(vectors: np.ndarray) -> Arrays:
    """The quantities of each triplet, each ``(n,)``, from ``vectors`` ``(n, 3, dim)``.

    ``gap`` is the distance of the swapped text from the query less that of the positive. ``nearer`` is 1 where the
    positive is nearer to the query, 0 where the swapped text is, and 1/2 for a tie.

    Source: the text-only test of Tamir et al. 2026, arXiv 2610.22602.
    """
    query, positive, swapped = np.moveaxis(vectors, 1, 0)
    to_positive, to_swapped = _distance(query, positive), _distance(query, swapped)
    gap = to_swapped - to_positive
    nearer = decided(gap, SAME_POINT)
    return {
        "positive_distance": to_positive,
        "swapped_distance": to_swapped,
        "gap": gap,
        "nearer": nearer,
        "tie": nearer == 0.5,
    }


PER_ITEM = {"quartets": per_quartet, "pairs": per_pair, "triplets": per_triplet}


def per_item(encoder: TextEncoder, dataset: Dataset) -> Arrays:
    """The quantities of each item, each ``(n,)``, in the order of ``dataset.items``.

    Those of ``per_quartet``, ``per_pair`` or ``per_triplet``, and ``permutation``: whether the item only moves words.
    """
    parts = [PER_ITEM[dataset.kind](vectors) for vectors in embed(encoder, dataset.captions)]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return arrays | {"permutation": dataset.permuted()}


def _binding_to_order(d: np.ndarray, order: np.ndarray, axis: int = -1) -> np.ndarray:
    """Ratio of means; NaN where both are rounding noise."""
    top, bottom = d.mean(axis=axis), order.mean(axis=axis)
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > SAME_POINT)


def summarise_quartets(arrays: Arrays, rng: np.random.Generator) -> Summary:
    """Means over quartets, and the binding-to-order ratio of means (undefined if both vanish)."""
    means = {name: mean(arrays[name], rng) for name in QUARTET_MEANS}
    return means | {
        "binding_to_order": statistic(_binding_to_order, (arrays["ceiling"], arrays["order_distance"]), rng)
    }


def summarise_pairs(arrays: Arrays, rng: np.random.Generator) -> Summary:
    """Mean ceiling and the share of pairs at 0, of all pairs and of those that only move words; deciles of ceilings."""
    d, moved = arrays["ceiling"], arrays["ceiling"][arrays["permutation"]]
    return {
        "ceiling": mean(d, rng),
        "zero_share": share(d == 0),
        "permutation_ceiling": mean(moved, rng),
        "permutation_zero_share": share(moved == 0),
    } | {f"decile_{q}": quantile(d, q / 100) for q in DECILES}


def summarise_triplets(arrays: Arrays, rng: np.random.Generator) -> Summary:
    """Accuracy (the positive is nearer, a tie half), also where only words move; share of ties; mean distances."""
    return {
        "accuracy": share(arrays["nearer"]),
        "ties": share(arrays["tie"]),
        "permutation_accuracy": share(arrays["nearer"][arrays["permutation"]]),
    } | {name: mean(arrays[name], rng) for name in ("gap", "positive_distance", "swapped_distance")}


SUMMARISE = {"quartets": summarise_quartets, "pairs": summarise_pairs, "triplets": summarise_triplets}
IDENTITY = ("encoder", "revision", "data", "data_revision", "subset")
COUNTS = ("n", "truncated", "permutations", "duplicates", "left_out")


def measure_encoder(encoder: TextEncoder, dataset: Dataset, seed: int = 0) -> list[Row]:
    """The diagnostic of ``encoder`` on ``dataset``: a JSON-ready row for each named subset, and last one for ``"all"``.

    A row has ``IDENTITY``; ``COUNTS`` (``n`` items; ``truncated`` texts, longer than the encoder's context;
    ``permutations``, items that exchange words only; ``duplicates``, items that repeat an earlier one and count again;
    ``left_out``, items of a file that cannot be used, not among the ``n``);
    the metrics of the summary of its kind of data, ``None`` where undefined; and their 95 % ``intervals`` over items.
    """
    apart = unsteadiness(encoder, distinct(dataset.captions[:CHUNK]))
    if apart > ROUNDING:
        LOG.warning(
            "%s is no function of the caption: asked twice, in other batches, it gave unit vectors that lie up to %.2g "
            "apart, so its numbers are those of one run", encoder.name, apart,
        )  # fmt: skip
    arrays = per_item(encoder, dataset)
    _warn_of_unknown(encoder, dataset, arrays)
    rows = [
        _row(encoder, dataset, subset, index, {name: values[index] for name, values in arrays.items()}, seed)
        for subset, index in dataset.subsets().items()
    ]
    if truncated := rows[-1]["truncated"]:
        LOG.warning(
            "%s reads %s tokens: %d of %d captions are longer and lose their end, where a swap is invisible",
            encoder.name, encoder.context_length, truncated, len(distinct(dataset.captions)),
        )  # fmt: skip
    return rows


def _warn_of_unknown(encoder: TextEncoder, dataset: Dataset, arrays: Arrays) -> None:
    """Say how many items have their two captions in one point, with a word that the tokenizer does not know."""
    unknown = getattr(encoder, "unknown", None)
    one_point = arrays["tie"] if dataset.kind == "triplets" else arrays["ceiling"] == 0
    told = [dataset.captions[i][-2:] if dataset.kind == "triplets" else dataset.captions[i][:2]
            for i in np.flatnonzero(one_point & ~arrays["permutation"])]  # fmt: skip
    if unknown is None or not told:
        return
    with failing(f"{encoder.name} failed while it looked for unknown words"):
        known = dict(zip(texts := distinct(told), unknown(texts), strict=True))
    if lost := [pair for pair in told if any(known[text] for text in pair)]:
        LOG.warning(
            "%s does not know every word of %d of %d items, whose two captions therefore have one vector; "
            "the first is %.80r", encoder.name, len(lost), len(arrays["permutation"]), lost[0][0],
        )  # fmt: skip


def _row(encoder: TextEncoder, dataset: Dataset, subset: str, index: np.ndarray, arrays: Arrays, seed: int) -> Row:
    items = [dataset.items[i] for i in index]
    truncated = encoder.count_truncated(distinct(dataset.captions[i] for i in index))
    left_out = len(dataset.left_out) if subset == ALL else dataset.left_out.count(subset)
    counts = (len(items), truncated, int(arrays["permutation"].sum()), len(items) - len(set(items)), left_out)
    summary = SUMMARISE[dataset.kind](arrays, np.random.default_rng(seed))
    identity = (encoder.name, encoder.revision, dataset.name, dataset.revision, subset)
    return {
        **dict(zip(IDENTITY + COUNTS, identity + counts, strict=True)),
        **{metric: estimate.value for metric, estimate in summary.items()},
        "intervals": {metric: estimate.interval for metric, estimate in summary.items()},
    }


def usage_by_wording(encoder: TextEncoder, n: int) -> list[float]:
    """Mean usage (of the paper's cap) on ``n`` built-in quartets under each wording of the anchor, in their order."""
    wordings = range(len(ANCHOR_WORDINGS))
    quartets = [quartet for wording in wordings for quartet in built_in_quartets(wording, n)]
    usage = per_quartet(embed_quartets(encoder, quartets))["usage"].reshape(len(wordings), n)
    return [float(of_wording.mean()) for of_wording in usage]
