"""Binding functions fitted to encoders and to codes whose answer is known: rows, and the file of the long runs.

The rows in ``results/`` are those of ``function_parts`` and ``transformer_parts``; ``bindlib remake`` makes them again.
"""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bindlib import __version__
from bindlib.encoders import drawn
from bindlib.encoders.base import DualEncoder, DualTower, TextEncoder
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.remedies.balanced_coupling_benchmark import UNTRAINED
from bindlib.remedies.balanced_coupling_features import shipped_towers
from bindlib.remedies.binding_functions import fit
from bindlib.remedies.binding_transformer import Setting, trained
from bindlib.scenes import WORLD, Atom
from bindlib.storage import read_rows, write_rows
from bindlib.theory.binding_functions import bands, blind_r_squared, judge, reachable, split
from bindlib.theory.factored_codes import draw_code

NOUNS = (*WORLD.objects, "bag", "bell", "boat", "bowl", "box", "lamp", "shoe", "spoon")
ATTRIBUTES = (*WORLD.attributes, "grey", "large", "small", "wooden", "metal", "plastic", "striped", "spotted", "shiny",
              "dirty", "broken")  # fmt: skip
SIDE, CODE_DIM, PRODUCT_DIM = 20, 64, 8
RENDERS = 2  # pictures of each order of a scene, whose vectors are averaged
COVERAGES, FEW = tuple(i / 10 for i in range(1, 10)), (0.2, 0.5, 0.9)
TEXT = {"glove": COVERAGES, "minilm": FEW, "paraphrase-l3": FEW, "use-multilingual": (0.5, 0.9)}
SHIPPED = {"0": COVERAGES, "0.1": FEW, "1": COVERAGES, "ordinary": FEW}
LEARNED = (0.2, 0.3, 0.5, 0.7, 0.9)
QUICK = ("additive", "product", "product with readout")
MODELS = (*QUICK, "global product", "free objects")  # of the long runs
RESULTS = Path(__file__).parent / "results"
Embed = Callable[[np.ndarray], np.ndarray]
Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """What is modelled: ``embed`` maps scenes ``(n, 2, 2)`` on a 20 × 20 grid to ``(n, dim)``; the same every time."""

    name: str
    embed: Embed


