"""Binding functions: models that predict a scene's embedding from the concepts of its objects.

A scene is ``k`` objects of two concepts each: indices ``(n, k, 2)``.  A grid of ``A × B`` objects has a mask ``seen``
``(A, B)`` of the objects that training may show.  A model that adds its objects up is a table ``(A, B, dim)``, one
vector for each object, seen or not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import stdtrit

from bindlib.decisions import DOUBLE, decided
from bindlib.theory.coverage import ExposureGraph

PERIOD = 10  # coverages are multiples of 1/PERIOD
CANDIDATES = 20  # of a recognition: ten scenes and their ten swaps

MEASURES = ("r2", "swap_r2", "recognition", "swap")

# What is seen.


def bands(n_first: int, n_second: int, coverage: float, rng: np.random.Generator) -> np.ndarray:
    """A mask ``(A, B)`` of seen objects in which each concept is seen about equally often; ``coverage`` of it is true.

    The concepts are numbered at random, and object ``(a, b)`` is seen when ``(a + b) mod 10 < 10 coverage``.  What is
    left out then holds scenes whose swap is left out too, at every coverage.  Raises ``ValueError`` for a coverage that
    is no multiple of 1/10 between 0.1 and 1, or a side below 10.
    """
    share = round(coverage * PERIOD) if 0 < coverage <= 1 else 0
    if not share or abs(share - coverage * PERIOD) > 1e-9:
        raise ValueError(f"coverage must be 0.1, 0.2, ... or 1: below 0.1 a concept is never seen; got {coverage}")
    if min(n_first, n_second) < PERIOD:
        raise ValueError(f"a grid needs at least {PERIOD} concepts of each kind, got {n_first} and {n_second}")
    return np.add.outer(rng.permutation(n_first), rng.permutation(n_second)) % PERIOD < share


def exposure_graph(seen: np.ndarray) -> ExposureGraph:
    """The graph of the chapter on coverage: concepts are nodes, seen objects are edges."""
    return ExposureGraph(*seen.shape, tuple((int(a), int(b)) for a, b in np.argwhere(seen)))


def reachable(seen: np.ndarray) -> np.ndarray:
    """Which objects ``(A, B)`` have both concepts in one component of the exposure graph."""
    first, second = exposure_graph(seen).components
    return first[:, None] == second


def require_every_concept(seen: np.ndarray) -> None:
    """Raises ``ValueError`` naming a concept that no seen object has: nothing can be fitted for it."""
    for kind, axis in (("first", 1), ("second", 0)):
        missing = np.flatnonzero(~seen.any(axis=axis))
        if len(missing):
            raise ValueError(
                f"concept {missing[0]} of the {kind} kind is in no seen object, so nothing is known of it: show every "
                f"concept at least once, which takes {max(seen.shape)} of {seen.size} objects or more"
            )


# Scenes.


def all_scenes(n_first: int, n_second: int) -> np.ndarray:
    """Every scene of two objects that share no concept, ``(n, 2, 2)``; scene ``i`` and ``n/2 + i`` are swaps."""
    (a1, a2), (b1, b2) = np.triu_indices(n_first, 1), np.triu_indices(n_second, 1)
    rows, columns = np.divmod(np.arange(len(a1) * len(b1)), len(b1))
    half = np.stack([a1[rows], b1[columns], a2[rows], b2[columns]], axis=1).reshape(-1, 2, 2)
    return np.concatenate([half, swapped(half)])


def swapped(scenes: np.ndarray) -> np.ndarray:
    """``scenes`` ``(n, 2, 2)`` with the second concepts of the two objects exchanged."""
    exchanged = scenes.copy()
    exchanged[:, :, 1] = scenes[:, ::-1, 1]
    return exchanged


def seen_objects(seen: np.ndarray, scenes: np.ndarray) -> np.ndarray:
    """How many objects of each scene are seen, ``(n,)``."""
    return seen[scenes[..., 0], scenes[..., 1]].sum(axis=1)


@dataclass(frozen=True)
class Split:
    """Scenes ``(n, 2, 2)`` to fit on and to judge on; the swaps follow their scenes in each group of ``CANDIDATES``.

    ``train`` has seen objects only; ``held_in`` too, also in its swaps, and none of its scenes is in ``train``;
    ``held_out`` has unseen objects only, also in its swaps, so that a swap cannot be told by what was seen.
    """

    train: np.ndarray
    held_in: np.ndarray
    held_out: np.ndarray


def split(seen: np.ndarray, n_train: int, n_test: int, rng: np.random.Generator) -> Split:
    """At most ``n_train`` scenes to fit on and ``n_test`` of either kind to judge on.

    Raises ``ValueError`` for a concept that is never seen, fewer than ``CANDIDATES`` scenes to judge on, or no scene
    that is left to fit on.
    """
    require_every_concept(seen)
    scenes = all_scenes(*seen.shape)
    half = len(scenes) // 2
    own = seen_objects(seen, scenes)
    both = own[:half] + own[half:]
    groups = [_groups(np.flatnonzero(both == count), n_test, rng) for count in (4, 0)]
    trainable = own == 2
    trainable[np.concatenate([groups[0], groups[0] + half])] = False
    if not trainable.any():
        raise ValueError("no scene is left to fit on: raise the coverage, or judge on fewer scenes")
    train = _showing_all(scenes[rng.permutation(np.flatnonzero(trainable))], seen, n_train)
    return Split(train, *(_with_swaps(scenes[chosen]) for chosen in groups))


def _groups(found: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """At most ``n/2`` of the scenes ``found``, in whole groups; none where a group cannot be filled."""
    pairs = CANDIDATES // 2
    if n < CANDIDATES:
        raise ValueError(f"a recognition has {CANDIDATES} candidates, so judge on at least as many scenes, got {n}")
    return rng.permutation(found)[: min(len(found), n // 2) // pairs * pairs]


def _showing_all(scenes: np.ndarray, seen: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` scenes, but so that every seen object is in one of them if any scene has it."""
    numbers = scenes[..., 0] * seen.shape[1] + scenes[..., 1]
    first = np.unique(np.unique(numbers, return_index=True)[1] // 2)
    if len(first) > n:
        raise ValueError(f"{n} scenes to fit on do not show all {seen.sum()} seen objects: take {len(first)} or more")
    others = np.setdiff1d(np.arange(len(scenes)), first)
    return scenes[np.sort(np.concatenate([first, others[: n - len(first)]]))]


def _with_swaps(scenes: np.ndarray) -> np.ndarray:
    """Ten scenes, their ten swaps, the next ten scenes, and so on."""
    groups = scenes.reshape(-1, CANDIDATES // 2, 2, 2)
    swaps = swapped(scenes).reshape(groups.shape)
    return np.concatenate([groups, swaps], axis=1).reshape(-1, 2, 2)


# How a prediction is judged.


def r_squared(y: np.ndarray, predicted: np.ndarray, mean: np.ndarray) -> float:
    """``1 - Σ|y - ŷ|² / Σ|y - mean|²`` over embeddings ``(n, dim)``; ``mean`` is that of the scenes fitted on."""
    return float(1 - np.sum((y - predicted) ** 2) / np.sum((y - mean) ** 2))


def swap_r_squared(y: np.ndarray, predicted: np.ndarray) -> float:
    """R² of the differences between each scene and its swap: 0 for a model that is blind to pairing.

    NaN where embeddings are blind themselves, up to rounding: there is nothing to explain then.
    """
    difference, guess = (np.subtract(*_halves(rows)) for rows in (y, predicted))
    if np.sum(difference**2) <= 1e-10 * np.sum(y**2):
        return np.nan
    return float(1 - np.sum((difference - guess) ** 2) / np.sum(difference**2))


def recognised(y: np.ndarray, predicted: np.ndarray, tie: float = DOUBLE) -> np.ndarray:
    """Whether the own prediction is the nearest of ``CANDIDATES`` to each embedding, ``(n,)``; ties share the 1.

    They are as in ``swap_decided``.
    """
    found = []
    for rows, guesses in zip(_by_group(y), _by_group(predicted), strict=True):
        far = _squared_distances(rows, guesses)
        nearest = far <= far.min(axis=1, keepdims=True) + tie * far.max()
        found.append(np.diagonal(nearest) / nearest.sum(axis=1))
    return np.concatenate(found)


def swap_decided(y: np.ndarray, predicted: np.ndarray, tie: float = DOUBLE) -> np.ndarray:
    """Whether the own prediction is nearer to each embedding than the swap's, ``(n,)``; 1/2 for a tie.

    Two squared distances tie within ``tie`` times the largest of them.
    """
    found = []
    for rows, guesses in zip(_by_group(y), _by_group(predicted), strict=True):
        far = _squared_distances(rows, guesses)
        gap = np.diagonal(np.roll(far, CANDIDATES // 2, axis=1)) - np.diagonal(far)
        found.append(decided(gap, tie * far.max()))
    return np.concatenate(found)


def judge(y: np.ndarray, predicted: np.ndarray, mean: np.ndarray) -> dict[str, float]:
    """``r2``, ``swap_r2``, ``recognition`` and ``swap`` (accuracies) over the scenes of one part of a ``Split``.

    Raises ``ValueError`` for NaN, infinity, unequal shapes, and embeddings that are all ``mean``.
    """
    if y.shape != predicted.shape:
        raise ValueError(f"expected one prediction for each embedding {y.shape}, got shape {predicted.shape}")
    require_finite(y, "embedding")
    require_finite(predicted, "prediction")
    if len(y) and (y == mean).all():
        raise ValueError("every embedding is the mean, so there is nothing to explain: check the encoder")
    return {
        "r2": r_squared(y, predicted, mean),
        "swap_r2": swap_r_squared(y, predicted),
        "recognition": float(recognised(y, predicted).mean()),
        "swap": float(swap_decided(y, predicted).mean()),
    }


def blind_r_squared(y: np.ndarray, mean: np.ndarray) -> float:
    """The largest R² of any model that gives a scene and its swap the same prediction (`prop-blind-fit`)."""
    difference = np.subtract(*_halves(y))
    return float(1 - np.sum(difference**2) / 2 / np.sum((y - mean) ** 2))


def require_finite(y: np.ndarray, what: str) -> None:
    """Raises ``ValueError`` naming the first row that holds NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(y).all(axis=1))
    if len(bad):
        raise ValueError(f"{what} {bad[0]} is not finite: drop the scene, or check the encoder")


def seed_interval(values) -> tuple[float, float, float]:
    """Mean of a number over seeds, with the 95 percent interval of Student; no width is NaN for one seed."""
    values = np.asarray(values, dtype=np.float64)
    n, mean = len(values), float(values.mean())
    half = stdtrit(n - 1, 0.975) * values.std(ddof=1) / sqrt(n) if n > 1 else np.nan
    return mean, float(mean - half), float(mean + half)


def summary(
    rows: Iterable[Mapping[str, Any]], keys: Sequence[str], measures: Sequence[str] = MEASURES
) -> list[dict[str, Any]]:
    """Means over seeds: a row for each value of ``keys``, with ``seeds``, ``NAME``, ``NAME_low`` and ``NAME_high``.

    Intervals of accuracies end at 0 and 1.
    """
    cells: dict[tuple, list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for key, cell in cells.items():
        row = dict(zip(keys, key, strict=True)) | {"seeds": len(cell)}
        for measure in measures:
            mean, *ends = seed_interval([run[measure] for run in cell])
            if measure.startswith(("recognition", "swap")) and not measure.endswith("r2"):
                ends = np.clip(ends, 0, 1).tolist()
            row |= {measure: mean, f"{measure}_low": ends[0], f"{measure}_high": ends[1]}
        found.append(row)
    return found


def _by_group(rows: np.ndarray) -> np.ndarray:
    if len(rows) % CANDIDATES or not len(rows):
        raise ValueError(f"scenes are judged in groups of {CANDIDATES}, got {len(rows)}")
    return rows.reshape(-1, CANDIDATES, rows.shape[1])


def _halves(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    groups = _by_group(rows)
    return groups[:, : CANDIDATES // 2], groups[:, CANDIDATES // 2 :]


def _squared_distances(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.sum((y[:, None] - predicted) ** 2, axis=-1)


# What the seen objects determine.


def path_product(seen: np.ndarray, table: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """The code ``(dim,)`` of an object from the codes of the seen ones, for a product ``u_a ∘ v_b`` without zeros.

    Along a path ``a, b1, a1, ..., b`` of seen objects the codes are multiplied and divided in turn.  ``table`` is
    ``(A, B, dim)``; what is not seen is not read.  Raises ``ValueError`` when no path joins the two concepts.
    """
    code = np.ones(table.shape[-1])
    for step, (a, b) in enumerate(path(seen, pair)):
        code = code / table[a, b] if step % 2 else code * table[a, b]
    return code


def path(seen: np.ndarray, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """Seen objects along a shortest path from the first concept of ``pair`` to the second, in order.

    Raises ``ValueError`` when there is none.
    """
    start, end = ("first", pair[0]), ("second", pair[1])
    came: dict = {start: None}
    queue = [start]
    while queue and end not in came:
        kind, i = queue.pop(0)
        other, row = ("second", seen[i]) if kind == "first" else ("first", seen[:, i])
        fresh = [node for j in np.flatnonzero(row) if (node := (other, int(j))) not in came]
        came |= dict.fromkeys(fresh, (kind, i))
        queue += fresh
    if end not in came:
        raise ValueError(f"no path of seen objects joins the concepts of {pair}: show an object that connects them")
    nodes, node = [], end
    while node is not None:
        nodes.append(node)
        node = came[node]
    steps = zip(nodes[::-1], nodes[-2::-1], strict=False)
    return [(x[1], y[1]) if x[0] == "first" else (y[1], x[1]) for x, y in steps]
