"""Counterexamples derived again, by other ways than the searches measure them.

Each function takes the arrays of an outcome and returns what was promised and what is found; it looks at the hypotheses
that are kept.
"""

from itertools import combinations, product
from math import exp, log, sqrt

import numpy as np
from scipy.optimize import linprog

from bindlib.theory import bag_of_words
from bindlib.theory.counterexamples import axioms


def cosine(a, b):
    return float(a @ b) / sqrt(float(a @ a) * float(b @ b))


def in_one_dimension(images, captions):
    """Truth from the words alone; every sign of every vector is tried."""
    words = [axioms.WORDS.captions[c].text.split() for c in captions]
    seen = [[(a.attribute, a.object) for a in axioms.WORDS.images[i]] for i in images]
    truth = np.array([[says(w, picture) for w in words] for picture in seen])
    best = -2
    for signs in product((-1, 1), repeat=sum(truth.shape)):
        scores = np.outer(signs[: len(truth)], signs[len(truth) :])
        demands = [scores[i, t] - scores[i, f] for i in range(len(truth))
                   for t in np.flatnonzero(truth[i]) for f in np.flatnonzero(~truth[i])]  # fmt: skip
        best = max(best, min(demands, default=2))
    return 1 / sqrt(max(truth.sum(axis=0).max(), 1)), best


def says(words, picture):
    objects = [o for _, o in picture]
    if "left" in words:
        return words[1] in objects and words[-1] in objects and objects.index(words[1]) < objects.index(words[-1])
    if "and" in words:
        return {(words[1], words[2]), (words[5], words[6])} <= set(picture)
    return (words[-1] in objects) != (words[0] == "no")


def scores_in_a_box(demands):
    """The best worst margin over all scores from -1 to 1, by a linear programme."""
    rows = np.zeros((len(demands), 5))
    for row, (better, worse) in zip(rows, demands, strict=True):
        row[[better, worse, 4]] = -1, 1, 1
    solved = linprog([0, 0, 0, 0, -1], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 4 + [(None, None)])
    return 1.0, -solved.fun


def endless_world(signs, asked):
    """Orthogonal rows of signs: the sum of ``n`` margins is at most ``2 n sqrt(n)`` over ``n²`` of them."""
    n = len(signs)
    assert np.array_equal(np.abs(signs), np.ones((n, n))) and np.array_equal(signs @ signs.T, n * np.eye(n))
    rng = np.random.default_rng(0)
    images, texts = (bag_of_words.unit(rng.standard_normal((n, n + 1))) for _ in range(2))
    assert (2 * signs * (images @ texts.T)).min() <= 2 / sqrt(
        n
    )  # denials as the opposite of captions, the best there is
    return asked, 2 / sqrt(n)


def separable(points, scene):
    """One linear feasibility problem: a normal and a threshold with a gap of 2."""
    inside = np.isin(np.arange(len(points)), scene)
    sign = np.where(inside, -1.0, 1.0)[:, None]
    system = np.hstack([sign * points, -sign])
    return linprog(np.zeros(system.shape[1]), system, -np.ones(len(points)), bounds=(None, None)).status == 0


def scene_sizes(points, alone):
    assert (len(points) >= points.shape[1] + 2) == alone
    met = [all(separable(points, s) for s in combinations(range(len(points)), k)) for k in range(1, len(points))]
    run = met.index(False) if False in met else len(met)
    return points.shape[1] // 2, max(k for k, ok in enumerate([True, *met]) if ok) if alone else run


def weighted_words(map_of, dim, seed):
    sums = []
    for caption in bag_of_words.RUNNING_PAIR:
        total = np.zeros(dim)
        for place, word in enumerate(caption.split()):
            total += (1 + place / 2) * bag_of_words.word_vector(word, dim, seed)
        sums.append(total / sqrt(float(total @ total)))
    return 0, sqrt(2 - 2 * float(sums[0] @ sums[1]))


def one_layer(dim, seed, positions, causal, pooling):
    """The tower of one layer, word by word."""
    weights = np.random.default_rng([seed, dim, 1]).standard_normal((4, dim, dim)) / sqrt(dim)
    query, key, value, mlp = weights
    pooled = []
    for caption in bag_of_words.RUNNING_PAIR:
        rows = [bag_of_words.word_vector(w, dim, seed) for w in caption.split()]
        if positions:
            rows = [x + bag_of_words.word_vector(f"position {j}", dim, seed) for j, x in enumerate(rows)]
        rows, out = [x / np.linalg.norm(x) for x in rows], []
        for i, x in enumerate(rows):
            heard = rows[: i + 1] if causal else rows
            loud = np.array([exp(float(x @ query @ (y @ key)) * sqrt(dim)) for y in heard])
            y = x + sum(w * (other @ value) for w, other in zip(loud / loud.sum(), heard, strict=True))
            out.append(y + np.tanh(y @ mlp))
        total = sum((j + 1 if pooling != "mean" else 1) * y for j, y in enumerate(out))
        pooled.append(total / np.linalg.norm(total))
    return 0, float(np.linalg.norm(pooled[0] - pooled[1]))


