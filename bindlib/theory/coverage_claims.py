"""The claims of the chapter on coverage: random graphs, exact enumeration where codes are signs."""

from collections.abc import Callable

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.theory.coverage import (
    ExposureGraph,
    Question,
    covered,
    hadamard_accuracy,
    hadamard_decidable,
    identify_factors,
    matcher_decision,
    pair_presence,
    random_units,
    scenes_of,
    sign_agnostic_scores,
    tensor_decidable,
    tensor_decision,
    tensor_exposures,
    tensor_image,
)

UNIT, DISTINCT, COVERED = "the factors are unit", "no two factors agree up to sign", "all four words were seen"
ONE_OF_EACH = "an object and an attribute of the question were seen"
UNIFORM = "the factors are independent uniform signs"
NONE_CONNECTED = "none of the four pairs lies in one component"
ONE_CONNECTED = "one of the four pairs lies in one component"
GAUGE = Theorem(
    "thm-tensor-gauge",
    "The codes of the seen pairs fix the unit factors of each component that has a seen pair up to one common sign, "
    "and no further. Of a word never seen they say nothing.",
    (UNIT,),
    tolerance=1e-9,
)
DECIDES = Theorem(
    "thm-coverage-decides",
    "The sign-agnostic matcher decides every covered swap of a tensor code, by 2(1 + αβ - |α + β|) > 0.",
    (UNIT, DISTINCT, COVERED),
    tolerance=1e-9,
)
HALF = Theorem(
    "prop-one-of-each",
    "With tensor codes |v^T i^+ u| is 1 for a pair of the scene and 0 for a pair of its swap, so one seen object and "
    "one seen attribute decide; without either, relabelling turns one hypothesis into the other.",
    (UNIT, DISTINCT, ONE_OF_EACH),
    tolerance=1e-6,
)
UNDECIDABLE = Theorem(
    "thm-hadamard-undecidable",
    "Exposures and image have the same law for a scene and its swap, so every rule has accuracy 1/2.",
    (UNIFORM, NONE_CONNECTED),
    tolerance=0.0,
)
DECIDABLE = Theorem(
    "thm-hadamard-decidable",
    "The best rule has accuracy 1 - (3/4)^N / 2.",
    (UNIFORM, ONE_CONNECTED),
    tolerance=1e-12,
)


def draw_graph(rng: np.random.Generator, largest: int = 5) -> ExposureGraph:
    """A random graph on 2 to ``largest`` objects and attributes, from no pair to all."""
    m, k = rng.integers(2, largest + 1, size=2)
    seen = rng.random((m, k)) < rng.choice([0, 0.15, 0.3, 0.6, 1])
    return ExposureGraph(int(m), int(k), tuple((int(o), int(a)) for o, a in np.argwhere(seen)))


def _draw_question(graph: ExposureGraph, rng: np.random.Generator, fits: Callable) -> Question | None:
    questions = [q for q in graph.questions() if fits(graph, q)]
    return questions[rng.integers(len(questions))] if questions else None


