"""Models of a binding function, fitted to scene embeddings by least squares on the indices of the concepts.

Scenes are ``(n, 2, 2)`` as in ``bindlib.theory.binding_functions``, embeddings ``(n, dim)``.  In the formulas ``a`` and
``b`` are the two concepts of an object.  Source of the additive model, the product and the global product: Uselis et
al. 2026, as far as its abstract and its public code tell; how they are fitted, and the other models, are ours.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from bindlib.theory.binding_functions import exposure_graph, require_every_concept, require_finite

WIDTH = 8  # of the product with a readout
RIDGE = 1e-2  # of the mean diagonal of a normal matrix: products of few objects would explode without it
_SETTLED = 1e-7
Sizes = tuple[int, int]
Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Fitted:
    """A fitted model: ``predict`` maps scenes ``(n, 2, 2)`` to embeddings ``(n, dim)``."""

    model: str
    parameters: int
    predict: Predict


@dataclass(frozen=True)
class Table:
    """A prediction that adds its objects up, from one vector an object, ``(A, B, dim)``; NaN where there is none."""

    vectors: np.ndarray

    def __call__(self, scenes: np.ndarray) -> np.ndarray:
        """Raises ``ValueError`` naming an object without a vector."""
        found = self.vectors[scenes[..., 0], scenes[..., 1]]
        unknown = np.argwhere(np.isnan(found[..., 0]))
        if len(unknown):
            a, b = scenes[tuple(unknown[0])]
            raise ValueError(f"object {(int(a), int(b))} was in no scene fitted on, and a free vector an object says "
                             "nothing of it: judge on seen objects, or fit another model")  # fmt: skip
        return found.sum(axis=1)


def fit(model: str, scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator) -> Fitted:
    """The model called ``model``, a key of ``MODELS``, fitted to embeddings ``y`` of ``scenes`` on a grid of ``sizes``.

    Raises ``ValueError`` for an unknown model, embeddings that are not finite, all zero or not one a scene, a concept
    that no scene holds, naming it, and scenes of another shape or with concepts that the grid lacks.
    """
    if model not in MODELS:
        raise ValueError(f"no model is called {model!r}; there are {', '.join(MODELS)}")
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 2 or len(y) != len(scenes):
        raise ValueError(f"expected one embedding for each of {len(scenes)} scenes, got shape {y.shape}")
    require_finite(y, "embedding")
    if scenes.shape[1:] != (2, 2) or (scenes < 0).any() or (scenes >= sizes).any():
        raise ValueError(f"scenes are (n, 2, 2) indices on a grid of {sizes[0]} × {sizes[1]}: number its concepts")
    require_every_concept(held(scenes, sizes))
    if not y.any():
        raise ValueError("every embedding is zero, so there is nothing to fit: check the encoder")
    return Fitted(model, *MODELS[model](scenes, y, sizes, rng))


def held(scenes: np.ndarray, sizes: Sizes) -> np.ndarray:
    """The objects that occur in ``scenes``, a mask ``(A, B)``."""
    mask = np.zeros(sizes, dtype=bool)
    mask[scenes[..., 0], scenes[..., 1]] = True
    return mask


def counts(index: np.ndarray, size: int) -> np.ndarray:
    """How often each of ``size`` things occurs in each row of ``index`` ``(n, k)``: ``(n, size)``."""
    rows = np.zeros((len(index), size))
    np.add.at(rows, (np.arange(len(index))[:, None], index), 1)
    return rows


def _concepts(scenes: np.ndarray, sizes: Sizes) -> np.ndarray:
    return np.hstack([counts(scenes[..., kind], size) for kind, size in enumerate(sizes)])


def additive(scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator) -> tuple[int, Predict]:
    """``Σ_i u_a + u'_b``, a bag of concepts, by exact least squares."""
    found = np.linalg.lstsq(_concepts(scenes, sizes), y)[0]
    u, v = np.split(found, [sizes[0]])
    return found.size, Table(u[:, None] + v)


def objects(scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator) -> tuple[int, Predict]:
    """``Σ_i w_ab`` with a free vector for each object: what any model that adds objects up can reach on seen ones."""
    vectors = _object_vectors(scenes, y, sizes)
    vectors[~held(scenes, sizes)] = np.nan
    return vectors.size, Table(vectors)


def _object_vectors(scenes: np.ndarray, y: np.ndarray, sizes: Sizes) -> np.ndarray:
    """The shortest least-squares table ``(A, B, dim)``; zero for objects that no scene holds."""
    design = counts(scenes[..., 0] * sizes[1] + scenes[..., 1], sizes[0] * sizes[1])
    return np.linalg.lstsq(design, y)[0].reshape(*sizes, -1)


