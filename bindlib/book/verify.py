"""Computed numbers held against committed expectations, each with its tolerance and the reason for it.

What is compared: every computed value in the text of the executed chapters, and every claim's outcome.  Numbers inside
a value are compared one by one, the words around them exactly.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bindlib.book import cache, claims, prose
from bindlib.book.cache import Parameters
from bindlib.book.layout import Book
from bindlib.errors import BindlibError, CheckFailed

FILE = "expectations.json"

_NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
LAST_PLACE = "two units of the last printed place: rounding differs between libraries and devices"
WORDS = "no number in it: must be the same"
SLACK = "rounding noise: a bound that holds is enough"
WITNESS = "a closed form or a stored witness: rounding only"


@dataclass(frozen=True)
class Number:
    """A computed value as text, where it comes from, and how far a number in it may move."""

    source: str
    name: str
    value: str
    tolerance: float
    reason: str

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.name


def computed(book: Book, parameters: Parameters) -> list[Number]:
    """Every computed number of the executed book and of its claims, with default tolerances.

    Raises ``BindlibError`` when a chapter has not been executed, as it now stands, with these parameters, and
    ``CheckFailed`` for claims that do not hold or were not checked: these are never expected.
    """
    found = []
    for page in book.chapters:
        last = cache.load(book, page, parameters)
        if last is None or last.key != cache.key(book, page, parameters):
            asked = f"--profile {parameters.profile} --device {parameters.device} --seed {parameters.seed}"
            raise BindlibError(f"{page.name} has not been executed as it now stands: run bindlib book {asked} first")
        seen: Counter[str] = Counter()
        for expression, value in prose.computed(last.notebook):
            seen[expression] += 1
            name = expression if seen[expression] == 1 else f"{expression} (occurrence {seen[expression]})"
            found.append(Number(page.name, name, value, *_default(value)))
    rows = claims.run(mutants=True, seed=parameters.seed)
    if failed := claims.unsound(rows):
        raise CheckFailed(f"the claim does not hold, its mutant does, or one did not run: {', '.join(failed)}")
    return found + [number for row in rows for number in _claim(row)]


def _claim(row: dict[str, Any]) -> Iterable[Number]:
    source, mutant = f"claim {row['label']}", row["mutant"]
    yield Number(source, "holds", str(row["holds"]), 0.0, WORDS)
    yield Number(source, "instances", str(row["instances"]), 0.0, "counted")
    yield Number(source, "mutant holds", str(mutant["holds"]), 0.0, WORDS)
    slack = mutant["worst_slack"]
    yield Number(source, "mutant slack", f"{slack:.6g}", max(1e-6 * abs(slack), row["tolerance"]), WITNESS)


def _default(value: str) -> tuple[float, str]:
    places = [_last_place(match) for match in _NUMBER.findall(value)]
    return (2 * max(places), LAST_PLACE) if places else (0.0, WORDS)


def _last_place(number: str) -> float:
    """The unit of the last printed digit; 0 for an integer, which is counted and not rounded."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    try:
        return 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0
    except (ValueError, OverflowError):  # larger than any float: it has to be the same
        return 0.0


def differences(expected: Iterable[Number], found: Iterable[Number]) -> list[str]:
    """One line for each number that is missing, new, or further from its expectation than its tolerance."""
    before, now = ({number.key: number for number in numbers} for numbers in (expected, found))
    lines = [f"{source}: {name}: no longer computed" for source, name in before.keys() - now.keys()]
    lines += [f"{source}: {name}: new, {now[source, name].value}" for source, name in now.keys() - before.keys()]
    for key in before.keys() & now.keys():
        if problem := _drift(before[key], now[key].value):
            lines.append(f"{key[0]}: {key[1]}: {problem}")
    return sorted(lines)


