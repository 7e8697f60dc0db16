"""Radon on the circle: move four objects and see which scenes of two are out of reach; and what a margin costs."""

from collections.abc import Sequence
from math import radians, sin
from typing import Any

import altair as alt

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.explorers.drawing import ONE, data, plane_x, plane_y, unit_circle
from bindlib.theory.radon import FORMAT_RESOLUTION, worst_unit_gap

START = (20, 95, 170, 300)  # degrees
SPLITS = ((1, 2, 3, 4), (1, 3, 2, 4), (1, 4, 2, 3))  # {a, b} against {c, d}
_NAMES = "₀₁₂₃₄"


def apart(a: float, b: float, c: float, d: float) -> float:
    """Positive when the chords ``ab`` and ``cd`` of the unit circle do not meet, negative when they cross; degrees.

    The product of ``sin((x - y) / 2)`` over an end ``x`` of one chord and an end ``y`` of the other.  It is 0 when the
    chords share an end.
    """
    return sin(radians(a - c) / 2) * sin(radians(a - d) / 2) * sin(radians(b - c) / 2) * sin(radians(b - d) / 2)


def _apart(a: int, b: int, c: int, d: int) -> str:
    """`apart` as a Vega expression of the sliders."""
    return " * ".join(f"sin((x{i} - x{j}) * PI / 360)" for i in (a, b) for j in (c, d))


def _meeting_point(a: int, b: int, c: int, d: int) -> tuple[str, str]:
    """Where the lines of the chords ``ab`` and ``cd`` meet, as Vega expressions.

    The line through the points at angles ``α`` and ``β`` has normal ``(cos h, sin h)``, ``h = (α + β) / 2``, and offset
    ``cos((α - β) / 2)``.
    """

    def line(i: int, j: int) -> tuple[str, str]:
        return f"((x{i} + x{j}) * PI / 360)", f"cos((x{i} - x{j}) * PI / 360)"

    (h, p), (k, q) = line(a, b), line(c, d)
    across = f"sin({k} - {h})"
    return f"({p} * sin({k}) - {q} * sin({h})) / {across}", f"({q} * cos({h}) - {p} * cos({k})) / {across}"


def _pair(a: int, b: int) -> str:
    return f"{{x{_NAMES[a]}, x{_NAMES[b]}}}"


def _params() -> list[alt.Parameter]:
    params = [slider(f"x{i}", f"object x{_NAMES[i]}, degrees", 0, 359, 1, value) for i, value in enumerate(START, 1)]
    params += [alt.param(name=f"split{i}", expr=_apart(*split)) for i, split in enumerate(SPLITS, 1)]
    named = " + ".join(
        f"(split{i} > 0 ? '' : '{_pair(a, b)} and {_pair(c, d)}  ')" for i, (a, b, c, d) in enumerate(SPLITS, 1)
    )
    params.append(alt.param(name="failing", expr=named))
    params.append(alt.param(name="reached", expr=" + ".join(f"(split{i} > 0 ? 2 : 0)" for i in (1, 2, 3))))
    for name, axis in (("px", 0), ("py", 1)):
        meet = " : ".join(f"split{i} < 0 ? {_meeting_point(*split)[axis]}" for i, split in enumerate(SPLITS, 1))
        params.append(alt.param(name=name, expr=f"{meet} : NaN"))
    return params


def chart() -> Figure:
    """Four points on the circle, the two chords of their Radon partition, and the Radon point.

    Signals: ``x1`` to ``x4`` (degrees); ``split1`` to ``split3`` (``apart`` for the splits 12|34, 13|24, 14|23);
    ``failing``, ``reached`` (of the six scenes of two), ``px``, ``py`` (the Radon point).
    """
    layers = [unit_circle()]
    for i, (a, b, c, d) in enumerate(SPLITS, 1):
        for first, second, colour, dash in ((a, b, BLUE, [1, 0]), (c, d, VERMILION, [6, 4])):
            layers.append(_chord(first, second, f"split{i} < 0", colour, dash))
    layers += [layer for i in range(1, 5) for layer in _object(i)]
    point = alt.Chart(ONE).transform_filter("split1 < 0 || split2 < 0 || split3 < 0")
    point = point.transform_calculate(x="px", y="py").mark_point(color=GREEN, size=140, opacity=1, shape="diamond")
    layers.append(point.encode(plane_x(), plane_y()))
    return Figure(
        alt.layer(*layers).add_params(*_params()).properties(height=320),
        alt="Four object vectors on the unit circle. Of the three ways to pair them, one pairs points whose chords "
        "cross; those two chords are drawn, with a diamond where they meet. The two scenes that hold the ends of one "
        "chord are out of reach of every image vector.",
        readouts=(
            Readout("failing", "scenes of two out of reach"),
            Readout("reached", "scenes of two within reach, of six", ".0f"),
            Readout("px", "Radon point, first coordinate", ".3f"),
            Readout("py", "Radon point, second coordinate", ".3f"),
        ),
        prompt="Before you move it: can you place the four objects so that all six scenes of two are within reach? "
        "What happens when two objects meet?",
    )