def pooled_atoms(atoms, image):
    caption, swapped = atoms[0] + atoms[1], atoms[2] + atoms[3]
    if image is None:
        assert np.abs(atoms @ atoms.T - np.eye(4)).max() > 0.01
        return 1, 1 - cosine(caption, swapped)
    assert np.allclose(atoms @ atoms.T, np.eye(4))
    return 1, cosine(image, caption) - cosine(image, swapped)


def two_leaves(leaves, roles, isometries):
    (x, y), (r, s) = leaves, roles
    gram = [np.abs(m.T @ m - np.eye(m.shape[1])).max() for m in roles]
    assert (max(gram) < 1e-12) == isometries and (np.abs(r.T @ s).max() < 1e-12) != isometries
    return 1 - cosine(x, y), 1 - cosine(r @ x + s @ y, r @ y + s @ x)


def loss(x):
    return log(1 + exp(-x))


def blindness(scores, swap):
    assert sorted(swap) == list(range(len(swap))) and not np.array_equal(swap[swap], range(len(swap)))
    blind = [(scores[c] + scores[swap[c]]) / 2 for c in range(len(swap))]
    matched = loss(scores[0] - scores[swap[0]])
    return log(2) - matched, loss(blind[0] - blind[swap[0]]) - matched


def infonce(own, others, image_law, set_law, held, kept):
    involution, exchangeable = np.allclose(own[:, 0], own[:, 2]), []
    price = bound = 0.0
    for (s, s1, s2), sets, p, h in zip(own, others, image_law, held, strict=True):
        exchangeable.append(np.allclose(np.sort(sets[:, 0]), np.sort(sets[:, 1])) and len(set(set_law)) == 1)
        bound += p * held @ image_law * (log(2) - loss(s - s1))
        for (x, y), q in zip(sets, set_law, strict=True):
            soft, soft1, soft_x = (log((exp(u) + exp(v)) / 2) for u, v in ((s, s1), (s1, s2), (x, y)))
            for weight, holds in ((h, 1), (1 - h, 0)):
                before = log(exp(s) + holds * exp(s1) + exp(x)) - s
                after = log(exp(soft) + holds * exp(soft1) + exp(soft_x)) - soft
                price += p * q * weight * (after - before)
            bound += p * q * 2 * exp(x) / (exp(s) + exp(s1))
    assert kept == (all(exchangeable), len(set(held)) == 1, involution)
    return bound, price


def matched(u, v, dog):
    """Scores as products of inner products; ``dog`` is a template made up for a dog that was never seen."""
    car, pup, red, blue = (x / np.linalg.norm(x) for x in (*u, *v))
    lengths = [float(np.linalg.norm(o) * np.linalg.norm(a)) for o, a in zip(u, v, strict=True)]
    assert abs(float(car @ pup)) < 1 - 1e-9 and (abs(float(red @ blue)) > 1 - 1e-9) == (dog is None)
    assert all(abs(float(x @ x) - 1) < 1e-9 for x in (*u, *v))
    known = car, pup if dog is None else dog

    def score(o, a):
        shown = zip(lengths, (car, pup), (red, blue), strict=True)
        return abs(sum(length * float(o @ thing) * float(a @ colour) for length, thing, colour in shown))

    gap = score(known[0], red) + score(known[1], blue) - score(known[0], blue) - score(known[1], red)
    return 0, gap


def distances(cap, anchor, text, swapped, image=None):
    d = sqrt(float(text @ text) + float(swapped @ swapped) - 2 * float(text @ swapped))
    delta = max(1 - float(text @ anchor), 1 - float(swapped @ anchor))
    pairs = [(cap(delta), d)]
    if image is not None:
        pairs.append((d, float(image @ text) - float(image @ swapped)))
    return max(pairs, key=lambda pair: pair[1] - pair[0])


def paper(delta):
    return sqrt(8 * delta)


def sharp(delta):
    return 2 if delta > 1 else 2 * sqrt(delta * (2 - delta))


AGAIN = {
    "thm-satisfiability": (endless_world, scores_in_a_box, in_one_dimension),
    "thm-radon": tuple(lambda points, alone=alone: scene_sizes(points, alone) for alone in (False, True)),
    "thm-bag-of-words-collapse": (weighted_words,),
    "prop-position-blind": (one_layer,) * 3,
    "thm-pooled-margins": (pooled_atoms,) * 2,
    "thm-depth-law": tuple(lambda keep=keep, **a: two_leaves(**a, isometries=keep) for keep in (False, True)),
    "thm-throttle-average": (blindness, None),
    "thm-infonce-throttle": tuple(
        lambda i=i, **a: infonce(**a, kept=tuple(j != i for j in range(3))) for i in range(3)
    ),
    "thm-coverage-decides": (None, matched, matched),
    "thm-frontier": (lambda **a: distances(paper, **a),) * 3,
    "thm-sharp-frontier": (lambda **a: distances(sharp, **a),) * 2,
}
