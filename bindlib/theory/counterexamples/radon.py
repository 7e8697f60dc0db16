"""What breaks the limit on scenes: one object fewer, or a demand for scenes of one size alone."""

import numpy as np

from bindlib.certificates import Ablation, Outcome, smallest
from bindlib.theory.radon import largest_scene, moment_curve
from bindlib.theory.radon_claims import ENOUGH_OBJECTS, EVERY_SIZE, RADON
from bindlib.theory.separation import SEPARABLE, all_subsets

OBJECTS = ("car", "dog", "cup", "hat", "cat", "ball", "book", "bird")


def _sizes_met(points: np.ndarray) -> list[int]:
    """The sizes of scenes, from 1 to one less than all objects, of which every scene is separable."""
    return [k for k in range(1, len(points)) if all(all_subsets(points, k).status == SEPARABLE)]


def _outcome(points: np.ndarray, k: int, asked: str) -> Outcome:
    """``k`` for object vectors ``(M, N)``, against the limit ``floor(N/2)``; its picture is a scene out of reach."""
    m, dim = points.shape
    scene = _out_of_reach(points)
    present = scene or (0,)
    order = [*present, *(i for i in range(m) if i not in present)]
    flat = np.pad(points, ((0, 0), (0, max(0, 2 - dim))))[order, :2]
    names = [OBJECTS[i] for i in order]
    lone = " and ".join(f"a {name}" for name in names[: len(present)])
    return Outcome(
        (tuple(names[: len(present)]),),
        tuple(f"a {name}" for name in OBJECTS[:m]),
        f"{m} objects, dimension {dim}",
        f"largest k, {asked}",
        "≤",
        float(largest_scene(dim)),
        float(k),
        {"points": points},
        f"out of reach: {lone}, nothing else" if scene else "no scene is out of reach",
        tuple(names[len(present) :]),
        tuple(map(tuple, flat.tolist())) if dim <= 2 else (),
    )


def _out_of_reach(points: np.ndarray) -> tuple[int, ...]:
    """A smallest scene that no half-space cuts off; empty when there is none."""
    for k in range(1, len(points)):
        found = all_subsets(points, k)
        for scene in found.subsets[found.status != SEPARABLE]:
            return tuple(scene.tolist())
    return ()


def every_size(points: np.ndarray) -> Outcome:
    """The largest ``k`` so that all scenes of 1, 2, ..., k objects are separable."""
    met = [0, *_sizes_met(points)]
    k = next(size for size in range(len(points)) if size + 1 not in met)
    return _outcome(points, k, "all scenes of 1 to k objects in reach")


def one_size(points: np.ndarray) -> Outcome:
    """The largest ``k`` so that all scenes of exactly ``k`` objects are separable, whatever smaller scenes are."""
    return _outcome(points, max([0, *_sizes_met(points)]), "all scenes of just k objects in reach")


def _draw(size: tuple[int, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"points": rng.standard_normal(size)}


def too_few_objects(rng: np.random.Generator) -> Outcome:
    """The lowest dimension and the fewest objects, ``N + 1`` or less, that satisfy more than the limit."""
    return smallest([(m, dim) for dim in range(1, 5) for m in range(2, dim + 2)], _draw, every_size, rng, tries=50)


def size_alone(rng: np.random.Generator) -> Outcome:
    """The lowest dimension in which ``N + 2`` objects satisfy one size above the limit."""
    return smallest([(dim + 2, dim) for dim in range(1, 5)], _draw, one_size, rng, tries=50)


def in_the_plane(rng: np.random.Generator) -> Outcome:
    """Four objects on the circle, turned at random."""
    return every_size(moment_curve(4, 2, np.sort(rng.uniform(0, 2 * np.pi) + np.pi / 2 * np.arange(4)) % (2 * np.pi)))


ABLATIONS = (Ablation(RADON, in_the_plane, {ENOUGH_OBJECTS: too_few_objects, EVERY_SIZE: size_alone}),)
