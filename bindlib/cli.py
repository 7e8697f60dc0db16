"""The command line.  Standard output carries results (JSON with ``--json``, else a table); all else goes to stderr.

What a command needs is imported inside it, so that ``bindlib --help`` answers at once.
"""

import sys
import traceback
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from bindlib import __version__
from bindlib.errors import BindlibError, CheckFailed, interruptible, system_fault
from bindlib.terminal import log_to_stderr, one_line, output, say, show, take_streams

app = typer.Typer(
    help="The Limits of Binding: build the book, check its claims, measure encoders.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
DEBUG = "--debug"

Json = Annotated[bool, typer.Option("--json", help="Print a JSON list on standard output, and nothing else there.")]
Device = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto: cuda where torch can use it.")]
Profile = Annotated[Literal["ci", "full"], typer.Option(help="ci: minutes on two cores; full: every size.")]
Data = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME|FILE", help="quartets (default), drawn, sugarcrepe, a file; may be repeated."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a file with items that cannot be used.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep embeddings.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of every random draw.")]


def main() -> None:
    """The command line: an expected failure is one line and an exit code, not a traceback."""
    debug = DEBUG in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != DEBUG]
    take_streams()
    log_to_stderr(debug)
    try:
        app(arguments)
    except CheckFailed as error:
        _fail(str(error).split("\n"), error.exit_code, debug)
    except BindlibError as error:
        _fail([str(error)], error.exit_code, debug)
    except OSError as error:
        _fail([system_fault(error)], BindlibError.exit_code, debug)


def _fail(lines: list[str], exit_code: int, debug: bool) -> NoReturn:
    with suppress(OSError):  # standard error may be what is full
        if debug:
            traceback.print_exc()
        for line in [f"bindlib: {lines[0]}", *lines[1:]]:
            say(line)
    sys.exit(exit_code)


def _print_version(wanted: bool) -> None:
    if wanted:
        with output():
            print(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    # Taken out of the arguments by main(), so that it may stand anywhere; here for --help.
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of a failure (anywhere on the line).")] = False,
) -> None:
    """Options before the command."""


@app.command()
def book(
    profile: Profile = "ci",
    device: Device = "auto",
    jobs: Annotated[int | None, typer.Option(min=1, help="Chapters executed at a time: one a core, at most 4.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CHAPTER", help="Execute only this chapter ...")] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[CHAPTER]...", help="... and these.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Execute and render even what has not changed.")] = False,
    seed: Seed = 0,
    timeout: Annotated[float | None, typer.Option(min=1, help="Most seconds for a chapter, or for rendering.")] = None,
) -> None:
    """Execute the chapters that changed, check them, and render the book to _build/html.

    With --only the other chapters are not executed: each is shown as it last ran, or without results.
    """
    from bindlib.book.build import build
    from bindlib.book.cache import Parameters
    from bindlib.book.execute import TIMEOUT_SECONDS, Runner, cores
    from bindlib.book.layout import Book
    from bindlib.book.progress import Terminal

    with interruptible("stopped; the pages in _build/html are as they were"), Terminal() as terminal:
        found = Book.find()
        pages = found.select([*(only or ()), *(more or ())])
        parameters = Parameters(profile, _resolved(device), seed)
        runner = Runner(found, parameters, jobs or min(cores(), 4), timeout or TIMEOUT_SECONDS[profile])
        terminal.finished(build(runner, terminal, pages, force))


@app.command()
def check() -> None:
    """Check the committed sources of the book: no outputs, no typed results, short cells."""
    from bindlib.book.checks import source_findings
    from bindlib.book.layout import Book

    findings = source_findings(Book.find())
    if findings:
        raise CheckFailed("\n".join(["the sources of the book have faults:", *map(str, findings)]))
    say("the sources of the book are in order")


