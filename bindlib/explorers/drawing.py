"""What the explorers share: data, and unit vectors on a great circle."""

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.palette import GREY, INK


def data(rows: Iterable[dict[str, Any]]) -> alt.Data:
    """Chart data from rows; numbers become plain floats, so that the page holds plain JSON."""
    return alt.Data(values=[{k: float(v) if isinstance(v, np.floating) else v for k, v in r.items()} for r in rows])


ONE = data([{}])  # a single row, for marks that depend on the sliders alone
_HALF_HEIGHT = 1.25


def plane_x(field: str = "x") -> alt.X:
    """Horizontal position in the plane; its range follows the drawn size, so that a circle stays round."""
    reach = f"{_HALF_HEIGHT} * width / height"
    scale = alt.Scale(domainMin=alt.expr(f"-{reach}"), domainMax=alt.expr(reach), nice=False, zero=False)
    return alt.X(f"{field}:Q", axis=None, scale=scale)


def plane_y(field: str = "y") -> alt.Y:
    """Vertical position in the plane."""
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[-_HALF_HEIGHT, _HALF_HEIGHT], nice=False))


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
        .transform_calculate(lx=f"1.13 * cos({angle})", ly=f"1.13 * sin({angle})")
    )
    shaft = base.mark_rule(color=color, strokeWidth=2.5, strokeDash=list(dash)).encode(
        plane_x(), plane_y(), x2="x0:Q", y2="y0:Q"
    )
    tip = base.mark_point(color=color, size=70, opacity=1).encode(plane_x(), plane_y())
    text = base.mark_text(color=INK, fontSize=14).encode(plane_x("lx"), plane_y("ly"), text=alt.value(name))
    return alt.layer(shaft, tip, text)
