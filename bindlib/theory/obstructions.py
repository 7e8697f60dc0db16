"""Theorems whose hypotheses hold of a problem: each bounds the worst margin of every encoder of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from bindlib.theory.axioms import FiniteWorld, contrasts, demands, find_cycle
from bindlib.theory.frontier import sharp_cap
from bindlib.theory.hypotheses import Problem, all_atoms, overlaps, own_captions
from bindlib.theory.radon import half_shattering

MOST_SPLITS = 1 << 14
EXCESS = 1e-9  # by how much a number must exceed another to count as larger


@dataclass(frozen=True)
class Obstruction:
    """No encoder has a worst margin above ``bound``: by which ``theorem``, why in words, and what was checked here."""

    bound: float
    theorem: str
    reason: str
    certificate: Mapping[str, Any] = field(default_factory=dict)


def obstructions(problem: Problem) -> Iterator[Obstruction]:
    """Every bound that a theorem gives before any search."""
    yield Obstruction(2.0, "prop-ceiling", "two unit vectors are at most 2 apart")
    yield from _circle(problem)
    if problem.dim is not None:
        yield from _dimension(problem.world, problem.axioms, problem.dim)
    if problem.hypotheses.delta is not None and problem.binds:
        yield _smoothness(problem.hypotheses.delta, problem.dim)
    if problem.hypotheses.pooled:
        yield from _pooled(problem)


def _circle(problem: Problem) -> Iterator[Obstruction]:
    """Demands in a circle; of length one when a caption is demanded above another that shares its vector."""
    cycle = find_cycle(problem.demanded)
    if not cycle:
        return
    captions = [problem.world.captions[problem.first_caption[c]] for _, c, _ in cycle]
    if len(cycle) > 1:
        why = "images that share a vector make demands that go in a circle"
        yield Obstruction(0.0, "prop-circle", why, {"circle": [caption.text for caption in captions]})
        return
    classes = problem.text_class[problem.rows[:, 1:]]
    image, better, worse = problem.rows[(classes == cycle[0][1]).all(axis=1)][0]
    theorem = "thm-bag-of-words-collapse" if captions[0].kind == "binding" else "prop-circle"
    pair = {"better": problem.world.captions[better].text, "worse": problem.world.captions[worse].text}
    yield Obstruction(0.0, theorem, "captions with the same words share a vector", pair | {"image": int(image)})


def _dimension(world: FiniteWorld, axioms: tuple[str, ...], dim: int) -> Iterator[Obstruction]:
    """Radon, for content by ``N + 2`` objects and for negation by ``N + 1``, that the images half-shatter."""
    column = {(c.kind, c.meaning): i for i, c in enumerate(world.captions)}
    named = [o for o in world.objects if ("content", o) in column]
    denied = [o for o in named if ("negation", o) in column]
    for axiom, objects, size, affine in (("content", named, dim + 2, True), ("negation", denied, dim + 1, False)):
        if axiom not in axioms or 1 << size > MOST_SPLITS:
            continue
        for chosen in combinations(objects, size):
            splits = half_shattering(world.truth[:, [column["content", o] for o in chosen]], affine)
            if splits is not None:
                theorem = "thm-radon" if affine and _all_scenes(world, dim // 2 + 1) else "prop-half-shattered"
                why = f"in dimension {dim} some split of {size} objects is not to be had, and images ask for all splits"
                found = {"axiom": axiom, "objects": list(chosen), "dim": dim, "splits": splits}
                yield Obstruction(0.0, theorem, why, found)
                break


def _all_scenes(world: FiniteWorld, k: int) -> bool:
    """Whether every set of 1 to ``k`` objects is what some image shows."""
    shown = {frozenset(atom.object for atom in image) for image in world.images}
    return all(frozenset(s) in shown for j in range(1, k + 1) for s in combinations(world.objects, j))


def _smoothness(delta: float, dim: int | None) -> Obstruction:
    cap = float(sharp_cap(delta))
    bound = 0.0 if dim == 1 and cap < 2 else cap  # on a line unit vectors are equal or 2 apart
    why = "captions this close to an anchor are this close to each other"
    return Obstruction(bound, "thm-sharp-frontier", why, {"delta": delta, "cap": cap})


def _pooled(problem: Problem) -> Iterator[Obstruction]:
    world, h = problem.world, problem.hypotheses
    cosines, n_atoms = overlaps(world), len(all_atoms(world))
    if problem.dim is not None and problem.dim < n_atoms:
        why = f"{n_atoms} orthonormal codes need {n_atoms} dimensions"
        yield Obstruction(0.0, "thm-pooled-margins", why, {"atoms": n_atoms})
    if len(contrasts(world, "binding")):
        a, b = contrasts(world, "binding")[0]
        distance = sqrt(2 - 2 * cosines[a, b])
        why = f"no encoder meets the hypotheses together: swaps of pooled codes are {distance:.3f} apart"
        if h.pairing_blind:
            yield Obstruction(0.0, "thm-bag-of-words-collapse", why, {"distance": distance})
        if h.delta is not None and distance > sharp_cap(h.delta) + EXCESS:
            yield Obstruction(0.0, "thm-sharp-frontier", why, {"distance": distance})
    if problem.binds:
        own, rows = own_captions(world), demands(world, "binding")
        image, better, worse = np.array([(own[i], b, w) for i, b, w in rows.tolist() if i in own]).T
        bound = float((cosines[image, better] - cosines[image, worse]).min())
        why = "a swap changes two of the atoms that were pooled"
        yield Obstruction(bound, "thm-pooled-margins", why, {"bound": bound})
