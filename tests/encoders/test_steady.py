import numpy as np
import pytest

from bindlib.encoders.base import TextTower
from bindlib.encoders.steady import CAPTIONS, ROUNDING, unsteadiness

TEXTS = ["one", "a red car", "a blue dog", "a cat and a horse", "two", "a red dog", "more", "than", "are", "asked"]


def _tower(vectors, **more) -> TextTower:
    return TextTower("mine", "0", None, vectors, **more)


def _letters(captions):
    return np.array([[len(c), c.count("a"), 1 + c.count("d")] for c in captions], dtype=float)


def test_a_function_is_steady_and_few_captions_are_asked():
    asked = []
    assert unsteadiness(_tower(lambda texts: asked.extend(texts) or _letters(texts)), TEXTS) == 0
    assert len(asked) == 2 * CAPTIONS
    assert unsteadiness(_tower(_letters), ["one"]) == 0


@pytest.mark.parametrize(
    "vectors",
    [
        lambda texts: _letters(texts) + np.random.default_rng().standard_normal((len(texts), 3)),
        lambda texts: _letters(texts) - _letters(texts).mean(axis=0) + [0, 0, 1],
        lambda texts: _letters(texts) + np.arange(len(texts))[:, None],
    ],
    ids=["noise", "batch", "place"],
)
def test_noise_and_dependence_on_the_batch_are_found(vectors):
    assert unsteadiness(_tower(vectors), TEXTS) > ROUNDING


def test_what_is_kept_is_not_asked():
    class Kept:
        def get(self, captions):
            raise AssertionError

        put = get

    assert unsteadiness(_tower(_letters, store=Kept()), TEXTS) == 0
