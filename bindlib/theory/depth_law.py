"""The depth law: every level of normalised pooling divides a deep swap's margin by the branching.

A tree of branching ``b`` and depth ``D`` has ``b^D`` leaves, each a unit vector.  The code of a node is
``normalise(Σ_j R_j t(child_j))`` with isometries ``R_j``, the roles.  Height counts up from the leaves: a node of
height ``h`` has ``b^h`` leaves below it.  Margins are ``1 - cosine`` of the root codes before and after an edit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import comb, sqrt

import numpy as np
from scipy.special import ndtr

from bindlib.theory.bag_of_words import unit
from bindlib.theory.factored_codes import margin_spread


@dataclass(frozen=True)
class Binding:
    """Roles of one kind: ``draw((levels, b), dim, rng)``, ``bind(role, codes)`` and its inverse."""

    draw: Callable[[tuple[int, int], int, np.random.Generator], np.ndarray]
    bind: Callable[[np.ndarray, np.ndarray], np.ndarray]
    unbind: Callable[[np.ndarray, np.ndarray], np.ndarray]


def _draw_signs(shape: tuple[int, ...], dim: int, rng: np.random.Generator) -> np.ndarray:
    return 2 * rng.integers(0, 2, (*shape, dim), dtype=np.int8).astype(np.float32) - 1


def _draw_permutations(shape: tuple[int, ...], dim: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permuted(np.broadcast_to(np.arange(dim, dtype=np.int32), (*shape, dim)), axis=-1)


BINDINGS = {
    "hadamard": Binding(_draw_signs, np.multiply, np.multiply),
    "permutation": Binding(
        _draw_permutations,
        lambda role, codes: np.take(codes, role, axis=-1),
        lambda role, codes: np.take(codes, np.argsort(role), axis=-1),
    ),
}


def law(branching: int, depth: int, cosine: float = 0.0) -> float:
    """``2 b^-D (1 - <x, y>)``: the margin of a swap of sibling leaves ``x, y`` if role ranges are orthogonal."""
    _check_tree(branching, depth)
    return 2 * (1 - cosine) / branching**depth


def resolvable_depth(dim: int, branching: int, floor: int | Fraction = 10) -> int:
    """Largest ``D ≥ 0`` with ``2 b^-D ≥ floor / sqrt(N)``, in exact integers; 0 if even depth 1 is below the floor.

    With the paper's floor of 10 this is ``floor(log_b(sqrt(N) / 5))`` (Corollary 3.4), wherever that is not negative.
    A margin exactly on the floor counts as resolved, as the formula has it.  Raises ``ValueError`` for ``dim < 1``,
    ``branching < 2``, ``floor ≤ 0``.
    """
    _check_tree(branching, 1)
    if dim < 1 or floor <= 0:
        raise ValueError(f"dimension and floor must be positive, got dim={dim} and floor={floor}")
    reach = 4 * dim / Fraction(floor) ** 2  # 2 b^-D ≥ c / sqrt(N) squared is b^(2D) ≤ 4 N / c²
    return next(depth for depth in count() if branching ** (2 * depth + 2) > reach)


def missed_by_noise(margin: float, dim: int, noise: float) -> float:
    """How often noise of the image vector hides a tied margin: ``Φ(-sqrt(m N / 2) / η)``.

    The image is ``t + η ξ`` with ``ξ`` normal of covariance ``1/N``, so that the margin is normal of mean ``m`` and
    standard deviation ``η ||t - t'|| / sqrt(N) = η sqrt(2 m / N)``.  Raises ``ValueError`` unless ``m`` is in
    ``[0, 2]`` and ``η > 0``.
    """
    if not 0 <= margin <= 2 or not noise > 0:
        raise ValueError(f"a margin lies in [0, 2] and noise is positive, got {margin} and {noise}")
    return float(ndtr(-sqrt(margin * dim / 2) / noise))


def distinguishable_positions(branching: int, depth: int, *, shared: bool, involutive: bool = False) -> int:
    """How many of the ``b^D`` leaf positions get a binding of their own, for generic commuting roles.

    Roles per level: all.  Roles ``shared`` by the levels: one for each multiset of roles, ``C(b+D-1, D)``.  If they are
    ``involutive`` too (signs: ``R² = 1``), only the parities of the multiplicities count, ``Σ_i C(b, i)`` over
    ``i ≤ min(b, D)`` of the parity of ``D``: at most ``2^(b-1)``, however deep the tree.  Ours.
    """
    _check_tree(branching, depth)
    if not shared:
        return branching**depth
    if involutive:
        return sum(comb(branching, i) for i in range(depth % 2, min(branching, depth) + 1, 2))
    return comb(branching + depth - 1, depth)


def relative_spread(branching: int, depth: int, dim: int) -> float:
    """Standard deviation of ``m(D) b^D / 2`` over draws of sign roles and leaves, to first order in ``1/sqrt(N)``.

    An estimate (ours): the remainder is not bounded, and the chapter sets it beside what is measured.  ``N`` times the
    variance is ``v(b) + (D - 1) 2(b - 1)/b - 4 (1 - b^(1 - D))/b²``: the single level of `factored_codes`, the cross
    terms of every level above, less what the codes before and after the edit do not share.
    """
    _check_tree(branching, depth)
    single_level = dim * (margin_spread("swap", branching, dim) * branching / 2) ** 2
    above = (depth - 1) * 2 * (branching - 1) / branching
    return sqrt((single_level + above - 4 * (1 - branching ** (1 - depth)) / branching**2) / dim)


def _check_tree(branching: int, depth: int) -> None:
    if branching < 2:
        raise ValueError(f"a tree that pools needs branching of at least 2, got {branching}")
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}: a single leaf has nothing to swap with")


def encode(leaves: np.ndarray, roles: Sequence[np.ndarray], bind: Callable = np.multiply) -> np.ndarray:
    """Root code ``(dim,)`` of the tree over ``leaves`` ``(b^D, dim)``, all in memory: the check of the stream.

    ``roles`` has one entry ``(b, ...)`` for every height, from the leaves up.
    """
    codes = leaves
    for level in roles:
        bound = bind(level, codes.reshape(-1, len(level), codes.shape[-1]))
        codes = unit(bound.sum(axis=1))
    return codes[0]


def _bit_fields(n: int, dim: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Endlessly, ``n`` random bits for every coordinate: bytes ``(ceil(n / 8), dim)``, their other bits 0.

    Small fields are cut from shared bytes.
    """
    n_bytes, lanes = -(-n // 8), max(1, 8 // n)
    mask = np.array([[255]] * (n_bytes - 1) + [[(1 << (n - 8 * (n_bytes - 1))) - 1]], dtype=np.uint8)
    while True:
        words = rng.integers(0, 2**64, size=-(-n_bytes * dim // 8), dtype=np.uint64)
        drawn = words.view(np.uint8)[: n_bytes * dim].reshape(n_bytes, dim)
        for lane in range(lanes):
            yield (drawn >> np.uint8(n * lane)) & mask


_PIECE = 4096  # inner products longer than some 10,000 start BLAS threads, which cost more than they save here


@dataclass
class _Tree:
    """A tree drawn leaf by leaf, depth first; leaves are random signs over ``sqrt(dim)``, roles ``(D, b, dim)``."""

    branching: int
    dim: int
    rng: np.random.Generator
    binding: Binding
    roles: np.ndarray
    swapped: tuple[int, int]

    def __post_init__(self) -> None:
        self.x, self.y = self.fresh_leaf(), self.fresh_leaf()
        self.fields = _bit_fields(self.branching, self.dim, self.rng)
        self.margins: list[float] = []

    def fresh_leaf(self) -> np.ndarray:
        return (2.0 * self.rng.integers(0, 2, self.dim, dtype=np.int8) - 1) / sqrt(self.dim)

    def edited(self, height: int, first: int) -> int:
        """How many of the two swapped leaves lie below the node of this height whose first leaf is ``first``."""
        return sum(first <= leaf < first + self.branching**height for leaf in self.swapped)

    def fresh(self, height: int) -> np.ndarray:
        """Unit code of a subtree without edited leaves, in single precision: it is one summand among many.

        No role appears.  Bound by a role of either kind, a uniform sign vector is one again, so every leaf is drawn
        already bound by all the roles on its way up to the root of the subtree, which leaves nothing but sums.
        """
        if height == 1:
            # The sum of b signs is twice the number of ones among b bits, less b; its scale goes with the norm.
            first, *others = np.bitwise_count(next(self.fields))
            total = first.astype(np.float32)
            for ones in others:
                total += ones
            total -= self.branching / 2
        else:
            total = self.fresh(height - 1)
            for _ in range(self.branching - 1):
                total += self.fresh(height - 1)
        total *= 1 / self.length(total)
        return total

    def versions(self, height: int, first: int = 0) -> np.ndarray:
        """Codes ``(2, dim)`` of a node before and after the swap, or ``(dim,)`` where nothing below it changes."""
        edited = self.edited(height, first)
        if height == 0:
            return self.leaf(first)
        if not edited:
            return self.fresh(height)
        step = self.branching ** (height - 1)
        children = (self.versions(height - 1, first + j * step) for j in range(self.branching))
        codes = sum(map(self.binding.bind, self.roles[height - 1], children))
        codes /= [[self.length(code)] for code in codes]
        if edited == 2:
            self.margins.append(float(np.sum((codes[0] - codes[1]) ** 2)) / 2)
        return codes

    def write(self, leaves: np.ndarray, height: int, first: int = 0) -> None:
        """Write the leaves below a node to their places, drawn as `versions` draws them."""
        step = self.branching ** (height - 1) if height else 0
        if height == 0:
            leaves[first] = np.atleast_2d(self.leaf(first))[0]
        elif self.edited(height, first):
            for j in range(self.branching):
                self.write(leaves, height - 1, first + j * step)
        else:
            self.write_fresh(leaves[first : first + self.branching * step], height)

    def write_fresh(self, leaves: np.ndarray, height: int, undo: Callable = lambda code: code) -> None:
        """As `fresh`, with the roles taken off each leaf: those above this node by ``undo``, then those below it."""
        bits = np.unpackbits(next(self.fields), axis=0, bitorder="little") if height == 1 else ()
        for j, (role, part) in enumerate(zip(self.roles[height - 1], np.split(leaves, self.branching), strict=True)):

            def below(code: np.ndarray, role: np.ndarray = role) -> np.ndarray:
                return self.binding.unbind(role, undo(code))

            if height == 1:
                part[0] = below((2.0 * bits[j] - 1) / sqrt(self.dim))
            else:
                self.write_fresh(part, height - 1, below)

    def length(self, total: np.ndarray) -> float:
        whole = len(total) // _PIECE * _PIECE
        pieces, rest = total[:whole].reshape(-1, _PIECE), total[whole:]
        squared = float(np.vecdot(pieces, pieces).sum(dtype=np.float64)) + float(rest @ rest)
        if squared == 0:
            raise ValueError(f"the children of a node cancelled out in dimension {self.dim}: take a larger one")
        return sqrt(squared)

    def leaf(self, position: int) -> np.ndarray:
        if position not in self.swapped:
            return self.fresh_leaf()
        return np.stack((self.x, self.y) if position == self.swapped[0] else (self.y, self.x))


def _draw_tree(
    branching: int,
    depth: int,
    dim: int,
    rng: np.random.Generator,
    binding: str,
    shared: bool,
    swapped: tuple[int, int],
) -> _Tree:
    _check_tree(branching, depth)
    if dim < 1:
        raise ValueError(f"dimension must be positive, got {dim}")
    if binding not in BINDINGS:
        raise ValueError(f"no binding of roles is named {binding!r}; there are {', '.join(BINDINGS)}")
    if swapped[0] == swapped[1] or not all(0 <= leaf < branching**depth for leaf in swapped):
        raise ValueError(f"a swap needs two different leaves of 0..{branching**depth - 1}, got {swapped}")
    kind = BINDINGS[binding]
    roles = kind.draw((1 if shared else depth, branching), dim, rng)
    return _Tree(branching, dim, rng, kind, np.broadcast_to(roles, (depth, *roles.shape[1:])), swapped)


def swap_margins(
    branching: int,
    depth: int,
    dim: int,
    rng: np.random.Generator,
    *,
    binding: str = "hadamard",
    shared: bool = False,
    swapped: tuple[int, int] = (0, 1),
) -> np.ndarray:
    """Margins of one swap in one random tree, at every ancestor of both leaves from the lowest up to the root.

    Leaves are random signs; roles are random signs (``"hadamard"``) or ``"permutation"``s, drawn anew for every level
    or ``shared`` by all.  ``swapped`` counts leaves from 0; leaves 0 and 1 are siblings, and then entry ``h - 1`` is
    the margin of a tree of depth ``h``.  The tree is drawn as it is encoded: memory ``O(dim · branching · depth)``.

    Raises ``ValueError`` for ``branching < 2``, ``depth < 1``, ``dim < 1``, an unknown binding or leaves that are not
    two different ones of the tree.
    """
    tree = _draw_tree(branching, depth, dim, rng, binding, shared, swapped)
    tree.versions(depth)
    return np.array(tree.margins)


def swap_margin(branching: int, depth: int, dim: int, rng: np.random.Generator, **options) -> float:
    """Margin at the root of one swap in one random tree; the options and errors of `swap_margins`."""
    return float(swap_margins(branching, depth, dim, rng, **options)[-1])


def full_tree(
    branching: int,
    depth: int,
    dim: int,
    rng: np.random.Generator,
    *,
    binding: str = "hadamard",
    shared: bool = False,
    swapped: tuple[int, int] = (0, 1),
    dtype: type = np.float64,
) -> tuple[np.ndarray, np.ndarray]:
    """Leaves ``(b^D, dim)`` and roles ``(D, b, dim)`` of the tree that `swap_margins` draws from an equal ``rng``.

    All leaves at once, for small trees and for checks; the errors of `swap_margins`.
    """
    tree = _draw_tree(branching, depth, dim, rng, binding, shared, swapped)
    leaves = np.empty((branching**depth, dim), dtype)
    tree.write(leaves, depth)
    return leaves, tree.roles.copy()
