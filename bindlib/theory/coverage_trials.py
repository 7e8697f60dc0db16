"""Simulations of the chapter on coverage: rules put to swap questions, with exact intervals on their accuracy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv

from bindlib.decisions import DOUBLE, decided
from bindlib.theory.coverage import (
    ExposureGraph,
    Factors,
    Question,
    covered,
    hadamard_accuracy,
    hadamard_decidable,
    hadamard_gauge,
    hadamard_image,
    hadamard_likelihood_rule,
    identify_factors,
    matcher_decision,
    pair_presence,
    random_units,
    scenes_of,
    tensor_decidable,
    tensor_decision,
    tensor_exposures,
    tensor_image,
)

QUESTION: Question = (0, 1, 0, 1)  # red car and blue dog, or blue car and red dog?
_WORDS = (("car", "dog", "cup", "hat"), ("red", "blue", "green", "pink"))


def _graph(*seen: str) -> ExposureGraph:
    pairs = [phrase.split() for phrase in seen]
    return ExposureGraph(4, 4, tuple((_WORDS[0].index(o), _WORDS[1].index(a)) for a, o in pairs))


ARRANGEMENTS = {
    "one component": _graph("red car", "blue dog", "red dog"),
    "red car, blue dog": _graph("red car", "blue dog"),
    "four words, all apart": _graph("green car", "pink dog", "red cup", "blue hat"),
    "objects and colours apart": _graph("green car", "green dog", "red cup", "blue cup"),
    "red car only": _graph("red car"),
    "green car, red cup": _graph("green car", "red cup"),
    "green car, green dog": _graph("green car", "green dog"),
    "nothing": _graph(),
}
"""What was seen before the question, from everything to nothing; further words only connect."""


def binomial_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a rate; ``ValueError`` unless ``0 <= successes <= trials > 0``."""
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} successes in {trials} trials are no count")
    tail = (1 - level) / 2
    low = betaincinv(successes, trials - successes + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, trials - successes, 1 - tail) if successes < trials else 1.0
    return float(low), float(high)


def _right(decision: int | None, shown: int) -> float:
    """1 or 0, and 1/2 for a rule that cannot tell."""
    return 0.5 if decision is None else float(decision == shown)


def _settle(decision: int | None, rng: np.random.Generator) -> int:
    """A rule that cannot tell must guess."""
    return int(rng.integers(2)) if decision is None else decision


def tensor_matcher(image, graph, factors, question) -> int | None:
    """The sign-agnostic matcher, where all four words were seen."""
    return matcher_decision(image, factors, question) if covered(graph, question) else None


def tensor_accuracy(
    graph: ExposureGraph, question: Question, rule: Callable, dim: int, trials: int, rng: np.random.Generator
) -> int:
    """Right answers of ``rule(image, graph, factors, question)`` in ``trials`` draws of unit factors and scene."""
    right = 0
    for _ in range(trials):
        u, v, shown = (
            random_units(graph.n_objects, dim, rng),
            random_units(graph.n_attributes, dim, rng),
            rng.integers(2),
        )
        factors = (
            identify_factors(graph, tensor_exposures(graph, u, v)) if graph.pairs else Factors(u * np.nan, v * np.nan)
        )
        image = tensor_image(u, v, scenes_of(question)[shown])
        right += _settle(rule(image, graph, factors, question), rng) == shown
    return int(right)


def hadamard_trial(graph: ExposureGraph, question: Question, dim: int, rng: np.random.Generator):
    """One draw: the image, sign factors ``(M, N)`` and ``(K, N)`` that agree with the exposures, and the scene shown.

    A reader of the exposures knows the factors up to the gauge, so the factors given are the true ones after a random
    gauge.
    """
    objects = rng.choice([-1.0, 1.0], size=(graph.n_objects, dim))
    attributes = rng.choice([-1.0, 1.0], size=(graph.n_attributes, dim))
    shown = int(rng.integers(2))
    image = hadamard_image(objects, attributes, scenes_of(question)[shown])
    g, h = hadamard_gauge(graph, rng, dim)
    return image, objects * g, attributes * h, shown


def likelihood(image, graph, objects, attributes, question) -> int | None:
    """The likeliest scene, from what the exposures fix."""
    return hadamard_likelihood_rule(image, graph, objects, attributes, question)


def _template_sums(image, objects, attributes, question, size) -> int | None:
    first, second = (sum(size(image @ (objects[o] * attributes[a])) for o, a in s) for s in scenes_of(question))
    return None if first == second else int(second > first)


def agnostic(image, graph, objects, attributes, question) -> int | None:
    """The sign-agnostic matcher that decides for tensor codes."""
    return _template_sums(image, objects, attributes, question, abs)


def trusting(image, graph, objects, attributes, question) -> int | None:
    """A matcher that takes the gauge it happens to have for the true one."""
    return _template_sums(image, objects, attributes, question, float)


def hadamard_count(
    graph: ExposureGraph, question: Question, rule: Callable, dim: int, trials: int, rng: np.random.Generator
) -> int:
    """Right answers of ``rule(image, graph, objects, attributes, question)`` in ``trials`` draws."""
    right = 0
    for _ in range(trials):
        image, objects, attributes, shown = hadamard_trial(graph, question, dim, rng)
        right += _settle(rule(image, graph, objects, attributes, question), rng) == shown
    return int(right)


