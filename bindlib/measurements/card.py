"""The content of a report card: where an encoder stands on each data, and what it binds worst."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bindlib.encoders.base import SAME_POINT, TextEncoder
from bindlib.errors import printable
from bindlib.measurements import diagnostic, results, verdicts
from bindlib.measurements.datasets import built_in, built_in_quartets
from bindlib.measurements.diagnostic import Arrays, Row
from bindlib.measurements.items import COLUMNS, SWAP, Dataset
from bindlib.measurements.results import Cell
from bindlib.measurements.strips import Drawn, Point, Scale, drawn, linear, octaves
from bindlib.scenes import ANCHOR_WORDINGS

REFERENCES = Path(__file__).parent / "results" / "zoo.csv"
N_WORST = 8
LONGEST = 500  # characters of a text that are shown
SHARE = Scale((0, 0.25, 0.5, 0.75, 1))
# By which quantity the items of a kind are ordered, the worst first, and what is shown of them.
WORST = {
    "quartets": ("usage", ("ceiling", "cap", "usage", "order_distance")),
    "pairs": ("ceiling", ("ceiling",)),
    "triplets": ("gap", ("positive_distance", "swapped_distance", "gap")),
}
# What is shown of each subset.
OF_SUBSET = {"quartets": "", "pairs": "ceiling", "triplets": "accuracy"}
KINDS = ("trained", "null", "bag")


@dataclass(frozen=True)
class Strip:
    """One metric of several encoders on a common line; ``band`` is where the untrained towers lie, in percent."""

    metric: str
    marks: list[tuple[float, str]]
    rows: list[Drawn]
    band: tuple[float, float] | None


@dataclass(frozen=True)
class Subset:
    """A subset of pairs or triplets: its row, and this encoder's value and the others' on a line."""

    row: Row
    drawn: Drawn
    others: list[Drawn]

    @property
    def name(self) -> str:
        return shortened(self.row["subset"])

    @property
    def size(self) -> str:
        """The number of items, and the share of pairs that the encoder puts at one point, if any."""
        zero = self.row.get("zero_share")
        return f"n = {self.row['n']}" + (f", {zero:.1%} at d = 0" if zero else "")


@dataclass(frozen=True)
class Item:
    """An item that the encoder binds badly: its texts by role, and its numbers by name."""

    texts: dict[str, str]
    numbers: dict[str, float]


@dataclass(frozen=True)
class Section:
    """What the card says of one data; ``row`` is that of every item, ``anchors`` the usage under other anchors."""

    dataset: Dataset
    row: Row
    found: str
    strips: list[Strip]
    subsets: list[Subset]
    subset_marks: list[tuple[float, str]]
    worst: list[Item]
    limits: list[str]
    anchors: dict[str, float]
    references: list[Cell]

    @property
    def name(self) -> str:
        return printable(Path(self.dataset.name).name)

    @property
    def amount(self) -> str:
        """How many items, of which kind."""
        n, kind = len(self.dataset), self.dataset.kind
        return f"{n} {kind if n > 1 else kind.removesuffix('s')}"

    @property
    def metric(self) -> str:
        """What is shown of the subsets."""
        return OF_SUBSET[self.dataset.kind]

    @property
    def legend(self) -> dict[str, list[str]]:
        """The names of the other encoders whose subsets are shown, by what they stand for."""
        others = [other.point for subset in self.subsets for other in subset.others]
        names = {kind: [other.name for other in others if other.kind == kind] for kind in KINDS}
        return {kind: list(dict.fromkeys(of_kind)) for kind, of_kind in names.items() if of_kind}


@cache
def references() -> tuple[Cell, ...]:
    """The measurements that the package carries."""
    return tuple(results.read(REFERENCES).values())


@cache
def kind(encoder: str) -> str:
    """What an encoder of the references stands for: ``"null"`` by its name, ``"bag"`` by its ceiling on quartets."""
    if encoder.startswith("random-clip:"):
        return "null"
    rows = [cell.rows[-1] for cell in references() if cell.encoder == encoder]
    return "bag" if any(row["ceiling"] < SAME_POINT for row in rows if "usage" in row) else "trained"


def section(encoder: TextEncoder, dataset: Dataset, seed: int) -> Section:
    """Measure ``encoder`` on ``dataset``; the references are those made on the same items."""
    rows = diagnostic.measure_encoder(encoder, dataset, seed)
    worst = _worst(dataset, diagnostic.per_item(encoder, dataset))
    others = [
        cell for cell in references()
        if cell.provenance.data_revision == dataset.revision and cell.encoder != encoder.name
    ]  # fmt: skip
    null = [cell.rows[-1] for cell in others if kind(cell.encoder) == "null"]
    if dataset.kind == "quartets":
        strips, subsets, marks = list(_strips(rows[-1], others)), [], []
        anchors = _anchors(encoder, dataset)
    else:
        strips, (subsets, marks), anchors = [], _subsets(rows, others), {}
    found = "".join(verdicts.found(rows[-1], null))
    limits = verdicts.limits(encoder, dataset, rows[-1], null, list(anchors.values()))
    return Section(dataset, rows[-1], found, strips, subsets, marks, worst, limits, anchors, others)


def _strips(row: Row, others: Sequence[Cell]) -> Iterator[Strip]:
    rows = [cell.rows[-1] for cell in others]
    for metric in ("usage", "binding_to_order"):
        null = [r[metric] for r in rows if kind(r["encoder"]) == "null" and r[metric] is not None]
        points = [_point(row, metric, "this"), *(_point(r, metric, kind(r["encoder"])) for r in rows)]
        scale = SHARE if metric == "usage" else octaves([p.value for p in points if p.value is not None])
        band = (scale.place(min(null)), scale.place(max(null))) if null else None
        yield Strip(metric, scale.marks(), drawn(points, scale), band)


def _point(row: Row, metric: str, kind: str) -> Point:
    return Point(printable(row["encoder"]), kind, row[metric], row["intervals"][metric])


def _subsets(rows: Sequence[Row], others: Sequence[Cell]) -> tuple[list[Subset], list[tuple[float, str]]]:
    metric = "accuracy" if "accuracy" in rows[0] else "ceiling"
    theirs = [row for cell in others for row in cell.rows]
    scale = SHARE if metric == "accuracy" else linear(max(row[metric] for row in (*rows, *theirs)))
    return [
        Subset(
            row,
            *drawn([_point(row, metric, "this")], scale),
            drawn([_point(r, metric, kind(r["encoder"])) for r in theirs if r["subset"] == row["subset"]], scale),
        )
        for row in rows
    ], scale.marks()


def _anchors(encoder: TextEncoder, dataset: Dataset) -> dict[str, float]:
    """Mean usage with other anchors: for the built-in quartets each wording, by an example; the captions' mean."""
    found = {}
    if dataset.items == built_in().items:
        examples = [f"“{built_in_quartets(wording, 1)[0].anchor}”" for wording in range(len(ANCHOR_WORDINGS))]
        found = dict(zip(examples, diagnostic.usage_by_wording(encoder, len(dataset)), strict=True))
    centred = diagnostic.centroid_anchor(diagnostic.embed_quartets(encoder, list(dataset.items)))
    return found | {"the mean of the four captions": float(diagnostic.per_quartet(centred)["usage"].mean())}


def _worst(dataset: Dataset, arrays: Arrays) -> list[Item]:
    by, shown = WORST[dataset.kind]
    order = np.argsort(arrays[by], kind="stable")[:N_WORST]
    return [
        Item(
            {role: shortened(getattr(dataset.items[i], role)) for role in _roles(dataset.kind)},
            {name: float(arrays[name][i]) for name in shown},
        )
        for i in order
    ]


def shortened(text: str) -> str:
    """``text``, printable, with only the beginning of a very long one: a browser would take minutes to break it."""
    if len(text) <= LONGEST:
        return printable(text)
    return f"{printable(text[:LONGEST])} … (shortened here: it has {len(text)} characters)"


def _roles(kind: str) -> tuple[str, ...]:
    return tuple(column for column in COLUMNS[kind] if column in (*SWAP[kind], "positive", "anchor"))
