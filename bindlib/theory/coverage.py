"""Coverage: which swaps can be decided from the pairs that were seen, and what the code's gauge has to do with it.

Objects and attributes are numbered from 0.  A *swap question* ``(o1, o2, a1, a2)`` shows the image of one of two
scenes, ``{(o1, a1), (o2, a2)}`` or ``{(o1, a2), (o2, a1)}``, and asks which.  An image is the plain sum of the scene's
two atoms.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Question = tuple[int, int, int, int]  # o1, o2, a1, a2
Pair = tuple[int, int]  # object, attribute


def scenes_of(question: Question) -> tuple[tuple[Pair, Pair], tuple[Pair, Pair]]:
    """The two scenes of a swap question; ``ValueError`` when its objects or its attributes are equal."""
    o1, o2, a1, a2 = question
    if o1 == o2 or a1 == a2:
        raise ValueError(f"a swap exchanges two attributes between two objects, got {question}")
    return ((o1, a1), (o2, a2)), ((o1, a2), (o2, a1))


@dataclass(frozen=True)
class ExposureGraph:
    """Objects and attributes are nodes, seen pairs ``(object, attribute)`` are edges; no pair at all is allowed.

    Raises ``ValueError`` for an empty vocabulary or a pair outside it.
    """

    n_objects: int
    n_attributes: int
    pairs: tuple[Pair, ...] = ()

    def __post_init__(self):
        if min(self.n_objects, self.n_attributes) < 1:
            raise ValueError(f"a vocabulary has objects and attributes, got {self.n_objects} and {self.n_attributes}")
        for o, a in self.pairs:
            if not (0 <= o < self.n_objects and 0 <= a < self.n_attributes):
                raise ValueError(
                    f"pair {(o, a)} lies outside {self.n_objects} objects and {self.n_attributes} attributes"
                )

    @cached_property
    def components(self) -> tuple[np.ndarray, np.ndarray]:
        """Component numbers of the objects ``(M,)`` and attributes ``(K,)``; a node never seen is one of its own."""
        m, size = self.n_objects, self.n_objects + self.n_attributes
        o, a = np.array(self.pairs, dtype=int).reshape(-1, 2).T
        labels = connected_components(coo_array((np.ones(len(o)), (o, m + a)), shape=(size, size)), directed=False)[1]
        return labels[:m], labels[m:]

    @cached_property
    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Which objects ``(M,)`` and attributes ``(K,)`` occur in a seen pair."""
        o, a = np.array(self.pairs, dtype=int).reshape(-1, 2).T
        return np.isin(np.arange(self.n_objects), o), np.isin(np.arange(self.n_attributes), a)

    def connected(self, pair: Pair) -> bool:
        """Whether object and attribute of the pair lie in one component."""
        objects, attributes = self.components
        return bool(objects[pair[0]] == attributes[pair[1]])

    def questions(self) -> list[Question]:
        """Every swap question of the vocabulary, ``C(M, 2) C(K, 2)`` of them."""
        attribute_pairs = list(combinations(range(self.n_attributes), 2))
        return [(*o, *a) for o in combinations(range(self.n_objects), 2) for a in attribute_pairs]


def covered(graph: ExposureGraph, question: Question) -> bool:
    """Whether both objects and both attributes were seen: what the sign-agnostic matcher needs."""
    o1, o2, a1, a2 = question
    objects, attributes = graph.seen
    return bool(objects[o1] and objects[o2] and attributes[a1] and attributes[a2])


def tensor_decidable(graph: ExposureGraph, question: Question) -> bool:
    """Tensor codes: an object *and* an attribute of the question were seen, in whatever components (ours)."""
    o1, o2, a1, a2 = question
    objects, attributes = graph.seen
    return bool((objects[o1] or objects[o2]) and (attributes[a1] or attributes[a2]))


def hadamard_decidable(graph: ExposureGraph, question: Question) -> bool:
    """Hadamard sign codes: one of the four pairs of the two scenes lies in one component (ours)."""
    return any(graph.connected(pair) for scene in scenes_of(question) for pair in scene)


