"""What breaks the depth law: roles that stretch, roles whose ranges overlap."""

import numpy as np

from bindlib.certificates import Ablation, Outcome, smallest
from bindlib.theory.bag_of_words import unit
from bindlib.theory.depth_law import law
from bindlib.theory.depth_law_claims import ISOMETRIES, LAW, ORTHOGONAL_RANGES, orthogonal_roles
from bindlib.theory.factored_codes import orthonormal


def tree_margin(leaves: np.ndarray, roles: np.ndarray) -> Outcome:
    """The margin of the swap of two leaves ``(2, n)`` under one node with roles ``(2, n_node, n)``."""
    root, edited = (unit(roles[0] @ x + roles[1] @ y) for x, y in (leaves, leaves[::-1]))
    cosine = float(leaves[0] @ leaves[1])
    return Outcome(
        (("red car", "blue dog"),),
        ("first a red car, then a blue dog", "first a blue dog, then a red car"),
        f"2 leaves of dimension {leaves.shape[1]}, one level",
        "margin",
        "=",
        law(2, 1, cosine),
        float(np.sum((root - edited) ** 2)) / 2,
        {"leaves": leaves, "roles": roles},
        f"cosine of the leaves {cosine:.2f}",
    )


def _with_roles(draw_roles):
    def draw(dim, rng):
        return {"leaves": unit(rng.standard_normal((2, dim))), "roles": draw_roles(dim, rng)}

    return draw


def _stretching(dim: int, rng: np.random.Generator) -> np.ndarray:
    """Any two matrices, each into coordinates of its own, so that their ranges are orthogonal."""
    return np.stack([np.vstack([r, 0 * r] if j == 0 else [0 * r, r]) for j, r in enumerate(_matrices(dim, rng))])


def _matrices(dim: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((2, dim, dim))


def _overlapping(dim: int, rng: np.random.Generator) -> np.ndarray:
    """The identity and a rotation or reflection, both onto the whole space."""
    other = orthonormal(dim, dim, rng)
    other[0] *= rng.choice([-1.0, 1.0])  # in the plane reflections keep the law, so both kinds must be drawn
    return np.stack([np.eye(dim), other])


def stretching_roles(rng: np.random.Generator) -> Outcome:
    """The fewest dimensions of a leaf in which roles that are no isometries miss the law, ranges still orthogonal."""
    return smallest(range(1, 4), _with_roles(_stretching), tree_margin, rng)


def overlapping_roles(rng: np.random.Generator) -> Outcome:
    """The fewest dimensions of a leaf in which isometries with overlapping ranges miss the law.

    In one dimension two leaves cannot: a sum that changes changes its sign, as the law has it.
    """
    return smallest(range(2, 4), _with_roles(_overlapping), tree_margin, rng)


def lawful(rng: np.random.Generator) -> Outcome:
    """Random leaves of two dimensions under random isometries of orthogonal ranges."""
    return tree_margin(**_with_roles(lambda dim, rng: orthogonal_roles(2, 1, dim, rng)[0])(2, rng))


ABLATIONS = (Ablation(LAW, lawful, {ISOMETRIES: stretching_roles, ORTHOGONAL_RANGES: overlapping_roles}),)
