"""Break this theorem: untick a hypothesis and see the smallest scene that breaks what is left."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import ipywidgets as widgets
import numpy as np

from bindlib.book import claims
from bindlib.book.controls import box
from bindlib.book.figure import Figure, Readout
from bindlib.book.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILION
from bindlib.certificates import RELATIONS, Convenient, Outcome
from bindlib.explorers.drawing import data
from bindlib.explorers.live import Live
from bindlib.scenes import article

_READOUTS = {
    "kept": "hypotheses kept",
    "scene": "scene",
    "captions": "its captions",
    "promised": "promised",
    "found": "found",
    "verdict": "verdict",
    "size": "size",
}
_PAINT = {"red": VERMILION, "blue": BLUE, "green": GREEN, "pink": PURPLE}


@lru_cache(maxsize=128)
def _searched(label: str, dropped: str | None, seed: int) -> Outcome:
    return claims.search(label, dropped, np.random.default_rng(seed))


def deciding(label: str, dropped: Sequence[str]) -> str | None:
    """The hypothesis that decides when these are dropped: the first that breaks the theorem, else the first.

    A scene that breaks the theorem without one hypothesis keeps all the others, so it does so without more of them too.
    """
    without = claims.ablation(label).without
    order = sorted((h for h in without if h in dropped), key=lambda h: isinstance(without[h], Convenient))
    return order[0] if order else None


def number(value: float) -> str:
    """Four significant digits; what rounding left of 0 is 0."""
    return f"{round(value, 10) + 0.0:.4g}".replace("-", "−")


def _named(things: Sequence[str]) -> str:
    return " and ".join(f"{article(thing)} {thing}" for thing in things)


def _scene(outcome: Outcome) -> str:
    pictures = [_named(things) for things in outcome.pictures]
    lacks = f"; not in it: {_named(outcome.absent)}" if outcome.absent else ""
    return (pictures[0] if len(pictures) == 1 else "pictures of " + "; ".join(pictures)) + lacks


def said(label: str, dropped: str | None, outcome: Outcome) -> dict[str, str]:
    """The outcome in words, by readout, all but ``kept``."""
    how = claims.ablation(label).without.get(dropped)
    promise = f"{RELATIONS[outcome.relation]} {number(outcome.promised)}"
    verdict = f"broken without “{dropped}”: {number(outcome.found)} is not {promise}"
    if dropped is None:
        verdict = "the theorem holds"
    elif isinstance(how, Convenient):
        verdict = f"not broken without “{dropped}”: {how.reason}"
    return {
        "scene": _scene(outcome),
        "captions": "; ".join(outcome.captions),
        "promised": f"{outcome.quantity}: {promise}",
        "found": number(outcome.found) + (f"; {re.sub('-(?=[0-9])', '−', outcome.note)}" if outcome.note else ""),
        "verdict": verdict,
        "size": outcome.size + (f"; draw {outcome.tried:,} of the search" if outcome.tried else ""),
    }


def chart(label: str, seed: int = 0) -> Figure:
    """A theorem with a box for each hypothesis, and the counterexamples of a search with this seed.

    Signals: ``h1``, ``h2``, ... (the hypotheses), ``at`` (which of them decides, 0 when all are kept), and a text for
    each readout.  Raises ``BindlibError`` for a theorem without searches.
    """
    hypotheses = claims.ablation(label).theorem.hypotheses
    states = (None, *hypotheses)
    outcomes = [_searched(label, state, seed) for state in states]
    words = [said(label, state, outcome) for state, outcome in zip(states, outcomes, strict=True)]

    def computed(**boxes: bool) -> dict[str, Any]:
        dropped = [h for i, h in enumerate(hypotheses, 1) if not boxes[f"h{i}"]]
        decides = deciding(label, dropped)
        outcome = claims.search(label, decides, np.random.default_rng(seed))
        kept = len(hypotheses) - len(dropped)
        return {"kept": f"{kept} of {len(hypotheses)}"} | said(label, decides, outcome)

    breaking = [h for h in hypotheses if not isinstance(claims.ablation(label).without[h], Convenient)]
    rows = [{"without": h} | said for h, said in zip(hypotheses, words[1:], strict=True)]
    return Figure(
        _drawing(outcomes).add_params(*_params(label, words)).properties(height=280),
        alt="Above, what the pictures of the scene show, a disc for each thing. Below, two bars: the number that the "
        "theorem promises for the scene, and the number found. While all hypotheses are ticked the second keeps to the "
        "first. " + " ".join(f"Without “{h}” it does not." for h in breaking),
        readouts=tuple(Readout(signal, text, "") for signal, text in _READOUTS.items()),
        computed=computed,
        prompt="Before you untick anything: which of these hypotheses does the theorem need? How small is the smallest "
        "scene that breaks it without one?",
        answer=_answer(len(hypotheses), breaking),
        table=tuple(
            {key: row[key] for key in ("without", "scene", "captions", "promised", "found", "verdict")} for row in rows
        ),
    )


def _answer(of: int, breaking: Sequence[str]) -> str:
    if len(breaking) == of:
        return "It needs every one. Untick one at a time: the picture then shows the smallest scene that was found."
    return (
        "It needs " + " and ".join(f"“{h}”" for h in breaking) + ". What else is listed only makes its formula simpler."
    )


def _params(label: str, words: Sequence[dict[str, str]]) -> list[alt.Parameter]:
    """The boxes, which hypothesis decides, and the words for it."""
    without = claims.ablation(label).without
    numbered = list(enumerate(without, 1))
    boxes = [box(f"h{i}", hypothesis, True) for i, hypothesis in numbered]
    order = sorted(numbered, key=lambda pair: isinstance(without[pair[1]], Convenient))
    at = " : ".join([*(f"!h{i} ? {i}" for i, _ in order), "0"])
    count = " + ".join(f"(h{i} ? 1 : 0)" for i, _ in numbered)
    return [
        *boxes,
        alt.param(name="at", expr=at),
        alt.param(name="kept", expr=f"({count}) + ' of {len(numbered)}'"),
        *(alt.param(name=f"{name}_all", value=[said[name] for said in words]) for name in words[0]),
        *(alt.param(name=name, expr=f"{name}_all[at]") for name in words[0]),
    ]


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, 100], nice=False))


def _y(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[100, 0], nice=False))


def _drawing(outcomes: Sequence[Outcome]) -> alt.LayerChart:
    """The pictures above and the bars below, of the outcome at ``at``, in units of a hundredth of the drawing."""
    frames, discs, bars = [], [], []
    for at, outcome in enumerate(outcomes):
        for rows, found in ((frames, _frames(outcome)), (discs, _discs(outcome)), (bars, _bars(outcome))):
            rows += [{"at": at} | row for row in found]
    frame, disc, bar = (alt.Chart(data(rows)).transform_filter("datum.at == at") for rows in (frames, discs, bars))
    paint = alt.Color("colour:N", scale=None)
    return alt.layer(
        frame.mark_rect(fillOpacity=0, stroke=GREY, cornerRadius=6).encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q"),
        disc.transform_filter("datum.present").mark_point(size=420, opacity=1).encode(_x("x"), _y("y"), color=paint),
        disc.transform_filter("!datum.present")
        .mark_point(size=420, opacity=1, filled=False, strokeWidth=2, stroke=GREY)
        .encode(_x("x"), _y("y")),
        disc.mark_text(color=INK, dy=22).encode(_x("x"), _y("y"), text="name:N"),
        bar.mark_rect().encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q", color=paint),
        bar.mark_rule(color=INK, strokeWidth=2).encode(_x("zero"), _y("y"), y2="y2:Q"),
        bar.mark_text(color=INK, align="left", baseline="bottom", dy=-3).encode(_x("left"), _y("y"), text="words:N"),
    )


def _frames(outcome: Outcome) -> list[dict[str, Any]]:
    wide = 100 / len(outcome.pictures)
    return [{"x": i * wide + 1, "x2": (i + 1) * wide - 1, "y": 1, "y2": 54} for i in range(len(outcome.pictures))]


def _discs(outcome: Outcome) -> list[dict[str, Any]]:
    """The things of each picture: side by side, or where the outcome puts them."""
    wide, found = 100 / len(outcome.pictures), []
    for i, things in enumerate(outcome.pictures):
        names = [*things, *outcome.absent]
        places = _scaled(outcome.places) or [((j + 0.5) / len(names), 0.44) for j in range(len(names))]
        for name, (x, y) in zip(names, places, strict=True):
            colour = _PAINT.get(name.split()[0], INK)
            found.append({"x": (i + x) * wide, "y": 1 + 53 * y, "name": name, "colour": colour,
                          "present": name in things})  # fmt: skip
    return found


def _scaled(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places moved and stretched into the unit square, clear of its edges: lines stay lines."""
    if not places:
        return []
    points = np.array(places)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    unit = np.where(size > 0, (points - low) / np.where(size > 0, size, 1), 0.5)
    return [(0.12 + 0.76 * x, 0.72 - 0.58 * y) for x, y in unit.tolist()]


