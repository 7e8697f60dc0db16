"""The committed expectations say something of every computed number, once, and nothing that cannot be checked."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from bindlib.book import claims, prose, verify
from bindlib.book.layout import Book
from bindlib.book.notebook import numbered, read, source

PATH = Path(__file__).parents[1] / verify.FILE
CONTENT = json.loads(PATH.read_text(encoding="utf-8"))
PROFILES = sorted(CONTENT.keys() - {"reason"})


def written() -> set[tuple[str, str]]:
    """What the chapters compute, read off their text as it is committed, and what the claims are held against."""
    asked = ("holds", "instances", "mutant holds", "mutant slack")
    found = {(f"claim {label}", what) for label in claims.CLAIMS for what in asked}
    for page in Book.find(PATH.parent).chapters:
        seen: Counter[str] = Counter()
        for _, cell in numbered(read(page.source), "markdown"):
            for role in prose.roles(source(cell)):
                expression = " ".join(role.text.split())
                seen[expression] += 1
                again = f" (occurrence {seen[expression]})" if seen[expression] > 1 else ""
                found.add((page.name, expression + again))
    return found


def test_there_are_two_profiles_and_each_says_why_it_last_changed():
    assert PROFILES == ["ci", "full"]
    assert all(CONTENT["reason"][profile].strip() for profile in PROFILES) and CONTENT["reason"].keys() == {*PROFILES}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_number_is_expected_once_and_there_is_no_other(profile):
    keys = [number.key for number in verify.load(PATH, profile)]
    assert not [key for key, count in Counter(keys).items() if count > 1]
    assert set(keys) ^ written() == set()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_tolerance_is_a_number_with_a_reason(profile):
    for number in verify.load(PATH, profile):
        assert isinstance(number.value, str) and number.value, number
        assert math.isfinite(number.tolerance) and number.tolerance >= 0, number
        assert number.reason.strip(), number
        # A claim holds and its mutant does not: no other outcome may be expected.
        if number.source.startswith("claim ") and number.name.endswith("holds"):
            assert (number.value, number.tolerance) == (str(number.name == "holds"), 0), number
