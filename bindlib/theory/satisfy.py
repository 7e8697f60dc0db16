"""Can these axioms hold together, in this dimension, under these hypotheses?  A witness, a theorem, or no answer.

``satisfy`` says SAT only with an encoder whose arrays were measured again, UNSAT only with a theorem whose hypotheses
were checked on the instance, and UNKNOWN otherwise.  Both come from one bracket: the largest worst margin of an encoder
that was found, and the smallest number that a theorem says no encoder exceeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from bindlib.theory import constructions as build
from bindlib.theory.axioms import Encoder, FiniteWorld, margin_bound
from bindlib.theory.bag_of_words import unit
from bindlib.theory.frontier import sharp_cap
from bindlib.theory.hypotheses import ROUNDING, Hypotheses, Problem, all_atoms, worst_margin
from bindlib.theory.obstructions import EXCESS, Obstruction, obstructions
from bindlib.theory.separation import exact_kernel

SAT, UNSAT, UNKNOWN = "SAT", "UNSAT", "UNKNOWN"
POSITIVE = 1e-9  # what a margin must exceed to count as positive
SEARCH_DIM = 16  # where the search works when the dimension is free
ORDERS = 16  # of the objects on the moment curve that are tried where they are too many for a simplex


@dataclass(frozen=True)
class Bracket:
    """The best worst margin lies in ``[low, high]``: ``witness`` attains ``low``, ``obstruction`` proves ``high``.

    ``low`` is ``-inf`` without a witness, and ``inf`` when nothing is demanded.
    """

    low: float
    witness: Encoder | None
    obstruction: Obstruction

    @property
    def high(self) -> float:
        return self.obstruction.bound

    def status(self, required: float = 0.0) -> str:
        """SAT, UNSAT or UNKNOWN for a required margin."""
        if self.low > POSITIVE and self.low >= required:
            return SAT
        return UNSAT if self.high <= 0 or required > self.high + EXCESS else UNKNOWN


@dataclass(frozen=True)
class Verdict:
    """SAT, UNSAT or UNKNOWN, the ``theorem`` that forbids, the ``reason`` in words, and the bracket behind it."""

    status: str
    reason: str
    theorem: str | None
    bracket: Bracket

    @property
    def witness(self) -> Encoder | None:
        """The encoder, when there is one that does what was asked."""
        return self.bracket.witness if self.status == SAT else None

    @property
    def margin(self) -> float:
        """The worst margin of the best encoder found."""
        return self.bracket.low


def satisfy(
    world: FiniteWorld,
    axioms: Sequence[str],
    dim: int | None = None,
    hypotheses: Hypotheses | None = None,
    rng: np.random.Generator | None = None,
) -> Verdict:
    """Whether some encoder of ``world`` in dimension ``dim`` (``None``: any) meets the axioms under the hypotheses.

    SAT: the witness, measured from its arrays, has every margin at least the required one and above the tolerance.
    UNSAT: a theorem bounds the worst margin by 0, or below the required one by more than the tolerance.  Raises
    ``ValueError`` for an unknown axiom, a dimension below 1, or a hypothesis out of range.
    """
    hypotheses = hypotheses or Hypotheses()
    required = hypotheses.margin
    bracket = margin_bracket(world, axioms, dim, hypotheses, rng, enough=max(required, POSITIVE))
    status = bracket.status(required)
    if status == SAT:
        return Verdict(SAT, "an encoder was built and measured", None, bracket)
    if status == UNSAT:
        return Verdict(UNSAT, bracket.obstruction.reason, bracket.obstruction.theorem, bracket)
    return Verdict(UNKNOWN, f"the best margin lies between {bracket.low:.3g} and {bracket.high:.3g}", None, bracket)


def margin_bracket(
    world: FiniteWorld,
    axioms: Sequence[str],
    dim: int | None = None,
    hypotheses: Hypotheses | None = None,
    rng: np.random.Generator | None = None,
    enough: float = inf,
    width: float = 0.005,
) -> Bracket:
    """The best worst margin of any encoder, between what was found and what was proved; the required margin plays no
    part.

    The search stops when a margin of ``enough`` is found or ruled out or, with ``enough`` infinite, when the bracket is
    no wider than ``width``.  ``rng`` draws its starts (default: seed 0).  Errors as in ``satisfy``.
    """
    problem = Problem(world, tuple(axioms), dim, hypotheses or Hypotheses())
    lowest = min(obstructions(problem), key=lambda o: o.bound)
    low, witness = -inf, None
    if lowest.bound <= 0:
        return Bracket(low, witness, lowest)
    for candidate in candidates(problem, np.random.default_rng(0) if rng is None else rng):
        if isinstance(candidate, Obstruction):
            lowest = min(lowest, candidate, key=lambda o: o.bound)
        elif (fitted := _fitted(problem, candidate)) is not None:
            spread = problem.spread(fitted)
            if (margin := worst_margin(problem, spread)) > low:
                low, witness = margin, spread
        settled = lowest.bound - low <= width if enough == inf else lowest.bound < enough - EXCESS
        if low >= enough or settled:
            break
    return Bracket(low, witness, lowest)


def _fitted(problem: Problem, encoder: Encoder) -> Encoder | None:
    """The encoder smoothed, if the hypotheses ask for it, in the dimension asked for; ``None`` when it has too many."""
    h = problem.hypotheses
    if h.delta is not None and not h.pooled and len(problem.swap_pairs):
        encoder = build.smoothed(encoder, problem.swap_pairs, float(sharp_cap(h.delta)) if problem.binds else 0.0)
        encoder = build.with_best_images(encoder, problem.demanded)
    return encoder if problem.dim is None else build.padded(encoder, problem.dim)


def candidates(problem: Problem, rng: np.random.Generator) -> Iterator[Encoder | Obstruction]:
    """Encoders of the classes to measure, cheapest first, and the bounds that the search for them yields."""
    if problem.hypotheses.texts is not None:
        yield from _given_texts(problem)
    elif problem.hypotheses.pooled:
        yield _pooled_encoder(problem)
    else:
        features = build.feature_encoder(problem.world, problem.axioms)
        yield Encoder(features.images, features.texts[problem.first_caption])
        signs = build.truth_signs(problem.truth, problem.demanded)
        yield build.signed_table(signs, len(signs))
        if len(problem.demanded):
            yield from _search(problem, signs, rng)


def _search(problem: Problem, signs: np.ndarray, rng: np.random.Generator) -> Iterator[Encoder | Obstruction]:
    """Climb from several starts; where a climb ends, the weights of the demands give a bound for all encoders."""
    demanded, gains, world = problem.demanded, problem.gains, problem.world
    dim = min(sum(problem.sizes), SEARCH_DIM) if problem.dim is None else problem.dim
    for _ in range(ORDERS if len(world.objects) > dim + 1 else 0):
        placed = build.object_start(world, problem.text_class, len(signs), dim, rng)
        yield build.with_best_images(placed, demanded)
    for start in build.starts(world, problem.text_class, signs, dim, rng):
        start = build.with_best_images(start, demanded)
        yield start
        jittered = Encoder(*(unit(side + 0.02 * rng.standard_normal(side.shape)) for side in start))
        climbed, weights = build.ascend(jittered, demanded, gains)
        yield build.with_best_images(climbed, demanded)
        scale = build.matched_scale(climbed, demanded, gains * weights)
        bound = margin_bound(*problem.sizes, demanded, weights, scale, gains)
        why = "a weighted sum of the margins is bounded by a spectral norm"
        yield Obstruction(bound, "prop-margin-bound", why, {"weights": weights, "scale": scale, "gains": gains})


def _given_texts(problem: Problem) -> Iterator[Encoder | Obstruction]:
    """The best image vectors for the texts, and for each image the convex combination that bounds its margin."""
    texts = np.asarray(problem.hypotheses.texts, dtype=float)
    for image in np.unique(problem.demanded[:, 0]):
        rows = problem.demanded[problem.demanded[:, 0] == image]
        differences = texts[rows[:, 1]] - texts[rows[:, 2]]
        weights = build.best_image(differences)[1]
        bound = float(np.linalg.norm(weights @ differences)) + ROUNDING
        if bound < POSITIVE and _vanishes(texts, rows[weights > POSITIVE]):
            bound = 0.0
        found = {"image": int(image), "demands": rows, "weights": weights}
        yield Obstruction(bound, "prop-best-image", "a convex combination of the differences is this short", found)
    first_axis = np.tile(np.eye(texts.shape[1])[0], (problem.sizes[0], 1))
    yield build.with_best_images(Encoder(first_axis, texts), problem.demanded)


def _vanishes(texts: np.ndarray, rows: np.ndarray) -> bool:
    """Whether a combination of ``t(better) - t(worse)`` with positive weights is zero in rational arithmetic."""
    exact = np.vectorize(Fraction, otypes=[object])
    kernel = exact_kernel((exact(texts[rows[:, 1]]) - exact(texts[rows[:, 2]])).T)
    return kernel is not None and (all(v > 0 for v in kernel) or all(v < 0 for v in kernel))


def _pooled_encoder(problem: Problem) -> Encoder:
    """Pooled orthonormal codes; an object is the pool of its atoms, its denial a little of all less that pool."""
    world, atoms = problem.world, all_atoms(problem.world)
    most = max(map(len, world.images))

    def pool(kind: str, meaning) -> np.ndarray:
        objects = meaning if kind == "relation" else (meaning,)
        held = [a in meaning.atoms if kind == "binding" else a.object in objects for a in atoms]
        return 1 / most - np.array(held, dtype=float) if kind == "negation" else np.array(held, dtype=float)

    texts = np.array([pool(c.kind, c.meaning) for c in world.captions])[problem.first_caption]
    images = np.array([[atom in image for atom in atoms] for image in world.images], dtype=float)
    return Encoder(unit(images[np.unique(problem.image_class, return_index=True)[1]]), unit(texts))
