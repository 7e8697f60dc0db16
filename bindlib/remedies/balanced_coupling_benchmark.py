"""What a coupling reads out of the shipped dual encoders: accuracy on drawn scenes, by energy, with its controls.

An item is an image, its caption and a wrong one that mentions things in the same order.  Nothing is chosen on the
items: alignments and weights come from other scenes with other seeds.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bindlib import __version__
from bindlib.decisions import DOUBLE, decided
from bindlib.encoders import drawn, shipped
from bindlib.intervals import wilson
from bindlib.remedies.balanced_coupling import ENERGIES, EPSILON, differences, plans
from bindlib.remedies.balanced_coupling_features import RIDGE, Alignment, Towers, align, shipped_towers
from bindlib.remedies.trained_throttle import one_thread
from bindlib.storage import read_rows, write_rows
from bindlib.theory.balanced_coupling import square_grid

RESULTS = Path(__file__).parent / "results" / "balanced_coupling.csv"
UNTRAINED = ("untrained:0", "untrained:1")  # random weights: the null
ENCODERS = (*shipped.CHECKPOINTS, *UNTRAINED)
TASKS = ("swap", "swap, held-out pairs", "replacement")
READERS = ("as they are", "aligned", "aligned words", "told the sides")
CONTROLS = (
    "patches shuffled", "another image", "words shuffled", "depth 1 only", "depth 2 only", "depth 3 only",
    "half of ε", "twice ε",
)  # fmt: skip
SUMS = ("equal weights", "fitted weights")
PLACES = ("places of the hues", "places of the glyphs")
_FIT, _VALIDATION, _TEST = 3_000_001, 3_000_002, 3_000_003  # seeds: not of any training or other measurement
_PACKAGES = ("numpy", "scipy", "torch", "open_clip_torch", "POT", "pillow")
Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How many scenes to align on, to weigh on, and to test on for each task and each of ``seeds`` seeds."""

    fit: int
    validation: int
    test: int
    seeds: int


SIZES = {"ci": Size(400, 100, 100, 2), "full": Size(2000, 400, 400, 5)}


@dataclass(frozen=True)
class Items:
    """Images with their captions and, of each, a wrong caption of as many words; and which thing is named first."""

    images: list
    captions: list[str]
    wrong: list[str]
    right_first: np.ndarray


def draw_items(task: str, n: int, rng: np.random.Generator) -> Items:
    """``n`` items of one of ``TASKS``: a replacement changes one glyph or one hue to one that the scene lacks.

    Scenes hold pairs to learn from, before and after, unless the task says otherwise.  ``ValueError`` for another task.
    """
    if task not in TASKS:
        raise ValueError(f"there is no task {task!r}: choose one of {'; '.join(TASKS)}")
    scenes = drawn.draw_scenes(n, rng, held_out=task == TASKS[1])
    right_first = rng.random(n) < 0.5
    wrong = _replaced(scenes, rng) if task == "replacement" else drawn.swapped(scenes)
    pictures = drawn.pictures(scenes, rng)
    return Items(pictures, *(drawn.captions(named, right_first) for named in (scenes, wrong)), right_first)