def _drift(expected: Number, value: str) -> str:
    then, now = (_NUMBER.findall(text) for text in (expected.value, value))
    if _NUMBER.split(expected.value) != _NUMBER.split(value) or len(then) != len(now):
        return f"expected {expected.value!r}, got {value!r}"
    steps = [0.0 if a == b else abs(_float(a) - _float(b)) for a, b in zip(then, now, strict=True)]
    # The last digit of a decimal is not exact in binary: without this an allowed step can come out one ulp too long.
    if all(step <= expected.tolerance * (1 + 1e-9) for step in steps):  # not so of NaN, of two that are infinite
        return ""
    allowed = f"allowed {expected.tolerance:.3g} ({expected.reason})"
    return f"expected {expected.value}, got {value}: moved by {max(steps):.3g}, {allowed}"


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def load(path: Path, profile: str) -> list[Number]:
    """The expectations of ``profile`` in the file ``path``; raises ``BindlibError`` naming what is wrong with it."""
    content = _read(path)
    if profile not in content:
        raise BindlibError(
            f"{path} expects nothing of the profile {profile!r}: run bindlib verify --update --reason ..."
        )
    return _numbers(path, profile, content)


def _numbers(path: Path, profile: str, content: dict[str, Any]) -> list[Number]:
    rows = content.get(profile, [])
    if not isinstance(rows, list):
        raise BindlibError(f"{path}: {profile!r} is no list of expectations: restore it from the repository")
    seen: set[tuple[str, str]] = set()
    for place, row in enumerate(rows, start=1):
        fault = _fault(row) or ("stands there twice" if (row["source"], row["name"]) in seen else "")
        if fault:
            raise BindlibError(f"{path}: expectation {place} of {profile!r} {fault}: restore it from the repository")
        seen.add((row["source"], row["name"]))
    return [Number(**row) for row in rows]


def _fault(row: Any) -> str:
    """What keeps a JSON value from being an expectation, or ``""``; one of no finite tolerance would check nothing."""
    names = [field.name for field in fields(Number)]
    if not isinstance(row, dict) or row.keys() != set(names):
        return f"is no object of {', '.join(names)}"
    for name in names:
        if name != "tolerance" and not (isinstance(row[name], str) and _can_be_written(row[name])):
            return f"has a {name} that is no text"
    tolerance = row["tolerance"]
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, int | float)
        or not 0 <= tolerance <= sys.float_info.max
    ):
        return "has a tolerance that is no finite number from 0"
    return ""


def _can_be_written(text: str) -> bool:
    return text == text.encode("utf-8", "ignore").decode()  # half a character cannot


def update(path: Path, profile: str, found: list[Number], reason: str) -> None:
    """Write ``found`` as the expectations of ``profile``; a tolerance that was set by hand stays, with its reason."""
    content = _read(path) if path.exists() else {}
    known = {number.key: number for number in _numbers(path, profile, content)}
    rows = []
    for number in found:
        row = asdict(number)
        if (old := known.get(number.key)) and old.reason not in (LAST_PLACE, WORDS, WITNESS):
            row |= {"tolerance": old.tolerance, "reason": old.reason}
        rows.append(row)
    reasons = content.get("reason", {})
    if not isinstance(reasons, dict):
        raise BindlibError(f"{path}: 'reason' is no object of reasons: restore it from the repository")
    content |= {profile: rows, "reason": reasons | {profile: reason}}
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        cache.write_atomically(path, text + "\n")
    except (UnicodeEncodeError, RecursionError) as error:
        raise BindlibError(f"{path} cannot be written ({error}): restore it from the repository") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BindlibError(f"there are no expectations at {path}: run bindlib verify --update --reason ...") from None
    except (OSError, ValueError, RecursionError) as error:  # no text, no JSON, JSON too deep
        said = " ".join(str(error).split())
        raise BindlibError(f"{path} cannot be read ({said}): restore it from the repository") from None
    if not isinstance(content, dict):
        raise BindlibError(f"{path} is no object of expectations: restore it from the repository")
    return content
