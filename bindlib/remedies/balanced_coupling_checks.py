"""Two checks of a null result: a control in which the coupling has to work, and an intervention on the tokens."""

from collections.abc import Sequence

import numpy as np

from bindlib.intervals import wilson
from bindlib.remedies.balanced_coupling_benchmark import accuracy, preferences
from bindlib.remedies.balanced_coupling_features import align, planted

GLYPH_PLACES = (2, 6)  # of the seven words of a drawn caption


def estimate(margins: np.ndarray) -> tuple[float, tuple[float, float]]:
    """The ``accuracy`` of margins ``(n,)``, and Wilson's 95 % interval, which is wider than needed for ties."""
    p = accuracy(margins)
    return p, wilson(p, len(margins))


def positive_control(noise: float, fit: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """``preferences`` on ``n`` planted items, twice ``(n, 4)``: of their features, and of these after ``align``.

    The map is fitted as that of the reader "aligned words" is: on the captions and images of ``fit`` other scenes, with
    no swap and no place.
    """
    captions, images = planted(fit, noise, rng)
    fitted = align(captions[0], images)
    tokens, patches = planted(n, noise, rng)
    return preferences(tokens, patches), preferences(fitted.tokens(tokens), fitted.patches(patches))


def with_glyphs_of(tokens: np.ndarray, which: int, places: Sequence[int] = GLYPH_PLACES) -> np.ndarray:
    """Tokens ``(2, n, 7, k)`` of two captions, both with the glyph tokens of the first (0) or of the second (1).

    No reader: where tokens know their context, the glyphs of the right caption give the answer away.
    """
    mixed = tokens.copy()
    mixed[:, :, places] = tokens[which][:, places]
    return mixed
