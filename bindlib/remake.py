"""The committed results: what each holds, what makes it again, and how what is made compares with what is committed."""

import glob
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindlib.errors import BindlibError, CheckFailed
from bindlib.storage import read_rows, write_rows

ROOT = Path(__file__).parents[1]
MEASURED, FITTED = ("encoder", "data", "subset", "metric"), ("source", "model", "coverage", "seed", "part")
Row = dict[str, Any]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    """Results in files, below the root of the repository, each with the columns that name a row of it.

    ``make(folder, part, tell)`` writes files of the same names into ``folder``: all rows, or a small ``part`` of them.
    What a stopped call has finished is kept there, and the same call goes on from it.  Numbers agree within
    ``tolerance`` of their size, or of 1 where they are smaller: what other processors round otherwise.
    """

    name: str
    holds: str
    takes: str
    files: Mapping[str, tuple[str, ...]]
    make: Callable[[Path, bool, Tell], None]
    tolerance: float
    beside: tuple[str, ...] = ()  # files that are made with them and hold no rows to compare

    @property
    def command(self) -> str:
        return f"bindlib remake {self.name} --out FOLDER"


@dataclass(frozen=True)
class Taken:
    """Committed numbers that ``bindlib remake`` does not make: what they are and where they come from."""

    name: str
    holds: str
    files: tuple[str, ...]
    command: str


