"""The interval of a share."""

from math import sqrt

Z = 1.959963984540054  # 95 %, two-sided


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a ``share`` in [0, 1] of ``n >= 1`` items, the share in it.

    It is sensible at 0 and 1, where a bootstrap has no width. With ties at 1/2 it is wider than needed.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))