def product(
    scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator, sweeps: int = 60
) -> tuple[int, Predict]:
    """``Σ_i v_a ∘ v'_b``, coordinate by coordinate, by alternating least squares.

    It starts from the leading singular vectors of the seen objects, zero elsewhere: of exact products the signs are
    right already, by the theorem of Perron and Frobenius.
    """
    vectors = _leading_products(_object_vectors(scenes, y, sizes), held(scenes, sizes))
    before = np.inf
    for _ in range(sweeps):
        for kind in (0, 1):
            vectors[kind] = _best_given(vectors[1 - kind], scenes[..., kind], scenes[..., 1 - kind], y, sizes[kind])
        table = Table(vectors[0][:, None] * vectors[1])
        error = np.sum((y - table(scenes)) ** 2)
        if error > (1 - 1e-4) * before or error < _SETTLED**2 * np.sum(y**2):
            break
        before = error
    return sum(v.size for v in vectors), table


def _leading_products(table: np.ndarray, seen: np.ndarray) -> list[np.ndarray]:
    """The best products ``u_a ∘ v_b`` of a table ``(A, B, dim)``, zero where nothing is seen, for each component alone.

    Components share no concept, so their scales are free; here both factors get the same length.
    """
    vectors = [np.zeros((size, table.shape[2])) for size in seen.shape]
    first, second = exposure_graph(seen).components
    for component in np.unique(first):
        rows, columns = np.flatnonzero(first == component), np.flatnonzero(second == component)
        left, size, right = np.linalg.svd(np.moveaxis(table[np.ix_(rows, columns)], 2, 0), full_matrices=False)
        root = np.sqrt(size[:, 0])
        vectors[0][rows], vectors[1][columns] = left[:, :, 0].T * root, right[:, 0].T * root
    return vectors


def _best_given(others: np.ndarray, own: np.ndarray, other: np.ndarray, y: np.ndarray, size: int) -> np.ndarray:
    """The vectors ``(size, dim)`` of one kind that fit best, given those of the other: a system for each coordinate."""
    weights = others[other]  # (n, 2, dim)
    gram = sum(
        _scatter(own[:, i] * size + own[:, j], weights[:, i] * weights[:, j], size**2) for i in (0, 1) for j in (0, 1)
    )
    right = sum(_scatter(own[:, i], weights[:, i] * y, size) for i in (0, 1))
    gram = np.moveaxis(gram.reshape(size, size, -1), 2, 0)
    return np.linalg.solve(_with_ridge(gram), right.T[..., None])[..., 0].T