def _replaced(scenes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    found = []
    for scene in scenes:
        while True:
            changed, where = scene.copy(), rng.integers(4)
            changed[where] = rng.integers((len(drawn.GLYPHS), len(drawn.HUES))[where // 2])
            distinct = changed[where] not in scene[where // 2 * 2 : where // 2 * 2 + 2]
            if distinct and not drawn.HELD_OUT[changed[:2], changed[2:]].any():
                break
        found.append(changed)
    return np.stack(found)


@dataclass(frozen=True)
class Features:
    """What the towers make of items: ``texts``, ``tokens`` and ``words`` have a first axis for caption and wrong."""

    images: np.ndarray  # (n, dim)
    texts: np.ndarray  # (2, n, dim)
    tokens: np.ndarray  # (2, n, 7, dim)
    words: np.ndarray  # (2, n, 7, width)
    patches: np.ndarray  # (n, depths, p, dim)


def featured(towers: Towers, items: Items) -> Features:
    """The features of items whose captions all have the same number of words."""
    both = (items.captions, items.wrong)
    return Features(
        towers.pooled_images(items.images),
        np.stack([towers.pooled_texts(captions) for captions in both]),
        np.stack([towers.tokens(captions) for captions in both]),
        np.stack([towers.words(captions) for captions in both]),
        towers.patches(items.images),
    )


@dataclass(frozen=True)
class Reader:
    """How tokens and patches are brought together, and the weights of the energies, fixed on scenes of its own."""

    name: str
    alignment: Alignment | None
    weights: dict[str, np.ndarray]

    def inputs(self, found: Features) -> tuple[np.ndarray, np.ndarray]:
        """Tokens ``(2, n, 7, k)`` and patches ``(n, depths, p, k)``."""
        tokens = found.words if self.name in READERS[2:] else found.tokens
        if self.alignment is None:
            return tokens, found.patches
        return self.alignment.tokens(tokens), self.alignment.patches(found.patches)

    def sums(self, preferred: np.ndarray) -> dict[str, np.ndarray]:
        """The score under each kind of weights ``(n,)``, and each energy alone, from differences ``(n, 4)``."""
        alone = dict(zip(ENERGIES, preferred.T, strict=True))
        return {name: preferred @ weights for name, weights in self.weights.items()} | alone


def fit_readers(towers: Towers, size: Size) -> Iterator[Reader]:
    """Each of ``READERS`` for these towers; the weights must do for swaps and replacements alike."""
    rng = np.random.default_rng(_VALIDATION)
    validation = [featured(towers, draw_items(task, size.validation, rng)) for task in ("swap", "replacement")]
    items = draw_items("swap", size.fit, np.random.default_rng(_FIT))
    fit = featured(towers, items)
    alignments = (
        None,
        align(fit.tokens[0], fit.patches),
        align(fit.words[0], fit.patches),
        align(fit.words[0], fit.patches, sides(items.right_first, fit.patches.shape[2])),
    )
    for name, alignment in zip(READERS, alignments, strict=True):
        draft = Reader(name, alignment, {})
        preferred = np.concatenate([preferences(*draft.inputs(found)) for found in validation])
        yield replace(draft, weights=weigh(preferred))


def sides(right_first: np.ndarray, patches: int) -> np.ndarray:
    """For each patch of a drawn scene, the colour and the glyph of its half, one half each: ``(n, patches, 7)``."""
    first = (square_grid(patches)[:, 0] > 0.5) == right_first[:, None]
    return np.where(first[..., None], np.array([0, 1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 0, 1, 1])) / 2


def preferences(tokens: np.ndarray, patches: np.ndarray, epsilon: float = EPSILON, positions=None) -> np.ndarray:
    """``differences`` of items ``(n, 4)``, with what is rounding set to 0."""
    found = differences(*tokens, patches, epsilon, positions)
    return np.where(np.abs(found) <= DOUBLE, 0, found)


def weigh(preferred: np.ndarray) -> dict[str, np.ndarray]:
    """Weights ``(4,)`` from differences ``(n, 4)`` on validation scenes, each kind of ``SUMS``.

    Equal: one over the standard deviation, which needs no answers.  Fitted: a logistic regression with no constant, as
    antisymmetry demands, and a unit Gaussian prior.  An energy that never decides has no weight.
    """
    spread = preferred.std(axis=0)
    equal = np.divide(1, spread, out=np.zeros(4), where=spread > 0)
    scaled = preferred * equal

    def loss(w):
        return np.logaddexp(0, -scaled @ w).sum() + w @ w / 2

    return dict(zip(SUMS, (equal, equal * minimize(loss, np.zeros(4)).x), strict=True))


def accuracy(margins: np.ndarray) -> float:
    """The share of positive margins ``(n,)``; ties count one half."""
    return float(decided(margins, DOUBLE).mean())


def controlled(control: str, tokens: np.ndarray, patches: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``preferences`` of items under one of ``CONTROLS``.

    Shuffled patches lie elsewhere, independently at each depth; another image is that of the next item; shuffled words
    keep their features and stand in another order, the same for both captions.
    """
    n, depths, p, _ = patches.shape
    if control == "patches shuffled":
        orders = rng.permuted(np.broadcast_to(np.arange(p), (n, depths, p)), axis=-1)
        return preferences(tokens, patches, positions=square_grid(p)[orders].reshape(n, depths * p, 2))
    if control == "another image":
        return preferences(tokens, np.roll(patches, -1, axis=0))
    if control == "words shuffled":
        orders = rng.permuted(np.broadcast_to(np.arange(tokens.shape[2]), tokens.shape[1:3]), axis=-1)
        return preferences(np.take_along_axis(tokens, orders[None, :, :, None], axis=2), patches)
    if control.endswith("ε"):
        return preferences(tokens, patches, EPSILON * (0.5 if "half" in control else 2))
    depth = int(control.split()[1])
    return preferences(tokens, patches[:, depth - 1 : depth])


def located(tokens: np.ndarray, patches: np.ndarray, right_first: np.ndarray) -> dict[str, np.ndarray]:
    """How far to the right of one another the two hues, and the two glyphs, of the caption lie, each ``(n,)``.

    Positive where the plan puts them on their sides.  It knows how drawn scenes are made; no score does.
    """
    plan, _ = plans(*tokens, patches)
    x = np.tile(square_grid(patches.shape[2])[:, 0], patches.shape[1])
    place = (plan @ x / plan.sum(axis=-1))[:, :7] * np.where(right_first, -1, 1)[:, None]
    return dict(zip(PLACES, (place[:, 5] - place[:, 1], place[:, 6] - place[:, 2]), strict=True))


def decide(towers: Towers, readers: Iterable[Reader], task: str, n: int, seed: int) -> Iterator[Row]:
    """One row for each reader, energy or sum, and control (on swaps): the accuracy on ``n`` items of one seed.

    The reader that was told the sides is a control itself, and gets no others.
    """
    rng = np.random.default_rng([_TEST, TASKS.index(task), seed])
    items = draw_items(task, n, rng)
    found = featured(towers, items)
    told = {"encoder": towers.name, "task": task, "seed": seed, "n": n}

    def rows(reader: str, control: str, margins: dict[str, np.ndarray]) -> Iterator[Row]:
        for energy, of in margins.items():
            yield told | {"reader": reader, "energy": energy, "control": control, "accuracy": accuracy(of)}

    yield from rows("global score", "", {"": np.sum(found.images * (found.texts[0] - found.texts[1]), axis=-1)})
    for reader in readers:
        tokens, patches = reader.inputs(found)
        yield from rows(reader.name, "", reader.sums(preferences(tokens, patches)))
        if task == "swap":
            yield from rows(reader.name, "", located(tokens, patches, items.right_first))
            for control in CONTROLS if reader.name != READERS[3] else ():
                yield from rows(reader.name, control, reader.sums(controlled(control, tokens, patches, rng)))


def plain_rows(encoder: str, task: str, size: Size) -> list[Row]:
    """The rows of ``measure`` that need no fitting: the global score, and the energies of tokens as they are."""
    with one_thread():
        towers, plain = shipped_towers(encoder), [Reader(READERS[0], None, {})]
        return summary(row for seed in range(size.seeds) for row in decide(towers, plain, task, size.test, seed))


def measure(encoders: Iterable[str], size: Size) -> Iterator[Row]:
    """The rows of ``summary`` for shipped checkpoints or ``UNTRAINED`` ones, one encoder after the other."""
    for encoder in encoders:
        with one_thread():
            towers = shipped_towers(encoder)
            readers = list(fit_readers(towers, size))
            cells = product(TASKS, range(size.seeds))
            rows = [row for task, seed in cells for row in decide(towers, readers, task, size.test, seed)]
        yield from summary(rows)


KEYS = ("encoder", "task", "reader", "energy", "control")


def summary(rows: Iterable[Row]) -> list[Row]:
    """Rows of ``decide`` that differ in their seed alone, as one.

    The accuracy is over all ``n`` items, with Wilson's 95 % interval, which is wider than needed where there are ties;
    ``lowest`` and ``highest`` are those of single seeds.
    """
    cells: dict[tuple, list[Row]] = {}
    for row in rows:
        cells.setdefault(tuple(row[key] for key in KEYS), []).append(row)
    return [dict(zip(KEYS, key, strict=True)) | _estimate(cell) for key, cell in cells.items()]


def _estimate(cell: list[Row]) -> Row:
    found, n = [row["accuracy"] for row in cell], sum(row["n"] for row in cell)
    p = float(np.mean(found))
    low, high = wilson(p, n)
    row = {"accuracy": p, "low": low, "high": high, "lowest": min(found), "highest": max(found)}
    return row | {"seeds": len(cell), "n": n}


def write_results(rows: list[Row], path: Path = RESULTS) -> None:
    """Write rows of ``measure`` as CSV, numbers to four digits, and beside it, as JSON, what they were made with."""
    write_rows(path, rows, ".4f")
    told = {
        "size": asdict(SIZES["full"]), "epsilon": EPSILON, "ridge": RIDGE,
        "weights": {name: f"sha256:{shipped.CHECKPOINTS[name][1]}" for name in shipped.CHECKPOINTS},
        "versions": {"bindlib": __version__} | {name: version(name) for name in _PACKAGES},
    }  # fmt: skip
    path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def results(path: Path = RESULTS) -> list[Row]:
    """The committed rows: ``measure(ENCODERS, SIZES["full"])``."""
    return read_rows(path, words=KEYS)
