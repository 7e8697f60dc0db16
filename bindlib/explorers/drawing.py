"""What the explorers share: data, ticks, labels that keep apart, and unit vectors on a great circle."""

import base64
import io
from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import Any

import altair as alt
import numpy as np
from PIL import Image
from scipy.optimize import isotonic_regression

from bindlib.book.palette import GREY, INK


def data(rows: Iterable[dict[str, Any]]) -> alt.Data:
    """Chart data from rows; numbers become plain floats, so that the page holds plain JSON."""
    return alt.Data(values=[{k: float(v) if isinstance(v, np.floating) else v for k, v in r.items()} for r in rows])


ONE = data([{}])  # a single row, for marks that depend on the sliders alone
# Half the height of the plane: room for labels above and below the circle, and beside it on a narrow screen.
_REACH = "max(1.3, 1.45 * height / width)"


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: the powers of ten, and on an axis of three decades or less 2 and 5 times them."""
    steps = (1, 2, 5) if high <= 1000 * low else (1,)
    ticks = (step * 10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1) for step in steps)
    return [tick for tick in ticks if low <= tick <= high]


def apart(places: Sequence[float], gap: float, low: float) -> list[float]:
    """Where to write labels for ``places``: in their order, ``gap`` apart or more, none below ``low``.

    Among such positions the nearest in least squares: what exceeds the multiples of ``gap`` must not fall.
    """
    order, steps = np.argsort(places, kind="stable"), gap * np.arange(len(places))
    written = np.empty(len(places))
    written[order] = np.maximum(isotonic_regression(np.asarray(places)[order] - steps).x, low) + steps
    return written.tolist()


def plane_x(field: str = "x") -> alt.X:
    """Horizontal position in the plane; its range follows the drawn size, so that a circle stays round."""
    return alt.X(f"{field}:Q", axis=None, scale=_around_zero(f"{_REACH} * width / height"))


def plane_y(field: str = "y") -> alt.Y:
    """Vertical position in the plane."""
    return alt.Y(f"{field}:Q", axis=None, scale=_around_zero(_REACH))


def _around_zero(reach: str) -> alt.Scale:
    return alt.Scale(domainMin=alt.expr(f"-{reach}"), domainMax=alt.expr(reach), nice=False, zero=False)


def unit_circle() -> alt.Chart:
    """The circle and its centre."""
    angle = np.linspace(0, 2 * np.pi, 181)
    points = data({"x": np.cos(a), "y": np.sin(a), "i": a} for a in angle)
    return alt.Chart(points).mark_line(color=GREY, strokeWidth=1).encode(plane_x(), plane_y(), order="i:Q")


def vector(angle: str, name: str, color: str = INK, dash: tuple[int, ...] = (0,)) -> alt.LayerChart:
    """An arrow from the centre at ``angle`` (a Vega expression, radians), labelled ``name`` beyond its tip."""
    base = (
        alt.Chart(ONE)
        .transform_calculate(x=f"cos({angle})", y=f"sin({angle})", x0="0", y0="0")
        .transform_calculate(lx=f"1.22 * cos({angle})", ly=f"1.22 * sin({angle})")
    )
    shaft = base.mark_rule(color=color, strokeWidth=2.5, strokeDash=list(dash)).encode(
        plane_x(), plane_y(), x2="x0:Q", y2="y0:Q"
    )
    tip = base.mark_point(color=color, size=70, opacity=1).encode(plane_x(), plane_y())
    text = base.mark_text(color=INK, fontSize=14).encode(plane_x("lx"), plane_y("ly"), text=alt.value(name))
    return alt.layer(shaft, tip, text)


def data_url(picture: Image.Image) -> str:
    """A picture as a PNG that a chart can carry in its own data."""
    file = io.BytesIO()
    picture.save(file, "png")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
