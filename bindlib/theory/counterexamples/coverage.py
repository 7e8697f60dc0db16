"""What breaks the sign-agnostic matcher: factors that agree, a word never seen; and lengths, which do not."""

import numpy as np

from bindlib.certificates import Ablation, Convenient, Outcome, smallest
from bindlib.theory.bag_of_words import RUNNING_PAIR, unit
from bindlib.theory.coverage import Factors, random_units, sign_agnostic_scores, tensor_image
from bindlib.theory.coverage_claims import COVERED, DECIDES, DISTINCT, UNIT

QUESTION = (0, 1, 0, 1)  # car, dog, red, blue
SHOWN = ((0, 0), (1, 1))


def matched(u: np.ndarray, v: np.ndarray, dog: np.ndarray | None = None) -> Outcome:
    """By how much the scene shown, a red car and a blue dog, scores above its swap.

    ``u`` ``(2, n)`` car and dog, ``v`` ``(2, m)`` red and blue.  A matcher reads the factors as unit vectors; without
    the dog among the exposures it has ``dog`` for it, whatever that is.
    """
    read = unit(u)
    if dog is not None:
        read[1] = dog
    first, second = sign_agnostic_scores(tensor_image(u, v, SHOWN), Factors(read, unit(v)), QUESTION)
    lengths = np.linalg.norm([*u, *v], axis=1)
    alpha, beta = float(np.prod(unit(u), axis=0).sum()), float(np.prod(unit(v), axis=0).sum())
    seen = "a red car, a blue dog" if dog is None else "a red car, a blue car, never a dog"
    words = f"cosine of car and dog {alpha:.2f}, of red and blue {beta:.2f}"
    if np.abs(lengths - 1).max() > 0.01:
        words += "; lengths " + ", ".join(f"{x:.2f}" for x in lengths)
    return Outcome(
        (("red car", "blue dog"),),
        RUNNING_PAIR,
        f"2 objects, 2 colours, dimension {u.shape[1]}; seen: {seen}",
        "score of the scene shown less that of its swap",
        ">",
        0.0,
        first - second,
        {"u": u, "v": v, "dog": dog},
        words,
    )


def _distinct(dim: int, rng: np.random.Generator) -> np.ndarray:
    """Two unit vectors that are clearly not the same up to sign."""
    while True:
        pair = random_units(2, dim, rng)
        if abs(pair[0] @ pair[1]) < 0.95:
            return pair


def _lengths(rng: np.random.Generator) -> np.ndarray:
    return 10 ** rng.uniform(-0.5, 0.5, (2, 1))


def other_lengths(rng: np.random.Generator) -> Outcome:
    """Random factors that are not unit: the unit templates of the matcher decide all the same.

    If the two atoms shown have lengths ``l`` and ``m``, the scene shown scores the larger of ``(l + m)(1 + αβ)`` and
    ``|l - m|(1 - αβ)``, its swap the larger of ``(l + m)|α + β|`` and ``|l - m||α - β|``; and ``1 + αβ > |α + β|``,
    ``1 - αβ > |α - β|`` for ``|α|, |β| < 1``.
    """
    return matched(_lengths(rng) * _distinct(2, rng), _lengths(rng) * _distinct(2, rng))


def agreeing_colours(rng: np.random.Generator) -> Outcome:
    """The lowest dimension in which red and blue agree up to sign and car and dog do not: in dimension 1 all do."""

    def draw(dim, rng):
        red = random_units(1, dim, rng)
        return {"u": _distinct(dim, rng), "v": np.concatenate([red, rng.choice([-1.0, 1.0]) * red])}

    return smallest(range(2, 4), draw, matched, rng)


def unseen_dog(rng: np.random.Generator) -> Outcome:
    """The lowest dimension in which a template made up for the dog, which no exposure contradicts, is wrong."""

    def draw(dim, rng):
        return {"u": _distinct(dim, rng), "v": _distinct(dim, rng), "dog": random_units(1, dim, rng)[0]}

    return smallest(range(2, 4), draw, matched, rng)


def decided(rng: np.random.Generator) -> Outcome:
    """Random factors of dimension 2, all seen."""
    return matched(_distinct(2, rng), _distinct(2, rng))


LENGTHS_LEFT = "templates of unit length decide whatever the lengths of the factors; only the gap is another"
ABLATIONS = (
    Ablation(
        DECIDES,
        decided,
        {UNIT: Convenient(LENGTHS_LEFT, other_lengths), DISTINCT: agreeing_colours, COVERED: unseen_dog},
    ),
)
