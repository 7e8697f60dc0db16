"""Drawn scenes: two coloured glyphs side by side, their captions, and batches of them to learn from.

Scenes are integer rows ``(n, 4)``: left glyph, right glyph, hue of the left, hue of the right.  One eighth of the pairs
of a glyph and a hue is held out: a scene to learn from holds none of them, and neither does its swap.
"""

from functools import cache

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont
from scipy.optimize import linear_sum_assignment

from bindlib.scenes import Atom, Quartet, Scene, World

# Without the letters that the font draws like others: I (as 1), O and Q (as 0).
GLYPHS = tuple("0123456789ABCDEFGHJKLMNPRSTUVWXYZ")
HUES = ("black", "blue", "brown", "chocolate", "cyan", "green", "indigo", "khaki", "lime", "magenta", "maroon", "navy",
        "olive", "orange", "pink", "purple", "red", "salmon", "tan", "teal", "turquoise", "violet", "white",
        "yellow")  # fmt: skip
WORLD = World(GLYPHS, HUES)
HELD_OUT = np.add.outer(np.arange(len(GLYPHS)), np.arange(len(HUES))) % 8 == 0  # (glyph, hue)

IMAGE, GLYPH = 48, 21  # sides, in pixels
_LEFTS = (1, IMAGE - GLYPH - 1)
_GREY, _NOISE = 0.5, 0.05
ANCHOR_WORDING = 3  # of the neutral anchor: the one short enough for the context of the towers


@cache
def _masks() -> np.ndarray:
    """How much of each pixel a glyph covers, ``(33, 21, 21)`` in [0, 1]; in the font that Pillow carries itself."""
    font, masks = ImageFont.load_default(24), []
    for glyph in GLYPHS:
        tile = Image.new("L", (GLYPH, GLYPH))
        ImageDraw.Draw(tile).text((GLYPH / 2, GLYPH / 2), glyph, 255, font, anchor="mm")
        masks.append(np.asarray(tile, dtype=np.float32) / 255)
    return np.stack(masks)


@cache
def _colours() -> np.ndarray:
    """The hues as ``(24, 3)`` in [0, 1]: each name's colour in CSS."""
    return np.array([ImageColor.getrgb(hue) for hue in HUES], dtype=np.float32) / 255


@cache
def _phrases() -> np.ndarray:
    return np.array([[str(Atom(glyph, hue)) for hue in HUES] for glyph in GLYPHS], dtype=object)


def render(scenes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Images ``(n, 48, 48, 3)`` uint8 of ``scenes`` ``(n, 4)``: each glyph at a random height, on noisy grey."""
    n, here = len(scenes), np.arange(GLYPH)
    noise = rng.standard_normal((n, IMAGE, IMAGE, 3), dtype=np.float32)
    tops = rng.integers(IMAGE - GLYPH + 1, size=(n, 2))
    canvas = np.full((n, IMAGE, IMAGE, 3), _GREY, dtype=np.float32)
    for side, left in enumerate(_LEFTS):
        ink = _masks()[scenes[:, side], :, :, None] * (_colours()[scenes[:, 2 + side]] - _GREY)[:, None, None]
        rows = (tops[:, side, None] + here)[:, :, None]
        canvas[np.arange(n)[:, None, None], rows, left + here] += ink
    noise *= _NOISE
    canvas += noise
    return (canvas.clip(0, 1) * 255 + 0.5).astype(np.uint8)


def pictures(scenes: np.ndarray, rng: np.random.Generator) -> list[Image.Image]:
    """``render`` as PIL images, for an encoder."""
    return [Image.fromarray(pixels) for pixels in render(scenes, rng)]


def captions(scenes: np.ndarray, right_first: np.ndarray) -> list[str]:
    """Captions "a red A and a blue K" of ``scenes`` ``(n, 4)``; the right glyph is named first where the mask says."""
    left, right = _phrases()[scenes[:, 0], scenes[:, 2]], _phrases()[scenes[:, 1], scenes[:, 3]]
    first, second = np.where(right_first, (right, left), (left, right))
    return [f"{a} and {b}" for a, b in zip(first, second, strict=True)]


def swapped(scenes: np.ndarray) -> np.ndarray:
    """``scenes`` ``(n, 4)`` with the hues of the two glyphs exchanged."""
    return scenes[:, [0, 1, 3, 2]]


def quartet(row: np.ndarray) -> Quartet:
    """The quartet of one scene ``(4,)``: its caption, its swap, an order variant of each, and an anchor."""
    left, right, hue, other = (int(i) for i in row)
    return Quartet.of(Scene((Atom(GLYPHS[left], HUES[hue]), Atom(GLYPHS[right], HUES[other]))), ANCHOR_WORDING)


def _held_out_pairs(scenes: np.ndarray) -> np.ndarray:
    """How many of the four pairs of a glyph and a hue in a scene and its swap are held out, ``(n,)``."""
    return HELD_OUT[scenes[:, [0, 1, 0, 1]], scenes[:, [2, 3, 3, 2]]].sum(axis=1)


def draw_scenes(n: int, rng: np.random.Generator, held_out: bool = False) -> np.ndarray:
    """``n`` uniform scenes ``(n, 4)`` of two glyphs and two hues whose pairs, and those of the swap, are to learn from.

    With ``held_out`` all four pairs are held-out ones, so that nothing but the picture tells a caption from its swap.
    """
    found = np.empty((0, 4), dtype=np.int64)
    while len(found) < n:
        columns = []
        for size in (len(GLYPHS), len(HUES)):
            first = rng.integers(size, size=200 * n if held_out else 2 * n + 8)
            columns += [first, (first + rng.integers(1, size, size=len(first))) % size]
        drawn = np.stack(columns, axis=1)
        found = np.concatenate([found, drawn[_held_out_pairs(drawn) == (4 if held_out else 0)]])
    return found[:n]


def disjoint_groups(groups: int, rng: np.random.Generator) -> np.ndarray:
    """Groups ``(groups, 12, 4)`` of twelve scenes to learn from; in a group no glyph and no hue occurs twice."""
    return np.stack([_disjoint_group(rng) for _ in range(groups)])


def _disjoint_group(rng: np.random.Generator) -> np.ndarray:
    """Random pairs of glyphs, random pairs of hues, and a matching of the two that avoids what is held out."""
    while True:
        hues = rng.permutation(len(HUES)).reshape(-1, 2)
        glyphs = rng.permutation(len(GLYPHS))[: hues.size].reshape(-1, 2)
        forbidden = HELD_OUT[glyphs[:, None, :, None], hues[None, :, None, :]].any(axis=(2, 3))
        chosen = linear_sum_assignment(forbidden + rng.random(forbidden.shape) / forbidden.size)
        if not forbidden[chosen].any():
            return np.concatenate([glyphs, hues[chosen[1]]], axis=1)
