"""Values on a line, drawn with HTML and CSS alone: where a value and its interval lie, in percent of the line."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Interval = Sequence[float] | None


@dataclass(frozen=True)
class Scale:
    """A line from the first of ``ticks`` to the last; ``logarithmic`` gives equal ratios equal lengths."""

    ticks: tuple[float, ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where ``value`` lies, in percent of the line; what lies beyond an end is put there."""
        low, high = self._line(self.ticks[0]), self._line(self.ticks[-1])
        share = (self._line(max(value, self.ticks[0])) - low) / (high - low)
        return round(100 * min(share, 1.0), 2)

    @property
    def _line(self) -> Callable[[float], float]:
        return math.log2 if self.logarithmic else float

    def marks(self) -> list[tuple[float, str]]:
        """Place and label of each tick."""
        return [(self.place(tick), f"{tick:g}") for tick in self.ticks]


def linear(highest: float) -> Scale:
    """From 0 in at most five even steps to ``highest``, which is at most 2.5, or just beyond it."""
    step = next(step for step in (0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if highest <= 5 * step)
    return Scale(tuple(round(i * step, 2) for i in range(max(1, math.ceil(highest / step)) + 1)))


def octaves(values: Sequence[float]) -> Scale:
    """Powers of 2 around the positive ``values``, and at least from 1/2 to 2."""
    positive = [value for value in values if value > 0]
    low = min([-1, *(math.floor(math.log2(value)) for value in positive)])
    high = max([1, *(math.ceil(math.log2(value)) for value in positive)])
    return Scale(tuple(2.0**power for power in range(max(low, -4), high + 1)), logarithmic=True)


@dataclass(frozen=True)
class Point:
    """A line of a strip: a name, what kind of encoder it is, and its value with its interval."""

    name: str
    kind: str  # "this", "trained", "null" or "bag"
    value: float | None
    interval: Interval = None


@dataclass(frozen=True)
class Drawn:
    """A ``Point`` with its place on the line in percent; ``left`` and ``width`` are those of the interval."""

    point: Point
    place: float | None
    left: float
    width: float


def drawn(points: Sequence[Point], scale: Scale) -> list[Drawn]:
    """The points on ``scale``, smallest first; a point without a value has no place and comes first."""
    ordered = sorted(points, key=lambda point: -math.inf if point.value is None else point.value)
    return [_drawn(point, scale) for point in ordered]


def _drawn(point: Point, scale: Scale) -> Drawn:
    if point.value is None:
        return Drawn(point, None, 0.0, 0.0)
    low, high = (scale.place(end) for end in point.interval or (point.value, point.value))
    return Drawn(point, scale.place(point.value), low, round(high - low, 2))
