"""What the chapter on factored codes claims, checked: margins of pooled codes, leakage, and codes that cannot bind."""

from itertools import combinations
from math import sqrt

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.bag_of_words import unit
from bindlib.theory.factored_codes import (
    KINDS,
    AtomTable,
    Code,
    best_swap_margin,
    centred,
    draw_code,
    inner_products,
    leaky_code,
    margins,
    predicted_margins,
)

ORTHONORMAL = "atom codes are orthonormal"
TIED = "the image code is the caption code"
ADDITIVE = "x_oa = u(o) + v(a)"
BY_KIND = "inner products of atoms depend on the kind of match alone, and both kinds of partial match leak the same"
ALL_SWAPS = "the image must have the margin over every swap"

POOLED = Theorem(
    "thm-pooled-margins",
    "A pooled caption of k ≥ 2 atoms has swap margin 2/k, replace margin 1/k and add margin 1 - sqrt(k/(k+1)).",
    (ORTHONORMAL, TIED),
    tolerance=1e-12,
)
BEST_IMAGE = Theorem(
    "prop-all-swaps",
    "No unit image has a margin above (2/k) sqrt(k/(k-1)) over all swaps of a caption of k ≥ 2 atoms at once; "
    "one image attains it.",
    (ORTHONORMAL, ALL_SWAPS),
    tolerance=1e-12,
)
CANNOT_BIND = Theorem(
    "prop-additive-cannot-bind",
    "Every swap of every scene leaves the sum of its atoms unchanged, so that its margin is 0, and one leakage is at "
    "least half of gain plus mismatch; and any code is additive up to the most that a two-atom swap changes a sum.",
    (ADDITIVE,),
    tolerance=0.0,
)
LEAKAGE = Theorem(
    "prop-leakage-price",
    "With gain g, leakage ℓ, mismatch r and A = k(g + (k-1)r) the swap margin is 2(g - 2ℓ + r)/A, the replace margin "
    "(g - ℓ)/A and the add margin 1 - (A + kr)/sqrt(A (A + 2kr + g)); and ℓ ≤ (g + r)/2.",
    (BY_KIND, TIED, "A and A + 2kr + g are positive"),
    tolerance=1e-11,
)


def _draw_size(rng: np.random.Generator) -> tuple[int, int]:
    """Scene size, and the side of a square table of atoms with room for a spare object and attribute."""
    k = int(rng.integers(2, 9))
    return k, k + int(rng.integers(1, 4))


def _excess(code: Code | AtomTable, k: int, predicted: dict[str, float], rng: np.random.Generator) -> float:
    measured = margins(code, k, 1, rng)
    return float(np.max([abs(measured[kind][0] - predicted[kind]) for kind in KINDS]))


def certify_pooled(seed: int = 0, instances: int = 1000) -> Certificate:
    """Tensor products of random orthonormal factors, 2 to 8 atoms."""

    def case(rng):
        k, side = _draw_size(rng)
        code = draw_code("tensor", side, side, (side + int(rng.integers(5))) ** 2, rng)
        excess = _excess(code, k, predicted_margins(k), rng)
        return excess, {"k": k, "objects": side, "factor_dim": code.objects.shape[1]}

    return POOLED.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_pooled(seed: int = 0) -> Certificate:
    """With a leakage of a quarter of the gain: the swap margin is half of ``2/k``."""
    rng = np.random.default_rng(seed)
    m = float(margins(leaky_code(5, sqrt(1 / 2), 1 / 2, 0.0, rng), 4, 1, rng)["swap"][0])
    witness = {"k": 4, "leakage": 0.25, "margin": m}
    return POOLED.certificate(seed, 1, abs(m - predicted_margins(4)["swap"]), witness, dropped=ORTHONORMAL)


