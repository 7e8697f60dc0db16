"""Figures that the source paper reports and this book quotes: facts with their place, never typed in prose.

Nothing here was measured by us.  Source: K. I. Lo, "The Limits of Binding in Dual Encoders", 2026.
"""

from dataclasses import dataclass

from bindlib.errors import BindlibError


@dataclass(frozen=True, repr=False)
class Reported:
    """A figure as printed, where it is printed, and what it is."""

    text: str
    where: str
    meaning: str

    @property
    def number(self) -> float:
        return float(self.text)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__  # what a live notebook shows of it


REPORTED = {
    "usage_low": Reported("25", "Abstract", "percent of its ceiling at which every measured model sits, lower end"),
    "usage_high": Reported("35", "Abstract", "percent of its ceiling at which every measured model sits, upper end"),
    "clip_b32_delta": Reported("0.112", "Figure 11", "smoothness of CLIP B/32"),
    "clip_b32_cap_of_mean": Reported("0.947", "Figure 11", "cap at the mean smoothness of CLIP B/32"),
    "clip_b32_mean_cap": Reported("0.936", "Figure 11", "mean of per-quartet caps of CLIP B/32"),
}


def reported(key: str) -> Reported:
    """The reported figure named ``key``; prints as the paper prints it.  Raises ``BindlibError`` for an unknown key."""
    if key not in REPORTED:
        raise BindlibError(f"no reported figure is named {key!r}; there are {', '.join(REPORTED)}")
    return REPORTED[key]
