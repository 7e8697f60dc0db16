"""The claims of the chapter on axioms: what can be satisfied, by what margin, and in what order one must not ask."""

from itertools import product
from math import sqrt

import numpy as np

from bindlib.certificates import Certificate, Claim, Theorem, worst_case
from bindlib.scenes import WORLD, World
from bindlib.theory import axioms
from bindlib.theory.axioms import AXIOMS, Encoder, FiniteWorld
from bindlib.theory.bag_of_words import unit
from bindlib.theory.constructions import ascend, best_image, matched_scale, signed_table
from bindlib.theory.radon import moment_curve, radon_partition
from bindlib.theory.satisfy import UNSAT, satisfy

POSITIVE = 1e-9  # what a margin must exceed to count as positive

FINITE_WORLD = "the world is finite"
TRUE_ABOVE_FALSE = "a demand puts a true caption above a false one"
DIMENSIONS = "the dimension is n_images + n_captions or more"
SATISFIABLE = Theorem(
    "thm-satisfiability",
    "In a finite world some dual encoder scores every true caption γ and every false one 0, γ = 1/sqrt(max_c #{I : c "
    "true of I}); order variants share a vector. So content, binding, relation, negation and order hold together.",
    (FINITE_WORLD, TRUE_ABOVE_FALSE, DIMENSIONS),
    tolerance=1e-12,
)
IMAGE_DIMENSIONS = "the dimension is n_images or more"
SIGNED = Theorem(
    "prop-signed-encoder",
    "Scores ±1/sqrt(n) are realised in n = n_images dimensions, a margin of 2/sqrt(n). Where each of the 2^n sets of "
    "images is what some caption says, and every true caption is demanded above every false one, no encoder of any "
    "dimension has a larger worst margin, and none of fewer dimensions has this one.",
    (FINITE_WORLD, IMAGE_DIMENSIONS),
    tolerance=1e-12,
)
NO_CIRCLE = "at no image do the demands go in a circle"
CIRCLE = Theorem(
    "prop-circle",
    "Demands on captions in classes of one vector each are met by some encoder if and only if at no image they go in a "
    "circle; then n_images + n_classes dimensions are enough.",
    (NO_CIRCLE,),
    tolerance=1e-12,
)
OUTSIDE = "0 is outside the convex hull of the differences"
BEST_IMAGE = Theorem(
    "prop-best-image",
    "For given text vectors, the largest worst margin of a unit image vector is the distance from 0 to the convex hull "
    "of the differences t(better) - t(worse).",
    (OUTSIDE,),
    tolerance=1e-9,
)
UNIT_ROWS = "image and text vectors are unit"
BOUND = Theorem(
    "prop-margin-bound",
    "The worst margin is at most ||P^-1/2 A Q^-1/2|| sqrt(tr P tr Q) / Σ y, A = Σ y_d e_I (e_better - e_worse)^T, for "
    "all weights y >= 0 and positive diagonal P, Q, in every dimension.",
    (UNIT_ROWS,),
    tolerance=1e-12,
)


def _draw_world(rng: np.random.Generator) -> FiniteWorld:
    n_objects, n_attributes = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    objects = tuple(rng.choice(WORLD.objects, n_objects, replace=False).tolist())
    attributes = tuple(rng.choice(WORLD.attributes, n_attributes, replace=False).tolist())
    return FiniteWorld.of(World(objects, attributes), ((1, 2), (2,))[int(rng.integers(2))])


def _draw_truth(rng: np.random.Generator) -> np.ndarray:
    return rng.random((int(rng.integers(1, 30)), int(rng.integers(1, 40)))) < rng.random()


def _not_unit(encoder: Encoder) -> float:
    return float(np.abs(np.linalg.norm(np.vstack(encoder), axis=1) - 1).max())


def _table_slack(encoder: Encoder, truth: np.ndarray, true: float, false: float, dim: int) -> float:
    """How far the scores are from the two values, the rows from unit length, and the dimension above ``dim``."""
    off = np.abs(encoder.scores - np.where(truth, true, false)).max()
    return float(np.max([off, _not_unit(encoder), encoder.images.shape[1] - dim]))


