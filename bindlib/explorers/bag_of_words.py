"""Bag-of-words collapse: turn the pairing off, and no image vector can tell the captions apart."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, VERMILION
from bindlib.encoders.base import TextEncoder
from bindlib.explorers.drawing import data, unit_circle, vector
from bindlib.scenes import Quartet, Scene
from bindlib.theory.bag_of_words import ceiling

# Ceiling and margin of t = normalise((1 - w) bag + w code(c)) with orthonormal bag, code(c), code(σc); the image lies
# in the plane of the two captions, at an angle from their common direction.
CEILING = "sqrt(2) * weight / sqrt(pow(1 - weight, 2) + pow(weight, 2))"
MARGIN = "ceiling * sin(image * PI / 180)"


def chart() -> Figure:
    """Two captions and an image vector in their plane.

    Signals: ``weight`` (of the pairing in the code), ``image`` (degrees from the captions' common direction),
    ``ceiling``, ``margin``.
    """
    half = "asin(ceiling / 2)"
    params = [
        slider("weight", "weight of the pairing w", 0, 1, 0.01, 0.4),
        slider("image", "image direction θ, degrees", -180, 180, 1, 75),
        alt.param(name="ceiling", expr=CEILING),
        alt.param(name="margin", expr=MARGIN),
    ]
    drawing = alt.layer(
        unit_circle(),
        vector(half, "t(c)", BLUE),
        vector(f"-{half}", "t(σc)", VERMILION, (6, 4)),
        vector("image * PI / 180", "image", GREEN, (2, 2)),
    ).add_params(*params)
    return Figure(
        drawing.properties(height=320),
        alt="A unit circle seen in the plane of the two captions. The caption t(c) tilts up and its swap tilts down by "
        "the same angle; the image vector can be turned all the way round. With pairing weight 0 they coincide.",
        readouts=(
            Readout("margin", "margin m"),
            Readout("ceiling", "ceiling d"),
            Readout("weight", "weight of the pairing w", ".2f"),
            Readout("image", "image direction, degrees", ".0f"),
        ),
        prompt="Before you move it: which image direction gives the largest margin, and what happens to that margin "
        "when the weight of the pairing goes to zero?",
        answer="The direction from the swap to the caption, 90 degrees from their common direction; not the caption "
        "itself. The margin there is the ceiling, and goes to zero with the weight.",
    )


MOVES = {"order_distance": "other order, same scene", "swap_distance": "swap, another scene"}


def word_order_rows(encoders: Sequence[TextEncoder], scene: Scene) -> list[dict[str, Any]]:
    """Rows ``encoder, order_distance, swap_distance``: from the scene's caption to its order variant and its swap."""
    quartet, rows = Quartet.of(scene), []
    for encoder in encoders:
        vectors = encoder.encode_text([quartet.caption, quartet.caption_reordered, quartet.swap])
        here, order, swapped = vectors.astype(np.float64)
        distances = {"order_distance": float(ceiling(here, order)), "swap_distance": float(ceiling(here, swapped))}
        rows.append({"encoder": encoder.name} | distances)
    return rows


def word_orders(rows: Sequence[dict[str, Any]]) -> Figure:
    """Bars of ``word_order_rows``: how far each encoder moves when the words move."""
    bars = [
        {"encoder": row["encoder"], "move": move, "distance": row[key]} for row in rows for key, move in MOVES.items()
    ]
    drawing = (
        alt.Chart(data(bars))
        .mark_bar()
        .encode(
            x=alt.X("distance:Q", title="distance from the caption"),
            y=alt.Y("encoder:N", title=None, sort=None, axis=alt.Axis(labelLimit=150)),
            yOffset=alt.YOffset("move:N", sort=None),
            color=alt.Color("move:N", title=None, sort=None, legend=alt.Legend(columns=1)),
            tooltip=["encoder:N", "move:N", alt.Tooltip("distance:Q", format=".4f")],
        )
        .properties(height=alt.Step(13))
    )
    return Figure(
        drawing,
        alt="For each encoder two bars: the distance from the caption to the same scene in the other order, and the "
        "distance to the swap.",
        table=tuple(rows),
    )