def swap_directions(k: int) -> np.ndarray:
    """``t - t_σ`` for every swap of a caption of ``k`` orthonormal atoms, in the basis of its ``k²`` possible atoms."""
    rows = np.zeros((k * (k - 1) // 2, k, k))
    for row, (i, j) in zip(rows, combinations(range(k), 2), strict=True):
        row[[i, j], [i, j]], row[[i, j], [j, i]] = 1, -1
    return rows.reshape(len(rows), -1) / sqrt(k)


def certify_best_image(seed: int = 0, instances: int = 2000) -> Certificate:
    """Random unit images, from the best one to unrelated ones, against all swaps of a caption of 2 to 8 atoms."""

    def case(rng):
        k = int(rng.integers(2, 9))
        swaps = swap_directions(k)
        best = unit(swaps.mean(axis=0))
        image = unit(best + 10 ** rng.uniform(-6, 1) * rng.standard_normal(k * k))
        over = np.min(swaps @ image) - best_swap_margin(k)
        missed = np.max(np.abs(swaps @ best - best_swap_margin(k)))
        return np.max([over, missed]), {"k": k}

    return BEST_IMAGE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_best_image(seed: int = 0) -> Certificate:
    """With one swap to care for: the image along ``t - t_σ`` has the whole ceiling ``2/sqrt(k)`` as margin."""
    k = 4
    direction = swap_directions(k)[0]
    m = float(direction @ unit(direction))
    witness = {"k": k, "margin": m, "bound": best_swap_margin(k)}
    return BEST_IMAGE.certificate(seed, 1, m - best_swap_margin(k), witness, dropped=ALL_SWAPS)


def _swap_change(table: np.ndarray) -> np.ndarray:
    """``x_oa + x_pb - x_ob - x_pa`` for all pairs of objects and of attributes: ``(M, M, K, K, dim)``."""
    across = table[:, None] - table[None, :]
    return across[:, :, :, None] - across[:, :, None, :]


def _scene_change(table: np.ndarray, rng: np.random.Generator) -> float:
    """Largest entry by which pooled codes of one scene differ when its attributes are permuted among its objects."""
    k = int(rng.integers(2, min(table.shape[:2]) + 1))
    o, a = (rng.permutation(n)[:k] for n in table.shape[:2])
    return float(np.max(np.abs(table[o, a].sum(axis=0) - table[o, rng.permutation(a)].sum(axis=0))))


def _additive_table(rng: np.random.Generator) -> np.ndarray:
    """Small integers, so that sums of atoms are exact and a margin of 0 is 0."""
    m, k, dim = rng.integers(2, 9, 3)
    u, v = rng.integers(-9, 10, (m, dim)), rng.integers(-9, 10, (k, dim))
    return u[:, None] + v[None, :]


def _leakage_deficit(table: np.ndarray, rng: np.random.Generator) -> int:
    """By how much gain plus mismatch of a random pair of atoms differs from the two leakages, for additive codes 0.

    So one of the two is at least half of that sum.
    """
    (o, p), (a, b) = (rng.permutation(n)[:2] for n in table.shape[:2])
    atom = table[o, a]
    return abs(int(atom @ (atom + table[p, b]) - atom @ table[o, b] - atom @ table[p, a]))


def _beyond_additive(table: np.ndarray) -> float:
    """How much farther the table is from the additive code through its first row and column than swaps change it."""
    additive = table[:, :1] + table[:1, :] - table[0, 0]
    return float(np.max(np.abs(table - additive)) - np.max(np.abs(_swap_change(table))))


def certify_cannot_bind(seed: int = 0, instances: int = 2000) -> Certificate:
    """Additive codes over integer factors, in exact arithmetic; and arbitrary integer tables for the converse."""

    def case(rng):
        table = _additive_table(rng)
        anything = rng.integers(-9, 10, rng.integers(2, 6, 3))
        changes = _scene_change(table, rng), np.max(np.abs(_swap_change(table)))
        slack = np.max([*changes, _leakage_deficit(table, rng), _beyond_additive(anything)])
        return slack, {"objects": len(table), "attributes": table.shape[1], "dim": table.shape[2]}

    return CANNOT_BIND.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_cannot_bind(seed: int = 0) -> Certificate:
    """With the Hadamard product in place of the sum: two atoms in 64 dimensions have a swap margin near 1."""
    rng = np.random.default_rng(seed)
    code = draw_code("hadamard", 3, 3, 64, rng)
    m = float(margins(code, 2, 1, rng)["swap"][0])
    return CANNOT_BIND.certificate(seed, 1, m, {"k": 2, "dim": 64, "margin": m}, dropped=ADDITIVE)


def certify_leakage(seed: int = 0, instances: int = 1000) -> Certificate:
    """Codes of any exact gain, leakage and mismatch, orthonormal to additive, half of them centred, 2 to 6 atoms."""

    def case(rng):
        k = int(rng.integers(2, 7))
        own, shared, common = rng.uniform(0, 1, 3) * rng.integers(0, 2, 3)
        shared += own == 0  # a code needs some part of its own
        side, code = k + 2, leaky_code(k + 2, own, shared, common, rng)
        lost = 0.0  # by every inner product
        if rng.integers(2):  # all k + 1 atoms of an addition must not sum to 0 then: hence k + 2 of a kind
            common, lost = 0.0, (own / side) ** 2 + 2 * shared**2 / side
            code = centred(code)
        expected = {
            "gain": own**2 + 2 * shared**2 + common**2 - lost,
            "leakage": shared**2 + common**2 - lost,
            "mismatch": common**2 - lost,
        }
        found = inner_products(code, 4, rng)
        leaked = 2 * found["leakage"] - found["gain"] - found["mismatch"]
        slack = np.max([_excess(code, k, predicted_margins(k, **expected), rng), *leaked])
        return slack, {"k": k, **expected}

    return LEAKAGE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_leakage(seed: int = 0) -> Certificate:
    """With inner products that vary from pair to pair about 0: the worst scene of a sign code in 64 dimensions."""
    rng = np.random.default_rng(seed)
    found, predicted = margins(draw_code("hadamard", 8, 8, 64, rng), 4, 20, rng)["swap"], predicted_margins(4)["swap"]
    m = float(max(found, key=lambda m: abs(m - predicted)))
    witness = {"k": 4, "dim": 64, "margin": m, "predicted": predicted}
    return LEAKAGE.certificate(seed, 1, abs(m - predicted), witness, dropped=BY_KIND)


CLAIMS = (
    Claim(POOLED, certify_pooled, mutate_pooled),
    Claim(BEST_IMAGE, certify_best_image, mutate_best_image),
    Claim(CANNOT_BIND, certify_cannot_bind, mutate_cannot_bind),
    Claim(LEAKAGE, certify_leakage, mutate_leakage),
)
