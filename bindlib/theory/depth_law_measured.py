"""The depth law, measured: the source paper's Figure 2 and the aliasing of shared roles, as rows of numbers."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import ceil, sqrt
from typing import Any

import numpy as np

from bindlib.theory.depth_law import law, relative_spread, resolvable_depth, swap_margin, swap_margins

FIGURE_2_DIM = 65_536
FIGURE_2_TREES = ((2, 10), (3, 6), (4, 5))  # branching and depth; up to 1,024 leaves


def product_rows(
    draws: int,
    rng: np.random.Generator,
    dim: int = FIGURE_2_DIM,
    trees: Sequence[tuple[int, int]] = FIGURE_2_TREES,
) -> list[dict[str, Any]]:
    """Figure 2(a): margins of ``draws`` trees at every depth, and their products with ``b^D``; a row for each depth.

    ``product`` is the mean over draws, ``sd`` the spread of single draws and ``predicted_sd`` its estimate, ``lowest``
    and ``highest`` the extreme single draws.  Depths of one branching share their draws.
    """
    rows = []
    for branching, depth in trees:
        found = np.array([swap_margins(branching, depth, dim, rng) for _ in range(draws)])
        for h, margins in enumerate(found.T, start=1):
            products = margins * branching**h
            rows.append(
                {
                    "branching": branching,
                    "depth": h,
                    "margin": float(margins.mean()),
                    "law": law(branching, h),
                    "product": float(products.mean()),
                    "sd": float(products.std(ddof=1)) if draws > 1 else None,
                    "predicted_sd": 2 * relative_spread(branching, h, dim),
                    "lowest": float(products.min()),
                    "highest": float(products.max()),
                }
            )
    return rows


def draws_to_decide(branching: int, dim: int, least: int) -> int:
    """Draws after which four predicted standard errors fit between the floor and the margin nearest to it."""
    depth, floor = resolvable_depth(dim, branching), 10 / sqrt(dim)
    needed = [
        (4 * relative_spread(branching, h, dim) / (1 - floor / law(branching, h))) ** 2
        for h in (depth, depth + 1)
        if h >= 1 and law(branching, h) != floor
    ]
    return max(least, ceil(max(needed)))


def staircase_rows(
    branchings: Iterable[int], log_dims: Sequence[int], rng: np.random.Generator, least: int = 2
) -> list[dict[str, Any]]:
    """Figure 2(b): for each ``b`` and ``N = 2^log_dim`` the formula's depth and the depth that measured margins reach.

    ``measured`` counts the depths, up to one beyond the formula, whose mean margin over ``draws`` trees is at least
    ``10 / sqrt(N)``; ``single`` is the share of single trees that agree with the formula.  Where a margin lies close to
    the floor the mean needs more draws than the ``least``: see `draws_to_decide`.
    """
    rows = []
    for branching, log_dim in product(branchings, log_dims):
        dim = 2**log_dim
        formula, floor = resolvable_depth(dim, branching), 10 / sqrt(dim)
        draws = draws_to_decide(branching, dim, least)
        found = np.array([swap_margins(branching, formula + 1, dim, rng) for _ in range(draws)])
        rows.append(
            {
                "branching": branching,
                "log_dim": log_dim,
                "formula": formula,
                "measured": int((found.mean(axis=0) >= floor).sum()),
                "single": float(np.mean((found >= floor).sum(axis=1) == formula)),
                "draws": draws,
            }
        )
    return rows


def aliasing_rows(branching: int, depth: int, dim: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Swap margins of all pairs of leaves of one small tree under three kinds of roles; a row for each pair.

    ``one`` and ``other`` name positions by their children, from the root down, counted from 1.
    """
    kinds = {
        "shared": {"shared": True},
        "per_level": {"shared": False},
        "shared_permutations": {"shared": True, "binding": "permutation"},
    }
    rows = []
    for swapped in combinations(range(branching**depth), 2):
        seed = int(rng.integers(2**63))
        margins = {
            kind: swap_margin(branching, depth, dim, np.random.default_rng(seed), swapped=swapped, **options)
            for kind, options in kinds.items()
        }
        one, other = (
            "".join(str(leaf // branching**h % branching + 1) for h in reversed(range(depth))) for leaf in swapped
        )
        rows.append({"one": one, "other": other} | margins)
    return rows