def certify_satisfiability(seed: int = 0, instances: int = 1000) -> Certificate:
    """Random truth tables, a third of the captions order variants of others; one in twenty a world of scenes."""

    def case(rng):
        world = None if rng.integers(20) else _draw_world(rng)
        truth = _draw_truth(rng) if world is None else world.truth
        meanings = np.arange(truth.shape[1]) if world is None else world.meanings
        if world is None:
            meanings[rng.random(len(meanings)) < 1 / 3] = rng.integers(len(meanings))
            truth = truth[:, meanings]
        encoder = axioms.truth_table_encoder(truth, meanings)
        gamma = 1 / sqrt(max(truth.sum(axis=0).max(), 1))
        variants = meanings[:, None] == meanings
        apart = np.abs(encoder.texts[:, None] - encoder.texts)[variants].max()
        slacks = [_table_slack(encoder, truth, gamma, 0.0, sum(truth.shape)), apart]
        if world is not None:
            checks = [axioms.check_axiom(world, axiom, encoder) for axiom in AXIOMS]
            slacks += [(0.0 if c.axiom == "order" else gamma) - c.margin for c in checks]
        return np.max(slacks), {"images": truth.shape[0], "captions": truth.shape[1], "gamma": gamma}

    return SATISFIABLE.certificate(seed, instances, *worst_case(case, instances, seed))


FOUR_OBJECTS = World(("car", "cup", "dog", "hat"), ("blue", "red"))


def mutate_satisfiability(seed: int = 0) -> Certificate:
    """In two dimensions: every scene of one or two of four objects is asked for; Radon forbids the content axiom."""
    world = FiniteWorld.of(FOUR_OBJECTS)
    verdict = satisfy(world, ["content"], 2)
    gamma, high = 1 / sqrt(world.truth.sum(axis=0).max()), verdict.bracket.high
    part = radon_partition(moment_curve(4, 2))
    split = " | ".join(" and ".join(FOUR_OBJECTS.objects[i] for i in side) for side in (part.left, part.right))
    witness = {"dim": 2, "verdict": verdict.status, "by": verdict.theorem, "no encoder exceeds": high, "gamma": gamma,
               "Radon split of the objects on a circle": split}  # fmt: skip
    slack = gamma - high if verdict.status == UNSAT else 0.0
    return SATISFIABLE.certificate(seed, 1, slack, witness, dropped=DIMENSIONS)


def all_rows(n_images: int) -> np.ndarray:
    """The truth relation of the world in which every set of images is what some caption says, ``(n, 2^n)`` bool."""
    return np.array(list(product([True, False], repeat=n_images))).T


def all_demands(truth: np.ndarray) -> np.ndarray:
    """Every true caption above every false one, ``(n, 3)``."""
    rows = [(i, b, w) for i, row in enumerate(truth) for b in np.flatnonzero(row) for w in np.flatnonzero(~row)]
    return np.array(rows, dtype=int).reshape(-1, 3)


def against_denials(rows: np.ndarray, n_images: int) -> np.ndarray:
    """The demands of the world of all rows that compare a caption ``c`` with its denial ``2^n - 1 - c``."""
    return rows[rows[:, 1] + rows[:, 2] == 2**n_images - 1]


def certify_signed(seed: int = 0, instances: int = 1500) -> Certificate:
    """Half random tables; half encoders near the signed one of all rows of 2 to 4 images or far, in all dimensions.

    The bound for every encoder of every dimension is computed too, by weighing captions against their denials.
    """
    tables = {n: (all_rows(n), all_demands(all_rows(n))) for n in (2, 3, 4)}

    def attained(rng):
        truth = _draw_truth(rng)
        n = len(truth)
        return _table_slack(axioms.signed_encoder(truth), truth, 1 / sqrt(n), -1 / sqrt(n), n), n

    def not_exceeded(rng):
        n = int(rng.integers(2, 5))
        truth, rows = tables[n]
        fewer = bool(rng.integers(2))
        signed = axioms.signed_encoder(truth)
        missed = abs(signed.margins(rows).min() - 2 / sqrt(n))
        near = signed_table(np.where(truth, 1.0, -1.0), n - 1) if fewer else signed
        noise = 10 ** rng.uniform(-6, 2)
        near = Encoder(*(unit(side + noise * rng.standard_normal(side.shape)) for side in near))
        opposite = against_denials(rows, n)
        bound = axioms.margin_bound(n, 2**n, opposite, np.ones(len(opposite)))
        slacks = [missed, near.margins(rows).min() - 2 / sqrt(n) + fewer * POSITIVE, abs(bound - 2 / sqrt(n))]
        return np.max(slacks), n

    def case(rng):
        slack, n = attained(rng) if rng.integers(2) else not_exceeded(rng)
        return slack, {"images": n}

    return SIGNED.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_signed(seed: int = 0, climbs: int = 4) -> Certificate:
    """One dimension fewer, in the world of all rows of three images: climbs from the cut table and from random ones."""
    truth, rng = all_rows(3), np.random.default_rng(seed)
    rows = all_demands(truth)
    starts = [signed_table(np.where(truth, 1.0, -1.0), 2)]
    starts += [_random_encoder(3, 8, rng, dim=2) for _ in range(climbs - 1)]
    ends = (ascend(start, rows, np.ones(len(rows)))[0] for start in starts)
    margin = max(float(encoder.margins(rows).min()) for encoder in ends)
    witness = {"images": 3, "captions": 8, "dim": 2, f"best of {climbs} climbs": margin, "needed": 2 / sqrt(3)}
    return SIGNED.certificate(seed, 1, 2 / sqrt(3) - margin, witness, dropped=IMAGE_DIMENSIONS)


