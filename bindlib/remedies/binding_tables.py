"""Tables of objects ``(A, B, dim)``, one vector an object: how near they are to products, and to one scale a thing.

A table of *one scale a thing* is ``w_ab = s_a v_b``, a number for the first concept times a vector for the second.  If
the table of every direction has rank at most one, it is that, or the same with the concepts exchanged.
"""

import numpy as np

from bindlib.encoders import drawn
from bindlib.intervals import fisher
from bindlib.remedies.binding_functions import fit, nearest_scales
from bindlib.remedies.binding_runs import SIDE, Source
from bindlib.theory.binding_functions import all_scenes


def object_table(source: Source, n: int, rng: np.random.Generator) -> np.ndarray:
    """Free vectors ``(A, B, dim)`` of all objects, fitted to ``n`` scenes.

    Raises ``ValueError`` if an object is in none of them: draw more.
    """
    scenes = rng.permutation(all_scenes(SIDE, SIDE))[:n]
    vectors = fit("free objects", scenes, source.embed(scenes), (SIDE, SIDE), rng).predict.vectors
    if np.isnan(vectors).any():
        raise ValueError(f"{n} scenes do not show all {SIDE**2} objects: draw more")
    return vectors


def best_product(table: np.ndarray) -> np.ndarray:
    """The nearest ``u_a ∘ v_b`` to a table ``(A, B, dim)``: each coordinate's nearest matrix of rank one."""
    left, sizes, right = np.linalg.svd(np.moveaxis(table, 2, 0), full_matrices=False)
    return np.moveaxis(left[:, :, :1] * sizes[:, :1, None] * right[:, :1], 0, 2)


def best_scales(table: np.ndarray) -> np.ndarray:
    """The nearest ``s_a v_b`` to a table ``(A, B, dim)``, as a table."""
    scales, vectors = nearest_scales(table)
    return scales[:, None, None] * vectors


def beyond_bag(table: np.ndarray) -> np.ndarray:
    """What a bag ``u_a + u'_b`` leaves of a table ``(A, B, dim)``; the differences of swaps are made of it alone."""
    return table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean(axis=(0, 1))


def energy(table: np.ndarray, near: np.ndarray) -> float:
    """The share of the sum of squares of ``table`` that ``near`` keeps: ``1 - |table - near|² / |table|²``."""
    return float(1 - np.sum((table - near) ** 2) / np.sum(table**2))


def ink(rng: np.random.Generator) -> np.ndarray:
    """How much of a picture each of the glyphs of the grid covers, ``(A,)``: what changes from black to white."""
    glyph = np.arange(SIDE)
    hues = [np.full(SIDE, drawn.HUES.index(hue)) for hue in ("black", "white")]
    state = rng.bit_generator.state
    pictures = []
    for hue in hues:
        rng.bit_generator.state = state  # the same places and the same noise
        pictures.append(drawn.render(np.stack([glyph, glyph, hue, hue], axis=1), rng).astype(float))
    return np.abs(pictures[1] - pictures[0]).mean(axis=(1, 2, 3)) / 255


def shuffled_table(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The vectors of a table ``(A, B, dim)`` on its objects in random order: the null control."""
    return rng.permutation(table.reshape(-1, table.shape[2])).reshape(table.shape)


def correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Pearson's correlation of ``x`` and ``y`` ``(n,)`` with Fisher's interval of 95 percent."""
    r = float(np.corrcoef(x, y)[0, 1])
    return r, *(fisher(r, len(x)) or (r, r))


def scale_row(table: np.ndarray, covered: np.ndarray) -> dict[str, float]:
    """Energies of the nearest tables of each form, and how the scales correlate with the ink ``covered`` ``(A,)``."""
    scales, products, rest = best_scales(table), best_product(table), beyond_bag(table)
    exchanged = table.transpose(1, 0, 2)
    row = {
        "bag": energy(table, table - rest),
        "one scale": energy(table, scales),
        "one scale a hue": energy(exchanged, best_scales(exchanged)),
        "product": energy(table, products),
        "one scale, beyond the bag": energy(rest, beyond_bag(scales)),
        "product, beyond the bag": energy(rest, beyond_bag(products)),
    }
    return row | dict(zip(("ink", "ink from", "ink to"), correlation(nearest_scales(table)[0], covered), strict=True))
