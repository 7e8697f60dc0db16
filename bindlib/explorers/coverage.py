"""Coverage: pairs are seen one by one; which swaps become decidable, for tensor codes and for sign codes?"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

import altair as alt

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, INK, SERIES, VERMILION
from bindlib.explorers.drawing import data
from bindlib.explorers.live import Live
from bindlib.theory.coverage import ExposureGraph, Pair, Question, covered, hadamard_decidable, tensor_decidable

OBJECTS, ATTRIBUTES = ("car", "dog", "cup", "hat"), ("red", "blue", "green", "pink")
ORDERS: dict[str, tuple[Pair, ...]] = {
    "every word once, then the rest": tuple((i, (i + shift) % 4) for shift in range(4) for i in range(4)),
    "one object after another": tuple((o, a) for o in range(4) for a in range(4)),
    "one colour after another": tuple((o, a) for a in range(4) for o in range(4)),
}
RULES = {"tensor": tensor_decidable, "matcher": covered, "signs": hadamard_decidable}
_TWO = list(combinations(range(4), 2))


def decided(graph: ExposureGraph) -> dict[str, int]:
    """How many swap questions each rule decides from what was seen."""
    return {name: sum(rule(graph, q) for q in graph.questions()) for name, rule in RULES.items()}


def counts(order: str, decidable: Callable[[ExposureGraph, Question], bool]) -> list[int]:
    """How many of the 36 swap questions are decidable after 0, 1, ..., 16 pairs of an order."""
    growing = [ExposureGraph(4, 4, ORDERS[order][:step]) for step in range(17)]
    return [sum(decidable(graph, q) for q in graph.questions()) for graph in growing]


def computed(step: int, order: str) -> dict[str, int]:
    """The readouts of `chart`."""
    return {"step": step} | decided(ExposureGraph(4, 4, ORDERS[order][:step]))


def graph_of(**seen: int) -> ExposureGraph:
    """The graph of the colours seen on each object, as sums of 1 (red), 2 (blue), 4 (green) and 8 (pink)."""
    pairs = product(range(4), range(4))
    return ExposureGraph(4, 4, tuple((o, a) for o, a in pairs if seen[OBJECTS[o]] >> a & 1))


def computed_exposures(**seen: int) -> dict[str, int]:
    """The readouts of `exposures`."""
    graph = graph_of(**seen)
    return {"pairs": len(graph.pairs)} | decided(graph)


def widget() -> Live:
    """The figure of `exposures` with a kernel behind it."""
    return Live(exposures())


def _labels() -> list[dict[str, Any]]:
    rows = [{"x": -0.1, "y": o + 0.46, "text": OBJECTS[o], "align": "right"} for o in range(4)]
    rows += [{"x": -0.1, "y": i + 6.66, "text": f"{OBJECTS[a]}, {OBJECTS[b]}", "align": "right"}
             for i, (a, b) in enumerate(_TWO)]  # fmt: skip
    rows += [{"x": 1.5 * a + 0.71, "y": -0.35, "text": ATTRIBUTES[a], "align": "center"} for a in range(4)]
    rows += [{"x": i + 0.47, "y": 5.35 + 0.45 * j, "text": ATTRIBUTES[pair[j]], "align": "center"}
             for i, pair in enumerate(_TWO) for j in (0, 1)]  # fmt: skip
    return rows


def _across(field: str) -> alt.X:
    return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[-1.75, 6], nice=False))


def _down(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[12.2, -0.8], nice=False))


def _decided(seen: str) -> list[alt.Parameter]:
    """What follows from ``seen``, an expression for four numbers with a bit for each colour that an object was seen in.

    Two rounds of joining objects that share a colour reach along every path between four objects.
    """

    def joined(masks: str) -> str:
        reached = (" | ".join(f"({masks}[{i}] & {masks}[{j}] ? {masks}[{j}] : 0)" for j in range(4)) for i in range(4))
        return f"[{', '.join(reached)}]"

    def total(terms: Iterable[str]) -> str:
        return " + ".join(f"({term} ? 1 : 0)" for term in terms)

    bits = {pair: 1 << pair[0] | 1 << pair[1] for pair in _TWO}
    some, both = (total(f"seen[{i}] {sign} seen[{j}]" for i, j in _TWO) for sign in ("||", "&&"))
    any_colour = total(f"colours & {b}" for b in bits.values())
    both_colours = total(f"(colours & {b}) == {b}" for b in bits.values())
    formulas = {
        "seen": seen,
        "colours": "seen[0] | seen[1] | seen[2] | seen[3]",
        "near": joined("seen"),
        "reach": joined("near"),
        "tensor": f"({some}) * ({any_colour})",
        "matcher": f"({both}) * ({both_colours})",
        "signs": total(f"(reach[{i}] | reach[{j}]) & {b}" for i, j in _TWO for b in bits.values()),
    }
    return [alt.param(name=name, expr=formula) for name, formula in formulas.items()]


def _grids(params: Sequence[alt.Parameter]) -> alt.LayerChart:
    """The pairs above and the questions below, each cell with its word, from the signals of `_decided`."""
    pairs = [{"o": o, "bit": 1 << a, "x": 1.5 * a, "x2": 1.5 * a + 1.42, "y": o, "y2": o + 0.92}
             for o, a in product(range(4), range(4))]  # fmt: skip
    questions = [{"o1": o[0], "o2": o[1], "bits": 1 << a[0] | 1 << a[1],
                  "x": j, "x2": j + 0.94, "y": i + 6.2, "y2": i + 7.12}
                 for i, o in enumerate(_TWO) for j, a in enumerate(_TWO)]  # fmt: skip
    known = "seen[datum.o] && (colours & datum.bit)"
    either = "(seen[datum.o1] || seen[datum.o2]) && (colours & datum.bits)"
    both_grids = (
        alt.Chart(data(pairs))
        .transform_calculate(level=f"(reach[datum.o] & datum.bit) ? 2 : {known} ? 1 : 0")
        .transform_calculate(word="seen[datum.o] & datum.bit ? 'seen' : ['?', '±', 'fixed'][datum.level]"),
        alt.Chart(data(questions))
        .transform_calculate(level=f"(reach[datum.o1] | reach[datum.o2]) & datum.bits ? 2 : {either} ? 1 : 0")
        .transform_calculate(word="['–', 'tensor', 'both'][datum.level]"),
    )
    x, y = _across("x"), _down("y")
    states = ["either code", "tensor code only", "neither"]
    state = alt.Color(
        "state:N",
        title="can be decided with",
        scale=alt.Scale(domain=states, range=[BLUE, VERMILION, GREY]),
        legend=alt.Legend(columns=1, labelFontSize=11),
    )
    layers = []
    for cells in both_grids:
        cells = cells.transform_calculate(state=f"{states[::-1]}[datum.level]")
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
    return alt.layer(*layers).add_params(*params).properties(height=470)


_COUNTS = (
    Readout("tensor", "questions a tensor code decides, of 36", ".0f"),
    Readout("matcher", "of these, by the sign-agnostic matcher", ".0f"),
    Readout("signs", "questions a sign code decides, of 36", ".0f"),
)
_WHAT = (
    "Two grids. The upper one holds the sixteen pairs of four objects and four colours, each marked as seen, "
    "fixed by its component, known up to sign, or unknown. The lower one holds the thirty-six swap questions, each "
    "marked as decidable with both codes, with the tensor code only, or with neither."
)


def chart() -> Figure:
    """Above, the pairs as they are seen; below, the 36 swap questions of four objects and four colours.

    Signals: ``order``, ``step`` (pairs seen), ``tensor``, ``matcher``, ``signs`` (questions decidable, of 36).
    """
    masks = {order: [_masks(pairs[:step]) for step in range(17)] for order, pairs in ORDERS.items()}
    params = [
        slider("step", "pairs seen", 0, 16, 1, 4),
        choice("order", "order", list(ORDERS), next(iter(ORDERS))),
        alt.param(name="masks", value=masks),
        *_decided("masks[order][step]"),
    ]
    counted = {order: {name: counts(order, rule) for name, rule in RULES.items()} for order in ORDERS}
    return Figure(
        _grids(params),
        alt=f"{_WHAT} More pairs seen turn more questions decidable, the tensor code first.",
        readouts=(Readout("step", "pairs seen", ".0f"), *_COUNTS),
        prompt="Before you move it: how many pairs must be seen before every swap can be decided, with either code?",
        answer=" ".join(
            f"{order.capitalize()}: {found['tensor'].index(36)} with a tensor code, {found['signs'].index(36)} with a "
            "sign code."
            for order, found in counted.items()
        ),
        computed=computed,
        table=tuple(
            {"order": order, "pairs seen": step} | {name: count[step] for name, count in found.items()}
            for order, found in counted.items()
            for step in range(0, 17, 4)
        ),
    )


def exposures() -> Figure:
    """Any set of seen pairs: for each object the colours it was seen in, and the 36 swap questions below.

    Signals: ``car``, ``dog``, ``cup``, ``hat`` (sums of 1, 2, 4, 8 for the colours), ``pairs`` (seen), ``tensor``,
    ``matcher``, ``signs`` (questions decidable, of 36).
    """
    sets = {
        ", ".join(colour for a, colour in enumerate(ATTRIBUTES) if mask >> a & 1) or "no colour": mask
        for mask in sorted(range(16), key=lambda mask: (mask.bit_count(), mask))
    }
    start = ((0, 0), (1, 1))
    params = [
        *(choice(name, f"{name} seen in", sets, mask) for name, mask in zip(OBJECTS, _masks(start), strict=True)),
        alt.param(name="pairs", expr=" + ".join(f"({o} >> {a} & 1)" for o, a in product(OBJECTS, range(4)))),
        *_decided(f"[{', '.join(OBJECTS)}]"),
    ]
    next_pairs = [pair for pair in product(range(4), range(4)) if pair not in start]
    gains = {f"{ATTRIBUTES[a]} {OBJECTS[o]}": decided(ExposureGraph(4, 4, (*start, (o, a)))) for o, a in next_pairs}
    most = max(found["signs"] for found in gains.values())
    best = " and ".join(f"the {pair}" for pair, found in gains.items() if found["signs"] == most)
    return Figure(
        _grids(params),
        alt=_WHAT,
        readouts=(Readout("pairs", "pairs seen", ".0f"), *_COUNTS),
        prompt="Before you choose: the red car and the blue dog were seen. Which pair should be shown next, so that a "
        "sign code can decide as many swaps as possible? Two new words, or two old ones?",
        answer=f"Two old ones: {best} each join what was apart. Then a sign code decides {most} questions.",
        computed=computed_exposures,
        table=tuple({"seen next": pair} | found for pair, found in gains.items()),
    )


def _masks(pairs: Iterable[Pair]) -> list[int]:
    """For each object a number with a bit for each colour that it was seen in."""
    masks = [0] * len(OBJECTS)
    for o, a in pairs:
        masks[o] |= 1 << a
    return masks


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
