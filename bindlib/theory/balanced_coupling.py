"""One balanced coupling: two candidate captions and one image share a single entropic transport plan.

This is our reading of an abstract (Song et al., "BindCLIP", 2026): the abstract names one token-patch-depth plan with
balanced marginals and energies of four kinds; every formula below is ours.  Rows of a plan are the tokens of caption
``a`` and then those of ``b``; columns are the patches of the image at each depth.  Positions are ``(x, y)`` in the unit
square, ``y`` downwards.  All arrays are float64.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp, softmax

ENERGIES = ("semantics", "entity", "order", "position")
Solver = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]  # (cost, rows, columns, epsilon) -> plan


def grid(rows: int, columns: int) -> np.ndarray:
    """Centres of the patches of an image, ``(rows * columns, 2)``, row by row from the top left.

    Raises ``ValueError`` unless both are at least 1.
    """
    if min(rows, columns) < 1:
        raise ValueError(f"a grid has at least one row and one column, got {rows} × {columns}")
    x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows)
    return np.stack([x.ravel(), y.ravel()], axis=-1)


def square_grid(patches: int) -> np.ndarray:
    """``grid`` of a square image, ``(patches, 2)``; ``ValueError`` if the number of patches is no square."""
    side = isqrt(patches)
    if side**2 != patches:
        raise ValueError(f"{patches} patches are no square: give their positions")
    return grid(side, side)


def cosine_costs(tokens: np.ndarray, patches: np.ndarray) -> np.ndarray:
    """``1 - cosine`` of every token ``(..., n, dim)`` with every patch ``(..., m, dim)``, ``(..., n, m)`` in [0, 2].

    Raises ``ValueError`` for features that are not finite or zero, or that differ in dimension.
    """
    tokens, patches = _unit(tokens, "token"), _unit(patches, "patch")
    if tokens.shape[-1] != patches.shape[-1]:
        raise ValueError(
            f"tokens have dimension {tokens.shape[-1]} and patches {patches.shape[-1]}: "
            "project both into the joint space of the encoder"
        )
    return 1 - tokens @ np.swapaxes(patches, -1, -2)


def _unit(features: np.ndarray, what: str) -> np.ndarray:
    features = np.asarray(features, dtype=np.float64)
    if features.ndim < 2 or 0 in features.shape:
        raise ValueError(f"{what} features are rows (n, dim) with n >= 1, got shape {features.shape}")
    norms = np.linalg.norm(features, axis=-1, keepdims=True)
    if not np.isfinite(norms).all():
        raise ValueError(f"a {what} feature is not finite: drop the item, or check the encoder's weights")
    if not norms.all():
        raise ValueError(f"a {what} feature is zero and has no direction: drop it")
    return features / norms


def row_masses(n_a: int, n_b: int, share: float = 0.5) -> np.ndarray:
    """The mass of each token, ``(n_a + n_b,)``: caption ``a`` holds ``share``, ``b`` the rest, each spread evenly.

    Balanced means ``share = 1/2``.  Raises ``ValueError`` for a caption without tokens or without mass.
    """
    if min(n_a, n_b) < 1:
        raise ValueError(f"each caption needs at least one token, got {n_a} and {n_b}")
    if not 0 < share < 1:
        raise ValueError(f"each caption needs some mass: the share of a lies between 0 and 1, got {share}")
    return np.repeat([share / n_a, (1 - share) / n_b], [n_a, n_b])


def column_masses(depths: np.ndarray) -> np.ndarray:
    """The mass of each patch ``(m,)`` from its depth: every depth weighs the same, as does every patch of a depth."""
    _, which, counts = np.unique(depths, return_inverse=True, return_counts=True)
    return 1 / (len(counts) * counts[which])


def plan(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, epsilon: float) -> np.ndarray:
    """The entropic plan ``(n, m)``: it minimises ``<C, T> + ε KL(T | rows ⊗ columns)`` with these marginals.

    Found by Newton steps on the dual, which is concave in one number for each row; for small plans.  Raises
    ``ValueError`` for ``ε ≤ 0``, masses that are not positive or not in balance, costs that are not finite, or an ``ε``
    too small to solve for.  Source: G. Peyré and M. Cuturi, "Computational Optimal Transport", 2019, section 4.
    """
    check(cost, rows, columns, epsilon)
    scaled, log_rows = cost / epsilon, np.log(rows)

    def logits(f):
        return (f + log_rows)[:, None] - scaled

    def primal(f):
        return columns * softmax(logits(f), axis=0)

    def gradient(f):
        return primal(f).sum(axis=1) - rows + f.sum()

    def hessian(f):
        t = primal(f)
        return np.diag(t.sum(axis=1)) - (t / columns) @ t.T + 1

    def loss(f):
        # The last term makes Σ f, which the dual leaves free, 0.
        return columns @ logsumexp(logits(f), axis=0) - rows @ f + f.sum() ** 2 / 2

    f = minimize(loss, np.zeros(len(rows)), jac=gradient, hess=hessian, method="trust-exact").x
    for _ in range(4):  # the loss is flat to rounding long before its gradient is 0
        better = f - np.linalg.lstsq(hessian(f), gradient(f))[0]
        if np.abs(gradient(better)).max() < np.abs(gradient(f)).max():
            f = better
    t = primal(f)
    if np.abs(t.sum(axis=1) - rows).max() > 1e-9:
        raise ValueError(f"no plan was found at ε = {epsilon:g}: raise it")
    return t


def exact_plan(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """A plan ``(n, m)`` of smallest cost, by linear programming: one of perhaps many, whatever ``epsilon`` says."""
    n, m = cost.shape
    equalities = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    found = linprog(cost.ravel(), A_eq=equalities, b_eq=np.concatenate([rows, columns]), method="highs")
    return found.x.reshape(n, m)


def check(cost: np.ndarray, rows: np.ndarray, columns: np.ndarray, epsilon: float) -> None:
    """Raise ``ValueError`` unless a plan with these marginals exists and is unique."""
    if not epsilon > 0:
        raise ValueError(f"ε must be positive, or the plan need not be unique: got {epsilon}")
    if cost.shape[-2:] != (len(rows), len(columns)):
        raise ValueError(f"costs {cost.shape} need a mass a row and a column, got {len(rows)} and {len(columns)}")
    if not np.isfinite(cost).all():
        raise ValueError("a cost is not finite: check the features")
    if min(rows.min(), columns.min()) <= 0:
        raise ValueError("every token and every patch needs a positive mass: drop those without")
    if not np.allclose(rows.sum(axis=-1), columns.sum(axis=-1), rtol=0, atol=1e-9):
        raise ValueError("tokens and patches must hold the same mass in all")


def energies(plan: np.ndarray, cost: np.ndarray, depths: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The four energies of one caption, ``(..., 4)`` in the order of ``ENERGIES``; a good caption has low ones.

    ``plan`` and ``cost`` ``(..., n, m)`` are the caption's rows, ``depths`` ``(m,)``, ``positions`` ``(..., m, 2)``.

    * semantics: the mean cost of the caption's mass.
    * entity: the variance of the place where a token's mass lies, mean over tokens.
    * order: the squared distance between the mean places of neighbouring tokens, mean over pairs; 0 for one token.
    * position: how much the places of the tokens, relative to their caption's centre, vary from depth to depth; 0 for
      one depth.

    None changes when all masses are multiplied by one number.  Raises ``ValueError`` for a token without mass.
    """
    mass = plan.sum(axis=-1)
    if not (mass > 0).all():
        raise ValueError("a token holds no mass, so it has no place in the image: give it some")
    weight = mass / mass.sum(axis=-1, keepdims=True)
    place = plan @ positions / mass[..., None]
    squared = np.square(positions[..., None, :, :] - place[..., :, None, :]).sum(axis=-1)
    steps = np.square(np.diff(place, axis=-2)).sum(axis=-1)
    found = (
        (plan * cost).sum(axis=(-1, -2)) / mass.sum(axis=-1),
        (weight * (plan * squared).sum(axis=-1) / mass).sum(axis=-1),
        steps.mean(axis=-1) if steps.shape[-1] else np.zeros(plan.shape[:-2]),
        _unsteadiness(plan, depths, positions),
    )
    return np.stack(found, axis=-1)


