"""Dual encoders on drawn scenes: whether an image lies nearer to its caption than to the swap, and why not.

The results of the trainings that the book reports are in ``results/pixels.csv``.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bindlib.decisions import SINGLE, decided
from bindlib.encoders import drawn, shipped
from bindlib.encoders.base import DualEncoder
from bindlib.encoders.weights import revision
from bindlib.measurements.diagnostic import Arrays, embed_quartets, per_quartet
from bindlib.measurements.estimates import share
from bindlib.measurements.items import Dataset
from bindlib.storage import read_rows, write_rows
from bindlib.theory.bag_of_words import margin

RESULTS = Path(__file__).parent / "results" / "pixels.csv"
N_SCENES = {"held_in": 1000, "held_out": 400}
SEED = 2_000_003  # of the scenes: not one that a training checks itself with
Row = dict[str, Any]


def per_scene(encoder: DualEncoder, scenes: np.ndarray, rng: np.random.Generator) -> Arrays:
    """The quantities of ``per_quartet``, and ``margin`` and ``correct``, each ``(n,)``, of ``scenes`` ``(n, 4)``.

    ``margin`` is that of the image of the scene, drawn with ``rng``; ``correct`` is 1 where it is positive, 0 where it
    is negative, and 1/2 where it is rounding.
    """
    vectors = embed_quartets(encoder, [drawn.quartet(scene) for scene in scenes])
    image = encoder.encode_image(drawn.pictures(scenes, rng)).astype(np.float64)
    m = margin(image, vectors[:, 0], vectors[:, 1])
    return per_quartet(vectors) | {"margin": m, "correct": decided(m, SINGLE)}


def scenes_to_check(held_out: bool, n: int | None = None) -> tuple[np.ndarray, np.random.Generator]:
    """Scenes ``(n, 4)`` that are the same for every encoder, and the generator to draw their images with."""
    rng = np.random.default_rng([SEED, held_out])
    return drawn.draw_scenes(n or N_SCENES["held_out" if held_out else "held_in"], rng, held_out), rng


def drawn_quartets(n: int | None = None) -> Dataset:
    """The quartets of the scenes whose pairs are to be learnt from, for ``measure_encoder`` on any text encoder."""
    return Dataset("drawn", tuple(drawn.quartet(scene) for scene in scenes_to_check(False, n)[0]))


def measure_pixels(encoder: DualEncoder) -> Row:
    """One JSON-ready row: swap accuracy (with a 95 % interval) and mean margin on scenes whose pairs are to be learnt
    from and on scenes of held-out pairs; means of the text side on the former, and its binding-to-order ratio."""
    row: Row = {"revision": encoder.revision}
    for where in N_SCENES:
        found = per_scene(encoder, *scenes_to_check(where == "held_out"))
        accuracy = share(found["correct"])
        row |= {f"accuracy_{where}": accuracy.value} | dict(zip(_bounds(where), accuracy.interval, strict=True))
        row[f"margin_{where}"] = float(found["margin"].mean())
        if where == "held_in":
            text = {name: float(found[name].mean()) for name in ("ceiling", "delta", "cap", "usage", "order_distance")}
    return row | text | {"binding_to_order": text["ceiling"] / text["order_distance"]}


def _bounds(where: str) -> tuple[str, str]:
    return f"accuracy_{where}_low", f"accuracy_{where}_high"


def by_decile(d: np.ndarray, correct: np.ndarray) -> list[Row]:
    """Accuracy in each tenth of the scenes, from the smallest ceiling to the largest; ``d`` and ``correct`` ``(n,)``.

    Source: the form of the paper's Figure 12.
    """
    rows = []
    for decile, part in enumerate(np.array_split(np.argsort(d, kind="stable"), 10), 1):
        accuracy, (low, high) = share(correct[part])
        row = {"decile": decile, "n": len(part), "ceiling": float(d[part].mean())}
        rows.append(row | {"accuracy": accuracy, "low": low, "high": high})
    return rows


def errors_below_median(d: np.ndarray, correct: np.ndarray) -> float:
    """The share of all errors that fall on the half of the scenes with the smaller ceilings; NaN without errors.

    ``d`` and ``correct`` are ``(..., n)``; of several encoders each has its own half, as in the paper's Figure 12: all
    ceilings of one may be smaller than those of another.
    """
    errors = 1 - np.take_along_axis(correct, np.argsort(d, axis=-1, kind="stable"), axis=-1)
    return float(errors[..., : errors.shape[-1] // 2].sum() / errors.sum()) if errors.any() else float("nan")


def result(checkpoint: Path, log: Path) -> Row:
    """The row of one training, from its checkpoint and its log."""
    told = shipped.metadata(checkpoint)
    with open(log, newline="", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    row = {key: told["setting"][key] for key in ("swap_rate", "batches", "seed", "steps")}
    row |= {"loss": float(last["loss"]), "sliver": float(last["sliver"])}
    row |= measure_pixels(shipped.load("shipped:", str(checkpoint), "cpu"))
    versions = "; ".join(f"{name} {number}" for name, number in told["versions"].items())
    return row | {"revision": revision(checkpoint), "command": told["command"], "versions": versions}


def write_results(rows: Sequence[Row], path: Path = RESULTS) -> None:
    """Write rows of ``result`` as CSV, numbers to six digits."""
    write_rows(path, rows, ".6g")


def results(path: Path = RESULTS) -> list[Row]:
    """The committed rows, one a training."""
    return read_rows(path)
