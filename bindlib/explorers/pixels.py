"""The throttle on pixels: what dual encoders trained from scratch do with swaps, against the rate of swaps."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.figure import Figure
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.book.table import with_interval
from bindlib.encoders import drawn
from bindlib.explorers.drawing import data, data_url

Rows = Sequence[dict[str, Any]]
BATCHES = {"disjoint": "word-disjoint groups", "ordinary": "ordinary batches"}
_COLOURS, _SHAPES = (BLUE, VERMILION), ("circle", "triangle-up")
_ENDS = {"accuracy": "", "low": "_low", "high": "_high"}


def _of_batches() -> dict[str, Any]:
    names = list(BATCHES.values())
    return {
        "color": alt.Color("batches:N", title=None, scale=alt.Scale(domain=names, range=list(_COLOURS))),
        "shape": alt.Shape("batches:N", title=None, scale=alt.Scale(domain=names, range=list(_SHAPES))),
    }


def _rate(row: dict[str, Any]) -> dict[str, Any]:
    return {"rate": f"{row['swap_rate']:g}", "batches": BATCHES[row["batches"]], "seed": row["seed"]}


def samples(seed: int) -> Figure:
    """Four drawn scenes to learn from, each with its caption below it."""
    rng = np.random.default_rng(seed)
    scenes = drawn.draw_scenes(4, rng)
    captions = drawn.captions(scenes, rng.random(4) < 0.5)
    pictures = [data_url(picture) for picture in drawn.pictures(scenes, rng)]
    rows = [
        {"column": i % 2, "row": -(i // 2), "url": url, "lines": caption.replace(" and ", "\nand ")}
        for i, (url, caption) in enumerate(zip(pictures, captions, strict=True))
    ]
    x = alt.X("column:Q", axis=None, scale=alt.Scale(domain=[-0.5, 1.5]))
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[-1.6, 0.5]))
    base = alt.Chart(data(rows)).encode(x, y)
    return Figure(
        alt.layer(
            base.mark_image(width=96, height=96).encode(url="url:N"),
            base.mark_text(dy=60, fontSize=12, lineBreak="\n").encode(text="lines:N"),
        ).properties(height=300),
        alt=f"Four pictures of two coloured glyphs side by side on noisy grey: {'; '.join(captions)}.",
        table=tuple({"picture": i, "caption": caption} for i, caption in enumerate(captions, 1)),
    )


def chart(rows: Rows) -> Figure:
    """Swap accuracy against π, one mark for each training, with its interval over scenes.

    Rows as ``bindlib.measurements.pixels.results`` gives them.
    """
    marks = [
        _rate(row)
        | {name: row[f"accuracy_held_in{end}"] for name, end in _ENDS.items()}
        | {"margin": row["margin_held_in"]}
        for row in rows
    ]
    rates = [f"{rate:g}" for rate in sorted({row["swap_rate"] for row in rows})]
    x = alt.X("rate:O", title="swap rate π", sort=rates, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("place:N")
    y = alt.Y("accuracy:Q", title="swap accuracy", scale=alt.Scale(domain=[0.4, 1]))
    base = alt.Chart(data(marks)).transform_calculate(place="datum.batches + datum.seed")
    chance = alt.Chart(data([{"accuracy": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y)
    return Figure(
        alt.layer(
            chance,
            base.mark_rule(strokeWidth=2).encode(x, alt.Y("low:Q"), offset, y2="high:Q", color=_of_batches()["color"]),
            base.mark_point(size=80, opacity=1).encode(
                x, y, offset, **_of_batches(),
                tooltip=["rate:O", "batches:N", "seed:O", alt.Tooltip("accuracy:Q", format=".3f"),
                         alt.Tooltip("margin:Q", format=".4f")],
            ),
        ).properties(height=300),
        alt="Share of images that lie nearer to their caption than to its swap, against the swap rate. Each mark is "
        "one training, with an interval over scenes; trainings in word-disjoint groups and in ordinary batches have "
        "different colours and shapes. A dashed line marks one half.",
        table=tuple(marks),
    )  # fmt: skip


def rows_for_table(rows: Rows) -> list[dict[str, Any]]:
    """One row for each kind of batches and rate: means over seeds; accuracies with the lowest and the highest seed."""
    shown = []
    for batches, rate in sorted({(row["batches"], row["swap_rate"]) for row in rows}):
        cell = [row for row in rows if (row["batches"], row["swap_rate"]) == (batches, rate)]
        row = {"batches": BATCHES[batches], "swap rate π": f"{rate:g}", "seeds": len(cell)}
        for name, key in _SPREAD.items():
            values = [run[key] for run in cell]
            row[name] = with_interval(float(np.mean(values)), (min(values), max(values)))
        shown.append(row | {name: float(np.mean([run[key] for run in cell])) for name, key in _MEANS.items()})
    return shown


_SPREAD = {"swap accuracy": "accuracy_held_in", "on held-out pairs": "accuracy_held_out"}
_MEANS = {"margin": "margin_held_in", "d": "ceiling", "d / d_order": "binding_to_order", "usage": "usage",
          "loss": "loss", "sliver": "sliver"}  # fmt: skip


def sliver(rows: Rows) -> Figure:
    """The loss at the end of each training against ``π log(2) / 2``, what a perfect but blind model would pay."""
    marks = [
        _rate(row)
        | {"sliver": row["sliver"], "loss": row["loss"], "binding_to_order": row["binding_to_order"]}
        for row in rows
    ]  # fmt: skip
    top = 1.05 * max(max(row["sliver"], row["loss"]) for row in rows)
    scale = alt.Scale(type="sqrt", domain=[0, top])  # small rates matter, and zero is one of them
    axis = alt.Axis(values=[0, 0.01, 0.03, 0.1, 0.2, 0.3])
    x = alt.X("sliver:Q", title="sliver π log(2) / 2 (square-root scale)", scale=scale, axis=axis)
    y = alt.Y("loss:Q", title="loss at the end (square-root scale)", scale=scale, axis=axis)
    line = alt.Chart(data([{"sliver": 0.0, "loss": 0.0}, {"sliver": top, "loss": top}]))
    points = alt.Chart(data(marks)).mark_point(size=80, opacity=0.9)
    tooltip = ["rate:O", "batches:N", "seed:O"]
    tooltip += [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("sliver", "loss", "binding_to_order")]
    return Figure(
        alt.layer(
            line.mark_line(color=GREY, strokeDash=[5, 4]).encode(x, y),
            points.encode(x, y, **_of_batches(), tooltip=tooltip),
        ).properties(height=300),
        alt="Loss at the end of each training against the sliver, what a model pays that is perfect but blind to "
        "pairings. A model that binds lies below the dashed diagonal, a blind one on it.",
        table=tuple(marks),
    )


def deciles(rows: Rows) -> Figure:
    """Accuracy in each tenth of the scenes by ceiling, the form of the source paper's Figure 12.

    Rows ``name``, ``decile``, ``n``, ``ceiling``, ``accuracy``, ``low``, ``high``; at most five names.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    colours = alt.Scale(domain=names, range=[BLUE, VERMILION, GREEN, PURPLE, INK][: len(names)])
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "diamond", "cross"][: len(names)])
    x = alt.X("decile:O", title="tenth of the scenes, by ceiling d", axis=alt.Axis(labelAngle=0))
    y = alt.Y("accuracy:Q", title="swap accuracy", scale=alt.Scale(domain=[0.3, 1]))
    base = alt.Chart(data(rows))
    color, offset = alt.Color("name:N", title=None, scale=colours), alt.XOffset("name:N", sort=names)
    tooltip = ["name:N", "decile:O", "n:Q", *(alt.Tooltip(f"{k}:Q", format=".3f") for k in ("ceiling", "accuracy"))]
    chance = alt.Chart(data([{"accuracy": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y)
    return Figure(
        alt.layer(
            chance,
            base.mark_rule(strokeWidth=2).encode(x, alt.Y("low:Q"), offset, y2="high:Q", color=color),
            base.mark_point(size=70, opacity=1).encode(
                x, y, offset, color=color, shape=alt.Shape("name:N", title=None, scale=shapes), tooltip=tooltip
            ),
        ).properties(height=300),
        alt="Swap accuracy in each tenth of the scenes, from the smallest ceiling to the largest, with an interval "
        "over scenes, for each encoder or group of encoders. A dashed line marks one half.",
        table=tuple(dict(row) for row in rows),
    )
