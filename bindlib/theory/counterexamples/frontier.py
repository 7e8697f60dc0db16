"""What breaks the frontier, in both forms: a vector that is not of unit length."""

from collections.abc import Callable, Sequence

import numpy as np

from bindlib.certificates import Ablation, Outcome, Search, smallest
from bindlib.theory.bag_of_words import RUNNING_PAIR, ceiling, margin, unit
from bindlib.theory.frontier import (
    FRONTIER,
    SHARP,
    UNIT_ANCHOR,
    UNIT_CAPTIONS,
    UNIT_IMAGE,
    paper_cap,
    sharp_cap,
    smoothness,
)

ANCHOR = "a car and a dog, one red and one blue"
VECTORS = ("anchor", "text", "swapped", "image")
NAMES = dict(zip(VECTORS, ("the anchor", "the caption", "its swap", "the image"), strict=True))


def _outcome(vectors: dict[str, np.ndarray], quantity: str, promised: float, found: float) -> Outcome:
    longest = [f"length of {NAMES[name]} {np.linalg.norm(v):.2f}" for name, v in vectors.items()
               if abs(np.linalg.norm(v) - 1) > 1e-9]  # fmt: skip
    delta = max(float(smoothness(vectors["text"], vectors["swapped"], vectors["anchor"])), 0.0)
    return Outcome(
        (("red car", "blue dog"),),
        (*RUNNING_PAIR, ANCHOR),
        f"2 objects, dimension {len(vectors['text'])}",
        quantity,
        "≤",
        promised,
        found,
        vectors,
        f"δ = {delta:.2f}; " + (", ".join(longest) or "all vectors of length 1"),
    )


def distances(anchor: np.ndarray, text: np.ndarray, swapped: np.ndarray, cap: Callable = paper_cap) -> Outcome:
    """The ceiling against its cap."""
    d, delta = float(ceiling(text, swapped)), float(smoothness(text, swapped, anchor))
    vectors = {"anchor": anchor, "text": text, "swapped": swapped}
    return _outcome(vectors, "ceiling d", float(cap(delta)), d)


def sharp_distances(anchor: np.ndarray, text: np.ndarray, swapped: np.ndarray) -> Outcome:
    """The ceiling against the sharp cap."""
    return distances(anchor, text, swapped, sharp_cap)


def chain(anchor: np.ndarray, text: np.ndarray, swapped: np.ndarray, image: np.ndarray) -> Outcome:
    """The worse of the theorem's two inequalities: margin against ceiling, and ceiling against the paper's cap."""
    vectors = {"anchor": anchor, "text": text, "swapped": swapped, "image": image}
    d, delta = float(ceiling(text, swapped)), float(smoothness(text, swapped, anchor))
    m, cap = float(margin(image, text, swapped)), float(paper_cap(delta))
    second = ("margin m", d, m) if m - d > d - cap else ("ceiling d", cap, d)
    return _outcome(vectors, *second)


def _draw(names: Sequence[str], free: Sequence[str]):
    """Unit vectors of these names, those in ``free`` of any length, drawn until ``δ`` is one of a cap, 0 to 2."""

    def draw(dim, rng):
        while True:
            drawn = {name: unit(rng.standard_normal(dim)) for name in names}
            drawn |= {name: 10 ** rng.uniform(-0.5, 0.5) * drawn[name] for name in free}
            if 0 <= smoothness(drawn["text"], drawn["swapped"], drawn["anchor"]) <= 2:
                return drawn

    return draw


def _lowest(measure: Callable, names: Sequence[str], free: Sequence[str]) -> Search:
    """The lowest dimension in which vectors ``free`` in length break the bound, the others being unit."""
    return lambda rng: smallest(range(1, 5), _draw(names, free), measure, rng)


ABLATIONS = (
    Ablation(
        FRONTIER,
        lambda rng: chain(**_draw(VECTORS, ())(2, rng)),
        {
            UNIT_ANCHOR: _lowest(chain, VECTORS, ("anchor",)),
            UNIT_CAPTIONS: _lowest(chain, VECTORS, ("text", "swapped")),
            UNIT_IMAGE: _lowest(chain, VECTORS, ("image",)),
        },
    ),
    Ablation(
        SHARP,
        lambda rng: sharp_distances(**_draw(VECTORS[:3], ())(2, rng)),
        {
            UNIT_ANCHOR: _lowest(sharp_distances, VECTORS[:3], ("anchor",)),
            UNIT_CAPTIONS: _lowest(sharp_distances, VECTORS[:3], ("text", "swapped")),
        },
    ),
)