@app.command()
def claims(
    as_json: Json = False,
    mutants: Annotated[bool, typer.Option("--mutants", help="Also run each claim's mutant, which must fail.")] = False,
    seed: Seed = 0,
) -> None:
    """Run every claim of the book; exit with 1 if one fails, or if a mutant holds."""
    from bindlib.book.claims import run, unsound

    with redirect_stdout(sys.stderr):
        rows = run(mutants=mutants, seed=seed)
    columns = ("label", "holds", "instances", "worst_slack", "tolerance")
    if mutants and not as_json:
        for row in rows:
            mutant = row["mutant"] or {"dropped": "DID NOT RUN", "worst_slack": None}
            row |= {"mutant_without": mutant["dropped"], "mutant_fails_by": mutant["worst_slack"]}
        columns += ("mutant_without", "mutant_fails_by")
    show(rows, as_json, columns)
    if failed := unsound(rows, mutants):
        raise CheckFailed(f"the claim does not hold, its mutant does, or one did not run: {', '.join(failed)}")


@app.command()
def reproduce(as_json: Json = False, profile: Profile = "ci", seed: Seed = 0) -> None:
    """The ledger: what the source paper reports, what comes out here; exit with 1 if a row is not reproduced.

    A row that the book contradicts, with a computed example, is a finding and no failure.
    """
    from bindlib.book.ledger import MISSED, run

    with redirect_stdout(sys.stderr):
        rows = run(profile, seed)
    show(rows, as_json, ("figure", "status", "quantity", "reports", "ours", "draws", "tolerance", "why"))
    if missed := [f"{row['figure']}: {row['quantity']}" for row in rows if row["status"] == MISSED]:
        raise CheckFailed(f"not reproduced: {'; '.join(missed)}")


@app.command()
def verify(
    against: Annotated[Path | None, typer.Option(metavar="FILE", help="Expectations (default: the committed).")] = None,
    profile: Profile = "ci",
    device: Device = "auto",
    seed: Seed = 0,
    update: Annotated[bool, typer.Option("--update", help="Write what is found as the new expectations.")] = False,
    reason: Annotated[str, typer.Option(help="Why the expectations change; needed with --update.")] = "",
) -> None:
    """Hold every computed number of the executed book, and every claim, against expectations; exit with 1 on drift."""
    from bindlib.book import verify as checks
    from bindlib.book.cache import Parameters
    from bindlib.book.layout import Book

    if update and not reason.strip():
        raise BindlibError("--update needs --reason: say why the expectations change")
    book = Book.find()
    path = against or book.root / checks.FILE
    found = checks.computed(book, Parameters(profile, _resolved(device), seed))
    if update:
        checks.update(path, profile, found, reason)
        say(f"{len(found)} expectations of the profile {profile} written to {path}")
    elif drift := checks.differences(checks.load(path, profile), found):
        raise CheckFailed("\n".join([f"{len(drift)} of {len(found)} numbers are not as {path} expects:", *drift]))
    else:
        say(f"{len(found)} numbers are as {path} expects")


@app.command()
def encoders(
    as_json: Json = False,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Remove the kept embeddings instead.")] = False,
) -> None:
    """List the encoders, and whether each can be loaded now; with --json also their sources and hashes."""
    if clear_cache:
        from bindlib.encoders import cache

        where = cache.folder() or "no folder: there is no home folder, so none are kept"
        say(f"removed {cache.clear() / 1e6:.1f} MB of embeddings from {where}")
        return
    from bindlib.encoders.zoo import listing

    with redirect_stdout(sys.stderr):
        rows = listing()
    show(rows, as_json, ("name", "loadable", "licence", "description"))
    for row in rows:
        if row["why_not"]:
            say(f"{row['name']} cannot be loaded: {row['why_not']}")


