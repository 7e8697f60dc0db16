"""What factored inference does on the shipped encoders: the benchmark, plain retrieval and swaps, with controls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from bindlib.decisions import DOUBLE, decided
from bindlib.encoders import drawn
from bindlib.encoders.base import DualEncoder
from bindlib.remedies import factored_inference_benchmark as bench
from bindlib.remedies.factored_inference import Setting, calibrate, edit, log_odds
from bindlib.remedies.queries import And, Concept, Not, Or, Query, and_, concept, normal, or_
from bindlib.theory.factored_inference import BETA, MU, evidence, log_loss

CALIBRATION_SCENES, RETRIEVAL_SCENES, SWAP_SCENES = 200, 400, 300
_CALIBRATION, _ITEMS, _RETRIEVAL, _SWAPS = range(4)  # streams of random numbers that never meet
Row = dict[str, Any]
Scores = Vectors = dict[str, np.ndarray]
PLAIN, PUBLISHED, CALIBRATED, NULL = "plain score", "LCSE, published β and μ", "LCSE, calibrated", "null: other images"


def affirmed(query: Query) -> Query:
    """The query without its negations."""
    match query:
        case Concept():
            return query
        case Not(part):
            return affirmed(part)
        case And(parts) | Or(parts):
            return (and_ if isinstance(query, And) else or_)(*map(affirmed, parts))


def _logic_alone(query: Query, scores: Scores, fitted: Setting) -> np.ndarray:
    return log_odds(query, {x: evidence(s, fitted.beta, fitted.mu) for x, s in scores.items()}, fitted)


# method(query, plain score, concept scores, null concept scores, calibrated setting) -> score of each image
METHODS: dict[str, Callable[[Query, np.ndarray, Scores, Scores, Setting], np.ndarray]] = {
    PLAIN: lambda q, plain, s, null, fitted: plain,
    PUBLISHED: lambda q, plain, s, null, fitted: plain + edit(q, s),
    CALIBRATED: lambda q, plain, s, null, fitted: plain + edit(q, s, fitted),
    "without the plain score": lambda q, plain, s, null, fitted: _logic_alone(q, s, fitted),
    "arithmetic means": lambda q, plain, s, null, fitted: plain + edit(q, s, replace(fitted, gamma_and=1, gamma_or=1)),
    "negations dropped": lambda q, plain, s, null, fitted: plain + edit(affirmed(q), s, fitted),
    "negation normal form": lambda q, plain, s, null, fitted: plain + edit(normal(q), s, fitted),
    NULL: lambda q, plain, s, null, fitted: plain + edit(q, null, fitted),
}


def stream(seed: int, which: int) -> np.random.Generator:
    """Random numbers for one use of a seed: calibration never sees the scenes of the test."""
    return np.random.default_rng([seed, 6, which])


def fitted_setting(
    encoder: DualEncoder, vectors: Vectors, seed: int, n: int = CALIBRATION_SCENES
) -> tuple[Setting, list[Row]]:
    """The calibrated setting, and how well each kind of concept can be told present from absent.

    ``auc`` is the chance that a concept which is present scores above one which is absent; the last row is all kinds.
    """
    pairs = bench.evidence_pairs(encoder, vectors, n, stream(seed, _CALIBRATION))
    pairs["all"] = tuple(np.concatenate(columns) for columns in zip(*pairs.values(), strict=True))
    found = calibrate(*pairs["all"])
    rows = [
        {
            "encoder": encoder.name,
            "concepts": kind,
            "present": float(s[there].mean()),
            "absent": float(s[~there].mean()),
        }
        | {"auc": _auc(s, there), "beta": found.beta, "mu": found.mu}
        | {"loss": log_loss(s, there, found.beta, found.mu), "loss_published": log_loss(s, there, BETA, MU)}
        for kind, (s, there) in pairs.items()
    ]
    return Setting(found.beta, found.mu), rows


def _auc(scores: np.ndarray, present: np.ndarray) -> float:
    n, ranks = int(present.sum()), rankdata(scores)
    return float((ranks[present].sum() - n * (n + 1) / 2) / (n * (len(present) - n)))


def right(scores: np.ndarray) -> np.ndarray:
    """1 where the first of two images ``(..., 2)`` scores higher, 1/2 in a tie up to rounding."""
    return decided(scores[..., 0] - scores[..., 1], DOUBLE)


def run(encoder: DualEncoder, vectors: Vectors, items: bench.Benchmark, setting: Setting) -> Iterator[Row]:
    """One row an item group and method: ``right`` ``(n,)``, and ``agree`` ``(n,)`` where the form has an equivalent."""
    for found in bench.scored(encoder, vectors, items):
        form = found.group.form
        for name, method in METHODS.items():
            row = {"family": form.family, "form": form.name}
            row |= {"concepts": found.group.kind, "method": name}
            first = right(method(form.query, found.plain, found.scores, found.null, setting))
            if form.same is not None:
                second = right(method(form.same, found.same, found.scores, found.null, setting))
                row["agree"] = (first == second).astype(float)
            yield row | {"right": first}


def retrieval(
    encoder: DualEncoder, vectors: Vectors, seed: int, setting: Setting, n: int = RETRIEVAL_SCENES
) -> list[Row]:
    """``hit`` ``(n,)``: whether the caption of each of ``n`` different scenes finds its image among all of them.

    The plain score, its edits by an AND of the caption's four words and of its two atoms, and these ANDs alone.
    """
    rng = stream(seed, _RETRIEVAL)
    scenes = _different(drawn.draw_scenes(n + 50, rng))[:n]
    captions = drawn.captions(scenes, rng.random(n) < 0.5)
    image = encoder.encode_image(drawn.pictures(scenes, rng)).astype(np.float64)
    plain = image @ encoder.encode_text(captions).astype(np.float64).T  # (image, caption)
    rows = [{"method": PLAIN, "scores": plain}]
    for what, words in (("words", words_of(scenes)), ("atoms", atoms_of(scenes))):
        scores = {f"{i}": image @ stacked(vectors, column).T for i, column in enumerate(words)}
        for name, used in (("published β and μ", Setting()), ("calibrated", setting)):
            rows.append({"method": f"LCSE, {what}, {name}", "scores": plain + edit(all_of(scores), scores, used)})
        rows.append({"method": f"logic alone, {what}", "scores": _logic_alone(all_of(scores), scores, setting)})
    return [{"method": row["method"], "hit": found_first(row["scores"])} for row in rows]


def found_first(scores: np.ndarray) -> np.ndarray:
    """For ``scores`` ``(n, n)`` of images (rows) by captions: whether each caption's own image scores highest."""
    return (scores.argmax(axis=0) == np.arange(len(scores))).astype(float)