def _draw_demands(rng: np.random.Generator) -> tuple[int, int, np.ndarray]:
    """Random demands between captions, which may repeat and may put a caption above itself."""
    n_images, n_captions, n = (int(rng.integers(low, 12)) for low in (1, 3, 4))
    sizes = n_images, n_captions, n_captions
    return n_images, n_captions, np.stack([rng.integers(0, size, 3 * n) for size in sizes], axis=1)


def _draw_classed(rng: np.random.Generator, downhill: bool) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Random demands, at least one, and the class of each caption ``(n_captions,)``: with the number of classes.

    ``downhill``: all demands go down one ranking of the classes, so in no circle.
    """
    n_images, n_captions, rows = _draw_demands(rng)
    n_classes = int(rng.integers(1, n_captions + 1))
    label = rng.permutation(np.append(np.arange(n_classes), rng.integers(0, n_classes, n_captions - n_classes)))
    if downhill:
        rank = rng.permutation(n_classes)[label]
        rows = rows[rank[rows[:, 1]] > rank[rows[:, 2]]]
    return (n_images, n_classes, label, rows) if len(rows) else _draw_classed(rng, downhill)


def _random_encoder(n_images: int, n_captions: int, rng: np.random.Generator, dim: int = 0) -> Encoder:
    dim = dim or int(2 ** rng.integers(0, 6))
    return Encoder(*(unit(rng.standard_normal((n, dim))) for n in (n_images, n_captions)))


def certify_circle(seed: int = 0, instances: int = 1000) -> Certificate:
    """Random demands on captions in random classes: without a circle of classes the built encoder meets them; around
    one, of length one too, the margins of any encoder cancel.
    """

    def case(rng):
        downhill = bool(rng.integers(2))
        n_images, n_classes, label, rows = _draw_classed(rng, downhill)
        classed = np.column_stack([rows[:, 0], label[rows[:, 1:]]])
        if cycle := axioms.find_cycle(classed):
            around = np.array(cycle)
            made_up = downhill or not set(cycle) <= set(map(tuple, classed.tolist())) or len(set(around[:, 0])) > 1
            open_ended = not np.array_equal(around[:, 2], np.roll(around[:, 1], -1))
            margins = _random_encoder(n_images, n_classes, rng).margins(around)
            slacks = [float(made_up or open_ended), abs(margins.sum())]
        else:
            encoder = axioms.ranked_encoder(n_images, n_classes, classed)
            larger = encoder.images.shape[1] - n_images - n_classes
            of_captions = Encoder(encoder.images, encoder.texts[label])
            slacks = [POSITIVE - of_captions.margins(rows).min(), _not_unit(encoder), larger]
        return np.max(slacks), {"demands": len(rows), "classes": n_classes, "circle": len(cycle)}

    return CIRCLE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_circle(seed: int = 0) -> Certificate:
    """Three captions in a circle at one image: the margins of any encoder, here a random one, sum to 0."""
    rows = np.array([(0, 0, 1), (0, 1, 2), (0, 2, 0)])
    margins = _random_encoder(1, 3, np.random.default_rng(seed), dim=3).margins(rows)
    witness = {"margins": [round(float(m), 4) for m in margins], "sum": round(abs(float(margins.sum())), 12)}
    return CIRCLE.certificate(seed, 1, POSITIVE - float(margins.min()), witness, dropped=NO_CIRCLE)


def certify_best_image(seed: int = 0, instances: int = 1000) -> Certificate:
    """Random differences that lean one way: the image found attains the distance, no other unit vector beats it."""

    def case(rng):
        dim, n = int(2 ** rng.integers(1, 6)), int(rng.integers(1, 20))
        lean = unit(rng.standard_normal(dim))
        rows = rng.standard_normal((n, dim)) / sqrt(dim)
        rows += (10 ** rng.uniform(-2, 0) - min(0.0, (rows @ lean).min())) * lean
        image, weights = best_image(rows)
        distance = float(np.linalg.norm(weights @ rows))
        not_convex = np.max([abs(weights.sum() - 1), -weights.min()])
        missed = abs((rows @ image).min() - distance)
        others = unit(image + 10 ** rng.uniform(-4, 1, (20, 1)) * rng.standard_normal((20, dim)))
        beaten = (rows @ others.T).min(axis=0).max() - distance
        slack = np.max([not_convex, abs(np.linalg.norm(image) - 1), missed, beaten])
        return slack, {"dim": dim, "demands": n, "distance": distance}

    return BEST_IMAGE.certificate(seed, instances, *worst_case(case, instances, seed))


def mutate_best_image(seed: int = 0) -> Certificate:
    """Three differences a third of a turn apart: 0 is inside their hull, and every unit image has margin <= -1/2."""
    angles = 2 * np.pi * np.arange(3) / 3
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    turn = np.linspace(0, 2 * np.pi, 721)
    best = float((rows @ np.stack([np.cos(turn), np.sin(turn)])).min(axis=0).max())
    return BEST_IMAGE.certificate(seed, 1, 0.0 - best, {"best margin": best, "distance": 0.0}, dropped=OUTSIDE)


def certify_bound(seed: int = 0, instances: int = 1000) -> Certificate:
    """Random demands, weights and scales against random encoders, some of large margin; and encoders that attain it."""

    def case(rng):
        n_images, n_captions, rows = _draw_demands(rng)
        encoder, weights = _random_encoder(n_images, n_captions, rng, dim=8), rng.exponential(size=len(rows))
        if rng.integers(50) == 0:
            encoder, weights = ascend(encoder, rows, np.ones(len(rows)), steps=50)
            scale = matched_scale(encoder, rows, weights)
        else:
            scale = tuple(10 ** rng.uniform(-1, 1, n) for n in (n_images, n_captions))
        bound = axioms.margin_bound(n_images, n_captions, rows, weights, scale)
        slack = np.max([encoder.margins(rows).min() - bound, _missed_bound(int(rng.integers(2, 4)), rng)])
        return slack, {"images": n_images, "captions": n_captions, "bound": bound}

    return BOUND.certificate(seed, instances, *worst_case(case, instances, seed))


def _missed_bound(n: int, rng: np.random.Generator) -> float:
    """How far the signed encoder of all rows of ``n`` images is from the bound it attains.

    Every caption is demanded above its denial, and every image and caption comes twice: with weights that share one
    unit between the two copies, and scales alike, the bound is still ``2 / sqrt(n)``.
    """
    truth = all_rows(n)
    m = truth.shape[1]
    of_image, of_caption = rng.uniform(0.1, 0.9, n), rng.uniform(0.1, 0.9, m // 2)
    p = np.concatenate([of_image, 1 - of_image])
    half = np.concatenate([of_caption, of_caption[::-1]])  # the denial of caption c is caption m - 1 - c
    q = np.concatenate([half, 1 - half])
    rows = np.array(
        [
            (i + a * n, *(b * m + np.array([c, m - 1 - c] if truth[i, c] else [m - 1 - c, c])))
            for i, c, a, b in product(range(n), range(m // 2), range(2), range(2))
        ]
    )
    bound = axioms.margin_bound(2 * n, 2 * m, rows, p[rows[:, 0]] * q[rows[:, 1]], (p, q))
    images = np.tile(np.eye(n), (2, 1))
    texts = np.tile(np.where(truth.T, 1.0, -1.0) / sqrt(n), (2, 1))
    return abs(Encoder(images, texts).margins(rows).min() - bound)


def mutate_bound(seed: int = 0) -> Certificate:
    """The signed encoder of all rows of two images, which attains the bound, with images twice as long."""
    truth = all_rows(2)
    rows = all_demands(truth)
    rows = against_denials(rows, 2)
    encoder = axioms.signed_encoder(truth)
    bound = axioms.margin_bound(2, 4, rows, np.ones(len(rows)))
    margin = float(Encoder(2 * encoder.images, encoder.texts).margins(rows).min())
    witness = {"image_norm": 2.0, "margin": margin, "bound": bound}
    return BOUND.certificate(seed, 1, margin - bound, witness, dropped=UNIT_ROWS)


CLAIMS = (
    Claim(SATISFIABLE, certify_satisfiability, mutate_satisfiability),
    Claim(SIGNED, certify_signed, mutate_signed),
    Claim(CIRCLE, certify_circle, mutate_circle),
    Claim(BEST_IMAGE, certify_best_image, mutate_best_image),
    Claim(BOUND, certify_bound, mutate_bound),
)
