"""Coverage: pairs are seen one by one; which swaps become decidable, for tensor codes and for sign codes?"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, INK, SERIES, VERMILION
from bindlib.explorers.drawing import data
from bindlib.theory.coverage import ExposureGraph, Pair, Question, covered, hadamard_decidable, tensor_decidable

OBJECTS, ATTRIBUTES = ("car", "dog", "cup", "hat"), ("red", "blue", "green", "pink")
ORDERS: dict[str, tuple[Pair, ...]] = {
    "every word once, then the rest": tuple((i, (i + shift) % 4) for shift in range(4) for i in range(4)),
    "one object after another": tuple((o, a) for o in range(4) for a in range(4)),
    "one colour after another": tuple((o, a) for a in range(4) for o in range(4)),
}
NEVER = 99  # later than any step


def graphs(order: str) -> list[ExposureGraph]:
    """The exposure graphs after 0, 1, ..., 16 pairs of an order."""
    return [ExposureGraph(4, 4, ORDERS[order][:step]) for step in range(17)]


def first_step(growing: Sequence[ExposureGraph], holds: Callable[[ExposureGraph], bool]) -> int:
    """The first step at which ``holds``, or ``NEVER``; what is decidable stays so as more is seen."""
    return next((step for step, graph in enumerate(growing) if holds(graph)), NEVER)


def counts(order: str, decidable: Callable[[ExposureGraph, Question], bool]) -> list[int]:
    """How many of the 36 swap questions are decidable after 0, 1, ..., 16 pairs."""
    return [sum(decidable(graph, q) for q in graph.questions()) for graph in graphs(order)]


def _pair_rows() -> Iterable[dict[str, Any]]:
    for order, shown in ORDERS.items():
        growing = graphs(order)
        for o in range(4):
            for a in range(4):
                both = first_step(growing, lambda g, o=o, a=a: bool(g.seen[0][o] and g.seen[1][a]))
                joined = first_step(growing, lambda g, o=o, a=a: g.connected((o, a)))
                yield {"order": order, "x": 1.5 * a, "x2": 1.5 * a + 1.42, "y": o, "y2": o + 0.92,
                       "seen": shown.index((o, a)) + 1, "fixed": joined, "covered": both}  # fmt: skip


def _question_rows() -> Iterable[dict[str, Any]]:
    for order in ORDERS:
        growing = graphs(order)
        for number, q in enumerate(growing[0].questions()):
            row, column = divmod(number, 6)
            yield {"order": order, "x": column, "x2": column + 0.94, "y": row + 6.2, "y2": row + 7.12,
                   "tensor": first_step(growing, lambda g, q=q: tensor_decidable(g, q)),
                   "signs": first_step(growing, lambda g, q=q: hadamard_decidable(g, q))}  # fmt: skip


def _labels() -> list[dict[str, Any]]:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    rows = [{"x": -0.1, "y": o + 0.46, "text": OBJECTS[o], "align": "right"} for o in range(4)]
    rows += [{"x": -0.1, "y": i + 6.66, "text": f"{OBJECTS[a]}, {OBJECTS[b]}", "align": "right"}
             for i, (a, b) in enumerate(pairs)]  # fmt: skip
    rows += [{"x": 1.5 * a + 0.71, "y": -0.35, "text": ATTRIBUTES[a], "align": "center"} for a in range(4)]
    rows += [{"x": i + 0.47, "y": 5.35 + 0.45 * j, "text": ATTRIBUTES[pair[j]], "align": "center"}
             for i, pair in enumerate(pairs) for j in (0, 1)]  # fmt: skip
    return rows


def _count(decidable: Callable[[ExposureGraph, Question], bool]) -> str:
    """A Vega expression for the number of decidable questions at the slider's step of the chosen order."""
    tables = {order: counts(order, decidable) for order in ORDERS}
    first, second, third = ORDERS
    return f"(order == '{first}' ? {tables[first]} : order == '{second}' ? {tables[second]} : {tables[third]})[step]"


def _across(field: str) -> alt.X:
    return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[-1.75, 6], nice=False))


def _down(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[12.2, -0.8], nice=False))


