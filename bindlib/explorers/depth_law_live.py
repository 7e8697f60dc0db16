"""Many random trees of one size: their mean margins against the law, drawn while the reader waits."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from bindlib.book.controls import Control
from bindlib.book.table import Table
from bindlib.explorers.depth_law import BRANCHINGS, LOG_DIMS, deepest
from bindlib.explorers.live import Job
from bindlib.theory import depth_law as theory

CONTROLS = (
    Control("b", "branching b", "range", 2, min(BRANCHINGS), max(BRANCHINGS), 1),
    Control("log_dim", "log₂ of the dimension N", "range", 12, min(LOG_DIMS), max(LOG_DIMS), 1),
    Control("noise", "noise floor × √N", "range", 10, 1, 40, 1),
    Control("draws", "trees", "range", 50, 10, 400, 10),
)
_COORDINATES = 2**25  # of all leaves of one tree, which bounds the time between two steps


def many_trees(rng: np.random.Generator | None = None) -> Job:
    """Draws tree after tree and shows the margins so far, down to one depth beyond the resolvable one if it can.

    Without ``rng`` each widget draws other trees.
    """
    rng = np.random.default_rng() if rng is None else rng

    def steps(b: int, log_dim: int, noise: int, draws: int) -> Iterator[tuple[int, int, str]]:
        dim = 2**log_dim
        wanted = theory.resolvable_depth(dim, b, floor=noise)
        depth = min(wanted + 1, deepest(b, _COORDINATES // dim))
        margins = np.empty((draws, depth))
        for i in range(draws):
            margins[i] = theory.swap_margins(b, depth, dim, rng)
            rows = depth_rows(margins[: i + 1], b, dim, noise / sqrt(dim))
            yield i + 1, draws, _told(rows, i + 1, wanted) + Table(rows, digits=4)._repr_html_()

    return Job(CONTROLS, steps)


def depth_rows(margins: np.ndarray, b: int, dim: int, floor: float) -> list[dict[str, Any]]:
    """What margins ``(draws, depth)`` say of each depth, beside the law and the estimate of their spread.

    ``spread`` is that of single products ``m b^D``, ``None`` for one draw; ``resolved`` is about the mean margin.
    """
    rows = []
    for depth, found in enumerate(margins.T, start=1):
        products = found * b**depth
        rows.append(
            {
                "depth": depth,
                "mean margin": float(found.mean()),
                "law": theory.law(b, depth),
                "mean times b^D": float(products.mean()),
                "spread": float(products.std(ddof=1)) if len(found) > 1 else None,
                "estimate": 2 * theory.relative_spread(b, depth, dim),
                "trees above the floor": f"{int((found >= floor).sum())} of {len(found)}",
                "resolved": "yes" if found.mean() >= floor else "no",
            }
        )
    return rows


def _told(rows: list[dict[str, Any]], draws: int, formula: int) -> str:
    reached = sum(row["resolved"] == "yes" for row in rows)
    beyond = "" if len(rows) > formula else f" Trees deeper than {len(rows)} were not drawn: they are too large."
    trees = "tree" if draws == 1 else "trees"
    return (
        f"<p role='status'>Mean margins of {draws} {trees} reach the floor down to depth {reached}; the formula says "
        f"{formula}.{beyond}</p>"
    )
