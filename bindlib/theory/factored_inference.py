"""Factored inference: concept scores say what is in an image, and logic on them edits the score of the whole query.

A score ``s`` counts as evidence ``x = β(s - μ)``, the log-odds of a probability ``p = σ(x)``.  Everything stays in log
space: an edit is finite for all finite evidence, also where ``p`` rounds to 0 or 1.

Source: S. Alshehri et al., "Similarity Is Not Logic", arXiv 2607.23052, 2026, for the formula of ``lcse`` and its
constants; the rest is ours.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

Operator = Literal["and", "or", "other"]
GAMMA: dict[str, float] = {"and": -1.0, "or": 10.0, "other": 1.0}
BETA, MU = 30.0, 0.22  # published for CLIP ViT-B/32
_FLAT = 600.0  # above these log-odds, 1 - p is about to underflow
_FLAT_EXPONENT = 1e-100  # an exponent as good as 0, which a product with it would round away


class Calibration(NamedTuple):
    """Slope and threshold of ``p = σ(β(s - μ))``, and the mean loss, in nats, with which they fit."""

    beta: float
    mu: float
    loss: float


def power_mean(p: np.ndarray, gamma: float) -> np.ndarray:
    """``(mean p^γ)^(1/γ)`` over the last axis of ``p`` ``(..., c)`` in [0, 1].

    ``γ = -∞, 0, ∞`` are the minimum, the geometric mean and the maximum.  Raises ``ValueError`` for no members, for
    members outside [0, 1], and for NaN.
    """
    p = np.asarray(p, dtype=np.float64)
    if not (np.all(p >= 0) and np.all(p <= 1)):
        raise ValueError("a power mean is taken of probabilities: give numbers in [0, 1]")
    _check_mean(p, gamma)
    if np.isinf(gamma):
        return p.max(axis=-1) if gamma > 0 else p.min(axis=-1)
    with np.errstate(divide="ignore"):
        return np.exp(-_mean_cost(-np.log(p), gamma))


def mean_log_odds(x: np.ndarray, gamma: float) -> np.ndarray:
    """The log-odds of ``power_mean(σ(x), γ)`` over the last axis of ``x`` ``(..., c)``, finite for finite ``x``.

    Raises ``ValueError`` for no members and for NaN.
    """
    x = np.asarray(x, dtype=np.float64)
    _check_mean(x, gamma)
    if np.isinf(gamma):
        return x.max(axis=-1) if gamma > 0 else x.min(axis=-1)
    if x.shape[-1] == 1:
        return x[..., 0]  # exactly
    cost = _mean_cost(np.logaddexp(0, -x), gamma)
    with np.errstate(divide="ignore"):
        found = -cost - np.log(-np.expm1(-cost))
    # To first order 1 - M is the mean of 1 - p, whatever γ, and there is no second order left up here.
    flat = x.min(axis=-1) > _FLAT
    return np.where(flat, np.log(x.shape[-1]) - logsumexp(-x, axis=-1), found)


def _check_mean(values: np.ndarray, gamma: float) -> None:
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError("a mean needs at least one member: give an array (..., c) with c >= 1")
    if np.isnan(gamma) or np.isnan(values).any():
        raise ValueError("a power mean of NaN is no number: drop the items that have none")


def _mean_cost(cost: np.ndarray, gamma: float) -> np.ndarray:
    """``-log`` of the power mean of ``exp(-cost)``, for finite γ, with full relative precision near 0 too."""
    if abs(gamma) < _FLAT_EXPONENT:
        return cost.mean(axis=-1)
    lead = cost.min(axis=-1) if gamma > 0 else cost.max(axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):  # a large γ may carry the others to infinity, that is to 0
        rest = np.log1p(np.expm1(-gamma * (cost - lead[..., None])).mean(axis=-1))
    return lead - np.where(np.isinf(lead), 0, rest) / gamma


def evidence(scores: np.ndarray, beta: float = BETA, mu: float = MU) -> np.ndarray:
    """``β(s - μ)``, the log-odds that a concept is present.

    Raises ``ValueError`` for scores or a μ that are not finite, for a β that is not positive and finite, and where the
    product is too large for a number.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if not (0 < beta < np.inf and np.isfinite(mu)):
        raise ValueError(f"β must be positive and finite and μ finite, got {beta} and {mu}")
    if not np.isfinite(scores).all():
        raise ValueError("concept scores must be finite: drop the images or concepts whose features are NaN")
    with np.errstate(over="ignore"):
        x = beta * (scores - mu)
    if not np.isfinite(x).all():
        raise ValueError(f"β(s - μ) is too large for a number with β = {beta} and μ = {mu}: give a smaller β")
    return x


