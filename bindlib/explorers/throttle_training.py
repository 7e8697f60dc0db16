"""The trained throttle: learning curves at each swap rate, and a training of your own with a kernel."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import altair as alt

from bindlib.book.controls import Control, choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREY, INK, PURPLE, VERMILION
from bindlib.explorers.drawing import ONE, data, log_ticks
from bindlib.explorers.live import Job, Live, picture

Row = dict[str, Any]  # a ``Run`` of bindlib.remedies.trained_throttle as plain values
Curve = Sequence[tuple[int, float]]  # steps and swap accuracies
Train = Callable[[float, int, str], Iterable[tuple]]  # from rate, seed and negatives to checks: step, accuracy, ...

KINDS = {
    "all": "all captions of the batch",
    "no swaps": "exact swaps removed",
    "disjoint": "captions that share no word",
}
BOUND_AT = 0.95  # tests/explorers/test_throttle_training.py holds it against the trainer's
_COLORS = alt.Scale(domain=list(KINDS.values()), range=[BLUE, PURPLE, VERMILION])
_DASHES = alt.Scale(domain=list(KINDS.values()), range=[[1, 0], [2, 2], [6, 4]])
_OUTCOMES = ("bound", "not bound when training stopped")
_TOP = 8000  # where a training that never bound is drawn
_NEVER = 10**9  # later than any step
_NONE = "not trained"
_PICTURED = 8  # checks between two pictures of a training under way


def trained(rows: Sequence[Row]) -> Figure:
    """Steps to bind against π, one mark for each training; rows of ``bindlib.remedies.trained_throttle.Run``.

    A training that never bound is a triangle at the upper edge.
    """
    rates = sorted({row["swap_rate"] for row in rows})
    marks = [
        {
            "rate": f"{row['swap_rate']:g}",
            "negatives": KINDS[row["negatives"]],
            "steps": float(row["steps"] or _TOP),
            "outcome": _OUTCOMES[not row["steps"]],
            "last_step": row["last_step"],
            "seed": row["seed"],
            "accuracy": float(row["accuracy"]),
        }
        for row in rows
    ]
    drawing = (
        alt.Chart(data(marks))
        .mark_point(size=90, opacity=0.9)
        .encode(
            x=alt.X("rate:O", title="swap rate π", sort=[f"{r:g}" for r in rates], axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("negatives:N", sort=list(KINDS.values())),
            y=alt.Y("steps:Q", title="training steps until it binds", scale=alt.Scale(type="log", domain=[200, _TOP]),
                    axis=alt.Axis(format=",", values=log_ticks(200, _TOP))),
            color=alt.Color("negatives:N", title="negatives", scale=_COLORS, legend=alt.Legend(columns=1)),
            shape=alt.Shape("outcome:N", title=None, legend=alt.Legend(columns=1, orient="bottom", symbolFillColor=INK),
                            scale=alt.Scale(domain=list(_OUTCOMES), range=["circle", "triangle-up"])),
            tooltip=["rate:O", "negatives:N", "seed:O", "last_step:Q", alt.Tooltip("accuracy:Q", format=".3f")],
        )
        .properties(height=300)
    )  # fmt: skip
    return Figure(
        drawing,
        alt="Training steps until the towers bind, against the swap rate, on a logarithmic scale. With the captions of "
        "the whole batch as negatives the steps grow as the rate falls and then level off. Where negatives share no "
        "word with the caption, a rate of zero never binds: triangles at the upper edge.",
        table=tuple(marks),
    )


def accuracy_at(curve: Curve, step: float) -> float:
    """The last accuracy that was checked up to ``step``: a training that has ended keeps its last one."""
    return [accuracy for checked, accuracy in curve if checked <= step][-1]


def part_way(row: Row, share: float) -> float:
    """The accuracy after a ``share`` of a training's steps, at its first check at the earliest."""
    return accuracy_at(row["curve"], max(row["curve"][0][0], share * row["last_step"]))