def swaps(encoder: DualEncoder, vectors: Vectors, seed: int, setting: Setting, n: int = SWAP_SCENES) -> list[Row]:
    """``images`` and ``captions``, ``(n,)`` each: for every scene and its swap the share of two choices that are right.

    Both captions choose an image, both images choose a caption.  The two choices hang together, so that an interval
    must count scenes.

    An edit by words, the concepts being the four words, is the same for a caption and its swap.
    """
    rng = stream(seed, _SWAPS)
    scenes = drawn.draw_scenes(n, rng)
    pair = np.stack([scenes, drawn.swapped(scenes)], axis=1)  # (n, 2, 4)
    flat = pair.reshape(-1, 4)
    right_first = np.repeat(rng.random(n) < 0.5, 2)
    image, text = (
        vectors.astype(np.float64).reshape(n, 2, -1)
        for vectors in (
            encoder.encode_image(drawn.pictures(flat, rng)),
            encoder.encode_text(drawn.captions(flat, right_first)),
        )
    )
    plain = np.einsum("nid,ncd->nic", image, text)  # (scene, image, caption)
    edits = {}
    for what, words in (("words", words_of(flat)), ("atoms", atoms_of(flat))):
        of = [stacked(vectors, column).reshape(n, 2, -1) for column in words]
        scores = {f"{i}": np.einsum("nid,ncd->nic", image, v) for i, v in enumerate(of)}
        edits[what] = edit(all_of(scores), scores, setting), _logic_alone(all_of(scores), scores, setting)
    zero = np.zeros_like(plain)
    methods = {PLAIN: (plain, zero)}
    for what, (by, logic) in edits.items():
        methods |= {f"LCSE, {what}": (plain, by), f"edit alone, {what}": (zero, by)}
        methods |= {f"logic alone, {what}": (zero, logic)}
    return [
        {"method": name, "edit": by}
        | {"images": _diagonal_right(score + by), "captions": _diagonal_right((score + by).swapaxes(1, 2))}
        for name, (score, by) in methods.items()
    ]


def _diagonal_right(scores: np.ndarray) -> np.ndarray:
    """For ``scores`` ``(n, 2, 2)`` of two choices by two that ask: the share that choose their own, ``(n,)``."""
    own = np.stack([scores[:, 0, 0], scores[:, 1, 1]], axis=1)
    other = np.stack([scores[:, 1, 0], scores[:, 0, 1]], axis=1)
    return right(np.stack([own, other], axis=-1)).mean(axis=1)


