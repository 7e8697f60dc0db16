"""A report card of one encoder: where it stands, what it binds worst, and what the numbers cannot say."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bindlib.book.table import with_interval
from bindlib.encoders import zoo
from bindlib.encoders.base import Store
from bindlib.errors import BindlibError, printable
from bindlib.measurements.card import Section, section
from bindlib.measurements.datasets import load
from bindlib.measurements.provenance import versions
from bindlib.measurements.sweep import Settings
from bindlib.storage import put
from bindlib.terminal import one_line

KINDS = {"this": "this encoder", "trained": "trained", "null": "untrained", "bag": "bag of words"}
LABELS = {
    "usage": "Usage of the cap",
    "binding_to_order": "Swap against order",
    "ceiling": "Ceilings by subset",
    "accuracy": "Accuracy by subset",
}
EXPLANATIONS = {
    "usage": "The distance of a caption from its swap, as a share of the most that their closeness to a neutral anchor "
    "allows. 0: a bag of words. 1: the cap.",
    "binding_to_order": "How many times as far a swap of the attributes moves a caption as another order of the same "
    "scene does: d / d_order. Equal ratios have equal lengths. Undefined where neither moves it.",
    "ceiling": "The mean distance of a caption from its negative, between 0 and 2.",
    "accuracy": "The share of triplets whose positive is nearer to the query than the swapped text. One half: chance.",
}
NAMES = {
    "ceiling": "d",
    "cap": "cap",
    "usage": "usage",
    "order_distance": "d_order",
    "positive_distance": "to the positive",
    "swapped_distance": "to the swapped text",
    "gap": "gap",
}
WORST_TITLES = {
    "quartets": "The quartets it binds worst",
    "pairs": "The pairs it tells apart least",
    "triplets": "The triplets it gets most wrong",
}


def report(name: str, data: Sequence[str], settings: Settings, out: Path) -> str:
    """Measure the encoder ``name``, write its card to ``out``, and return the card's short text.

    The reference rows are those that the package carries, as far as they were made on the same data. Raises
    ``BindlibError`` before anything is measured on an ``out`` that can't be used, bad data or an unknown encoder.
    """
    _check(out)
    datasets = {dataset.name: dataset for dataset in (load(name, settings.strict) for name in data)}
    card, _ = zoo.require(name)
    loaded = zoo.load_encoder(name, settings.device, settings.cache)
    encoder = replace(loaded, store=Memory(loaded.store))
    sections = [section(encoder, dataset, settings.seed) for dataset in datasets.values()]
    content = {
        "name": printable(name), "revision": printable(encoder.revision), "card": card, "sections": sections,
        "versions": versions(), "seed": settings.seed, "device": card.runs_on(settings.device),
        "references": _made_with(sections), "kinds": KINDS, "labels": LABELS, "explanations": EXPLANATIONS,
        "names": NAMES, "worst_titles": WORST_TITLES,
    }  # fmt: skip
    put(out, _rendered("card.html", content).encode())
    return _rendered("card.txt", content)


@dataclass
class Memory:
    """A ``Store`` in this process before another one: a card asks for the same captions several times."""

    behind: Store
    rows: dict[str, np.ndarray] = field(default_factory=dict)

    def get(self, captions: list[str]) -> dict[str, np.ndarray]:
        self.rows |= self.behind.get([caption for caption in captions if caption not in self.rows])
        return {caption: self.rows[caption] for caption in captions if caption in self.rows}

    def put(self, rows: dict[str, np.ndarray]) -> None:
        self.rows |= rows
        self.behind.put(rows)


def _made_with(sections: Sequence[Section]) -> dict[str, list[str]]:
    """The names of the reference encoders, by what they were measured with."""
    found: dict[str, list[str]] = {}
    for cell in (cell for part in sections for cell in part.references):
        provenance = cell.provenance
        names = found.setdefault(f"{provenance.versions}; seed {provenance.seed}; {provenance.device}", [])
        names += [cell.encoder] if cell.encoder not in names else []
    return found


def _check(out: Path) -> None:
    if out.suffix.lower() not in (".html", ".htm"):
        raise BindlibError(f"--out {out} has an unknown ending: the card is a page, name it .html")
    if not out.parent.is_dir():
        raise BindlibError(f"--out {out}: there is no folder {out.parent}: make it first")
    if (out.exists() and not out.is_file()) or not os.access(out.parent, os.W_OK | os.X_OK):
        raise BindlibError(f"--out {out} cannot be written: choose another")


def _rendered(template: str, content: Mapping[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("bindlib.measurements"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": "{:z.3f}".format,
        "bounds": lambda interval: "" if interval is None else "[{:z.3f}, {:z.3f}]".format(*interval),
        "one_line": one_line,
        "shown": lambda point: with_interval(point.value, point.interval),
    }
    return environment.get_template(template).render(content)
