"""The intervals of a share and of a correlation."""

from math import atanh, sqrt, tanh

Z = 1.959963984540054  # 95 %, two-sided


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a ``share`` in [0, 1] of ``n >= 1`` items, the share in it.

    It is sensible at 0 and 1, where a bootstrap has no width. With ties at 1/2 it is wider than needed.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def fisher(r: float, n: int, ranks: bool = False) -> tuple[float, float] | None:
    """Fisher's 95 % interval of a correlation ``r`` of ``n`` pairs; ``None`` for fewer than four or where ``|r|`` is 1.

    With ``ranks`` that of Spearman's, as D. G. Bonett and T. A. Wright widen it, Psychometrika 65, 2000.
    """
    if n < 4 or 1 - abs(r) < 1e-12:
        return None
    half = Z * sqrt((1 + r**2 / 2 if ranks else 1) / (n - 3))
    return tanh(atanh(r) - half), tanh(atanh(r) + half)
