"""Factored codes: an atom is an object bound to an attribute, a caption the normalised sum of its atoms.

Factors and atom codes are rows ``(..., dim)`` float64 of length about 1.  Margins are ``1 - cosine`` of the codes of a
caption and of a negative: the image code is the caption code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, isqrt, sqrt

import numpy as np

KINDS = ("swap", "replace", "add")

Draw = Callable[[int, int, np.random.Generator], np.ndarray]  # draw(n, dim, rng) -> n factors for atom codes of dim


@dataclass(frozen=True)
class Family:
    """A binding of unit factors: how to draw them, how to bind them, and the gain and leakage to expect."""

    draw: Draw
    bind: Callable[[np.ndarray, np.ndarray], np.ndarray]
    gain: float = 1.0
    leakage: float = 0.0


def _signs(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size=(n, dim)) / sqrt(dim)


def _phases(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    if dim % 2:
        raise ValueError(f"a unit phase takes two real dimensions, so dim must be even, got {dim}")
    return (np.exp(2j * np.pi * rng.random((n, dim // 2))) / sqrt(dim / 2)).view(np.float64)


def _gaussians(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, dim)) / sqrt(dim)


def orthonormal(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` random orthonormal rows ``(n, dim)``; ``ValueError`` when ``n > dim``."""
    if n > dim:
        raise ValueError(f"{n} orthonormal vectors do not fit in dimension {dim}")
    return np.linalg.qr(rng.standard_normal((dim, n)))[0].T