def _bars(outcome: Outcome) -> list[dict[str, Any]]:
    """The promised and the found number to one scale that holds 0."""
    values = [outcome.promised, outcome.found]
    low, high = min(0, *values), max(0, *values)
    scale = 96 / (high - low if high > low else 1)
    zero = 2 - low * scale
    words = (f"promised: {RELATIONS[outcome.relation]} {number(outcome.promised)}", f"found: {number(outcome.found)}")
    return [
        {"x": zero, "x2": zero + scale * value, "zero": zero, "left": 2, "y": top, "y2": top + 6, "words": text,
         "colour": colour}
        for value, top, text, colour in zip(values, (70, 90), words, (BLUE, VERMILION), strict=True)
    ]  # fmt: skip


class Breaker(widgets.VBox):
    """The theorems of a chapter with their hypotheses as boxes; every change of seed searches anew.

    ``theorem`` and ``seed`` are its inputs, ``again`` the button that counts the seed up, and ``live`` the figure.
    """

    def __init__(self, labels: Sequence[str]):
        self.theorem = widgets.Dropdown(options=list(labels), description="theorem", layout={"width": "auto"})
        self.seed = widgets.BoundedIntText(value=0, min=0, max=2**31 - 1, description="seed")
        self.again = widgets.Button(description="Search again")
        self._statement, self.live = widgets.HTML(), None
        self.again.on_click(lambda _: setattr(self.seed, "value", self.seed.value + 1))
        self.theorem.observe(self._search, "value")
        self.seed.observe(self._search, "value")
        super().__init__()
        self._search({"owner": self.theorem})

    def _search(self, change: dict[str, Any]) -> None:
        """Search with the seed and show what was found; the boxes stay as they are unless the theorem changed."""
        ticked = {} if change["owner"] is self.theorem else self.live.values
        label = self.theorem.value
        self._statement.value = f"<p>{claims.ablation(label).theorem.statement}</p>"
        self.live = Live(chart(label, self.seed.value))
        for name, value in ticked.items():
            self.live.inputs[name].value = value
        self.children = [self.theorem, self._statement, widgets.HBox([self.seed, self.again]), self.live]


def widget(chapter: str) -> Breaker:
    """The theorems of a chapter that have searches.  Raises ``KeyError`` for a chapter without any."""
    labels = [label for label in claims.ABLATIONS if claims.find(label)[0] == chapter]
    if not labels:
        raise KeyError(f"no theorem of the chapter {chapter!r} has a search for counterexamples")
    return Breaker(labels)