# Tensor codes: x_oa = u_o ⊗ v_a, written as the matrix u_o v_a^T.


@dataclass(frozen=True)
class Factors:
    """Factors read off the exposures, right up to one sign for each component; rows of unseen nodes are NaN."""

    objects: np.ndarray
    attributes: np.ndarray

    def atom(self, pair: Pair) -> np.ndarray:
        """The code of a pair up to sign, seen or not; ``ValueError`` names what was never seen."""
        for kind, rows, index in (("object", self.objects, pair[0]), ("attribute", self.attributes, pair[1])):
            if np.isnan(rows[index, 0]):
                raise ValueError(f"{kind} {index} was never seen, so nothing is known about its factor")
        return np.outer(self.objects[pair[0]], self.attributes[pair[1]])


def random_units(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` uniform unit vectors ``(n, dim)``."""
    vectors = rng.standard_normal((n, dim))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def tensor_exposures(graph: ExposureGraph, objects: np.ndarray, attributes: np.ndarray) -> np.ndarray:
    """Codes of the seen pairs, ``(pairs, n, m)``, from factors ``(M, n)`` and ``(K, m)``."""
    o, a = np.array(graph.pairs, dtype=int).reshape(-1, 2).T
    return objects[o][:, :, None] * attributes[a][:, None, :]


def identify_factors(graph: ExposureGraph, exposures: np.ndarray, tolerance: float = 1e-9) -> Factors:
    """Unit factors from the codes of the seen pairs ``(pairs, n, m)``, up to one sign for each component.

    Walks each component from one pair: a known factor at one end of a seen pair gives the other.  Raises ``ValueError``
    when no pair was seen, or when the codes are not those of unit factors to within ``tolerance``.
    """
    if not graph.pairs:
        raise ValueError("no pair was seen: there is nothing to read a factor from")
    exposures = np.asarray(exposures, dtype=np.float64)
    if exposures.ndim != 3 or len(exposures) != len(graph.pairs):
        raise ValueError(f"expected one matrix for each of {len(graph.pairs)} pairs, got shape {exposures.shape}")
    if not np.all(np.isfinite(exposures)):
        raise ValueError("the exposures are not all finite numbers")
    u = np.full((graph.n_objects, exposures.shape[1]), np.nan)
    v = np.full((graph.n_attributes, exposures.shape[2]), np.nan)
    waiting = dict(zip(graph.pairs, exposures, strict=True))
    while waiting:
        reached = [p for p in waiting if not (np.isnan(u[p[0], 0]) and np.isnan(v[p[1], 0]))]
        for o, a in reached or [next(iter(waiting))]:
            code = waiting.pop((o, a))
            if np.isnan(u[o, 0]) and np.isnan(v[a, 0]):
                u[o] = np.linalg.svd(code)[0][:, 0]
            if np.isnan(v[a, 0]):
                v[a] = u[o] @ code
            elif np.isnan(u[o, 0]):
                u[o] = code @ v[a]
    factors = Factors(u, v)
    off = np.abs(tensor_exposures(graph, u, v) - exposures).max()
    lengths = np.concatenate([np.linalg.norm(f, axis=1) for f in (u, v)])
    if not (off <= tolerance and np.nanmax(np.abs(lengths - 1)) <= tolerance):
        raise ValueError(f"the exposures are not u ⊗ v with unit factors on this graph: off by {off:.1e}")
    return factors


def sign_agnostic_scores(image: np.ndarray, factors: Factors, question: Question) -> tuple[float, float]:
    """``Σ_j |<i, x̂_j>|`` over the two atoms of each of the two scenes; ``ValueError`` unless all four were seen."""
    return tuple(sum(abs(float(np.sum(image * factors.atom(p)))) for p in scene) for scene in scenes_of(question))


def matcher_decision(image: np.ndarray, factors: Factors, question: Question, tolerance: float = 1e-6) -> int | None:
    """The scene, 0 or 1, that the sign-agnostic matcher scores higher; ``None`` within ``tolerance`` of a tie."""
    first, second = sign_agnostic_scores(image, factors, question)
    return None if abs(first - second) <= tolerance else int(second > first)


def tensor_image(objects: np.ndarray, attributes: np.ndarray, scene: tuple[Pair, Pair]) -> np.ndarray:
    """The sum of the scene's two atoms, ``(n, m)``."""
    return sum(np.outer(objects[o], attributes[a]) for o, a in scene)


def pair_presence(image: np.ndarray, factors: Factors, pair: Pair) -> float:
    """``|v̂_a^T i^+ û_o|``: 1 when the two-atom image ``i`` holds the pair, 0 when it holds its swap, for known pairs.

    ``i^+`` is the pseudo-inverse of rank two.  Raises ``ValueError`` for a pair with an unseen end, and for an image
    whose second singular value is below ``1e-6`` of the first: then a factor repeats and the answer is unknown.
    """
    factors.atom(pair)
    left, size, right = np.linalg.svd(image, full_matrices=False)
    if len(size) < 2 or size[1] <= 1e-6 * size[0]:
        raise ValueError("the image has rank one: two of its factors agree up to sign, so the swap cannot be decided")
    return abs(float((right[:2] @ factors.attributes[pair[1]] / size[:2]) @ (left[:, :2].T @ factors.objects[pair[0]])))


def tensor_decision(image: np.ndarray, graph: ExposureGraph, factors: Factors, question: Question) -> int | None:
    """Which scene of the question the image shows, 0 or 1, from one known object and attribute; ``None`` if unknown."""
    objects, attributes = graph.seen
    for number, scene in enumerate(scenes_of(question)):
        for o, a in scene:
            if objects[o] and attributes[a]:
                presence = pair_presence(image, factors, (o, a))
                return None if abs(presence - 0.5) < 0.25 else number if presence > 0.5 else 1 - number
    return None


# Hadamard sign codes: x_oa = u_o ∘ v_a with factors in {-1, 1}^N.


def hadamard_image(objects: np.ndarray, attributes: np.ndarray, scene: tuple[Pair, Pair]) -> np.ndarray:
    """The sum of the scene's two atoms, ``(N,)``, entries in ``{-2, 0, 2}``."""
    return sum(objects[o] * attributes[a] for o, a in scene)


def hadamard_gauge(graph: ExposureGraph, rng: np.random.Generator, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Sign vectors for the objects ``(M, N)`` and attributes ``(K, N)``, one a component: no exposure changes."""
    objects, attributes = graph.components
    signs = rng.choice([-1.0, 1.0], size=(graph.n_objects + graph.n_attributes, dim))
    return signs[objects], signs[attributes]


def hadamard_likelihood_rule(
    image: np.ndarray, graph: ExposureGraph, objects: np.ndarray, attributes: np.ndarray, question: Question
) -> int | None:
    """The likeliest scene, 0 or 1, or ``None`` when both are equally likely.

    ``objects``, ``attributes``: any sign factors that agree with the exposures.  A pair inside one component has a
    known atom ``e``; a scene that holds it gives only images with ``i = 2e`` wherever ``i`` is not 0.
    """
    known = [[p for p in scene if graph.connected(p)] for scene in scenes_of(question)]
    possible = [all(np.all(image * objects[o] * attributes[a] >= 0) for o, a in pairs) for pairs in known]
    if possible[0] != possible[1]:
        return possible.index(True)
    if bool(known[0]) != bool(known[1]):  # both possible: the scene with a known atom predicted this image, exactly
        return 0 if known[0] else 1
    return None


def hadamard_accuracy(graph: ExposureGraph, question: Question, dim: int) -> float:
    """The best accuracy of any rule: ``1 - (3/4)^N / 2`` when the question is decidable and ``1/2`` when not (ours).

    Raises ``ValueError`` for ``dim < 1``.
    """
    if dim < 1:
        raise ValueError(f"codes have at least one coordinate, got {dim}")
    return 1 - 0.75**dim / 2 if hadamard_decidable(graph, question) else 0.5