def chart() -> Figure:
    """Above, the pairs as they are seen; below, the 36 swap questions of four objects and four colours.

    Signals: ``order``, ``step`` (pairs seen), ``tensor``, ``matcher``, ``signs`` (questions decidable, of 36).
    """
    params = [
        slider("step", "pairs seen", 0, 16, 1, 4),
        alt.param(name="order", value=next(iter(ORDERS)), bind=alt.binding_select(options=list(ORDERS), name="order")),
        alt.param(name="tensor", expr=_count(tensor_decidable)),
        alt.param(name="matcher", expr=_count(covered)),
        alt.param(name="signs", expr=_count(hadamard_decidable)),
    ]
    x, y = _across("x"), _down("y")
    state = alt.Color(
        "state:N",
        title="can be decided with",
        scale=alt.Scale(domain=["either code", "tensor code only", "neither"], range=[BLUE, VERMILION, GREY]),
        legend=alt.Legend(columns=1, labelFontSize=11),
    )
    pairs = (
        alt.Chart(data(_pair_rows()))
        .transform_filter("datum.order == order")
        .transform_calculate(
            word="step >= datum.seen ? 'seen' : step >= datum.fixed ? 'fixed' : step >= datum.covered ? '±' : '?'"
        )
        .transform_calculate(
            state="step >= datum.fixed ? 'either code' : step >= datum.covered ? 'tensor code only' : 'neither'"
        )
    )
    questions = (
        alt.Chart(data(_question_rows()))
        .transform_filter("datum.order == order")
        .transform_calculate(word="step >= datum.signs ? 'both' : step >= datum.tensor ? 'tensor' : '–'")
        .transform_calculate(
            state="step >= datum.signs ? 'either code' : step >= datum.tensor ? 'tensor code only' : 'neither'"
        )
    )
    layers = []
    for cells in (pairs, questions):
        layers.append(cells.mark_rect(opacity=0.35).encode(x, y, x2="x2:Q", y2="y2:Q", color=state))
        middle = cells.transform_calculate(cx="(datum.x + datum.x2) / 2", cy="(datum.y + datum.y2) / 2")
        layers.append(middle.mark_text(color=INK, fontSize=11).encode(_across("cx"), _down("cy"), text="word:N"))
    labels = alt.Chart(data(_labels()))
    for align in ("right", "center"):
        layers.append(
            labels.transform_filter(f"datum.align == '{align}'")
            .mark_text(align=align, color=INK, fontSize=12)
            .encode(x, y, text="text:N")
        )
    return Figure(
        alt.layer(*layers).add_params(*params).properties(height=470),
        alt="Two grids. The upper one holds the sixteen pairs of four objects and four colours, each marked as seen, "
        "fixed by its component, known up to sign, or unknown. The lower one holds the thirty-six swap questions, each "
        "marked as decidable with both codes, with the tensor code only, or with neither. More pairs seen turn more "
        "questions decidable, the tensor code first.",
        readouts=(
            Readout("step", "pairs seen", ".0f"),
            Readout("tensor", "questions a tensor code decides, of 36", ".0f"),
            Readout("matcher", "of these, by the sign-agnostic matcher", ".0f"),
            Readout("signs", "questions a sign code decides, of 36", ".0f"),
        ),
        prompt="Before you move it: how many pairs must be seen before every swap can be decided, with either code?",
    )


def accuracies(rows: Sequence[dict[str, Any]]) -> Figure:
    """Accuracy of rules with exact 95 percent intervals, against what is proved; rows of ``coverage_trials``."""
    marks = [
        {key: row[key] for key in ("seen", "rule", "low", "high", "theory")} | {"accuracy": row["right"] / row["of"]}
        for row in rows
    ]
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    shapes = alt.Scale(domain=rules, range=["circle", "square", "triangle-up", "diamond"][: len(rules)])
    legend = alt.Legend(columns=1, orient="top", labelFontSize=11, symbolSize=50)
    base = alt.Chart(data(marks)).encode(
        y=alt.Y("seen:N", title=None, sort=None, axis=alt.Axis(labelLimit=170)),
        yOffset=alt.YOffset("rule:N", sort=rules),
        color=alt.Color(
            "rule:N", title=None, scale=alt.Scale(domain=rules, range=list(SERIES[: len(rules)])), legend=legend
        ),
    )
    x = alt.X("accuracy:Q", title="accuracy, with its exact interval", scale=alt.Scale(domain=[0.35, 1]))
    drawing = alt.layer(
        base.mark_rule(strokeWidth=2).encode(
            alt.X("low:Q", scale=alt.Scale(domain=[0.35, 1], clamp=True)), x2="high:Q"
        ),
        base.mark_point(size=60, opacity=1).encode(
            x, shape=alt.Shape("rule:N", title=None, scale=shapes, legend=legend)
        ),
    ).properties(height=alt.Step(14))
    return Figure(
        drawing,
        alt="For each set of seen pairs, the accuracy of each rule with its interval. Every rule sits either at one or "
        "at one half, where the theorems put it.",
        table=tuple(marks),
    )