def _tensor_factors(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    side = isqrt(dim)
    if side**2 != dim:
        raise ValueError(f"a tensor product of two n-vectors has n² entries, so dim must be a square, got {dim}")
    return orthonormal(n, side, rng) if n <= side else _signs(n, side, rng)


def _multiply_phases(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    bound = np.ascontiguousarray(u).view(complex) * np.ascontiguousarray(v).view(complex)
    return bound.view(np.float64) * sqrt(u.shape[-1] / 2)


def _convolve(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.fft.irfft(np.fft.rfft(u) * np.fft.rfft(v), n=u.shape[-1])


def _outer(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return (u[..., :, None] * v[..., None, :]).reshape(*u.shape[:-1], -1)


FAMILIES = {
    "hadamard": Family(_signs, lambda u, v: u * v * sqrt(u.shape[-1])),
    "fhrr": Family(_phases, _multiply_phases),
    "hrr": Family(_gaussians, _convolve),
    "tensor": Family(_tensor_factors, _outer),
    "additive": Family(_gaussians, lambda u, v: (u + v) / sqrt(2), leakage=0.5),
}


@dataclass(frozen=True)
class Code:
    """Factors of a vocabulary, ``(M, n)`` for the objects and ``(K, n)`` for the attributes, and their binding."""

    family: str
    objects: np.ndarray
    attributes: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of objects and of attributes."""
        return len(self.objects), len(self.attributes)

    def atoms(self, objects: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """Atom codes ``(..., dim)`` of the objects and attributes with these indices ``(...)``."""
        return FAMILIES[self.family].bind(self.objects[objects], self.attributes[attributes])


@dataclass(frozen=True)
class AtomTable:
    """A code given by all its atoms, ``(M, K, dim)``, factored or not."""

    table: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.shape[:2]

    def atoms(self, objects: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        return self.table[objects, attributes]


def draw_code(family: str, n_objects: int, n_attributes: int, dim: int, rng: np.random.Generator) -> Code:
    """Random factors whose atom codes have ``dim`` real entries.

    Raises ``ValueError`` for an unknown family, an empty vocabulary, or a dimension that the family does not have.
    """
    if family not in FAMILIES:
        raise ValueError(f"no binding is named {family!r}; there are {', '.join(FAMILIES)}")
    if min(n_objects, n_attributes, dim) < 1:
        raise ValueError(f"objects, attributes and dimension must be positive: {n_objects}, {n_attributes}, {dim}")
    draw = FAMILIES[family].draw
    return Code(family, draw(n_objects, dim, rng), draw(n_attributes, dim, rng))


def leaky_code(side: int, own: float, shared: float, common: float, rng: np.random.Generator) -> AtomTable:
    """``side × side`` atoms ``own e_oa + shared (u_o + v_a) + common w`` over one random orthonormal basis.

    Gain ``own² + 2 shared² + common²``, leakage ``shared² + common²`` and mismatch ``common²`` are exact; without
    ``own`` the code is additive.
    """
    e, u, v, w = np.split(np.eye((side + 1) ** 2), np.cumsum([side**2, side, side]))
    table = own * e.reshape(side, side, -1) + shared * (u[:, None] + v[None, :]) + common * w
    return AtomTable(table @ orthonormal(len(w[0]), len(w[0]), rng))


def centred(code: AtomTable) -> AtomTable:
    """The code less the mean of all its atoms, whose squared length every inner product loses."""
    return AtomTable(code.table - code.table.mean(axis=(0, 1)))


def doubly_centred(code: AtomTable) -> AtomTable:
    """The code less the means over its objects and over its attributes, plus the mean of all: sums of zero each way."""
    table = code.table - code.table.mean(axis=0, keepdims=True)
    return AtomTable(table - table.mean(axis=1, keepdims=True))


def inner_products(code: Code | AtomTable, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Inner products ``(n,)`` of ``n`` random atoms with themselves and with others.

    ``gain``, ``leakage`` (same object), ``leakage_attribute`` (same attribute), ``mismatch`` (nothing shared).  Raises
    ``ValueError`` for a vocabulary with fewer than two objects or attributes.
    """
    (o, p), (a, b) = (_distinct(size, 2, n, rng).T for size in code.shape)
    atom = code.atoms(o, a)
    others = {
        "gain": atom,
        "leakage": code.atoms(o, b),
        "leakage_attribute": code.atoms(p, a),
        "mismatch": code.atoms(p, b),
    }
    return {name: np.sum(atom * other, axis=-1) for name, other in others.items()}


def predicted_margins(k: int, gain: float = 1.0, leakage: float = 0.0, mismatch: float = 0.0) -> dict[str, float]:
    """Swap, replace and add margins of a ``k``-atom caption if the inner products of atoms are exactly these.

    For orthonormal atoms ``2/k``, ``1/k`` and ``1 - sqrt(k/(k+1))`` (the paper's Theorem E.7); the general form is
    ours.  A replacement changes the attribute of one atom.  Raises ``ValueError`` for ``k < 2``, ``gain ≤ 0``, or
    a caption of length 0.
    """
    if k < 2 or gain <= 0:
        raise ValueError(f"a swap needs k >= 2 atoms of positive gain, got k={k} and gain={gain}")
    norm2 = k * (gain + (k - 1) * mismatch)
    longer2 = norm2 + 2 * k * mismatch + gain
    if norm2 <= 0 or longer2 <= 0:
        raise ValueError(f"{k} atoms of gain {gain} cannot all have inner products {mismatch}")
    return {
        "swap": 2 * (gain - 2 * leakage + mismatch) / norm2,
        "replace": (gain - leakage) / norm2,
        "add": 1 - (norm2 + k * mismatch) / sqrt(norm2 * longer2),
    }


def best_swap_margin(k: int) -> float:
    """``(2/k) sqrt(k/(k-1))``: the largest margin that a unit image can have over all swaps at once, orthonormal atoms.

    The image need not be the caption's code.  Ours.  Raises ``ValueError`` for ``k < 2``.
    """
    return predicted_margins(k)["swap"] * sqrt(k / (k - 1))


def margin_spread(kind: str, k: int, dim: int) -> float:
    """Standard deviation of one scene's margin over draws of a Hadamard sign code, to first order in ``1/sqrt(N)``.

    An estimate (ours): the margin is linearised in the inner products of different atoms, of mean 0 and variance
    ``1/N``.  ``<x_oa, x_oa'>`` is the same for every ``o``, ``<x_oa, x_o'a>`` for every ``a``, and ``<x_11, x_22>`` is
    ``<x_12, x_21>``; the others are uncorrelated.  The remainder is not bounded.  Raises ``ValueError`` for a ``kind``
    that is not in ``KINDS``.
    """
    margin = predicted_margins(k)[_known(kind)]
    if kind == "swap":
        return margin * sqrt(((1 - 2 / k) ** 2 + 2 + 2 * (k - 2) * (k - 1) / k**2) / dim)
    if kind == "replace":
        return margin * sqrt((1 + 2 * (k - 1) ** 2 / k**2) / dim)
    return (1 - margin) * sqrt((comb(k, 2) + k) / dim) / (k * (k + 1))


def margins(code: Code | AtomTable, k: int, n_scenes: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Margins ``(n_scenes,)`` of random scenes of ``k`` distinct objects and attributes, for every kind of negative.

    A swap exchanges the attributes of two atoms; a replacement gives one atom an attribute that the scene lacks; an
    addition adds an atom of a new object and that attribute.  Raises ``ValueError`` unless ``2 ≤ k < min(M, K)``.
    """
    if not 2 <= k < min(code.shape):
        raise ValueError(f"a swap needs two atoms, other negatives a spare: 2 <= k < {min(code.shape)}, got k={k}")
    objects, attributes = (_distinct(size, k + 1, n_scenes, rng) for size in code.shape)
    found = np.array([_scene_margins(code, o, a) for o, a in zip(objects, attributes, strict=True)])
    return dict(zip(KINDS, found.T, strict=True))


def _scene_margins(code: Code | AtomTable, o: np.ndarray, a: np.ndarray) -> list[float]:
    """One scene: the last object and attribute are the spare ones."""
    *atoms, spare = code.atoms(o, a)
    exchanged = code.atoms(o[:2], a[1::-1])
    caption = np.sum(atoms, axis=0)
    negatives = {
        "swap": caption + exchanged.sum(axis=0) - atoms[0] - atoms[1],
        "replace": caption + code.atoms(o[0], a[-1]) - atoms[0],
        "add": caption + spare,
    }
    lengths = np.linalg.norm([caption, *negatives.values()], axis=-1)
    return [1 - float(caption @ negatives[kind]) / (lengths[0] * n) for kind, n in zip(KINDS, lengths[1:], strict=True)]


def margin_rows(code: Code, sizes: Sequence[int], n_scenes: int, rng: np.random.Generator) -> list[dict]:
    """Mean, standard deviation and ratio to the orthonormal prediction of every kind of margin, a row for each size."""
    rows = []
    for k in sizes:
        measured, predicted = margins(code, k, n_scenes, rng), predicted_margins(k)
        for kind in KINDS:
            mean, sd = float(measured[kind].mean()), float(measured[kind].std(ddof=1))
            row = {"kind": kind, "k": k, "margin": mean, "sd": sd, "predicted": predicted[kind]}
            rows.append(row | {"ratio": mean / predicted[kind]})
    return rows


def _distinct(n: int, k: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """``k`` distinct indices below ``n`` in each of ``rows`` rows."""
    if n < k:
        raise ValueError(f"{k} distinct members cannot be drawn from a vocabulary of {n}")
    return rng.permuted(np.broadcast_to(np.arange(n), (rows, n)), axis=1)[:, :k]


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"no negative is called {kind!r}; there are {', '.join(KINDS)}")
    return kind
