"""Queries: concepts joined by not, and, or; their truth, their negation normal form, and five templates in words.

``and_`` and ``or_`` splice parts of their own kind and drop repeated ones, and ``not_`` undoes ``not_``: grouping,
repetition and double negation change nothing.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import product

from bindlib.errors import BindlibError

MAX_CONCEPTS = 12  # of a query: its truth table is checked row by row


@dataclass(frozen=True)
class Concept:
    """Something that is in an image or not, by the words for it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Not:
    part: "Query"

    def __str__(self) -> str:
        return f"not {_grouped(self.part)}"


@dataclass(frozen=True)
class And:
    parts: tuple["Query", ...]

    def __str__(self) -> str:
        """With "neither ... nor" or "but not" where two parts allow it."""
        if len(self.parts) == 2 and isinstance(self.parts[1], Not):
            first, second = self.parts
            if isinstance(first, Not):
                return f"neither {_grouped(first.part)} nor {_grouped(second.part)}"
            return f"{_grouped(first)} but not {_grouped(second.part)}"
        return " and ".join(map(_grouped, self.parts))


@dataclass(frozen=True)
class Or:
    parts: tuple["Query", ...]

    def __str__(self) -> str:
        return " or ".join(map(_grouped, self.parts))


Query = Concept | Not | And | Or


def _grouped(query: Query) -> str:
    return f"({query})" if isinstance(query, And | Or) else str(query)


def concept(name: str) -> Concept:
    """The concept of these words.  Raises ``BindlibError`` if there are none."""
    if not isinstance(name, str) or not name.strip():
        raise BindlibError(f"a concept needs words, got {name!r}: write concept('a red car')")
    return Concept(" ".join(name.split()))


def not_(query: Query) -> Query:
    """The negation of ``query``; of a negation, what it negates."""
    part = _checked(query)
    return part.part if isinstance(part, Not) else Not(part)


def and_(*queries: Query) -> Query:
    """All of these.  Raises ``BindlibError`` for none, or for what is no query."""
    return _joined(And, queries)


def or_(*queries: Query) -> Query:
    """At least one of these.  Raises ``BindlibError`` for none, or for what is no query."""
    return _joined(Or, queries)


def _joined(kind: type[And] | type[Or], queries: tuple[Query, ...]) -> Query:
    if not queries:
        raise BindlibError("an empty query asks for nothing: give and_ and or_ at least one part")
    nested = [query.parts if isinstance(query, kind) else (query,) for query in map(_checked, queries)]
    parts = tuple(dict.fromkeys(part for parts in nested for part in parts))
    return parts[0] if len(parts) == 1 else kind(parts)


def _checked(query: Query) -> Query:
    if not isinstance(query, Query):
        raise BindlibError(f"{query!r} is no query: write concept({str(query)[:40]!r})")
    return query


def concepts(query: Query) -> tuple[str, ...]:
    """The words for its concepts, each once, in the order in which they are mentioned."""
    match query:
        case Concept(name):
            return (name,)
        case Not(part):
            return concepts(part)
        case And(parts) | Or(parts):
            return tuple(dict.fromkeys(name for part in parts for name in concepts(part)))


def holds(query: Query, present: Collection[str]) -> bool:
    """Whether ``query`` is true of an image in which these concepts are present and no others."""
    match query:
        case Concept(name):
            return name in present
        case Not(part):
            return not holds(part, present)
        case And(parts):
            return all(holds(part, present) for part in parts)
        case Or(parts):
            return any(holds(part, present) for part in parts)


def normal(query: Query, negated: bool = False) -> Query:
    """The query, or its negation, with each ``not`` moved onto a concept: negation normal form, true of the same."""
    match query:
        case Concept():
            return Not(query) if negated else query
        case Not(part):
            return normal(part, not negated)
        case And(parts) | Or(parts):
            join = and_ if isinstance(query, And) != negated else or_
            return join(*(normal(part, negated) for part in parts))


def require_contingent(query: Query) -> Query:
    """``query``, if some image could satisfy it and some other not.

    Raises ``BindlibError`` for a contradiction, a tautology, more than ``MAX_CONCEPTS`` concepts, or what is no query.
    """
    names = concepts(_checked(query))
    if len(names) > MAX_CONCEPTS:
        raise BindlibError(f"a query may have {MAX_CONCEPTS} concepts, got {len(names)}: split it")
    rows = product((False, True), repeat=len(names))
    truths = {holds(query, {n for n, there in zip(names, row, strict=True) if there}) for row in rows}
    if len(truths) == 1:
        what = "every image" if truths == {True} else "no image"
        raise BindlibError(f"'{query}' is true of {what}, so it ranks nothing: remove a part that contradicts another")
    return query


# Most specific first.  What stands for a concept holds none of the words that join.
_WORDS = r"((?:(?!(?:not|no|and|or|but|neither|nor)\b)\S+\s*)+?)"
_TEMPLATES = (
    (rf"neither\s+{_WORDS}\s+nor\s+{_WORDS}", lambda a, b: and_(not_(a), not_(b))),
    (rf"{_WORDS}\s+but\s+(?:not|no)\s+{_WORDS}", lambda a, b: and_(a, not_(b))),
    (rf"{_WORDS}\s+and\s+{_WORDS}", and_),
    (rf"{_WORDS}\s+or\s+{_WORDS}", or_),
    (rf"(?:not|no)\s+{_WORDS}", not_),
)
TEMPLATES_IN_WORDS = "'not X', 'X and Y', 'X or Y', 'X but not Y' or 'neither X nor Y'"


def parse(text: str) -> Query:
    """The query that one of five templates says: not X, X and Y, X or Y, X but not Y, neither X nor Y.

    "no" is read as "not".  Raises ``BindlibError`` for an empty text and for any other form; nest with ``and_``,
    ``or_`` and ``not_`` instead.
    """
    if not isinstance(text, str) or not text.strip():
        raise BindlibError(f"an empty query asks for nothing: write {TEMPLATES_IN_WORDS}")
    for pattern, build in _TEMPLATES:
        if found := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return build(*map(concept, found.groups()))
    raise BindlibError(f"{text.strip()[:80]!r} fits no template: write {TEMPLATES_IN_WORDS}, or nest and_, or_, not_")
