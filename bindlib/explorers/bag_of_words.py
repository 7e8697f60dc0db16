"""Bag-of-words collapse: turn the pairing off, and no image vector can tell the captions apart."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import box, choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, VERMILION
from bindlib.encoders.base import SAME_POINT, TextEncoder, TextTower
from bindlib.encoders.zoo import listing, load_encoder
from bindlib.explorers.drawing import data, unit_circle, vector
from bindlib.explorers.fresh import Fresh, Measured
from bindlib.scenes import RED_CAR_BLUE_DOG, WORLD, Quartet, Scene
from bindlib.theory.bag_of_words import attention_tower, ceiling, margin, unit

# Ceiling and margin of t = normalise((1 - w) bag + w code(c)) with orthonormal bag, code(c), code(σc); the image lies
# in the plane of the two captions, at an angle from their common direction.
CEILING = "sqrt(2) * weight / sqrt(pow(1 - weight, 2) + pow(weight, 2))"
MARGIN = "ceiling * sin(image * PI / 180)"


def computed(weight: float, image: float) -> dict[str, float]:
    """The readouts of `chart`, from vectors: an orthonormal bag and two codes."""
    bag, code, swapped = np.eye(3)
    t, t_swap = unit((1 - weight) * bag + weight * code), unit((1 - weight) * bag + weight * swapped)
    turned = np.cos(np.radians(image)) * unit(t + t_swap) + np.sin(np.radians(image)) * unit(code - swapped)
    found = {"margin": float(margin(turned, t, t_swap)), "ceiling": float(ceiling(t, t_swap))}
    return found | {"weight": weight, "image": image}


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
    weights = (0, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
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
        table=tuple(
            {"weight": str(w), "ceiling": computed(w, 90)["ceiling"]}
            | {f"margin at {angle} degrees": computed(w, angle)["margin"] for angle in (30, 90)}
            for w in weights
        ),
        computed=computed,
    )


MOVES = {"order_distance": "other order, same scene", "swap_distance": "swap, another scene"}
OFF = "-no-positions"  # what the name of an encoder without its position embeddings ends with


def random_tower(masked: bool = False, positions: bool = True, seed: int = 0) -> TextTower:
    """The random transformer of the theory as an encoder, ``(n, 64)``, with a causal mask or positions or neither."""
    name = f"random-{'causal' if masked else 'unmasked'}{'' if positions else OFF}"

    def vectors(captions: list[str]) -> np.ndarray:
        return np.stack([attention_tower(c, 64, seed, causal=masked, positions=positions) for c in captions])

    return TextTower(name, f"seed {seed}", None, vectors)


RANDOM_TOWERS = tuple(random_tower(masked, positions) for masked in (False, True) for positions in (True, False))


def word_order_rows(encoders: Sequence[TextEncoder], scene: Scene) -> list[dict[str, Any]]:
    """Rows ``encoder, order_distance, swap_distance``: from the scene's caption to its order variant and its swap."""
    quartet, rows = Quartet.of(scene), []
    for encoder in encoders:
        vectors = encoder.encode_text([quartet.caption, quartet.caption_reordered, quartet.swap])
        here, order, swapped = vectors.astype(np.float64)
        distances = {"order_distance": float(ceiling(here, order)), "swap_distance": float(ceiling(here, swapped))}
        rows.append({"encoder": encoder.name} | distances)
    return rows


def _moved_more(order: float, swapped: float) -> str:
    """What moves the encoder more, in words."""
    if max(order, swapped) < SAME_POINT:
        return "nothing moves it"
    return "by the order" if order > swapped else "by the swap"


