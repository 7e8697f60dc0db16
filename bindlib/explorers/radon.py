"""Radon on the circle: move four objects and see which scenes of two are out of reach; how far the moment curve reaches
in a given dimension; and what a margin costs."""

from collections.abc import Sequence
from math import comb
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.explorers.drawing import ONE, data, plane_x, plane_y, unit_circle
from bindlib.explorers.live import Live
from bindlib.theory.radon import FORMAT_RESOLUTION, cover_count, moment_curve, radon_partition, worst_unit_gap
from bindlib.theory.separation import SEPARABLE, all_subsets

START = (20, 95, 170, 300)  # degrees
SPLITS = ((1, 2, 3, 4), (1, 3, 2, 4), (1, 4, 2, 3))  # {a, b} against {c, d}
PLACES = {"at first": START, "a square": (0, 90, 180, 270), "close together": (10, 20, 30, 40),
          "two meet": (60, 60, 180, 300)}  # fmt: skip
DIMS, FEWEST, MOST, LARGEST = (2, 4, 6), 7, 14, 6  # dimensions, numbers of objects and the largest scene of `reach`
_NAMES = "₀₁₂₃₄"
MEET = "where two objects meet"


def _apart(a: int, b: int, c: int, d: int) -> str:
    """Positive when the chords ``ab`` and ``cd`` of the unit circle do not meet, negative when they cross: a Vega
    expression of the sliders.

    The product of ``sin((x - y) / 2)`` over an end ``x`` of one chord and an end ``y`` of the other.  It is 0 when the
    chords share an end.
    """
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
        f"(split{i} > 0 ? '' : '; {_pair(a, b)} and {_pair(c, d)}')" for i, (a, b, c, d) in enumerate(SPLITS, 1)
    )
    params.append(alt.param(name="failing", expr=f"slice({named}, 2)"))
    params.append(alt.param(name="reached", expr=" + ".join(f"(split{i} > 0 ? 2 : 0)" for i in (1, 2, 3))))
    for name, axis in (("px", 0), ("py", 1)):
        meet = " : ".join(f"split{i} < 0 ? {_meeting_point(*split)[axis]}" for i, split in enumerate(SPLITS, 1))
        params.append(alt.param(name=name, expr=f"{meet} : '{MEET}'"))
    return params


def computed(**degrees: float) -> dict[str, Any]:
    """The readouts of `chart`: every scene of two decided by circuits, and the Radon point of four different
    points; of points that coincide words say where it is."""
    angles = np.radians([degrees[f"x{i}"] for i in range(1, 5)])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = all_subsets(points, 2)
    failing = {tuple((scene + 1).tolist()) for scene in found.subsets[found.status != SEPARABLE]}
    named = [f"{_pair(a, b)} and {_pair(c, d)}" for a, b, c, d in SPLITS if (a, b) in failing]
    different = len(set(degrees.values())) == 4
    px, py = map(float, radon_partition(points).point) if different else (MEET, MEET)
    return {"failing": "; ".join(named), "reached": 6 - len(failing), "px": px, "py": py}


def widget() -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart())