def _unsteadiness(plan: np.ndarray, depths: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Variance over depths, weighted by mass, of where a token lies relative to its caption's centre at that depth."""
    at = (depths[:, None] == np.unique(depths)).astype(float)  # (m, L)
    mass = plan @ at  # (..., n, L)
    moment = np.swapaxes(plan[..., None, :] * at.T, -1, -2)  # (..., n, m, L)
    moment = np.einsum("...nml,...mk->...nlk", moment, positions)
    centre = _ratio(moment.sum(axis=-3), mass.sum(axis=-2))[..., None, :, :]
    relative = _ratio(moment, mass) - centre  # (..., n, L, 2)
    steady = (mass[..., None] * relative).sum(axis=-2) / mass.sum(axis=-1)[..., None]
    off = np.square(relative - steady[..., None, :]).sum(axis=-1)
    return (mass * off).sum(axis=(-1, -2)) / mass.sum(axis=(-1, -2))


def _ratio(moment: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Mean places; where no mass lies the value does not matter, and is 0."""
    mass = np.broadcast_to(mass[..., None], moment.shape)
    return np.divide(moment, mass, out=np.zeros_like(moment), where=mass > 0)


@dataclass(frozen=True)
class Coupling:
    """A plan ``(n_a + n_b, m)`` between two captions and the patches of an image, with what its entries mean."""

    plan: np.ndarray
    cost: np.ndarray
    n_a: int
    depths: np.ndarray
    positions: np.ndarray

    @cached_property
    def energies(self) -> np.ndarray:
        """Those of caption ``a`` and of caption ``b``, ``(2, 4)``."""
        captions = slice(None, self.n_a), slice(self.n_a, None)
        return np.stack([energies(self.plan[of], self.cost[of], self.depths, self.positions) for of in captions])

    @property
    def masses(self) -> tuple[float, float]:
        """Of caption ``a`` and of caption ``b``."""
        return float(self.plan[: self.n_a].sum()), float(self.plan[self.n_a :].sum())

    def score(self, weights: Sequence[float] = (1, 1, 1, 1)) -> float:
        """``Σ weights (E(b) - E(a))``: positive where the image is rather that of caption ``a``.

        Raises ``ValueError`` unless there are four finite weights.
        """
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(ENERGIES),) or not np.isfinite(weights).all():
            raise ValueError(f"give one finite weight for each of {', '.join(ENERGIES)}, not {weights.tolist()}")
        return float(weights @ (self.energies[1] - self.energies[0]))


def couple(
    tokens_a: np.ndarray,
    tokens_b: np.ndarray,
    patches_by_depth: Sequence[np.ndarray],
    epsilon: float,
    positions_by_depth: Sequence[np.ndarray] | None = None,
    share: float = 0.5,
    solver: Solver = plan,
) -> Coupling:
    """The one plan of two captions ``(n_a, dim)`` and ``(n_b, dim)`` and the patches ``(p, dim)`` of each depth.

    Without positions ``(p, 2)`` the patches of a depth are those of a square image, row by row.  Raises ``ValueError``
    as ``cosine_costs``, ``square_grid``, ``row_masses`` and ``plan`` do, and for no depth or positions that do not
    match the patches.
    """
    if not len(patches_by_depth):
        raise ValueError("there is no depth to couple with: give the patches of one at least")
    patches = [np.asarray(of_depth, dtype=np.float64) for of_depth in patches_by_depth]
    if positions_by_depth is None:
        positions_by_depth = [square_grid(len(of_depth)) for of_depth in patches]
    positions = [np.asarray(of_depth, dtype=np.float64) for of_depth in positions_by_depth]
    if [p.shape for p in positions] != [(len(of_depth), 2) for of_depth in patches]:
        raise ValueError("each depth needs one position (x, y) for each of its patches")
    if not all(np.isfinite(p).all() for p in positions):
        raise ValueError("a position is not finite: give each patch its place in the unit square")
    if len({of_depth.shape[1:] for of_depth in patches}) > 1:
        raise ValueError("the patches of all depths need one dimension: project them into the joint space")
    captions = [cosine_costs(tokens, np.concatenate(patches)) for tokens in (tokens_a, tokens_b)]
    depths = np.repeat(np.arange(len(patches)), [len(of_depth) for of_depth in patches])
    rows, cost = row_masses(*map(len, captions), share), np.concatenate(captions)
    found = solver(cost, rows, column_masses(depths), epsilon)
    return Coupling(found, cost, len(captions[0]), depths, np.concatenate(positions))
