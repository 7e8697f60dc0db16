"""One balanced coupling: move ε and the shares of the candidates, and see where each word looks and what it decides."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import altair as alt
import numpy as np

from bindlib.book.controls import choice, slider
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.book.table import with_interval
from bindlib.explorers.drawing import data, data_url
from bindlib.explorers.live import Live
from bindlib.theory import balanced_coupling as theory
from bindlib.theory.balanced_coupling import ENERGIES, Coupling

CAPTIONS = (("red", "car", "blue", "dog"), ("blue", "car", "red", "dog"))
CONTEXTS = {"each word alone": 0, "each word knows the one before": 1}
LOG_EPSILONS = tuple(k / 2 for k in range(-10, 3))
SHARES = (0.3, 0.4, 0.5, 0.6, 0.7)
_CONTEXT = 0.6  # weight of the word before
_SIDE = 3
_PATCHES = {"left": ("red", "car"), "middle": (), "right": ("blue", "dog")}
_SEES = ((0.4, 1.0), (0.8, 0.6))  # at each depth, weights of the colour and of the thing; the rest is clutter
_CLUTTER = 0.5
_BASIS = dict(zip((*CAPTIONS[0], "clutter"), np.eye(5), strict=True))


def tokens(caption: Sequence[str], context: int) -> np.ndarray:
    """Tokens ``(n, 5)`` of the example: a basis vector a word, with ``context`` plus some of the word before."""
    words = np.stack([_BASIS[word] for word in caption])
    words[1:] += _CONTEXT * context * words[:-1].copy()
    return words


def patches() -> list[np.ndarray]:
    """Patches ``(9, 5)`` at two depths of the example: a red car in the left column, a blue dog in the right one."""
    columns = [
        [_CLUTTER * _BASIS["clutter"] + sum(w * _BASIS[word] for w, word in zip(sees, shown, strict=False))
         for shown in _PATCHES.values()]
        for sees in _SEES
    ]  # fmt: skip
    return [np.tile(np.stack(columns_at_depth), (_SIDE, 1)) for columns_at_depth in columns]


@cache
def example(context: int, log_epsilon: float, share: float, exchanged: bool = False) -> Coupling:
    """The coupling of the example: the caption is candidate ``a`` unless ``exchanged``; ``share`` is that of ``a``."""
    a, b = (tokens(caption, context) for caption in (CAPTIONS[::-1] if exchanged else CAPTIONS))
    return theory.couple(a, b, patches(), 2.0**log_epsilon, share=share)


def _differences(*setting: Any) -> np.ndarray:
    found = example(*setting).energies
    return np.round(found[1] - found[0], 6) + 0.0


def computed(context: int, log_epsilon: float, share: float, order_weight: float) -> dict[str, float]:
    """The readouts of `chart`."""
    weights = np.array([1, 1, order_weight, 1])
    there, back = (_differences(context, log_epsilon, share, exchanged) for exchanged in (False, True))
    return {
        "epsilon": 2.0**log_epsilon,
        "score": float(weights @ there),
        "exchanged": float(weights @ back),
        "asymmetry": float(weights @ (there + back)),
        **dict(zip(ENERGIES, map(float, there), strict=True)),
        "mass_a": share,
        "mass_b": 1 - share,
    }


def widget() -> Live:
    """The figure of `chart` with a kernel behind it."""
    return Live(chart())


def _grid() -> list[list[list[dict[str, Any]]]]:
    """All that the page needs, by context, ε and share: where each word looks, its place, and the differences."""
    return [
        [[_cell(context, log_epsilon, share) for share in SHARES] for log_epsilon in LOG_EPSILONS]
        for context in CONTEXTS.values()
    ]


def _cell(*setting: Any) -> dict[str, Any]:
    found = example(*setting)
    looks = found.plan / found.plan.sum(axis=1, keepdims=True)
    return {
        "looks": [round(float(x), 3) for x in looks.reshape(len(looks), -1, _SIDE**2).sum(axis=1).ravel()],
        "places": [round(float(x), 3) for x in (looks @ found.positions).ravel()],
        "there": _differences(*setting).tolist(),
        "back": _differences(*setting, True).tolist(),
    }


def _params() -> list[alt.Parameter]:
    of = "weights[0] * {0}[0] + weights[1] * {0}[1] + weights[2] * {0}[2] + weights[3] * {0}[3]"
    n_shares = f"round((share - {SHARES[0]}) * 10)"
    return [
        choice("context", "tokens", CONTEXTS, 0),
        slider("log_epsilon", "log₂ of the regularisation ε", LOG_EPSILONS[0], LOG_EPSILONS[-1], 0.5, -3),
        slider("share", "share of candidate a in the mass", SHARES[0], SHARES[-1], 0.1, 0.5),
        slider("order_weight", "weight of the order energy", 0, 4, 0.5, 1),
        alt.param(name="found", value=_grid()),
        alt.param(name="cell", expr=f"found[context][round(2 * (log_epsilon - ({LOG_EPSILONS[0]})))][{n_shares}]"),
        alt.param(name="weights", expr="[1, 1, order_weight, 1]"),
        alt.param(name="epsilon", expr="pow(2, log_epsilon)"),
        alt.param(name="score", expr=of.format("cell.there")),
        alt.param(name="exchanged", expr=of.format("cell.back")),
        alt.param(name="asymmetry", expr="score + exchanged"),
        *(alt.param(name=name, expr=f"cell.there[{i}]") for i, name in enumerate(ENERGIES)),
        alt.param(name="mass_a", expr="share"),
        alt.param(name="mass_b", expr="1 - share"),
    ]


_X = alt.X("x:Q", axis=None, scale=alt.Scale(nice=False, zero=False))
_Y = alt.Y("y:Q", axis=None, scale=alt.Scale(reverse=True, nice=False, zero=False))
_MORE = 1.25  # from one picture to the next, in pictures
_BELOW = 1.45


def _corner(caption: int, word: int) -> tuple[float, float]:
    return word * _MORE, caption * _BELOW


def _squares(side: int, captions: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """One square for each word of each caption and each patch, in the order of the rows and columns of a plan."""
    rows, step = [], 1 / side
    for c, caption in enumerate(captions):
        for w, word in enumerate(caption):
            left, top = _corner(c, w)
            rows += [
                {"x": left + (i % side) * step, "y": top + (i // side) * step, "word": word, "caption": "ab"[c]}
                for i in range(side**2)
            ]
    return [row | {"x2": row["x"] + step, "y2": row["y"] + step, "i": i} for i, row in enumerate(rows)]


def _names(captions: Sequence[Sequence[str]]) -> alt.LayerChart:
    """The words under their pictures, and the letters of the candidates before them."""
    at = ((word, *_corner(c, w)) for c, caption in enumerate(captions) for w, word in enumerate(caption))
    words = alt.Chart(data({"x": x + 0.5, "y": y + 1.06, "name": name} for name, x, y in at))
    letters = alt.Chart(data({"x": -0.12, "y": _corner(c, 0)[1] + 0.5, "name": "ab"[c]} for c in range(len(captions))))
    return alt.layer(
        words.mark_text(baseline="top", color=INK).encode(_X, _Y, text="name:N"),
        letters.mark_text(align="right", color=INK, fontWeight="bold").encode(_X, _Y, text="name:N"),
    )


def chart() -> Figure:
    """Where each word of two candidates looks in a scene of nine patches, and the energies read from it.

    Signals: ``context``, ``log_epsilon``, ``share``, ``order_weight``, ``epsilon``, ``score``, ``exchanged``,
    ``asymmetry``, ``mass_a``, ``mass_b``, and the four ``ENERGIES``: how much each prefers ``a``.
    """
    opacity = alt.FillOpacity("look:Q", scale=alt.Scale(domain=[0, 0.35], range=[0, 1], clamp=True), legend=None)
    squares = alt.Chart(data(_squares(_SIDE, CAPTIONS))).transform_calculate(look="cell.looks[datum.i]")
    looks = squares.mark_rect(color=BLUE, stroke=GREY, strokeWidth=0.5, strokeOpacity=1).encode(
        _X, _Y, x2="x2:Q", y2="y2:Q", fillOpacity=opacity,
        tooltip=["caption:N", "word:N", alt.Tooltip("look:Q", format=".3f")],
    )  # fmt: skip
    corners = [_corner(c, w) for c in range(2) for w in range(4)]
    dots = alt.Chart(data({"left": x, "top": y, "i": i} for i, (x, y) in enumerate(corners)))
    places = dots.transform_calculate(
        x="datum.left + cell.places[2 * datum.i]", y="datum.top + cell.places[2 * datum.i + 1]"
    ).mark_point(color=VERMILION, size=90, opacity=1).encode(_X, _Y)  # fmt: skip
    labels = [Readout(name, f"{name}: energy of b less that of a") for name in ENERGIES]
    return Figure(
        alt.layer(looks, places, _names(CAPTIONS)).add_params(*_params()).properties(height=330),
        alt="Two rows of four small pictures of nine patches, one for each word of candidate a, red car blue dog, and "
        "of candidate b, blue car red dog. A patch is the bluer the more of the word's mass lies on it, both depths "
        "together; an orange dot marks the word's mean place. At small ε the dots of red and car lie left and those "
        "of blue and dog right; at large ε all lie in the middle.",
        readouts=(
            Readout("epsilon", "regularisation ε", ".3f"),
            Readout("mass_a", "mass of candidate a", ".2f"),
            Readout("mass_b", "mass of candidate b", ".2f"),
            *labels,
            Readout("score", "score, positive for a"),
            Readout("exchanged", "score when a and b are exchanged"),
            Readout("asymmetry", "sum of the two scores"),
        ),
        prompt="Before you move it: with each word alone, which of the four energies can tell the two candidates "
        "apart? And what must you move so that the sum of the two scores is not zero?",
        answer="The order energy alone, by the proposition on the same words. The sum stays zero until the words know "
        "their context and the share of a leaves one half.",
        computed=computed,
        table=tuple(
            {"tokens": name, "ε": 2.0**e} | {k: computed(i, e, 0.5, 1)[k] for k in (*ENERGIES, "score")}
            for name, i in CONTEXTS.items()
            for e in LOG_EPSILONS[::4]
        ),
    )  # fmt: skip


def plan_over_scene(found: Coupling, picture: Any, words: Sequence[Sequence[str]]) -> Figure:
    """A plan over its picture: one copy for each word of each caption, the bright patches being where it looks.

    ``words`` are those of candidates ``a`` and ``b``, ``picture`` a PIL image.  Raises ``ValueError`` if the patches of
    a depth are no square or the words are not the tokens.
    """
    n, m = found.plan.shape
    n_depths = len(np.unique(found.depths))
    side = round((m / n_depths) ** 0.5)
    if n != sum(map(len, words)) or side**2 * n_depths != m:
        raise ValueError(f"a plan of {n} tokens and {m} patches does not fit these words on a square image")
    looks = (found.plan / found.plan.sum(axis=1, keepdims=True)).reshape(n, n_depths, -1).sum(axis=1)
    relative = looks * side**2
    squares = [row | {"look": float(v)} for row, v in zip(_squares(side, words), relative.ravel(), strict=True)]
    corners = [_corner(c, w) for c, caption in enumerate(words) for w in range(len(caption))]
    url = data_url(picture)
    images = alt.Chart(data({"x": x, "y": y, "x2": x + 1, "y2": y + 1, "url": url} for x, y in corners))
    places = looks @ found.positions[: side**2]
    dots = [{"x": x + px, "y": y + py} for (x, y), (px, py) in zip(corners, places.tolist(), strict=True)]
    veil = alt.Opacity("look:Q", scale=alt.Scale(domain=[0.5, 2], range=[0.75, 0], clamp=True), legend=None)
    table = tuple(
        {"caption": "ab"[c], "word": word, "mean place, from the left": float(x), "from the top": float(y)}
        for (c, word), (x, y) in zip([(c, w) for c, caption in enumerate(words) for w in caption], places, strict=True)
    )
    return Figure(
        alt.layer(
            images.mark_image(aspect=False).encode(_X, _Y, x2="x2:Q", y2="y2:Q", url="url:N"),
            alt.Chart(data(squares)).mark_rect(color="black").encode(_X, _Y, x2="x2:Q", y2="y2:Q", opacity=veil),
            alt.Chart(data(dots)).mark_point(color=VERMILION, size=60, opacity=1).encode(_X, _Y),
            _names(words),
        ).properties(height=185),
        alt=f"Copies of one drawn scene, one for each word of the candidates {' '.join(words[0])} and "
        f"{' '.join(words[1])}. Patches are dark where the word's mass is below average; a dot marks its mean place.",
        table=table,
    )


def pivot(rows: Sequence[dict[str, Any]], down: str, across: str) -> list[dict[str, str]]:
    """Rows for a table: accuracies with their intervals, one line a value of ``down``, one column one of ``across``.

    Where a row has no energy or control there stands "none".
    """
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        shown = with_interval(row["accuracy"], (row["low"], row["high"]), 2)
        found.setdefault(row[down] or "none", {})[row[across] or "none"] = shown
    return [{down: name} | cells for name, cells in found.items()]


_SERIES = {
    "global score": (BLUE, "circle"),
    "as they are": (GREEN, "square"),
    "aligned": (PURPLE, "diamond"),
    "aligned words": (VERMILION, "triangle-up"),
    "told the sides": (GREY, "cross"),
}


def accuracies(rows: Sequence[dict[str, Any]], task: str = "swap", energy: str = "fitted weights") -> Figure:
    """Accuracy on one task by encoder: the global score, and each way of bringing tokens and patches together.

    ``rows`` as ``bindlib.remedies.balanced_coupling_benchmark`` gives them; of the couplings those of one ``energy``.
    """
    shown = [row for row in rows if row["task"] == task and not row["control"] and row["energy"] in ("", energy)]
    encoders = list(dict.fromkeys(row["encoder"] for row in shown))
    x = alt.X("encoder:O", title="encoder: its swap rate π, or how it was made", sort=encoders,
              axis=alt.Axis(labelAngle=-40, labelOverlap=False, minExtent=80))  # fmt: skip
    y = alt.Y("accuracy:Q", title=f"accuracy, {task}", scale=alt.Scale(domain=[0.4, 1]))
    offset = alt.XOffset("reader:N", sort=list(_SERIES))
    colours, shapes = zip(*_SERIES.values(), strict=True)
    color = alt.Color("reader:N", title=None, scale=alt.Scale(domain=list(_SERIES), range=list(colours)))
    shape = alt.Shape("reader:N", title=None, scale=alt.Scale(domain=list(_SERIES), range=list(shapes)))
    base = alt.Chart(data({k: v for k, v in row.items() if k != "n"} for row in shown))
    chance = alt.Chart(data([{"accuracy": 0.5}])).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y)
    tooltip = ["encoder:O", "reader:N", alt.Tooltip("accuracy:Q", format=".3f")]
    return Figure(
        alt.layer(
            chance,
            base.mark_rule(strokeWidth=2).encode(x, alt.Y("low:Q"), offset, y2="high:Q", color=color),
            base.mark_point(size=70, opacity=1).encode(x, y, offset, color=color, shape=shape, tooltip=tooltip),
        ).properties(height=300),
        alt=f"Accuracy on the task {task} for each encoder, with 95 percent intervals over items: the global score, "
        f"and the coupling with {energy}, for each way of bringing tokens and patches together. A dashed line marks "
        "one half.",
        table=tuple({k: row[k] for k in ("encoder", "reader", "accuracy", "low", "high", "n")} for row in shown),
    )