def finished(
    folder: Path, parts: Mapping[str, Callable[[], tuple]], tell: Tell, words: Sequence[str] = ()
) -> Iterator[list[list[Row]]]:
    """What each part makes, in order: a tuple of tables, read where a stopped call has finished it.

    Cells in the columns ``words`` are text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, make) in enumerate(parts.items(), 1):
        stem = re.sub(r"[^\w.]+", "-", name)
        if not (last := folder / f"{stem}.done").is_file():
            for index, rows in enumerate(make()):
                write_rows(folder / f"{stem}.{index}.csv", rows, ".17g")
            last.touch()
        tell(f"{name}: finished ({number} of {len(parts)})")
        yield [read_rows(path, words) for path in sorted(folder.glob(f"{glob.escape(stem)}.[0-9].csv"))]


def _zoo(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.measurements.sweep import Settings, sweep

    trained, untrained = ["glove", "minilm", "paraphrase-l3", "use-multilingual"], ["random-clip:1", "random-clip:2"]
    shipped = [f"shipped:{rate}" for rate in ("0", "0.02", "0.1", "0.3", "1", "ordinary")]
    everything = [
        ([*trained, "random-clip:0"], ["quartets", "drawn", "sugarcrepe"]),
        (["minilm-no-positions", *untrained], ["quartets", "drawn"]),
        (shipped, ["drawn"]),
    ]
    little = [(["glove"], ["quartets", "drawn"]), (["shipped:0"], ["drawn"])]
    for encoders, data in little if part else everything:
        found = sweep(encoders, data, Settings(), out=folder / "zoo.csv", tell=tell)
        if found.failures:
            raise BindlibError("; ".join(found.failures))


def _trained(folder: Path, rate: float, batches: str, seed: int, tell: Tell) -> Path:
    from bindlib.remedies.pixel_runs import train
    from bindlib.remedies.pixel_throttle import Setting

    checkpoint = train(Setting(rate, batches, seed), folder / "trainings" / f"{batches}-{rate:g}-{seed}")
    tell(f"{batches} batches, rate {rate:g}, seed {seed}: trained")
    return checkpoint


def _pixels(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.encoders import shipped
    from bindlib.measurements import pixels

    if part:  # what was trained for the book is measured again
        which = [shipped.weights("", name) for name in ("0", "ordinary")]
        logs = [path.with_suffix(".csv") for path in which]
    else:
        cells = [(row["swap_rate"], row["batches"], row["seed"]) for row in pixels.results()]
        which = [_trained(folder, *cell, tell) for cell in cells]
        logs = [path.with_name("log.csv") for path in which]
    rows = [pixels.result(*both) for both in zip(which, logs, strict=True)]
    pixels.write_results(rows, folder / "pixels.csv")


def _shipped(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.encoders import shipped
    from bindlib.remedies import pixel_runs
    from bindlib.remedies.pixel_throttle import Setting

    for stem, _ in shipped.CHECKPOINTS.values():
        batches, rate = stem.split("-")
        if not part:
            checkpoint = _trained(folder, float(rate), batches, 0, tell)
            shutil.copyfile(checkpoint, folder / f"{stem}.safetensors")
            shutil.copyfile(checkpoint.with_name(pixel_runs.LOG), folder / f"{stem}.csv")
        elif stem == "disjoint-0":
            write_rows(folder / f"{stem}.csv", [pixel_runs.first_check(Setting(0.0))], ".6g")
            tell(f"{stem}: its first steps are trained")


def _coupling(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.remedies import balanced_coupling_benchmark as bench

    size = bench.SIZES["full"]
    parts = {encoder: lambda encoder=encoder: (list(bench.measure([encoder], size)),) for encoder in bench.ENCODERS}
    if part:
        parts = {"part": lambda: (bench.plain_rows("0", "replacement", size),)}
    rows = [row for (found,) in finished(folder / "parts", parts, tell, bench.KEYS) for row in found]
    bench.write_results(rows, folder / "balanced_coupling.csv")


def _functions(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.remedies import binding_runs as runs

    parts = {name: lambda make=make: (make(),) for name, make in runs.function_parts().items()}
    if part:
        code = runs.code_source("code: product", 1)
        parts = {"part": lambda: (runs.fitted_rows(code, 0.2, 1, 1000, 100, runs.QUICK),)}
    rows = [row for (found,) in finished(folder / "parts", parts, tell) for row in found]
    runs.write(folder / "binding_functions.csv", rows, "bindlib remake functions")


def _transformer(folder: Path, part: bool, tell: Tell) -> None:
    from bindlib.remedies import binding_runs as runs

    parts = runs.transformer_parts()
    if part:
        parts = dict(list(parts.items())[:1])
    tables = zip(*finished(folder / "parts", parts, tell), strict=True)
    for name, table in zip(("binding_transformer", "binding_transformer_functions"), tables, strict=True):
        rows = [row for found in table for row in found]
        runs.write(folder / f"{name}.csv", rows, "bindlib remake transformer")


RESULTS, REMEDIES, SHIPPED = "bindlib/measurements/results", "bindlib/remedies/results", "bindlib/encoders/shipped"
STEMS = ("disjoint-0", "disjoint-0.02", "disjoint-0.1", "disjoint-0.3", "disjoint-1", "ordinary-0")
MADE = (
    Made(
        "zoo",
        "the encoders of the book on quartets, drawn captions and SugarCrepe, for the page on SugarCrepe and for cards",
        "half an hour, and a download of SugarCrepe",
        {f"{RESULTS}/zoo.csv": MEASURED},
        _zoo,
        1e-3,
    ),
    Made(
        "pixels",
        "thirty trainings on pixels: swap accuracy, margins and what the text side does, by swap rate and batches",
        "three hours",
        {f"{RESULTS}/pixels.csv": ("swap_rate", "batches", "seed")},
        _pixels,
        3e-3,
    ),
    Made(
        "shipped",
        "six of these trainings: the weights of the shipped encoders and the logs of their training",
        "half an hour",
        {f"{SHIPPED}/{stem}.csv": ("step",) for stem in STEMS},
        _shipped,
        2e-2,
        tuple(f"{SHIPPED}/{stem}.safetensors" for stem in STEMS),
    ),
    Made(
        "coupling",
        "accuracies of one balanced coupling on the shipped encoders, by reader, energy and control",
        "an hour",
        {f"{REMEDIES}/balanced_coupling.csv": ("encoder", "task", "reader", "energy", "control")},
        _coupling,
        2e-3,
        (f"{REMEDIES}/balanced_coupling.json",),
    ),
    Made(
        "functions",
        "binding functions fitted to codes, sentence encoders, shipped and untrained encoders",
        "two hours",
        {f"{REMEDIES}/binding_functions.csv": FITTED},
        _functions,
        2e-2,
    ),
    Made(
        "transformer",
        "small transformers trained from scratch, and binding functions fitted to them",
        "an hour",
        {
            f"{REMEDIES}/binding_transformer.csv": ("coverage", "image_side", "seed"),
            f"{REMEDIES}/binding_transformer_functions.csv": FITTED,
        },
        _transformer,
        5e-2,
    ),
)
TAKEN = (
    Taken(
        "expectations",
        "every number of the built book, and every claim's outcome, for bindlib verify",
        ("expectations.json",),
        'bindlib verify --update --reason "why"',
    ),
    Taken(
        "published",
        "accuracies of seven CLIP models on SugarCrepe, copied from the repository of its authors",
        ("bindlib/measurements/published.py",),
        "none: copied by hand, with the source",
    ),
    Taken(
        "reported",
        "figures that the source paper prints",
        ("bindlib/book/reported.py",),
        "none: copied by hand, with the place of each",
    ),
    Taken(
        "independent",
        "sixty quartets, and what other code than ours measured on them, for a test",
        ("tests/data/quartets_60.json",),
        "none: made without this code, to hold it against",
    ),
)


def listing() -> list[Row]:
    """One JSON-ready row for each of ``MADE`` and ``TAKEN``."""
    made = [(m.name, m.holds, m.takes, m.command, [*m.files, *m.beside]) for m in MADE]
    taken = [(t.name, t.holds, "", t.command, list(t.files)) for t in TAKEN]
    return [dict(zip(("name", "holds", "takes", "command", "files"), row, strict=True)) for row in (*made, *taken)]


def find(name: str) -> Made:
    """The results of this name; ``BindlibError`` lists the names when there are none."""
    for made in MADE:
        if made.name == name:
            return made
    raise BindlibError(f"no results are called {name!r}: say one of {', '.join(made.name for made in MADE)}")


def remake(name: str, folder: Path, part: bool, tell: Tell) -> int:
    """Make results again into ``folder``, hold them against the committed ones, and say how many rows were compared.

    Raises ``BindlibError`` for an unknown name and a folder that is none, and ``CheckFailed`` where they differ.
    """
    made = find(name)
    if folder.exists() and not folder.is_dir():
        raise BindlibError(f"--out {folder} is no folder: give another name")
    folder.mkdir(parents=True, exist_ok=True)
    made.make(folder, part, tell)
    compared, lines = 0, []
    for file, keys in made.files.items():
        path = folder / Path(file).name
        if part and not path.is_file():
            continue
        here, there = (
            {tuple(row[k] for k in keys): row for row in read_rows(p, (*keys, "check"))} for p in (path, ROOT / file)
        )
        compared += len(here)
        lines += [
            f"{path.name}: {', '.join(key)}: {what}" for key, what in _differences(here, there, part, made.tolerance)
        ]
    if lines:
        raise CheckFailed("\n".join([f"{len(lines)} differences from the committed {name}:", *lines[:20]]))
    return compared


def _differences(here: Mapping, there: Mapping, part: bool, tolerance: float) -> Iterator[tuple[tuple[str, ...], str]]:
    for key in here if part else here | there:
        if key not in here or key not in there:
            yield key, "no such row is " + ("made" if key in there else "committed")
            continue
        for column, committed in there[key].items():
            found = here[key].get(column)
            if isinstance(committed, int | float) and not _agree(found, committed, tolerance):
                yield key, f"{column} is {found}, committed {committed}"


def _agree(found: Any, committed: float, tolerance: float) -> bool:
    if not isinstance(found, int | float):
        return False
    near = abs(found - committed) <= tolerance * max(1.0, abs(committed))
    return near or (math.isnan(found) and math.isnan(committed))