def word_orders(rows: Sequence[dict[str, Any]], first: str | None = None) -> Figure:
    """Bars of ``word_order_rows``: how far each encoder moves when the words move, with its position embeddings or not.

    A row whose encoder is called ``NAME-no-positions`` stands in for ``NAME`` when ``positions`` is unticked.  Signals:
    ``encoder`` (at first ``first``, else the first of the rows), ``positions``, ``order_distance``, ``swap_distance``,
    ``moved_more`` and ``switched`` (in words).
    """
    of = {row["encoder"]: row for row in rows}
    names = [name for name in of if name.removesuffix(OFF) == name or name.removesuffix(OFF) not in of]

    def read(name: str, positions: bool) -> dict[str, Any]:
        return of[name] if positions else of.get(name + OFF, of[name])

    def found(encoder: str, positions: bool) -> dict[str, Any]:
        row, switches = read(encoder, positions), encoder + OFF in of
        return {
            **{key: row[key] for key in MOVES},
            "moved_more": _moved_more(*(row[key] for key in MOVES)),
            "switched": ("on" if positions else "off") if switches else "no switch for this encoder",
        }

    measured = {name: [found(name, positions) for positions in (False, True)] for name in names}
    reach = 1.06 * max(0.1, *(row[key] for row in rows for key in MOVES))
    shown = "measured[{}][positions ? 1 : 0]"
    bars = [{"encoder": name, "key": key, "move": move} for name in names for key, move in MOVES.items()]
    drawing = (
        alt.Chart(data(bars))
        .transform_calculate(distance=f"{shown.format('datum.encoder')}[datum.key]", here="datum.encoder == encoder")
        .mark_bar()
        .encode(
            x=alt.X("distance:Q", title="distance from the caption", scale=alt.Scale(domain=[0, reach], nice=False)),
            y=alt.Y("encoder:N", title=None, sort=None, axis=alt.Axis(labelLimit=150)),
            yOffset=alt.YOffset("move:N", sort=None),
            color=alt.Color("move:N", title=None, sort=None, legend=alt.Legend(columns=1)),
            opacity=alt.condition("datum.here", alt.value(1), alt.value(0.45)),
            tooltip=["encoder:N", "move:N", alt.Tooltip("distance:Q", format=".4f")],
        )
        .properties(height=alt.Step(13))
        .add_params(
            choice("encoder", "encoder", names, first or names[0]),
            box("positions", "position embeddings, where they can be switched", True),
            alt.param(name="measured", value=measured),
            *(alt.param(name=name, expr=f"{shown.format('encoder')}.{name}")
              for name in (*MOVES, "moved_more", "switched")),
        )
    )  # fmt: skip
    return Figure(
        drawing,
        alt="For each encoder two bars: the distance from the caption to the same scene in the other order, and the "
        "distance to the swap. The bars of the chosen encoder are darker. Without position embeddings the bars of an "
        "unmasked transformer vanish.",
        readouts=(
            Readout("order_distance", "to the other order, same scene"),
            Readout("swap_distance", "to the swap, another scene"),
            Readout("moved_more", "moved more", ""),
            Readout("switched", "position embeddings", ""),
        ),
        prompt="Before you move it: which encoders will not move at all? And which of them are moved more by another "
        "order of the same scene than by another scene?",
        answer="Bags of words do not move, and an unmasked transformer without position embeddings is one; a causal "
        "mask keeps the order. Most of the others are moved more by the order, whatever the words mean.",
        table=tuple({"encoder": row["encoder"]} | {move: row[key] for key, move in MOVES.items()} for row in rows),
        computed=found,
    )


@lru_cache(maxsize=16)
def _loaded(name: str) -> TextEncoder:
    own = {tower.name: tower for tower in RANDOM_TOWERS}
    return own[name] if name in own else load_encoder(name)


@lru_cache(maxsize=256)
def _measured(name: str, scene: Scene) -> dict[str, Any]:
    return word_order_rows([_loaded(name)], scene)[0]


def _scene(object1: str, attribute1: str, object2: str, attribute2: str) -> Scene | None:
    different = object1 != object2 and attribute1 != attribute2
    return Scene.of(**{object1: attribute1, object2: attribute2}) if different else None


def live_encoders() -> list[str]:
    """Names of the encoders of everyday words that can be loaded here as they are, then those of the random towers.

    Families whose encoders lie in files of the reader's own, or on the hub, have no name that could be offered.
    """
    here = [row["name"] for row in listing() if row["loadable"] and row["kind"] in ("packaged", "control")]
    return [name.replace("SEED", "0") for name in here] + [tower.name for tower in RANDOM_TOWERS]


def _words_drawn(encoder: str, positions: bool, **words: str) -> Figure:
    scene, names = _scene(**words), [encoder, encoder + OFF]
    known = [name for name in names if name in live_encoders()]
    nothing = {"encoder": encoder, "order_distance": 0.0, "swap_distance": 0.0}
    return word_orders([_measured(name, scene) for name in known] if scene else [nothing])


def words_computed(encoder: str, positions: bool, **words: str) -> dict[str, Any]:
    """The readouts of `own_words`; a hint when the two objects or the two attributes are the same."""
    scene = _scene(**words)
    if scene is None:
        hint = "choose two different objects and two different colours"
        return {"caption": hint, "swap": hint, "order_distance": "", "swap_distance": "",
                "moved_more": "", "switched": ""}  # fmt: skip
    quartet = Quartet.of(scene)
    found = _words_drawn(encoder, positions, **words).computed(encoder, positions)
    return {"caption": quartet.caption, "swap": quartet.swap} | found


def own_words(first: str | None = None) -> Measured:
    """Word orders of a scene of the reader's own words, measured now with an encoder of the reader's choice.

    Signals: ``object1``, ``attribute1``, ``object2``, ``attribute2``, ``caption``, ``swap``, those of `word_orders`.
    """
    (o1, o2), (a1, a2) = RED_CAR_BLUE_DOG.objects, RED_CAR_BLUE_DOG.attributes
    names = live_encoders()
    figure = word_orders([{"encoder": name, "order_distance": 0.0, "swap_distance": 0.0} for name in names], first)
    objects, attributes = list(WORLD.objects), list(WORLD.attributes)
    params = [
        choice("object1", "first object", objects, o1),
        choice("attribute1", "colour of the first", attributes, a1),
        choice("object2", "second object", objects, o2),
        choice("attribute2", "colour of the second", attributes, a2),
        alt.param(name="caption", value=""),
        alt.param(name="swap", value=""),
    ]
    return Measured(
        figure.chart.add_params(*params),
        alt="Two bars: the distance from the caption to the same scene in the other order, and to the swap.",
        readouts=(Readout("caption", "caption"), Readout("swap", "its swap"), *figure.readouts),
        prompt="Before you move it: find words for which this encoder is moved more by the swap than by the order.",
        computed=words_computed,
        drawn=_words_drawn,
    )


def widget(encoder: str | None = None) -> Fresh:
    """The reader's own scene under any encoder that can be loaded here, at first ``encoder``."""
    return Fresh(own_words(encoder))
