"""Encoders worth trying: what a solver proposes before it checks.  Nothing here decides anything.

Everything works on classes of images and captions that share a vector; a demand is a row ``(image, better, worse)``.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack

from bindlib.theory.axioms import Encoder, FiniteWorld, contrast_matrix
from bindlib.theory.bag_of_words import unit
from bindlib.theory.radon import convex_weights, moment_curve, regular_simplex

SHARPNESS = (10, 60, 400)  # of the soft minimum, raised in stages


def padded(encoder: Encoder, dim: int) -> Encoder | None:
    """The encoder with zero coordinates appended up to ``dim``; ``None`` when it has more already."""
    missing = dim - encoder.images.shape[1]
    return None if missing < 0 else Encoder(*(np.pad(side, ((0, 0), (0, missing))) for side in encoder))


def best_image(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit vector whose smallest inner product with the rows ``(n, dim)`` is largest, and convex weights ``(n,)``.

    It points along the shortest convex combination of the rows, whose length no unit vector's margin exceeds.  When
    that combination is zero no vector has a positive margin, and the one returned is arbitrary.
    """
    weights = convex_weights(differences)
    direction = weights @ differences
    length = np.linalg.norm(direction)
    return (direction / length if length > 0 else np.eye(len(direction))[0]), weights


def with_best_images(encoder: Encoder, demanded: np.ndarray) -> Encoder:
    """The same texts, and for each image its best vector; demands between equal texts are left out, as lost."""
    images = encoder.images.copy()
    differences = encoder.texts[demanded[:, 1]] - encoder.texts[demanded[:, 2]]
    apart = np.any(differences != 0, axis=1)
    for image in np.unique(demanded[apart, 0]):
        images[image] = best_image(differences[apart & (demanded[:, 0] == image)])[0]
    return Encoder(images, encoder.texts)


def feature_encoder(world: FiniteWorld, axioms: tuple[str, ...]) -> Encoder:
    """One signed coordinate for each thing that can be asked of scenes of at most two atoms (ours).

    Object ``o`` present or not; the parity of the pairing; the order from left to right.  A caption is plus or minus
    one coordinate, and an image the vector of its signs, so all margins are ``2 / sqrt(number of coordinates)``.
    """
    axes = [("presence", o) for o in world.objects if {"content", "negation"} & set(axioms)]
    axes += [(name, None) for name in ("binding", "relation") if name in axioms] or [("presence", None)] * (not axes)
    at = {axis: i for i, axis in enumerate(axes)}
    images, texts = np.zeros((len(world.images), len(axes))), np.zeros((len(world.captions), len(axes)))
    for row, image in enumerate(world.images):
        shown, order = {atom.object for atom in image}, sorted(image)
        for (name, o), i in at.items():
            sorted_already = list(image) == order if name == "relation" else _even(tuple(a.attribute for a in order))
            images[row, i] = 1 if (o in shown if name == "presence" else sorted_already) else -1
    for row, caption in enumerate(world.captions):
        match caption.kind:
            case "content" | "negation":
                axis, positive = ("presence", caption.meaning), caption.kind == "content"
            case "binding":
                axis, positive = ("binding", None), _even(caption.meaning.attributes)
            case _:
                axis, positive = ("relation", None), caption.meaning == tuple(sorted(caption.meaning))
        texts[row, at.get(axis, 0)] = 1 if positive else -1
    return Encoder(unit(images), texts)


def _even(attributes: tuple[str, ...]) -> bool:
    inversions = sum(a > b for i, a in enumerate(attributes) for b in attributes[i + 1 :])
    return inversions % 2 == 0


def truth_signs(truth: np.ndarray, demanded: np.ndarray) -> np.ndarray:
    """The signed table of the classes, ``(n_images, n_texts)``: ±1 by truth, and by the demands where they say more."""
    signs = np.where(truth, 1.0, -1.0)
    signs[demanded[:, 0], demanded[:, 1]] = 1
    signs[demanded[:, 0], demanded[:, 2]] = -1
    return signs


def signed_table(signs: np.ndarray, dim: int) -> Encoder:
    """The signed encoder, in full when ``dim`` allows it, or its best rank-``dim`` approximation with unit rows."""
    if dim >= len(signs):
        return Encoder(np.eye(len(signs)), signs.T / sqrt(len(signs)))
    left, sizes, right = np.linalg.svd(signs, full_matrices=False)
    texts = _unit_or_first((right.T * sizes)[:, :dim])
    return Encoder(_unit_or_first(left[:, :dim]), texts)


def _unit_or_first(rows: np.ndarray) -> np.ndarray:
    flat = np.linalg.norm(rows, axis=1) < 1e-12
    return unit(np.where(flat[:, None], np.eye(rows.shape[1])[0], rows))


def object_start(
    world: FiniteWorld, text_class: np.ndarray, n_images: int, dim: int, rng: np.random.Generator | None = None
) -> Encoder:
    """Objects on a regular simplex where it fits, else on the moment curve; denials opposite, all else on one axis.

    With ``rng`` the objects take the points in a random order.
    """
    texts = np.tile(np.eye(dim)[0], (text_class.max() + 1, 1))
    n = len(world.objects)
    if n >= 2 and dim >= min(n - 1, 2):
        points = regular_simplex(n) if n <= dim + 1 else moment_curve(n, dim - dim % 2)
        points = np.pad(points, ((0, 0), (0, dim - points.shape[1])))
        points = points if rng is None else rng.permutation(points)
        for caption, row in zip(world.captions, text_class, strict=True):
            if caption.kind in ("content", "negation"):
                texts[row] = points[world.objects.index(caption.meaning)] * (1 if caption.kind == "content" else -1)
    return Encoder(np.tile(np.eye(dim)[0], (n_images, 1)), texts)