def _curve_signals(rows: Sequence[Row], rates: Sequence[float], every: int) -> list[alt.Parameter]:
    """What the readouts say, as expressions; ``curves`` holds the accuracies of each run, one for ``every`` steps."""

    def by_rate(text: Callable[[list[int]], str]) -> str:
        found = {rate: [i for i, row in enumerate(rows) if row["swap_rate"] == rate] for rate in rates}
        return " : ".join(f"rate == {rate} ? {text(runs)}" for rate, runs in found.items()) + " : 0"

    def bound(runs: list[int]) -> str:
        return " + ".join(f"({rows[i]['steps'] or _NEVER} <= step)" for i in runs)

    def mean(runs: list[int], kind: str) -> str:
        own = [f"curves[{i}][min(step / {every}, curves[{i}].length) - 1]"
               for i in runs if rows[i]["negatives"] == kind]  # fmt: skip
        return f"({' + '.join(own)}) / {len(own)}" if own else f"'{_NONE}'"

    return [
        alt.param(name="curves", value=[[accuracy for _, accuracy in row["curve"]] for row in rows]),
        alt.param(name="trainings", expr=by_rate(lambda runs: str(len(runs)))),
        alt.param(name="bound", expr=by_rate(bound)),
        *(alt.param(name=f"accuracy_{i}", expr=by_rate(lambda runs, kind=kind: mean(runs, kind)))
          for i, kind in enumerate(KINDS)),
    ]  # fmt: skip


def learning_curves(rows: Sequence[Row]) -> Figure:
    """Swap accuracy against training steps at a chosen π; rows of ``Run.row`` with the run's ``curve`` beside.

    Signals: ``rate``, ``step``, ``trainings`` (at this rate), ``bound`` (of them, by this step), and for each kind of
    negatives, in the order of ``KINDS``, the mean accuracy at this step ``accuracy_0`` to ``accuracy_2``: a text where
    there was no training.  Raises ``ValueError`` unless all curves are checked at multiples of the same step.
    """
    # The accuracy is a share of some thousand scenes; beyond four places there is only its rounding.
    rows = [row | {"curve": [(step, round(float(a), 4)) for step, a in row["curve"]]} for row in rows]
    rates, last = sorted({row["swap_rate"] for row in rows}), max(row["last_step"] for row in rows)
    every = rows[0]["curve"][0][0]
    if any(step != every * i for row in rows for i, (step, _) in enumerate(row["curve"], start=1)):
        raise ValueError(f"the curves have to be checked every {every} steps")

    def computed(rate: float, step: int) -> dict[str, float | str]:
        at_rate = [row for row in rows if row["swap_rate"] == rate]
        shown = {"rate": rate, "step": step, "trainings": len(at_rate)}
        shown["bound"] = sum(row["steps"] is not None and row["steps"] <= step for row in at_rate)
        for i, kind in enumerate(KINDS):
            reached = [accuracy_at(row["curve"], step) for row in at_rate if row["negatives"] == kind]
            shown[f"accuracy_{i}"] = sum(reached) / len(reached) if reached else _NONE
        return shown

    params = [
        choice("rate", "swap rate π", {f"{rate:g}": rate for rate in rates}, rates[0]),
        slider("step", "training steps", every, last, every, min(last, 12 * every)),
        *_curve_signals(rows, rates, every),
    ]
    x = alt.X("step:Q", title="training steps", scale=alt.Scale(domain=[0, last], nice=False))
    y = alt.Y("accuracy:Q", title="swap accuracy", scale=alt.Scale(domain=[0.4, 1]))
    runs = [{"run": i, "rate": row["swap_rate"], "negatives": KINDS[row["negatives"]]} for i, row in enumerate(rows)]
    lines = (
        alt.Chart(data(runs))
        .transform_filter("datum.rate == rate")
        .transform_calculate(accuracy="curves[datum.run]")
        .transform_calculate(step=f"sequence({every}, {every} * (datum.accuracy.length + 1), {every})")
        .transform_flatten(["step", "accuracy"])
        .mark_line()
        .encode(x, y, alt.Color("negatives:N", title="negatives", scale=_COLORS),
                alt.StrokeDash("negatives:N", title="negatives", scale=_DASHES), detail="run:N")
    )  # fmt: skip
    here = alt.Chart(ONE).transform_calculate(step="step").mark_rule(color=GREY, strokeDash=[3, 3]).encode(x)
    goal = alt.Chart(data([{"accuracy": BOUND_AT}])).mark_rule(color=INK, strokeWidth=1).encode(y)
    return Figure(
        alt.layer(here, goal, lines).add_params(*params).properties(height=300),
        alt="Swap accuracy against training steps at one swap rate, a curve for each training. Curves begin near one "
        "half, stay there for a while and then climb to the line where the towers count as bound. The lower the rate, "
        "the later they climb; without shared words and without swaps they do not.",
        readouts=(
            Readout("trainings", "trainings at this rate", ".0f"),
            Readout("bound", "of these, bound by this step", ".0f"),
            *(Readout(f"accuracy_{i}", f"mean accuracy, {name}") for i, name in enumerate(KINDS.values())),
        ),
        prompt="Before you move it: at π = 0, do the towers learn the pairing slowly and steadily, or late and then "
        "fast? And without captions that share a word?",
        answer=_answer([row for row in rows if row["swap_rate"] == 0]),
        computed=computed,
        table=tuple(_table_row(row) for row in rows),
    )