@app.command()
def measure(
    encoder: Annotated[list[str], typer.Argument(metavar="ENCODER...", help="Names from `bindlib encoders`.")],
    data: Data = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help=".parquet, .csv or .jsonl; reruns go on.")] = None,
    as_json: Json = False,
    device: Device = "auto",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that measure at a time (default 1).")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="dask://HOST:PORT", help="Measure on this Dask cluster instead.")
    ] = None,
    no_cache: NoCache = False,
    strict: Strict = False,
    seed: Seed = 0,
) -> None:
    """Measure how far encoders tell a caption from its swap, and how much of the cap they use.

    A file is .csv or .jsonl of pairs (caption, negative), of triplets (query,
    positive, swapped), both with an optional subset, or of quartets (caption,
    swap, caption_reordered, swap_reordered, anchor).
    """
    if cluster and jobs:
        raise BindlibError("--jobs is for this machine and --cluster for another: give one of the two")
    from bindlib.measurements.sweep import Settings, sweep
    from bindlib.measurements.tables import reading, tables

    settings = Settings(device if cluster else _resolved(device), seed, not no_cache, strict)
    stopped = "stopped; the same command goes on from here" if out else "stopped"
    with redirect_stdout(sys.stderr), interruptible(stopped):
        found = sweep(encoder, data or ["quartets"], settings, jobs=jobs or 1, out=out, cluster=cluster, tell=say)
    for rows, columns in [(found.rows, ())] if as_json else tables(found.rows):
        show(rows, as_json, columns)
    for line in () if as_json else reading(found.rows):
        say(line)
    if found.failures:
        raise CheckFailed("\n".join(["not everything could be measured:", *map(one_line, found.failures)]))


@app.command()
def report(
    encoder: Annotated[str, typer.Argument(help="A name from `bindlib encoders`.")],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The card: one page, with all that it needs inside.")],
    data: Data = None,
    device: Device = "auto",
    no_cache: NoCache = False,
    strict: Strict = False,
    seed: Seed = 0,
) -> None:
    """Write a report card of one encoder: where it stands, what it binds worst, what the numbers cannot say."""
    from bindlib.measurements import report as cards
    from bindlib.measurements.sweep import Settings

    with redirect_stdout(sys.stderr), interruptible("stopped; no card was written"):
        text = cards.report(encoder, data or ["quartets"], Settings(_resolved(device), seed, not no_cache, strict), out)
    with output():
        print(text)
    say(f"the card is in {out}")


@app.command()
def remake(
    name: Annotated[str | None, typer.Argument(metavar="[RESULTS]", help="Without: list them.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where they are written; a stopped run resumes.")
    ] = None,
    part: Annotated[bool, typer.Option("--part", help="A small part only, in a minute or two.")] = False,
    as_json: Json = False,
) -> None:
    """Make committed results again and hold them against the committed ones; exit with 1 where they differ."""
    from bindlib import remake as results

    if name is None:
        show(results.listing(), as_json, ("name", "holds", "takes", "command"))
        return
    if out is None:
        raise BindlibError("say where the results are to be written: --out FOLDER")
    with redirect_stdout(sys.stderr), interruptible(f"stopped; the same command goes on from {out}"):
        compared = results.remake(name, out, part, say)
    say(f"{compared} rows in {out} agree with the committed ones")


@app.command()
def train(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where checkpoint and log go; a stopped run resumes.")],
    swap_rate: Annotated[float, typer.Option(min=0, max=1, help="Share π of captions given their own swap.")] = 0.0,
    batches: Annotated[
        Literal["disjoint", "ordinary"], typer.Option(help="disjoint: groups of scenes that share no word.")
    ] = "disjoint",
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 1000,
    device: Device = "auto",
    seed: Seed = 0,
) -> None:
    """Train a small dual encoder on drawn scenes, with a share of swaps among its negatives."""
    from bindlib.remedies.pixel_runs import train
    from bindlib.remedies.pixel_throttle import Setting

    setting = Setting(swap_rate, batches, seed, steps)
    with interruptible(f"stopped; the same command goes on from the last state in {out}"):
        checkpoint = train(setting, out, _resolved(device))
    say(f"trained; the log lies beside the checkpoint, which loads as shipped:{checkpoint}")


def _resolved(asked: str) -> str:
    from bindlib.device import resolve

    device = resolve(asked)
    if asked == "cuda" and device == "cpu":
        say("--device cuda: torch finds no CUDA device here, so the CPU is used")
    return device


if __name__ == "__main__":
    main()
