"""What breaks the satisfiability theorem: one dimension, demands in a circle, pictures without end."""

from itertools import product
from math import sqrt

import numpy as np

from bindlib.certificates import Ablation, Outcome, smallest
from bindlib.scenes import World
from bindlib.theory.axioms import FiniteWorld, margin_bound, truth_table_encoder
from bindlib.theory.axioms_claims import DIMENSIONS, FINITE_WORLD, SATISFIABLE, TRUE_ABOVE_FALSE, all_demands
from bindlib.theory.bag_of_words import RUNNING_PAIR

WORDS = FiniteWorld.of(World(("car", "dog"), ("blue", "red")))
RIVALS = (*RUNNING_PAIR, "a car", "no car")
ENDLESS = ("red car", "blue dog", "green cup")


def _gamma(truth: np.ndarray) -> float:
    return 1 / sqrt(max(truth.sum(axis=0).max(), 1))


def _things(images: np.ndarray) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{a.attribute} {a.object}" for a in WORDS.images[i]) for i in images)


def _outcome(images: np.ndarray, captions: np.ndarray, dim: int, found: float, note: str = "") -> Outcome:
    """A part of the world of words, its promised margin and the one found."""
    return Outcome(
        _things(images),
        tuple(WORDS.captions[c].text for c in captions),
        f"{len(images)} pictures, {len(captions)} captions, dimension {dim}",
        "worst margin",
        "≥",
        _gamma(WORDS.truth[np.ix_(images, captions)]),
        found,
        {"images": images, "captions": captions},
        note,
    )


def built(images: np.ndarray, captions: np.ndarray) -> Outcome:
    """The theorem's encoder of these pictures and captions, measured on every true caption above every false one."""
    truth = WORDS.truth[np.ix_(images, captions)]
    encoder = truth_table_encoder(truth)
    return _outcome(images, captions, encoder.texts.shape[1], float(encoder.margins(all_demands(truth)).min()))


def on_a_line(images: np.ndarray, captions: np.ndarray) -> Outcome:
    """The same demands in dimension 1: vectors are signs, and all of them are tried."""
    truth = WORDS.truth[np.ix_(images, captions)]
    signs = _signs(len(captions))
    found = max(_worst(truth, texts) for texts in signs)
    return _outcome(images, captions, 1, found, f"the best of all {len(signs)} ways to give the captions signs")


def _signs(n: int) -> list[np.ndarray]:
    return [np.array(signs) for signs in product((-1.0, 1.0), repeat=n)]


def _worst(truth: np.ndarray, texts: np.ndarray) -> float:
    """The worst margin when every image takes the better of the two unit vectors of a line; 2 without demands."""
    rows = [row for row in truth if row.any() and not row.all()]
    return min((max(_gap(s * texts, row) for s in (-1, 1)) for row in rows), default=2.0)


def _gap(scores: np.ndarray, true: np.ndarray) -> float:
    return float(scores[true].min() - scores[~true].max())


def _part(size: tuple[int, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """So many pictures and captions of the world of words."""
    pool = len(WORDS.images), len(WORDS.captions)
    return {
        name: np.sort(rng.choice(n, k, replace=False))
        for name, n, k in zip(("images", "captions"), pool, size, strict=True)
    }


def few_dimensions(rng: np.random.Generator) -> Outcome:
    """The fewest pictures and captions that no vectors of dimension 1 serve with the promised margin."""
    sizes = [(n, total - n) for total in range(2, 8) for n in range(1, total)]
    return smallest(sizes, _part, on_a_line, rng)


def demanded(demands: np.ndarray) -> Outcome:
    """Any demands ``(n, 2)``, better and worse, at the picture of the running example: the best worst margin there is.

    With one picture an encoder may give its captions any scores from -1 to 1.  Going down a chain of ``l`` demands
    there is room for margins of ``2 / l``; around a circle there is none.
    """
    height = np.zeros(len(RIVALS))
    for _ in RIVALS:
        np.maximum.at(height, demands[:, 0], height[demands[:, 1]] + 1)
    circular = height.max() >= len(RIVALS)
    return Outcome(
        (("red car", "blue dog"),),
        tuple(f"“{RIVALS[b]}” above “{RIVALS[w]}”" for b, w in demands),
        f"1 picture, {len(demands)} demands, any dimension",
        "worst margin",
        "≥",
        1.0,  # γ when no caption is true of more than one picture
        0.0 if circular else 2 / height.max(),
        {"demands": demands},
        "around a circle the margins of any encoder add up to 0" if circular else "",
    )


def circle(rng: np.random.Generator) -> Outcome:
    """The fewest demands, true above false or not, that no encoder of any dimension meets."""

    def draw(n, rng):
        return {"demands": np.array([rng.choice(len(RIVALS), 2, replace=False) for _ in range(n)])}

    return smallest(range(1, 4), draw, demanded, rng)


def first_pictures(signs: np.ndarray, asked: float) -> Outcome:
    """The first ``n`` pictures of an endless world against the margin asked for: the bound of any encoder on them.

    Column ``j`` of ``signs`` ``(n, n)`` says of which of them caption ``j`` is true, and the opposite caption is true
    of the others.  Of every set of pictures some caption of the endless world is true, so these are among its captions.
    """
    n = len(signs)
    above = np.where(signs > 0, np.arange(n), np.arange(n) + n)
    rows = np.stack([np.repeat(np.arange(n), n), above.ravel(), ((above + n) % (2 * n)).ravel()], axis=1)
    return Outcome(
        tuple((thing,) for thing in ENDLESS),
        ("“a red car or a blue dog”, and so on: one for every set of pictures",),
        f"endless pictures, of which the first {n} are enough",
        "worst margin",
        "≥",
        asked,
        margin_bound(n, 2 * n, rows, np.ones(len(rows))),
        {"signs": signs, "asked": asked},
        "asked for was a margin drawn at random; on n pictures no encoder has more than 2/√n",
    )


def endless(rng: np.random.Generator) -> Outcome:
    """A margin asked for at random, and the fewest pictures (a power of 2) of the endless world that forbid it."""
    asked = float(10 ** rng.uniform(-0.6, 0))

    def draw(doublings, rng):
        signs = np.ones((1, 1))
        for _ in range(doublings):
            signs = np.kron([[1.0, 1.0], [1.0, -1.0]], signs)
        return {"signs": signs, "asked": asked}

    return smallest(range(8), draw, first_pictures, rng, tries=1, clear=1e-9)


def everything(rng: np.random.Generator) -> Outcome:
    """Two pictures and three captions, drawn until they demand something."""
    while True:
        part = _part((2, 3), rng)
        if len(all_demands(WORDS.truth[np.ix_(*part.values())])):
            return built(**part)


ABLATIONS = (
    Ablation(
        SATISFIABLE,
        everything,
        {FINITE_WORLD: endless, TRUE_ABOVE_FALSE: circle, DIMENSIONS: few_dimensions},
    ),
)