def _scatter(index: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """The sum of the rows ``(n, dim)`` of each index, ``(size, dim)``."""
    n = len(index)
    return csr_array((np.ones(n), (index, np.arange(n))), shape=(size, n)) @ rows


def readout(
    scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator,
    width: int = WIDTH, sweeps: int = 40, starts: int = 2,
) -> tuple[int, Predict]:  # fmt: skip
    """``Σ_i u_a + u'_b + W (p_a ∘ q_b)`` with ``p_a``, ``q_b`` of ``width`` numbers and a learned readout ``W``.

    That is a product with a readout of ``A + B + width`` numbers, the first ``A + B`` of them 1 for one concept each.
    The additive part is eliminated exactly; the rest is fitted by alternating least squares, the best of ``starts``.
    """
    bag = _concepts(scenes, sizes)
    basis = np.linalg.qr(bag @ np.linalg.svd(bag, full_matrices=False)[2][: sum(sizes) - 1].T)[0]
    fits = [_alternate(scenes, y, sizes, basis, rng, width, sweeps) for _ in range(starts)]
    _, p, q, w = min(fits, key=lambda found: found[0])
    products = Table((p[:, None] * q) @ w)
    _, bag_part = additive(scenes, y - products(scenes), sizes, rng)
    parameters = sum(sizes) * (y.shape[1] + width) + width * y.shape[1]
    return parameters, Table(products.vectors + bag_part.vectors)


def _alternate(scenes, y, sizes, basis, rng, width, sweeps):
    """Error, ``p`` ``(A, width)``, ``q`` ``(B, width)`` and ``W`` ``(width, dim)``, beside the additive ``basis``."""

    def beside(rows: np.ndarray) -> np.ndarray:
        return rows - basis @ (basis.T @ rows)

    target, factors = beside(y), [rng.standard_normal((size, width)) for size in sizes]
    before = np.inf
    for _ in range(sweeps):
        for kind in (0, 1):
            hidden = (factors[0][scenes[..., 0]] * factors[1][scenes[..., 1]]).sum(axis=1)
            w = _least_squares(beside(hidden), target)
            other = factors[1 - kind][scenes[..., 1 - kind]]  # (n, 2, width)
            design = np.zeros((len(y), sizes[kind], width))
            for i in (0, 1):
                design[np.arange(len(y)), scenes[:, i, kind]] += other[:, i]
            design = beside(design.reshape(len(y), -1))
            gram = (design.T @ design).reshape(sizes[kind], width, sizes[kind], width) * (w @ w.T)[None, :, None]
            right = (design.T @ target).reshape(sizes[kind], width, -1) * w
            gram = _with_ridge(gram.reshape(sizes[kind] * width, -1))
            factors[kind] = np.linalg.solve(gram, right.sum(axis=2).ravel()).reshape(sizes[kind], width)
            factors[kind] /= np.linalg.norm(factors[kind], axis=0)
        hidden = beside((factors[0][scenes[..., 0]] * factors[1][scenes[..., 1]]).sum(axis=1))
        w = _least_squares(hidden, target)
        error = np.sum((target - hidden @ w) ** 2)
        if error > (1 - 1e-4) * before or error < _SETTLED**2 * np.sum(y**2):
            break
        before = error
    return error, *factors, w


def _least_squares(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.solve(_with_ridge(design.T @ design), design.T @ y)


def _with_ridge(gram: np.ndarray) -> np.ndarray:
    """Normal matrices ``(..., n, n)`` with ``RIDGE`` of their mean diagonal added, so that they can be solved."""
    mean = np.trace(gram, axis1=-2, axis2=-1)[..., None, None] / gram.shape[-1]
    return gram + (RIDGE * mean + np.finfo(float).tiny) * np.eye(gram.shape[-1])


def nearest_scales(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest ``s_a v_b`` to a table ``(A, B, dim)``: scales ``(A,)`` and vectors ``(B, dim)``.

    The scales have mean square 1 and no negative sum.
    """
    left, sizes, right = np.linalg.svd(table.reshape(len(table), -1), full_matrices=False)
    unit = np.sqrt(len(table)) * (-1 if left[:, 0].sum() < 0 else 1)
    return left[:, 0] * unit, (sizes[0] / unit * right[0]).reshape(table.shape[1:])


def one_scale(
    scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator, sweeps: int = 20
) -> tuple[int, Predict]:
    """``Σ_i s_a v_b`` with one number ``s_a`` for each first concept, by alternating least squares from the product."""
    scales, _ = nearest_scales(product(scenes, y, sizes, rng)[1].vectors)
    pairs = [(i, j) for i in (0, 1) for j in (0, 1)]
    for _ in range(sweeps):
        design = np.zeros((len(y), sizes[1]))
        np.add.at(design, (np.arange(len(y))[:, None], scenes[..., 1]), scales[scenes[..., 0]])
        vectors = _least_squares(design, y)
        own, others = scenes[..., 0], vectors[scenes[..., 1]]  # (n, 2), (n, 2, dim)
        gram, right = np.zeros((sizes[0], sizes[0])), np.zeros(sizes[0])
        for i, j in pairs:
            np.add.at(gram, (own[:, i], own[:, j]), np.sum(others[:, i] * others[:, j], axis=1))
        np.add.at(right, own, np.sum(others * y[:, None], axis=2))
        scales = np.linalg.solve(_with_ridge(gram), right)
    return scales.size + vectors.size, Table(scales[:, None, None] * vectors)


def global_product(
    scenes: np.ndarray, y: np.ndarray, sizes: Sizes, rng: np.random.Generator, iterations: int = 60
) -> tuple[int, Predict]:
    """``c ∘ Π_i v_a ∘ v'_b``, all concepts multiplied, by L-BFGS from ``v = v' = 1``; ``c`` is fixed beforehand.

    ``c`` is the spread of each coordinate about zero, with the sign of its mean: a product of concept vectors that are
    near 1 has no sign of its own.
    """
    dim, where = y.shape[1], (scenes[..., 0], sizes[0] + scenes[..., 1])
    scale = np.sqrt(np.mean(y**2, axis=0)) * np.where(y.mean(axis=0) < 0, -1, 1)
    target = y / np.where(scale == 0, 1, scale)
    index = np.concatenate(where, axis=1)  # (n, 4)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        vectors = flat.reshape(sum(sizes), dim)
        factors = vectors[index]  # (n, 4, dim)
        pairs = factors[:, :2].prod(axis=1), factors[:, 2:].prod(axis=1)
        error = pairs[0] * pairs[1] - target
        gradient = np.zeros_like(vectors)
        for i in range(4):
            others = factors[:, i ^ 1] * pairs[1 - i // 2]
            gradient += _scatter(index[:, i], error * others * scale**2, len(vectors))
        return 0.5 * float(np.sum((error * scale) ** 2)), gradient.ravel()

    unit = len(y) * float(np.mean(scale**2))
    start = np.ones(sum(sizes) * dim)
    found = minimize(
        lambda flat: tuple(part / unit for part in loss(flat)), start, jac=True, method="L-BFGS-B",
        options={"maxiter": iterations},
    )  # fmt: skip
    vectors = found.x.reshape(sum(sizes), dim)
    return vectors.size + dim, lambda scenes: scale * vectors[np.add(scenes, [0, sizes[0]])].prod(axis=(1, 2))


MODELS = {
    "additive": additive,
    "product": product,
    "one scale": one_scale,
    "product with readout": readout,
    "global product": global_product,
    "free objects": objects,
}