def all_of(scores: Scores) -> Query:
    """The AND of these concepts."""
    return and_(*map(concept, scores))


def words_of(scenes: np.ndarray) -> list[list[str]]:
    """The four words of each scene ``(n, 4)``, a list of ``n`` for each."""
    return [[of[i] for i in column] for of, column in zip(_WORDS_OF, scenes.T.tolist(), strict=True)]


_WORDS_OF = (drawn.GLYPHS, drawn.GLYPHS, drawn.HUES, drawn.HUES)


def atoms_of(scenes: np.ndarray) -> list[list[str]]:
    """The two atoms of each scene ``(n, 4)``, a list of ``n`` for each."""
    left, right_, hue, other = words_of(scenes)
    return [[f"{h} {g}" for h, g in zip(*side, strict=True)] for side in ((hue, left), (other, right_))]


def stacked(vectors: Vectors, words: Sequence[str]) -> np.ndarray:
    """The vectors of these words, ``(n, dim)``."""
    return np.stack([vectors[word] for word in words])


def _different(scenes: np.ndarray) -> np.ndarray:
    """The scenes without those that show the same two things as an earlier one, on whatever sides."""
    things = np.sort(scenes[:, :2] * len(drawn.HUES) + scenes[:, 2:], axis=1)
    first = np.unique(things, axis=0, return_index=True)[1]
    return scenes[np.sort(first)]


@dataclass(frozen=True)
class Found:
    """Rows of every part, for all encoders and seeds."""

    detection: list[Row]
    items: list[Row]
    retrieval: list[Row]
    swaps: list[Row]


def experiment(encoders: Sequence[DualEncoder], seeds: Sequence[int], sizes: dict[str, int] = bench.SIZES) -> Found:
    """Calibration, benchmark, retrieval and swaps, seed by seed; every encoder meets the same scenes and pictures."""
    found = Found([], [], [], [])
    known = [(encoder, bench.vocabulary(encoder)) for encoder in encoders]
    for seed in seeds:
        items = bench.benchmark(stream(seed, _ITEMS), sizes)
        for encoder, vectors in known:
            setting, detection = fitted_setting(encoder, vectors, seed)
            parts = {
                "detection": detection,
                "items": run(encoder, vectors, items, setting),
                "retrieval": retrieval(encoder, vectors, seed, setting),
                "swaps": swaps(encoder, vectors, seed, setting),
            }
            for name, rows in parts.items():
                getattr(found, name).extend({"encoder": encoder.name, "seed": seed} | row for row in rows)
    return found


def paired(rows: Sequence[Row], pairs: Iterable[tuple[str, str]], value: str) -> list[Row]:
    """For each pair of methods, ``gain`` ``(n,)``: ``value`` of the one less that of the ``over`` on the same items.

    ``rows`` have arrays ``value`` and are told apart by their other entries that are text or whole numbers.  Raises
    ``KeyError`` where a row of the one method has no counterpart.
    """
    known = {_place(row): row[value] for row in rows}
    return [
        {k: v for k, v in row.items() if isinstance(v, str | int)}
        | {"over": over, "gain": row[value] - known[_place(row | {"method": over})]}
        for method, over in pairs
        for row in rows
        if row["method"] == method
    ]


def _place(row: Row) -> frozenset:
    return frozenset((k, v) for k, v in row.items() if isinstance(v, str | int))


def summary(
    rows: Iterable[Row], by: Sequence[str], value: str, interval: Callable[[np.ndarray], tuple[float, Sequence[float]]]
) -> list[Row]:
    """The mean of ``value`` over all items of each group of rows, with its ``interval`` and the range over seeds.

    Groups have equal values of the keys ``by``; rows without ``value`` are left out.
    """
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        if value in row:
            groups.setdefault(tuple(row[key] for key in by), []).append(row)
    found = []
    for key, members in groups.items():
        items = np.concatenate([row[value] for row in members])
        mean, (low, high) = interval(items)
        seeds = {row["seed"]: [] for row in members}
        for row in members:
            seeds[row["seed"]].append(row[value])
        means = [float(np.concatenate(parts).mean()) for parts in seeds.values()]
        bounds = {"low": low, "high": high, "seed_low": min(means), "seed_high": max(means), "seeds": len(means)}
        found.append(dict(zip(by, key, strict=True)) | {"n": len(items), "value": mean} | bounds)
    return found