def _object(i: int) -> tuple[alt.Chart, alt.Chart]:
    """A point on the circle and its name outside."""
    base = alt.Chart(ONE).transform_calculate(
        **{f"{axis}{out}": f"{length} * {function}(x{i} * PI / 180)"
           for axis, function in (("x", "cos"), ("y", "sin")) for out, length in (("", 1), ("n", 1.14))}
    )  # fmt: skip
    point = base.mark_point(color=INK, size=110, opacity=1).encode(plane_x(), plane_y())
    return point, base.mark_text(fontSize=15).encode(plane_x("xn"), plane_y("yn"), text=alt.value(f"x{_NAMES[i]}"))


def _chord(a: int, b: int, shown: str, colour: str, dash: Sequence[int]) -> alt.Chart:
    ends = {f"{axis}{end}": f"{function}(x{i} * PI / 180)"
            for axis, function in (("x", "cos"), ("y", "sin")) for end, i in (("", a), ("2", b))}  # fmt: skip
    return (
        alt.Chart(ONE)
        .transform_filter(shown)
        .transform_calculate(**ends)
        .mark_rule(color=colour, strokeWidth=3, strokeDash=list(dash))
        .encode(plane_x(), plane_y(), x2="x2:Q", y2="y2:Q")
    )


def price_rows(largest: int = 40) -> list[dict[str, Any]]:
    """The worst gap of a unit image vector on the moment curve in its tightest dimension ``N = 2k``, by objects.

    Rows ``k, dim, objects, gap``.
    """
    return [
        {"k": k, "dim": 2 * k, "objects": m, "gap": worst_unit_gap(m, 2 * k, k)}
        for k in (1, 2, 3)
        for m in range(2 * k + 2, largest + 1)
    ]


def price(rows: Sequence[dict[str, Any]]) -> Figure:
    """Worst gaps of ``price_rows`` against the number of objects, with the resolution of two number formats.

    Signals: ``objects``, and ``gap1`` to ``gap3``, the gap there for ``k`` = 1 to 3 (``NaN`` where there is no row).
    """
    most = max(row["objects"] for row in rows)
    named = [row | {"scenes": f"k = {row['k']}, N = {row['dim']}"} for row in rows]
    kinds = list(dict.fromkeys(row["scenes"] for row in named))
    x = alt.X("objects:Q", title="objects M", scale=alt.Scale(type="log", domain=[4, most], nice=False),
              axis=alt.Axis(values=[4, 6, 8, 10, 14, 20, 30, 40], grid=False))  # fmt: skip
    y = alt.Y("gap:Q", title="worst gap of a score", scale=alt.Scale(type="log"),
              axis=alt.Axis(format=".0e", values=[1, 0.1, 0.01, 1e-3, 1e-4, 1e-5]))  # fmt: skip
    base = alt.Chart(data(named)).encode(
        x,
        y,
        color=alt.Color("scenes:N", title=None, scale=alt.Scale(domain=kinds, range=[BLUE, VERMILION, GREEN])),
        shape=alt.Shape("scenes:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "square", "diamond"])),
    )
    formats = data({"format": name, "gap": gap, "objects": 4} for name, gap in FORMAT_RESOLUTION.items())
    rules = alt.Chart(formats).mark_rule(color=PURPLE, strokeDash=[4, 4]).encode(alt.Y("gap:Q"))
    names = alt.Chart(formats).mark_text(align="left", dy=-8, dx=4).encode(x, alt.Y("gap:Q"), text="format:N")
    here = alt.Chart(ONE).transform_calculate(objects="objects").mark_rule(color=GREY).encode(x)
    params = [slider("objects", "objects M", 4, most, 1, 10)]
    for k in (1, 2, 3):
        gaps = {row["objects"]: row["gap"] for row in rows if row["k"] == k}
        params.append(alt.param(name=f"gaps{k}", value=[gaps.get(m) for m in range(most + 1)]))
        params.append(alt.param(name=f"gap{k}", expr=f"isValid(gaps{k}[objects]) ? gaps{k}[objects] : NaN"))
    return Figure(
        alt.layer(rules, names, base.mark_line(), base.mark_point(opacity=1, size=40), here)
        .add_params(*params)
        .properties(height=340),
        alt="The worst gap that a unit image vector can open, against the number of objects on the moment curve, for "
        "scenes of one, two and three objects in the smallest dimension that allows them; both axes are logarithmic. "
        "The three curves are nearly straight, and steeper for larger scenes. Scenes of two and three fall below the "
        "resolution of bfloat16 and then of float16.",
        readouts=(
            *(Readout(f"gap{k}", f"worst gap for k = {k}, N = {2 * k}", ".5f") for k in (1, 2, 3)),
            Readout("objects", "objects M", ".0f"),
        ),
        prompt="Before you move it: dimension 2k is enough for any number of objects. At how many objects does the gap "
        "of scenes of two drop below the resolution of bfloat16?",
        table=tuple(dict(row) for row in rows),
    )


def failing_pairs(degrees: Sequence[float]) -> set[tuple[int, int]]:
    """The scenes of two (from 1) that ``chart`` says are out of reach."""
    found = set()
    for a, b, c, d in SPLITS:
        if apart(*(degrees[i - 1] for i in (a, b, c, d))) <= 0:
            found |= {(a, b), (c, d)}
    return found