def logical_log_odds(x: np.ndarray, negated: np.ndarray, operator: Operator) -> np.ndarray:
    """Log-odds ``(n,)`` of ``p_logical``: the operator's power mean of ``p``, or ``1 - p`` where ``negated`` ``(c,)``.

    ``x`` is ``(n, c)``.  Raises ``ValueError`` for an unknown operator, or flags that are not one a concept.
    """
    if operator not in GAMMA:
        raise ValueError(f"no operator is called {operator!r}; there are {', '.join(GAMMA)}")
    negated = np.asarray(negated)
    if negated.dtype != bool or negated.shape != x.shape[-1:]:
        raise ValueError(f"negated needs one true or false a concept: {x.shape[-1]} concepts, got {negated.tolist()}")
    return mean_log_odds(np.where(negated, -x, x), GAMMA[operator])


def soft_log_odds(x: np.ndarray) -> np.ndarray:
    """Log-odds ``(n,)`` of ``p_soft``: the arithmetic mean of ``p``, which knows no operator; ``x`` is ``(n, c)``."""
    return mean_log_odds(x, 1.0)


def lcse(
    holistic: np.ndarray,
    concept_scores: np.ndarray,
    negated: np.ndarray,
    operator: Operator,
    beta: float = BETA,
    mu: float = MU,
) -> np.ndarray:
    """Logic-constrained score editing: ``s + (logit p_logical - logit p_soft) / β``, shape ``(n,)``.

    ``holistic`` ``(n,)`` are the scores of the whole query, ``concept_scores`` ``(n, c)`` those of its concepts and
    ``negated`` ``(c,)`` says which of these it negates.  Scores are cosines.  Rounding errs by some ``1e-16 / β``.
    Raises ``ValueError`` for other shapes, an unknown operator, no concept, or numbers that are not finite.
    """
    holistic, scores = (np.asarray(values, dtype=np.float64) for values in (holistic, concept_scores))
    if holistic.ndim != 1 or scores.ndim != 2 or len(scores) != len(holistic):
        raise ValueError(f"give holistic (n,) and concept_scores (n, c), got {holistic.shape} and {scores.shape}")
    if scores.shape[1] == 0:
        raise ValueError("a query needs at least one concept, got none")
    if not np.isfinite(holistic).all():
        raise ValueError("holistic scores must be finite: drop the images whose features are NaN")
    x = evidence(scores, beta, mu)
    # Divided one by one: their difference could be too large for a number where neither is.
    return holistic + (logical_log_odds(x, negated, operator) / beta - soft_log_odds(x) / beta)


def edited_by_atoms(
    encode: Callable[[str], np.ndarray],
    images: np.ndarray,
    captions: Sequence[Sequence[str]],
    beta: float = BETA,
    mu: float = MU,
) -> tuple[np.ndarray, np.ndarray]:
    """Plain scores of ``images`` ``(n, dim)`` for ``m`` captions, and these edited by an AND of atoms, ``(n, m)`` each.

    A caption is the sequence of its atoms, such as ``("red car", "blue dog")``; ``encode`` maps it, joined by spaces,
    and each atom alone to a unit vector ``(dim,)``.  Raises what ``lcse`` raises.
    """
    plain = np.stack([images @ encode(" ".join(atoms)) for atoms in captions], axis=1)
    columns = zip(plain.T, captions, strict=True)
    scores = [(s, images @ np.stack([encode(atom) for atom in atoms], axis=1)) for s, atoms in columns]
    edited = [lcse(s, parts, np.zeros(parts.shape[1], bool), "and", beta, mu) for s, parts in scores]
    return plain, np.stack(edited, axis=1)


