"""Which of two a score prefers: the one rule that every accuracy of the book counts by."""

import numpy as np

# Differences that are rounding, for numbers of size 1.
SINGLE = 1e-6  # between vectors that came as float32, each rounded on its own
DOUBLE = 1e-12  # between sums of the same float64 numbers in another order


def decided(margin: np.ndarray, tie: float | np.ndarray) -> np.ndarray:
    """1 where ``margin`` is above ``tie``, 0 where it is below ``-tie``, and 1/2 between: a tie is a coin.

    ``tie`` is the resolution of the numbers compared, ``SINGLE`` or ``DOUBLE`` times their size, and broadcasts with
    ``margin``.  So the accuracy, the mean, is exactly 1/2 for what is blind, and that of the opposite margins is the
    rest to 1.  Raises ``ValueError`` for a margin that is NaN and for a tie that is negative or NaN.
    """
    margin = np.asarray(margin, dtype=np.float64)
    if np.isnan(margin).any():
        raise ValueError("a margin is NaN, which decides nothing: check the scores that it is made of")
    if not np.all(np.asarray(tie) >= 0):
        raise ValueError(f"a tie is a margin of at most a resolution, which is 0 or more, got {tie}")
    return np.where(np.abs(margin) <= tie, 0.5, margin > 0)
