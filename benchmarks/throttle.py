"""A million samples of the throttle's verification toy: our vectorised simulation against a plain loop.

Both draw, for every sample, an image and an unrelated caption with their own noise, and average the four constants of
the theorems.  They draw differently, so they must agree to within five standard errors.  The loop runs a tenth of the
samples and its time is multiplied by ten: it has no part that does not grow with them.  Seconds are medians, the
contestants taking turns in one process; megabytes are the peak of what Python and NumPy allocate, measured apart.

Run: ``python benchmarks/throttle.py``.
"""

from functools import partial
from math import log, sqrt

import numpy as np
from timing import compare

from bindlib.theory.throttle_simulation import simulated_constants
from bindlib.theory.throttle_toy import SignCodes

SAMPLES, LOOP_SHARE = 1_000_000, 10
VOCABULARY, DIM, NOISE, SEED = 20, 256, 0.6, 0
REPEATS = 5


def vectorised(codes: SignCodes) -> tuple[np.ndarray, np.ndarray]:
    """The four constants and their standard errors from ``SAMPLES`` samples."""
    constants, errors = simulated_constants(codes, NOISE, SAMPLES, np.random.default_rng(SEED))
    return np.array(list(vars(constants).values())), np.array(list(vars(errors).values()))


def plain_loop(codes: SignCodes) -> tuple[np.ndarray, np.ndarray]:
    """The same, one sample at a time, from a tenth as many."""
    rng, n = np.random.default_rng(SEED), SAMPLES // LOOP_SHARE
    objects, attributes = codes.objects, codes.attributes / sqrt(DIM)
    total, squares = np.zeros(4), np.zeros(4)

    def captions():
        o1, a1 = rng.integers(VOCABULARY, size=2)
        o2, a2 = (o1 + rng.integers(1, VOCABULARY)) % VOCABULARY, (a1 + rng.integers(1, VOCABULARY)) % VOCABULARY
        u1, u2, v1, v2 = objects[o1], objects[o2], attributes[a1], attributes[a2]
        return u1 * v1 + u2 * v2, u1 * v2 + u2 * v1

    def loss(x: float) -> float:
        return max(-x, 0.0) + np.log1p(np.exp(-abs(x)))

    for _ in range(n):
        (true, swapped), (other, other_swapped) = captions(), captions()
        image = true + NOISE * rng.standard_normal(DIM)
        a, b, c, d = image @ true, image @ swapped, image @ other, image @ other_swapped
        base = loss(a - c)
        sample = np.array([log(2) - loss(a - b), a - b, loss((a + b - c - d) / 2) - base, loss(b - d) - base])
        total += sample
        squares += sample**2
    mean = total / n
    return mean, np.sqrt((squares / n - mean**2) / n)


def main() -> list[dict]:
    """One row: ``benchmark, ours_s, peer_s, ratio, ours_MB, peer_MB, repeats``; printed and returned."""
    codes = SignCodes.draw(VOCABULARY, VOCABULARY, DIM, np.random.default_rng(SEED))
    ours, peer = partial(vectorised, codes), partial(plain_loop, codes)
    (found, our_error), (expected, peer_error) = ours(), peer()
    if np.any(np.abs(found - expected) > 5 * np.hypot(our_error, peer_error)):
        raise AssertionError(f"the contestants must estimate the same constants, got {found} and {expected}")
    benchmark = f"throttle toy, {SAMPLES:,} samples, N={DIM}, against a plain loop"
    return [compare(benchmark, ours, peer, REPEATS, peer_share=LOOP_SHARE)]


if __name__ == "__main__":
    main()