def _two_orders(scenes: np.ndarray, encode: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The mean of what ``encode`` makes of the scenes with either object first: a function of the scene alone."""
    both = encode(np.concatenate([scenes, scenes[:, ::-1]]))
    return both.reshape(2, len(scenes), -1).mean(axis=0, dtype=np.float64)


def text_source(encoder: TextEncoder) -> Source:
    """Captions "a red car and a blue dog" of 20 nouns × 20 attributes, or of glyphs × hues for a shipped encoder.

    The same for an untrained one.
    """
    drawn_words = encoder.name.startswith(("shipped:", "untrained:"))
    names = (drawn.GLYPHS, drawn.HUES) if drawn_words else (NOUNS, ATTRIBUTES)

    def encode(scenes: np.ndarray) -> np.ndarray:
        phrases = [[str(Atom(names[0][a], names[1][b])) for a, b in scene] for scene in scenes]
        return encoder.encode_text([" and ".join(pair) for pair in phrases])

    return Source(f"{encoder.name}, text" if drawn_words else encoder.name, lambda s: _two_orders(s, encode))


def image_source(encoder: DualEncoder, renders: int = RENDERS) -> Source:
    """Pictures of two glyphs, either one on the left, at heights and with noise drawn from the scene."""

    def encode(scenes: np.ndarray) -> np.ndarray:
        rows = scenes.transpose(0, 2, 1).reshape(-1, 4)
        pictures = [p for row in rows for p in drawn.pictures(np.tile(row, (renders, 1)), np.random.default_rng(row))]
        return encoder.encode_image(pictures).reshape(len(rows), renders, -1).mean(axis=1)

    return Source(f"{encoder.name}, images", lambda scenes: _two_orders(scenes, encode))


def untrained(name: str) -> DualTower:
    """Towers of the architecture of the shipped encoders with random weights, one of ``UNTRAINED``: a null control.

    Raises ``BindlibError`` for a name without a seed.
    """
    towers = shipped_towers(name)
    return DualTower(name, "random weights", None, towers.pooled_texts, image_vectors=towers.pooled_images)


def code_source(name: str, seed: int) -> Source:
    """Sums of two object codes whose answer is known.  Raises ``ValueError`` for a name that is not in ``CODES``."""
    if name not in CODES:
        raise ValueError(f"no code is called {name!r}; there are {', '.join(CODES)}")
    table = CODES[name](np.random.default_rng([seed, list(CODES).index(name)]))
    return Source(name, lambda scenes: table[scenes[..., 0], scenes[..., 1]].sum(axis=1))


def _factored(family: str, dim: int) -> Callable[[np.random.Generator], np.ndarray]:
    grid = np.indices((SIDE, SIDE))
    return lambda rng: draw_code(family, SIDE, SIDE, dim, rng).atoms(*grid)


def _hashed(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((SIDE, SIDE, CODE_DIM)) / np.sqrt(CODE_DIM)


def _turned_product(rng: np.random.Generator) -> np.ndarray:
    """Products of ``PRODUCT_DIM`` Gaussian numbers, seen through a random isometry into ``CODE_DIM`` dimensions."""
    u, v = rng.standard_normal((2, SIDE, PRODUCT_DIM))
    return (u[:, None] * v) @ np.linalg.qr(rng.standard_normal((CODE_DIM, PRODUCT_DIM)))[0].T


CODES = {
    "code: bag": _factored("additive", CODE_DIM),
    "code: product": _factored("hadamard", CODE_DIM),
    "code: product, turned": _turned_product,
    "code: tensor": _factored("tensor", SIDE**2),
    "code: hashed": _hashed,
}


def shuffled(source: Source, rng: np.random.Generator) -> Source:
    """The null control: every object gets the name of another one, so that its concepts say nothing of it."""
    table = rng.permutation(SIDE**2)

    def embed(scenes: np.ndarray) -> np.ndarray:
        return source.embed(np.stack(np.divmod(table[scenes[..., 0] * SIDE + scenes[..., 1]], SIDE), axis=-1))

    return Source(f"{source.name}, shuffled", embed)


def fitted_rows(
    source: Source,
    coverage: float,
    seed: int,
    n_train: int,
    n_test: int,
    models: Sequence[str] = MODELS,
    judged: Source | None = None,
) -> list[Row]:
    """One row for each model and part (``held_in``, ``held_out``) with what ``judge`` measures and the best blind R².

    Fitted on ``n_train`` scenes of seen objects of ``source``, judged on ``judged`` if that is another.  ``reachable``
    is the share of unseen objects whose concepts the exposure graph joins.  Raises ``ValueError`` where ``bands`` and
    ``split`` do.
    """
    rng = np.random.default_rng([seed, round(10 * coverage)])
    seen = bands(SIDE, SIDE, coverage, rng)
    scenes = split(seen, n_train, n_test, rng)
    y = source.embed(scenes.train)
    mean, asked = y.mean(axis=0), judged or source
    share = float(reachable(seen)[~seen].mean()) if not seen.all() else 1.0
    tests = {part: (s, asked.embed(s)) for part in ("held_in", "held_out") if len(s := getattr(scenes, part))}
    rows = []
    for model in models:
        found = fit(model, scenes.train, y, seen.shape, rng)
        for part, (test, rows_of_test) in tests.items():
            if model == "free objects" and part == "held_out":
                continue  # it has no vector for them
            name = f"{source.name} → {judged.name}" if judged else source.name
            row = {"source": name, "model": model, "coverage": coverage, "seed": seed, "part": part}
            row |= {"n_train": len(scenes.train), "n_test": len(test), "parameters": found.parameters}
            row |= judge(rows_of_test, found.predict(test), mean) | {"blind_r2": blind_r_squared(rows_of_test, mean)}
            rows.append(row | {"reachable": share})
    return rows


# The long runs.


def transformer_rows(setting: Setting) -> tuple[list[Row], list[Row]]:
    """What a training ends with, one row, and the models fitted to its text tower on the objects that it had seen."""
    trainer, row = trained(setting)
    source = Source(f"transformer, {setting.image_side}", lambda scenes: trainer.embed(trainer.text, scenes))
    return [row], fitted_rows(source, setting.coverage, setting.seed, 1000, 200)


SEEDS = range(3)


def function_parts() -> dict[str, Callable[[], list[Row]]]:
    """What makes the rows of ``binding_functions.csv``, in their order: codes, encoders, and towers never trained."""
    codes = {f"{name}, seed {seed}": partial(code_rows, name, seed) for name, seed in product(CODES, SEEDS)}
    shipped = {f"shipped:{name}": partial(shipped_rows, name) for name in SHIPPED}
    texts = {name: partial(sentence_rows, name) for name in TEXT}
    return codes | shipped | texts | {name: partial(untrained_rows, name) for name in UNTRAINED}


def _long_rows(
    source: Source, coverages: Sequence[float] = FEW, judged: Source | None = None, seeds: Sequence[int] = SEEDS
) -> list[Row]:
    """At the coverages ``FEW`` all models are fitted, at the others the ``QUICK`` ones."""
    return [
        row
        for seed, coverage in product(seeds, coverages)
        for row in fitted_rows(source, coverage, seed, 1000, 100, MODELS if coverage in FEW else QUICK, judged)
    ]


def code_rows(name: str, seed: int) -> list[Row]:
    return _long_rows(code_source(name, seed), FEW if name == "code: tensor" else COVERAGES, seeds=[seed])


def shipped_rows(name: str) -> list[Row]:
    encoder = load_encoder(f"shipped:{name}")
    text, images = text_source(encoder), image_source(encoder)
    rows = _long_rows(text, SHIPPED[name])
    if name != "0.1":
        rows += _long_rows(images)
    if name in ("1", "ordinary"):
        rows += _long_rows(text, judged=images)
    if name == "1":
        rows += _long_rows(shuffled(text, np.random.default_rng(0)))
    return rows


def sentence_rows(name: str) -> list[Row]:
    source = text_source(load_encoder(name))
    rows = _long_rows(source, TEXT[name])
    return rows + (_long_rows(shuffled(source, np.random.default_rng(0))) if name == "minilm" else [])


def untrained_rows(name: str) -> list[Row]:
    towers = untrained(name)
    return _long_rows(text_source(towers)) + _long_rows(image_source(towers))


TRAININGS = (
    *(Setting(coverage, "product", seed) for coverage, seed in product(COVERAGES, range(3))),
    *(Setting(coverage, "hashed", seed) for coverage, seed in product(FEW, range(3))),
    *(Setting(coverage, "learned", seed, steps=3000) for seed, coverage in product(range(3), LEARNED)),
)


def transformer_parts() -> dict[str, Callable[[], tuple[list[Row], list[Row]]]]:
    """What makes a row of ``binding_transformer.csv``, and the rows of ``binding_transformer_functions.csv`` of it."""
    return {f"{s.image_side}, {s.coverage}, seed {s.seed}": partial(transformer_rows, s) for s in TRAININGS}


def write(path: Path, rows: Sequence[Row], command: str) -> None:
    """Write rows as CSV below one line with the command and the versions; four digits a number."""
    packages = ("numpy", "scipy", "torch", "open_clip_torch", "transformers", "sentence-transformers", "onnxruntime")
    made = [f"bindlib {__version__}", f"python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
    write_rows(path, rows, ".4g", f"{command}; {'; '.join(made)}")


def results(name: str) -> list[Row]:
    """The committed rows of ``results/NAME.csv``.  Raises ``BindlibError`` if there is no such file."""
    path = RESULTS / f"{name}.csv"
    if not path.is_file():
        raise BindlibError(f"{path.name} is not there: make it with bindlib remake, or install bindlib again")
    return read_rows(path)