def slopes(x: np.ndarray, negated: np.ndarray, operator: Operator) -> np.ndarray:
    """By how much ``lcse`` rises with each concept score while the holistic score stays, ``(n, c)``; β cancels.

    ``±w_i (1 - q_i)/(1 - M) - v_i (1 - p_i)/(1 - A)`` with ``q`` the ``p`` or ``1 - p`` that are averaged, ``M`` and
    ``A`` the two means, and ``w`` and ``v`` the shares of ``q^γ`` and ``p`` in their sums.
    """
    signed = np.where(negated, -x, x)
    return np.where(negated, -1, 1) * _mean_slopes(signed, GAMMA[operator]) - _mean_slopes(x, 1.0)


def _mean_slopes(x: np.ndarray, gamma: float) -> np.ndarray:
    """The gradient of ``mean_log_odds`` for finite γ: the share of ``p^γ`` times ``(1 - p) / (1 - M)``, in logs."""
    log_p, log_not = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    log_share = gamma * log_p - logsumexp(gamma * log_p, axis=-1, keepdims=True)
    log_rest = -np.logaddexp(0, mean_log_odds(x, gamma))[..., None]
    return np.exp(log_share + log_not - log_rest)


def turning_point(p: np.ndarray) -> np.ndarray:
    """``sqrt(M A (1 - A) / (1 - M))`` of ``p`` ``(..., c)``, ``M`` the harmonic and ``A`` the arithmetic mean.

    With the holistic score held, an AND rises with the concepts whose ``p`` is below it and falls with those above.
    """
    m, a = power_mean(p, -1.0), power_mean(p, 1.0)
    return np.sqrt(m * a * (1 - a) / (1 - m))


def de_morgan_gap(p: np.ndarray, gamma_and: float = GAMMA["and"], gamma_or: float = GAMMA["or"]) -> np.ndarray:
    """``p_logical`` of "not (a and b and ...)" less that of "not a or not b or ...", for ``p`` ``(..., c)``."""
    p = np.asarray(p, dtype=np.float64)
    return 1 - power_mean(p, gamma_and) - power_mean(1 - p, gamma_or)


def log_loss(scores: np.ndarray, present: np.ndarray, beta: float, mu: float) -> float:
    """Mean of ``-log`` of the probability given to what is so, in nats; present and absent weigh one half each."""
    margin = np.where(present, 1, -1) * evidence(scores, beta, mu)
    return float(_weights(present) @ np.logaddexp(0, -margin))


def _weights(present: np.ndarray) -> np.ndarray:
    return np.where(present, 0.5 / present.sum(), 0.5 / (~present).sum())


def calibrate(scores: np.ndarray, present: np.ndarray) -> Calibration:
    """β and μ of held-out pairs of an image and a concept: ``scores`` ``(n,)``, ``present`` ``(n,)`` bool.

    They minimise the log loss of ``p = σ(β(s - μ))``, present and absent pairs weighing one half each whatever their
    numbers: logistic regression on one variable.  Raises ``ValueError`` if a kind is missing, if the scores are not
    finite or do not rise with presence, or if they separate the two kinds, so that no β is best.
    """
    scores, present = np.asarray(scores, dtype=np.float64), np.asarray(present, dtype=bool)
    if scores.ndim != 1 or scores.shape != present.shape:
        raise ValueError(f"give scores (n,) and present (n,), got {scores.shape} and {present.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("calibration needs finite scores: drop the images or concepts whose features are NaN")
    if not present.any() or present.all():
        raise ValueError("calibration needs concepts that are present and concepts that are absent: give both kinds")
    centre, spread = scores.mean(), scores.std()
    if scores[present].mean() <= scores[~present].mean() or spread == 0:
        raise ValueError("the scores do not rise with presence: these are not scores of these concepts")
    if scores[present].min() >= scores[~present].max():  # also where they touch, a larger β always fits better
        raise ValueError("the scores separate present from absent, so that no β is best: calibrate on more pairs")
    z, sign, weight = (scores - centre) / spread, np.where(present, 1.0, -1.0), _weights(present)

    def loss(line):
        margin = sign * (line[0] * z + line[1])
        pull = -weight * sign * expit(-margin)
        return weight @ np.logaddexp(0, -margin), np.array([pull @ z, pull.sum()])

    found = minimize(loss, (1.0, 0.0), jac=True, method="BFGS", options={"gtol": 1e-9})
    slope, offset = found.x
    return Calibration(float(slope / spread), float(centre - offset * spread / slope), float(found.fun))
