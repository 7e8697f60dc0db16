"""One balanced coupling on real features: the plan by POT, the score of two candidate captions, and batches of both.

The mathematics stands in ``bindlib.theory.balanced_coupling``.  All of it is our reading of an abstract: Song et al.,
"BindCLIP", 2026.
"""

from collections.abc import Sequence

import numpy as np

from bindlib.theory.balanced_coupling import (
    ENERGIES,
    Coupling,
    check,
    cosine_costs,
    couple,
    energies,
    row_masses,
    square_grid,
)

__all__ = ["ENERGIES", "EPSILON", "Coupling", "coupling", "differences", "plans", "score", "transport"]

EPSILON = 0.1  # fixed on other scenes; the chapter shows what half and twice as much change
_TOLERANCE, _MAX_STEPS = 1e-9, 20_000  # of the masses of tokens, in Euclidean norm; of Sinkhorn's iteration
_PLAIN = 200  # range of the costs of an item, in units of ε, up to which no number overflows outside the log domain
_BATCH = 200


def transport(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, epsilon: float) -> np.ndarray:
    """The entropic plan of ``cost`` ``(n, m)``, or of a batch ``(k, n, m)``, by POT's Sinkhorn iteration.

    ``rows`` ``(n,)`` and ``columns`` ``(m,)`` are the masses, the same for a whole batch.  A constant added to the
    costs of an item does not change its plan.  Where ``ε`` is small beside the range of an item's costs the iteration
    runs in the log domain, which takes twenty times as long.  Raises ``ValueError`` as
    ``theory.balanced_coupling.plan`` does, and where it does not converge.  Source: R. Flamary et al., "POT: Python
    Optimal Transport", JMLR 22, 2021.
    """
    from ot.batch import solve_batch

    check(cost, rows, columns, epsilon)
    costs = cost if cost.ndim == 3 else cost[None]
    costs = costs - costs.min(axis=(-1, -2), keepdims=True)  # or exp(-cost / ε) of large costs underflows
    masses = (np.broadcast_to(side, (len(costs), len(side))).copy() for side in (rows, columns))
    solver = "sinkhorn" if costs.max() < _PLAIN * epsilon else "log_sinkhorn"
    found = solve_batch(costs, epsilon, *masses, max_iter=_MAX_STEPS, tol=_TOLERANCE, solver=solver).plan
    if not np.abs(found.sum(axis=-1) - rows).max() < 100 * _TOLERANCE:
        raise ValueError(f"Sinkhorn's iteration did not converge at ε = {epsilon:g}: raise ε")
    return found.reshape(cost.shape)


def coupling(
    tokens_a: np.ndarray,
    tokens_b: np.ndarray,
    patches_by_depth: Sequence[np.ndarray],
    epsilon: float = EPSILON,
    positions_by_depth: Sequence[np.ndarray] | None = None,
) -> Coupling:
    """The one balanced plan of two captions and an image, with its energies; see ``score``."""
    return couple(tokens_a, tokens_b, patches_by_depth, epsilon, positions_by_depth, solver=transport)


def score(
    tokens_a: np.ndarray,
    tokens_b: np.ndarray,
    patches_by_depth: Sequence[np.ndarray],
    epsilon: float = EPSILON,
    weights: Sequence[float] = (1, 1, 1, 1),
    positions_by_depth: Sequence[np.ndarray] | None = None,
) -> float:
    """How much rather the image is that of caption ``a`` than of ``b``: ``Σ weights (E(b) - E(a))``.

    ``tokens_a`` ``(n_a, dim)``, ``tokens_b`` ``(n_b, dim)``; ``patches_by_depth`` one ``(p, dim)`` a depth, of a square
    image row by row unless ``positions_by_depth`` gives each ``(p, 2)`` places in the unit square.  ``weights`` are in
    the order of ``ENERGIES``.  Exchanging the candidates changes the sign: the exchange permutes the rows of the plan,
    which is unique, and nothing else in the computation knows which candidate came first.

    A caption of one token has the order energy 0, one depth the position energy 0, and one patch all but the semantics
    0.  Raises ``ValueError`` for features that are empty, zero, not finite or of different dimensions, positions that
    do not fit, ``ε ≤ 0``, or an ``ε`` too small for the iteration to converge.
    """
    return coupling(tokens_a, tokens_b, patches_by_depth, epsilon, positions_by_depth).score(weights)


def plans(
    tokens_a: np.ndarray, tokens_b: np.ndarray, patches: np.ndarray, epsilon: float = EPSILON
) -> tuple[np.ndarray, np.ndarray]:
    """The plans of many items and their costs, both ``(k, n_a + n_b, depths * p)``.

    ``tokens_a`` ``(k, n_a, dim)``, ``tokens_b`` ``(k, n_b, dim)``, ``patches`` ``(k, depths, p, dim)``.  Raises
    ``ValueError`` for unequally many of the three, and as ``score`` does.
    """
    sizes = [len(of) for of in (tokens_a, tokens_b, patches)]
    if len(set(sizes)) > 1:
        raise ValueError(f"each item has two captions and one image, got {sizes[0]}, {sizes[1]} and {sizes[2]}")
    _, n_depths, p, dim = patches.shape
    flat = patches.reshape(-1, n_depths * p, dim)
    rows = row_masses(tokens_a.shape[1], tokens_b.shape[1])
    columns = np.full(n_depths * p, 1 / (n_depths * p))
    cost = np.concatenate([cosine_costs(tokens, flat) for tokens in (tokens_a, tokens_b)], axis=1)
    batches = range(0, len(cost), _BATCH)
    return np.concatenate([transport(cost[i : i + _BATCH], rows, columns, epsilon) for i in batches]), cost


def differences(
    tokens_a: np.ndarray,
    tokens_b: np.ndarray,
    patches: np.ndarray,
    epsilon: float = EPSILON,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """``E(b) - E(a)`` of many items, ``(k, 4)``, each positive where its energy prefers ``a``: ``score`` item by item.

    Items as for ``plans``, their patches on a square grid unless ``positions`` ``(k, depths * p, 2)`` says otherwise.
    """
    _, n_depths, p, _ = patches.shape
    plan, cost = plans(tokens_a, tokens_b, patches, epsilon)
    depths = np.repeat(np.arange(n_depths), p)
    if positions is None:
        positions = np.broadcast_to(np.tile(square_grid(p), (n_depths, 1)), (len(plan), n_depths * p, 2))
    elif positions.shape != (len(plan), n_depths * p, 2):
        raise ValueError("each item needs one position (x, y) for each of its patches")
    n_a = tokens_a.shape[1]
    a, b = (energies(plan[:, of], cost[:, of], depths, positions) for of in (slice(None, n_a), slice(n_a, None)))
    return b - a