def trained_count(graph: ExposureGraph, question: Question, dim: int, trials: int, rng: np.random.Generator) -> int:
    """Right answers in ``trials`` fresh draws of a least-squares rule fitted to as many labelled ones.

    It reads the mean, over the coordinates, of every product of up to three of the image, its square, and the four
    templates.
    """

    def draw():
        image, u, v, shown = hadamard_trial(graph, question, dim, rng)
        templates = [u[o] * v[a] for scene in scenes_of(question) for o, a in scene]
        signals = [np.ones(dim), image / 2, image**2 / 4, *templates]
        cubic = np.einsum("in,jn,kn->ijk", signals, signals, signals) / dim
        return np.concatenate([cubic.ravel(), np.abs(cubic).ravel()]), 2 * shown - 1

    (x, y), (fresh, truth) = (map(np.array, zip(*(draw() for _ in range(trials)), strict=True)) for _ in range(2))
    ridge = np.eye(x.shape[1])
    weights = np.linalg.solve(x.T @ x + ridge, x.T @ y)
    right = decided(truth * (fresh @ weights), DOUBLE)
    ties = right == 0.5
    right[ties] = rng.integers(2, size=ties.sum())
    return int(right.sum())


def _row(name: str, rule: str, right: int, trials: int, expected: float) -> dict[str, Any]:
    low, high = binomial_interval(right, trials)
    return {"seen": name, "rule": rule, "right": right, "of": trials, "low": low, "high": high, "theory": expected}


def arrangement_rows(dim: int, trials: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Every arrangement under three rules: the matcher and the presence test on tensor codes, likelihood on sign codes.

    Rows ``seen, rule, right, of, low, high, theory``: counts, the exact 95 percent interval, the proved accuracy.
    """
    rows = []
    for name, graph in ARRANGEMENTS.items():
        for rule, decide, expected in (
            ("tensor, matcher", tensor_matcher, covered(graph, QUESTION)),
            ("tensor, a pair present", tensor_decision, tensor_decidable(graph, QUESTION)),
        ):
            right = tensor_accuracy(graph, QUESTION, decide, dim, trials, rng)
            rows.append(_row(name, rule, right, trials, 1.0 if expected else 0.5))
        right = hadamard_count(graph, QUESTION, likelihood, dim, trials, rng)
        rows.append(_row(name, "signs, likelihood", right, trials, hadamard_accuracy(graph, QUESTION, dim)))
    return rows


def undecidable_rows(dim: int, trials: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Four rules on sign codes where no pair is connected, and the fitted rule once more where it can learn."""
    apart, positive = "four words, all apart", "red car, blue dog"
    rows = []
    for rule, decide in {
        "likelihood": likelihood,
        "sign-agnostic matcher": agnostic,
        "signed matcher": trusting,
    }.items():
        right = hadamard_count(ARRANGEMENTS[apart], QUESTION, decide, dim, trials, rng)
        rows.append(_row(apart, rule, right, trials, 0.5))
    for name in (apart, positive):
        right = trained_count(ARRANGEMENTS[name], QUESTION, dim, trials, rng)
        best = hadamard_accuracy(ARRANGEMENTS[name], QUESTION, dim)
        rows.append(_row(name, "fitted to labelled draws", right, trials, best))
    return rows


def unseen_pairs_across(draws: int, dim: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The refuted conjecture: random graphs, a covered question with no pair in one component, either code.

    Rows ``tensor``, ``signs``: 1 where the sign-agnostic matcher was right, 0 where wrong, and 1/2 for a tie.
    """
    rows = []
    while len(rows) < draws:
        graph = ExposureGraph(6, 6, tuple((int(o), int(a)) for o, a in np.argwhere(rng.random((6, 6)) < 0.12)))
        questions = [q for q in graph.questions() if covered(graph, q) and not hadamard_decidable(graph, q)]
        if not questions:
            continue
        question = questions[rng.integers(len(questions))]
        u, v, shown = random_units(6, dim, rng), random_units(6, dim, rng), int(rng.integers(2))
        factors = identify_factors(graph, tensor_exposures(graph, u, v))
        tensor = matcher_decision(tensor_image(u, v, scenes_of(question)[shown]), factors, question)
        image, objects, attributes, sign_shown = hadamard_trial(graph, question, dim**2, rng)
        signs = agnostic(image, graph, objects, attributes, question)
        rows.append({"tensor": _right(tensor, shown), "signs": _right(signs, sign_shown)})
    return rows


def noisy_rows(
    noises: Sequence[float], draws: int, rng: np.random.Generator, cosine: float = 0.99, dim: int = 8
) -> list[dict[str, Any]]:
    """Matcher and presence test, factors known, on images with Gaussian noise of standard deviation ``noise`` an entry.

    The two objects have inner product ``cosine``, the attributes are orthogonal, and factors have ``dim`` coordinates.
    Rows ``noise``, ``matcher``, ``presence test``: the share of draws that each gets right.
    """
    rows = []
    for noise in noises:
        matcher = presence = 0
        for _ in range(draws):
            u, v = (np.linalg.qr(rng.standard_normal((dim, 2)))[0].T for _ in range(2))
            u[1] = cosine * u[0] + np.sqrt(1 - cosine**2) * u[1]
            shown, factors = int(rng.integers(2)), Factors(u, v)
            image = tensor_image(u, v, scenes_of(QUESTION)[shown]) + noise * rng.standard_normal((dim, dim))
            matcher += _right(matcher_decision(image, factors, QUESTION, tolerance=DOUBLE), shown)
            held = decided(pair_presence(image, factors, (0, 0)) - 0.5, DOUBLE)
            presence += float(1 - held if shown else held)
        rows.append({"noise": float(noise), "matcher": matcher / draws, "presence test": presence / draws})
    return rows
