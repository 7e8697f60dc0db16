"""Vega's own evaluation of a figure held against what `bindlib` computes."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import isfinite
from typing import Any

import numpy as np
import pytest

from bindlib.book.controls import Control
from bindlib.book.figure import Figure

TOLERANCE = 1e-9


def agree(signals: Callable[..., dict[str, str]], figure: Figure, values: Mapping[str, Any]) -> None:
    """Every readout at these control values: Vega's text is the number or the words that ``computed`` gives."""
    shown = figure.computed(**values)
    seen = signals(figure, [readout.signal for readout in figure.readouts], **values)
    for readout in figure.readouts:
        wanted, got = shown[readout.signal], seen[readout.signal]
        if isinstance(wanted, str):
            assert got == wanted, (readout.signal, values)
        else:
            assert isfinite(wanted), (readout.signal, values)
            assert float(got) == pytest.approx(float(wanted), rel=TOLERANCE, abs=TOLERANCE), (readout.signal, values)


def agree_everywhere(signals: Callable[..., dict[str, str]], figure: Figure, draws: int = 12, seed: int = 0) -> None:
    """`agree` over the figure's grid, at the corners of all controls, and at random settings of them."""
    grid = figure.grid()
    assert grid and all(entry["shown"] for entry in grid)
    for values in [*(entry["set"] for entry in grid), *corners(figure), *random_settings(figure, draws, seed)]:
        agree(signals, figure, values)


def corners(figure: Figure, most: int = 16, seed: int = 0) -> list[dict[str, Any]]:
    """Settings with every control at an end, all of them or ``most`` at random."""
    ends = [[stops[0], stops[-1]] for stops in (control.stops() for control in figure.controls)]
    every = [dict(zip((c.name for c in figure.controls), at, strict=True)) for at in product(*ends)]
    chosen = np.random.default_rng(seed).permutation(len(every))[:most]
    return [every[i] for i in chosen]


def random_settings(figure: Figure, draws: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Random values of all controls."""
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        yield {control.name: _drawn(control, rng) for control in figure.controls}


def _drawn(control: Control, rng: np.random.Generator) -> Any:
    if control.kind == "range":
        return control.at(int(rng.integers(round((control.high - control.low) / control.step) + 1)))
    stops = control.stops()
    return stops[int(rng.integers(len(stops)))]