def _answer(at_zero: Sequence[Row]) -> str | None:
    everything = [row for row in at_zero if row["negatives"] == "all"]
    never = [row["steps"] is None for row in at_zero if row["negatives"] == "disjoint"]
    if not everything:
        return None
    halfway = sum(part_way(row, 0.5) for row in everything) / len(everything)
    return (
        f"Late and then fast: half of the steps bring the accuracy to {halfway:.2f} only. Of {len(never)} trainings "
        f"without shared words {sum(never)} had not bound when they stopped."
    )


def _table_row(row: Row) -> Row:
    parts = {"a quarter": 0.25, "half": 0.5, "three quarters": 0.75}
    quarters = {f"after {name} of it": part_way(row, share) for name, share in parts.items()}
    names = ("swap_rate", "seed", "negatives", "last_step", "steps", "accuracy")
    return {name: row[name] for name in names} | quarters


def widget(rows: Sequence[Row]) -> Live:
    """The figure of `learning_curves` with a kernel behind it; for new trainings see `training`."""
    return Live(learning_curves(rows))


def training(train: Train, max_steps: int) -> Job:
    """Trainings at any π, one seed after another, with their curves as they grow.

    ``train(rate, seed, negatives)`` gives checks, each with the step and the swap accuracy first, and ends when the
    towers bind, after at most ``max_steps`` steps.  Between two checks a training can be stopped.
    """
    controls = (
        Control("rate", "swap rate π", "range", 0.1, 0, 1, 0.01),
        Control("negatives", "negatives", "select", "all", options=tuple(KINDS), labels=tuple(KINDS.values())),
        Control("seeds", "seeds", "range", 2, 1, 5, 1),
    )

    def steps(rate: float, negatives: str, seeds: int) -> Iterator[tuple[int, int, str]]:
        rows: list[Row] = []
        for seed in range(seeds):
            rows.append({"swap_rate": rate, "seed": seed, "negatives": negatives, "steps": None, "curve": []})
            for step, accuracy, *_ in train(rate, seed, negatives):
                rows[-1]["curve"].append((step, accuracy))
                rows[-1] |= {"last_step": step, "accuracy": accuracy}
                rows[-1]["steps"] = step if accuracy > BOUND_AT else None
                if len(rows[-1]["curve"]) % _PICTURED == 1:
                    drawn = _pictured(rows)
                yield seed * max_steps + step, seeds * max_steps, _told(rows) + drawn
        yield seeds * max_steps, seeds * max_steps, _told(rows) + _pictured(rows)

    return Job(controls, steps)


def _told(rows: Sequence[Row]) -> str:
    """How each training stands, in words."""
    words = "".join(
        f"<li>seed {row['seed']}: accuracy {row['accuracy']:.3f} after {row['last_step']} steps"
        f"{', bound' if row['steps'] else ''}</li>"
        for row in rows
    )
    return f"<ul role='status'>{words}</ul>"


def _pictured(rows: Sequence[Row]) -> str:
    svg = learning_curves(rows).svg(step=max(row["last_step"] for row in rows))
    return picture(svg, "The learning curves so far")