def _draw_factors(n: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors in a random dimension, any two at cosine below 0.999 in size, some close to it."""
    while True:
        factors = random_units(n, int(rng.integers(2, 9)), rng)
        factors[-1] = factors[0] + 10 ** rng.uniform(-1, 1) * factors[-1]
        factors[-1] /= np.linalg.norm(factors[-1])
        if np.abs(np.triu(factors @ factors.T, 1)).max() < 0.999:
            return factors


def _draw_asked(rng: np.random.Generator, fits: Callable, largest: int = 5) -> tuple[ExposureGraph, Question]:
    """A random graph and a random question of it that ``fits``."""
    while True:
        graph = draw_graph(rng, largest)
        if (question := _draw_question(graph, rng, fits)) is not None:
            return graph, question


def _draw_instance(rng: np.random.Generator, fits: Callable):
    """A random graph with a question that ``fits``, and its factors."""
    graph, question = _draw_asked(rng, fits)
    return graph, question, _draw_factors(graph.n_objects, rng), _draw_factors(graph.n_attributes, rng)


def _sign_errors(graph: ExposureGraph, found, u: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> float:
    """Largest error of the factors after the best sign of each component with a pair, and whether the sign is free.

    A factor that was seen and not found is an error of NaN; one that was found without being seen, of 1.
    """
    labels, seen = np.concatenate(graph.components), np.concatenate(graph.seen)
    signs = rng.choice([-1.0, 1.0], size=len(labels))[labels][:, None]
    m = graph.n_objects
    flipped = tensor_exposures(graph, signs[:m] * u, signs[m:] * v) - tensor_exposures(graph, u, v)
    errors = [np.abs(flipped).max()]
    for label in np.unique(labels[seen]):
        here, there = (np.flatnonzero(part == label) for part in graph.components)
        pairs = [(found.objects[here], u[here]), (found.attributes[there], v[there])]
        errors.append(np.min([np.max([np.abs(f - s * t).max() for f, t in pairs]) for s in (1, -1)]))
    known = [~np.isnan(factors).any(axis=1) for factors in (found.objects, found.attributes)]
    return float(np.max([*errors, np.any(np.concatenate(known) & ~seen)]))


def certify_gauge(seed: int = 0, instances: int = 500) -> Certificate:
    """Factors read off random graphs against the true ones, and exposures under a random sign for each component."""

    def case(rng):
        graph, _, u, v = _draw_instance(rng, lambda graph, _: bool(graph.pairs))
        error = _sign_errors(graph, identify_factors(graph, tensor_exposures(graph, u, v)), u, v, rng)
        return error, {"pairs": len(graph.pairs), "error": error}

    return GAUGE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_gauge(seed: int = 0) -> Certificate:
    """An object factor twice as long and an attribute factor half as long give the same code."""
    rng = np.random.default_rng(seed)
    graph, u, v = ExposureGraph(1, 1, ((0, 0),)), 2 * random_units(1, 4, rng), random_units(1, 4, rng) / 2
    error = _sign_errors(graph, identify_factors(graph, tensor_exposures(graph, u, v)), u, v, rng)
    return GAUGE.certificate(seed, 1, error, {"object_norm": 2.0, "attribute_norm": 0.5, "error": error}, dropped=UNIT)


def _matcher_failure(graph, question, u, v, shown) -> tuple[float, dict]:
    """Distance from the theorem's gap, or 1 for a wrong or missing decision."""
    (o1, o2, a1, a2), factors = question, identify_factors(graph, tensor_exposures(graph, u, v))
    image = tensor_image(u, v, scenes_of(question)[shown])
    first, second = sign_agnostic_scores(image, factors, question)
    alpha, beta = float(u[o1] @ u[o2]), float(v[a1] @ v[a2])
    promised = 2 * (1 + alpha * beta - abs(alpha + beta))
    gap = (first - second) * (1 - 2 * shown)
    wrong = matcher_decision(image, factors, question) != shown
    return float(np.max([abs(gap - promised), wrong])), {"alpha": alpha, "beta": beta, "gap": gap, "promised": promised}


def certify_decides(seed: int = 0, instances: int = 500) -> Certificate:
    """Covered questions on random graphs: the gap is the theorem's and the decision is right."""

    def case(rng):
        return _matcher_failure(*_draw_instance(rng, covered), int(rng.integers(2)))

    return DECIDES.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_decides(seed: int = 0) -> Certificate:
    """Blue is minus red: a scene is minus its swap, and no matcher that ignores signs can tell."""
    rng = np.random.default_rng(seed)
    u, red = random_units(2, 4, rng), random_units(1, 4, rng)
    graph = ExposureGraph(2, 2, ((0, 0), (1, 1)))
    failure, witness = _matcher_failure(graph, (0, 1, 0, 1), u, np.concatenate([red, -red]), 0)
    return DECIDES.certificate(seed, 1, failure, witness, dropped=DISTINCT)


def certify_half(seed: int = 0, instances: int = 500) -> Certificate:
    """Random graphs: presence of every known pair of the question; or, without one of each, the exact relabelling."""

    def case(rng):
        graph, question, u, v = _draw_instance(rng, lambda *_: True)
        decidable = tensor_decidable(graph, question)
        failure = (_presence_error if decidable else _relabelling_error)(graph, question, u, v, int(rng.integers(2)))
        return failure, {"pairs": len(graph.pairs), "decidable": decidable, "error": failure}

    return HALF.certificate(seed, instances, *worst_case(case, instances, seed))


def _presence_error(graph: ExposureGraph, question: Question, u: np.ndarray, v: np.ndarray, shown: int) -> float:
    """Largest distance from 1 of a known pair of the scene shown and from 0 of one of the other; 1 if decided wrong."""
    factors, scenes = identify_factors(graph, tensor_exposures(graph, u, v)), scenes_of(question)
    image = tensor_image(u, v, scenes[shown])
    known = [(o, a) for scene in scenes for o, a in scene if graph.seen[0][o] and graph.seen[1][a]]
    errors = [abs(pair_presence(image, factors, p) - (p in scenes[shown])) for p in known]
    return float(np.max([*errors, tensor_decision(image, graph, factors, question) != shown]))


def _relabelling_error(graph: ExposureGraph, question: Question, u: np.ndarray, v: np.ndarray, shown: int) -> float:
    """Exchange the two unseen factors: the exposures stay, and the image becomes that of the other scene."""
    o1, o2, a1, a2 = question
    moved_u, moved_v = u.copy(), v.copy()
    if graph.seen[0][[o1, o2]].any():
        moved_v[[a1, a2]] = v[[a2, a1]]
    else:
        moved_u[[o1, o2]] = u[[o2, o1]]
    scenes = scenes_of(question)
    images = tensor_image(moved_u, moved_v, scenes[shown]) - tensor_image(u, v, scenes[1 - shown])
    exposures = tensor_exposures(graph, moved_u, moved_v) - tensor_exposures(graph, u, v)
    return float(np.max([np.abs(images).max(), np.abs(exposures).max(initial=0)]))


def mutate_half(seed: int = 0) -> Certificate:
    """Car and dog were seen in green only: red and blue can be exchanged, and a rule is wrong before or after."""
    rng = np.random.default_rng(seed)
    graph, question = ExposureGraph(2, 3, ((0, 2), (1, 2))), (0, 1, 0, 1)
    u, v = random_units(2, 4, rng), random_units(3, 4, rng)
    moved = _relabelling_error(graph, question, u, v, 0)
    witness = {"seen": "green car, green dog", "change_of_exposures_and_image": moved}
    return HALF.certificate(seed, 1, float(moved == 0), witness, dropped=ONE_OF_EACH)


def sign_laws(graph: ExposureGraph, question: Question, tie: bool = False) -> np.ndarray:
    """``(2, outcomes)``: the law of one coordinate of (exposures, image) under each scene, by enumerating all signs.

    ``tie`` makes the two attributes of the question share one factor.
    """
    m, size = graph.n_objects, graph.n_objects + graph.n_attributes
    signs = 1 - 2 * (np.arange(2**size)[:, None] >> np.arange(size) & 1)
    if tie:
        signs[:, m + question[3]] = signs[:, m + question[2]]
    columns = [signs[:, o] * signs[:, m + a] for o, a in graph.pairs]
    scenes = [sum(signs[:, o] * signs[:, m + a] for o, a in scene) for scene in scenes_of(question)]
    outcomes = np.concatenate([np.stack([*columns, image], axis=1) for image in scenes])
    labels = np.unique(outcomes, axis=0, return_inverse=True)[1].reshape(2, -1)
    return np.stack([np.bincount(row, minlength=labels.max() + 1) for row in labels]) / 2**size


def best_accuracy(laws: np.ndarray, dim: int) -> float:
    """Accuracy of the likelihood rule at even odds on ``dim`` independent coordinates, each with these laws."""
    product = laws
    for _ in range(dim - 1):
        product = (product[:, :, None] * laws[:, None]).reshape(2, -1)
    return float(np.maximum(*product).sum() / 2)


def certify_undecidable(seed: int = 0, instances: int = 300) -> Certificate:
    """Random graphs of up to four objects and attributes, every sign enumerated: the two laws are equal."""

    def case(rng):
        graph, question = _draw_asked(rng, lambda *asked: not hadamard_decidable(*asked), largest=4)
        laws = sign_laws(graph, question)
        accuracy = best_accuracy(laws, 1)
        off = [
            accuracy - 0.5,
            hadamard_accuracy(graph, question, 1) - 0.5,
            *(laws.sum(axis=1) - 1),
            *(laws[0] - laws[1]),
        ]
        return np.max(np.abs(off)), {"pairs": len(graph.pairs), "accuracy": accuracy}

    return UNDECIDABLE.certificate(seed, instances, *worst_case(case, instances, seed))


SEEN_APART = ExposureGraph(2, 2, ((0, 0), (1, 1)))
"""A red car and a blue dog were seen, nothing else: two components, and each holds a pair of the question."""


def mutate_undecidable(seed: int = 0) -> Certificate:
    """Red car and blue dog themselves were seen: two components, and one coordinate already decides 5 in 8."""
    accuracy = best_accuracy(sign_laws(SEEN_APART, (0, 1, 0, 1)), 1)
    witness = {"seen": "red car, blue dog", "dim": 1, "accuracy": accuracy}
    return UNDECIDABLE.certificate(seed, 1, accuracy - 0.5, witness, dropped=NONE_CONNECTED)


def certify_decidable(seed: int = 0, instances: int = 300) -> Certificate:
    """Random graphs of up to four objects and attributes, every sign enumerated, one and two coordinates."""

    def case(rng):
        graph, question = _draw_asked(rng, hadamard_decidable, largest=4)
        laws = sign_laws(graph, question)
        dims = (1, 2) if laws.shape[1] <= 300 else (1,)
        accuracies = [best_accuracy(laws, dim) for dim in dims]
        errors = [
            a - formula
            for a, dim in zip(accuracies, dims, strict=True)
            for formula in (1 - 0.75**dim / 2, hadamard_accuracy(graph, question, dim))
        ]
        return np.max(np.abs(errors)), {"pairs": len(graph.pairs), "dim": dims[-1], "accuracy": accuracies[-1]}

    return DECIDABLE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_decidable(seed: int = 0) -> Certificate:
    """Red and blue share one sign vector: the scene and its swap are one image."""
    accuracy = best_accuracy(sign_laws(SEEN_APART, (0, 1, 0, 1), tie=True), 1)
    witness = {"seen": "red car, blue dog", "dim": 1, "accuracy": accuracy}
    error = abs(accuracy - hadamard_accuracy(SEEN_APART, (0, 1, 0, 1), 1))
    return DECIDABLE.certificate(seed, 1, error, witness, dropped=UNIFORM)


CLAIMS = (
    Claim(GAUGE, certify_gauge, mutate_gauge),
    Claim(DECIDES, certify_decides, mutate_decides),
    Claim(HALF, certify_half, mutate_half),
    Claim(UNDECIDABLE, certify_undecidable, mutate_undecidable),
    Claim(DECIDABLE, certify_decidable, mutate_decidable),
)