def smoothed(encoder: Encoder, pairs: np.ndarray, cap: float) -> Encoder:
    """The pairs of captions ``(n, 2)`` brought to within distance ``cap`` of each other.

    Disjoint pairs move along the great circle through them towards their midpoint, which keeps the direction of their
    difference; otherwise all of them lean towards one new axis by the angle that ``cap`` allows.
    """
    images, texts = encoder.images, encoder.texts.copy()
    side = cap / 2
    if texts.shape[1] == 1 and cap < 2:  # equal or antipodal: there is nothing between
        texts[pairs[:, 0]] = texts[pairs[:, 1]] = 1
        return Encoder(images, texts)
    if len(np.unique(pairs)) == pairs.size and texts.shape[1] > 1:
        for a, b in pairs[np.linalg.norm(texts[pairs[:, 0]] - texts[pairs[:, 1]], axis=1) > cap]:
            apart, middle = unit(texts[a] - texts[b]), texts[a] + texts[b]
            if np.linalg.norm(middle) < 1e-9:  # antipodal: any direction across will do
                middle = np.eye(len(apart))[np.abs(apart).argmin()]
            middle = unit(middle - (middle @ apart) * apart)
            texts[a], texts[b] = sqrt(1 - side**2) * middle + side * apart, sqrt(1 - side**2) * middle - side * apart
        return Encoder(images, texts)
    images, texts = (np.pad(rows, ((0, 0), (0, 1))) for rows in (images, texts))
    members = np.unique(pairs)
    texts[members] *= side
    texts[members, -1] = sqrt(1 - side**2)
    return Encoder(images, texts)


def ascend(start: Encoder, demanded: np.ndarray, gains: np.ndarray, steps: int = 150) -> tuple[Encoder, np.ndarray]:
    """Raise the soft minimum of ``gains`` times margins by conjugate gradients.

    Returns the encoder reached and the weights ``(n,)`` of the demands there.
    """
    n_images, dim = start.images.shape
    look = _incidence(demanded, n_images, n_images + len(start.texts))
    back = look.T.tocsr()

    def loss(flat: np.ndarray, sharpness: float):
        rows = flat.reshape(-1, dim)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = rows / lengths
        images, differences = np.split(look @ units, 2)
        weights, lowest = _soft_weights(gains * np.sum(images * differences, axis=1), sharpness)
        pull = (gains * weights / weights.sum())[:, None]
        slope = back @ np.vstack([pull * differences, pull * images])
        across = (slope - np.sum(slope * units, axis=1, keepdims=True) * units) / lengths
        return np.log(weights.sum()) / sharpness - lowest, -across.ravel()

    flat = np.vstack(start).ravel()
    for sharpness in SHARPNESS:
        flat = minimize(loss, flat, (sharpness,), "CG", jac=True, options={"maxiter": steps}).x
    encoder = Encoder(*np.split(unit(flat.reshape(-1, dim)), [n_images]))
    weights, _ = _soft_weights(gains * encoder.margins(demanded), SHARPNESS[-1])
    return encoder, weights / weights.sum()


def _incidence(demanded: np.ndarray, n_images: int, n: int) -> csr_array:
    """The matrix that takes image rows above text rows to the demands' images above their ``t(better) - t(worse)``.

    Sparse, because dense products this small cost more in the threads of the linear algebra than in arithmetic.
    """
    (image, better, worse), each, ones = demanded.T, np.arange(len(demanded)), np.ones(len(demanded))
    shown, plus, minus = (
        csr_array((ones, (each, c)), (len(each), n)) for c in (image, n_images + better, n_images + worse)
    )
    return vstack([shown, plus - minus]).tocsr()


def _soft_weights(margins: np.ndarray, sharpness: float) -> tuple[np.ndarray, float]:
    """``exp(-sharpness · (margin - lowest))`` and the lowest margin."""
    lowest = margins.min()
    return np.exp(-sharpness * (margins - lowest)), lowest


def matched_scale(encoder: Encoder, demanded: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scale at which ``margin_bound`` would equal the weighted margin if the encoder were the best one."""
    a = contrast_matrix(len(encoder.images), len(encoder.texts), demanded, weights)
    sides = np.linalg.norm(a @ encoder.texts, axis=1), np.linalg.norm(a.T @ encoder.images, axis=1)
    p, q = (np.maximum(side, 1e-9) for side in sides)
    return p, q


def starts(world: FiniteWorld, text_class: np.ndarray, signs: np.ndarray, dim: int,
           rng: np.random.Generator, random: int = 1) -> Iterator[Encoder]:  # fmt: skip
    """Encoders in ``dim`` dimensions to climb from: objects well placed, the truncated signed table, and at random."""
    yield object_start(world, text_class, len(signs), dim)
    if dim < len(signs):
        yield signed_table(signs, dim)
    for _ in range(random):
        yield Encoder(*(unit(rng.standard_normal((n, dim))) for n in signs.shape))