def chart() -> Figure:
    """Four points on the circle, the two chords of their Radon partition, and the Radon point.

    Signals: ``x1`` to ``x4`` (degrees); ``split1`` to ``split3`` (``_apart`` for the splits 12|34, 13|24, 14|23);
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
        answer="You cannot: two of the six are always out of reach, the ends of two chords that cross. When two "
        "objects meet, the scenes that hold just one of the two are out of reach, which makes four.",
        table=tuple(_place(name, degrees) for name, degrees in PLACES.items()),
        computed=computed,
    )


def _place(name: str, degrees: Sequence[int]) -> dict[str, Any]:
    found = computed(**{f"x{i}": angle for i, angle in enumerate(degrees, 1)})
    where = {"objects": name, "degrees": ", ".join(map(str, degrees))}
    return where | {"out of reach": found["failing"], "within reach, of six": found["reached"]}


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


def _reached(k: str) -> str:
    """Scenes of ``k`` objects on the moment curve that are one to ``N/2`` arcs, as a Vega expression.

    Of ``M`` points on a circle ``M/r C(k-1, r-1) C(M-k-1, r-1)`` sets of ``k`` fall in ``r`` arcs.
    """
    terms = (f"({r} <= dim / 2) * objects / {r} * pascal[{k} - 1][{r - 1}] * pascal[objects - {k} - 1][{r - 1}]"
             for r in range(1, max(DIMS) // 2 + 1))  # fmt: skip
    return " + ".join(terms)


def reach_rows() -> list[dict[str, Any]]:
    """Scenes of ``k`` among ``objects`` equally spaced points of the moment curve, each decided by circuits.

    Rows ``dim, objects, k, scenes, reached, gap``; ``gap`` is the worst of a unit image vector, 0 when a scene is out
    of reach.
    """
    places = ((n, m, k) for n in DIMS for m in range(FEWEST, MOST + 1) for k in range(1, LARGEST + 1))
    return [_reach_row(*place) for place in places]


def _reach_row(dim: int, objects: int, k: int) -> dict[str, Any]:
    scenes, found = comb(objects, k), all_subsets(moment_curve(objects, dim), k).status
    reached = int(np.sum(found == SEPARABLE))
    gap = worst_unit_gap(objects, dim, k) if reached == scenes else 0.0
    return {"dim": dim, "objects": objects, "k": k, "scenes": scenes, "reached": reached, "gap": gap}


def reach_computed(dim: int, objects: int, k: int) -> dict[str, Any]:
    """The readouts of `reach`, decided anew."""
    row = _reach_row(dim, objects, k)
    cut = cover_count(objects, dim)
    return {"reached": row["reached"], "scenes": row["scenes"], "share": row["reached"] / row["scenes"],
            "cover": cut, "of_all": cut / 2**objects, "gap": row["gap"]}  # fmt: skip


def reach(rows: Sequence[dict[str, Any]]) -> Figure:
    """How far the moment curve reaches: the share of the scenes of each size that are separable, and Cover's count.

    ``rows`` are those of ``reach_rows``.  Signals: ``dim``, ``objects``, ``k``; ``reached``, ``scenes``, ``share``
    (of the scenes of ``k``), ``cover`` (subsets of all sizes), ``of_all`` (their share), ``gap``.
    """
    at = {(row["dim"], row["objects"], row["k"]): row["gap"] for row in rows}
    gaps = [[[at.get((n, m, k)) for k in range(LARGEST + 1)] for m in range(MOST + 1)] for n in DIMS]
    pascal = [[comb(n, r) for r in range(max(DIMS) + 1)] for n in range(MOST + 1)]
    cover = " + ".join(f"({r} <= dim) * pascal[objects - 1][{r}]" for r in range(max(DIMS) + 1))
    params = [
        choice("dim", "dimension N", {str(n): n for n in DIMS}, 4),
        slider("objects", "objects M", FEWEST, MOST, 1, 8),
        slider("k", "objects in a scene k", 1, LARGEST, 1, 3),
        alt.param(name="pascal", value=pascal),
        alt.param(name="gaps", value=gaps),
        alt.param(name="reached", expr=_reached("k")),
        alt.param(name="scenes", expr="pascal[objects][k]"),
        alt.param(name="share", expr="reached / scenes"),
        alt.param(name="cover", expr=f"2 * ({cover})"),
        alt.param(name="of_all", expr="cover / pow(2, objects)"),
        alt.param(name="gap", expr="gaps[dim / 2 - 1][objects][k]"),
    ]
    share = f"({_reached('datum.k')}) / pascal[objects][datum.k]"
    kinds = ("the size chosen", "other sizes", "all subsets (Cover)")
    bars = alt.Chart(data({"k": k} for k in range(1, LARGEST + 1))).transform_calculate(
        share=share, what=f"datum.k == k ? '{kinds[0]}' : '{kinds[1]}'"
    )
    x = alt.X("k:O", title="objects in a scene k", axis=alt.Axis(labelAngle=0))
    y = alt.Y("share:Q", title="share within reach", scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("what:N", title=None, legend=alt.Legend(columns=1),
                       scale=alt.Scale(domain=kinds, range=[BLUE, GREY, VERMILION]))  # fmt: skip
    cut_off = alt.Chart(ONE).transform_calculate(share="of_all", what=f"'{kinds[2]}'")
    rule = cut_off.mark_rule(strokeDash=[6, 4], size=3).encode(y=y, color=colour)
    return Figure(
        alt.layer(bars.mark_bar(opacity=0.8).encode(x, y, colour), rule).add_params(*params).properties(height=260),
        alt="A bar for each scene size from one to six: the share of the scenes of that size that some half-space "
        "singles out, for equally spaced points of the moment curve. Up to half the dimension the bars are full, then "
        "they fall. A dashed line shows the share of all subsets, by Cover's count.",
        readouts=(
            Readout("reached", "scenes of k within reach", ".0f"),
            Readout("scenes", "scenes of k in all", ".0f"),
            Readout("share", "their share", ".3f"),
            Readout("cover", "subsets of all sizes (Cover)", ".0f"),
            Readout("of_all", "their share of all subsets", ".3f"),
            Readout("gap", "worst gap of a scene of k", ".4f"),
        ),
        prompt="Before you move it: take eight objects in dimension 6. Of which sizes is every scene within reach? And "
        "what does a further object do to the shares?",
        answer="Of all sizes but 4: a half-space that cuts off a scene cuts off the rest too, so 5 and 6 are as easy "
        "as 3 and 2. A further object raises no share, and lowers the worst gap of every size that stays within reach.",
        table=tuple(dict(row) for row in rows),
        computed=reach_computed,
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


def _too_few(k: int) -> str:
    return f"from {2 * k + 2} objects on"


def price(rows: Sequence[dict[str, Any]]) -> Figure:
    """Worst gaps of ``price_rows`` against the number of objects, with the resolution of two number formats.

    Signals: ``objects``, and ``gap1`` to ``gap3``, the gap there for ``k`` = 1 to 3 (words where there is no row).
    """
    of = {(row["k"], row["objects"]): row["gap"] for row in rows}
    most = max(row["objects"] for row in rows)
    coarse = next((m for m in range(6, most + 1) if of[2, m] < FORMAT_RESOLUTION["bfloat16"]), None)
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
        params.append(alt.param(name=f"gap{k}", expr=f"isValid(gaps{k}[objects]) ? gaps{k}[objects] : '{_too_few(k)}'"))
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
        answer=f"At {coarse} objects, in dimension 4." if coarse else "At more objects than are shown.",
        table=tuple(dict(row) for row in rows),
        computed=lambda objects: (
            {"objects": objects} | {f"gap{k}": of.get((k, objects), _too_few(k)) for k in (1, 2, 3)}
        ),
    )
