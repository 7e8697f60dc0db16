"""Certificates: what a theorem's check tried and how closely it held; and what breaks it without a hypothesis."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """The outcome of checking one statement on many instances.

    ``worst_slack`` is the largest violation over all instances: how far the left side exceeded the right
    (or how far two sides that must be equal differed).  The statement holds when it stays within
    ``tolerance``.  ``witness`` is the instance that decided, in plain JSON values.
    """

    claim: str
    statement: str
    hypotheses: tuple[str, ...]
    instances: int
    worst_slack: float
    tolerance: float
    seed: int
    witness: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        # A slack may come as a NumPy number, whose comparison is no Python bool and no JSON.
        object.__setattr__(self, "worst_slack", float(self.worst_slack))

    @property
    def holds(self) -> bool:
        """Whether the slack stays within tolerance; a check that computed nothing sensible does not hold."""
        return self.instances > 0 and self.worst_slack <= self.tolerance

    @property
    def fails(self) -> bool:
        """Whether the slack, a number, exceeds the tolerance: not the same as not holding, which NaN does too."""
        return self.instances > 0 and isfinite(self.worst_slack) and self.worst_slack > self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON-ready values, ``holds`` included."""
        return asdict(self) | {"hypotheses": list(self.hypotheses), "witness": dict(self.witness), "holds": self.holds}


@dataclass(frozen=True)
class Theorem:
    """A statement with its label in the text, its hypotheses and the tolerance of its check (in the slack's units)."""

    label: str
    statement: str
    hypotheses: tuple[str, ...]
    tolerance: float

    def certificate(
        self, seed: int, instances: int, worst_slack: float, witness: Mapping[str, Any], dropped: str | None = None
    ) -> Certificate:
        """The outcome of a check of this theorem, or of its mutant without the hypothesis ``dropped``.

        Raises ``ValueError`` when the theorem has no such hypothesis.
        """
        if dropped is not None and dropped not in self.hypotheses:
            raise ValueError(f"{self.label} has no hypothesis {dropped!r}")
        kept = tuple(h for h in self.hypotheses if h != dropped)
        return Certificate(self.label, self.statement, kept, instances, worst_slack, self.tolerance, seed, witness)


def worst_case(
    case: Callable[[np.random.Generator], tuple[float, Mapping[str, Any]]], instances: int, seed: int
) -> tuple[float, Mapping[str, Any]]:
    """The largest slack of ``instances`` draws of ``case(rng) -> (slack, witness)``, with its witness.

    A slack that is not finite counts as infinite, so that a check which computed nothing sensible fails.
    """
    if instances < 1:
        raise ValueError(f"a check needs at least one instance, got {instances}")
    rng = np.random.default_rng(seed)
    cases = (case(rng) for _ in range(instances))
    finite = ((float(slack) if isfinite(slack) else inf, witness) for slack, witness in cases)
    return max(finite, key=lambda drawn: drawn[0])


Check = Callable[..., Certificate]  # check(seed=0) -> Certificate


@dataclass(frozen=True)
class Claim:
    """A theorem, the check that certifies it, and its mutant: the check of the theorem with one hypothesis dropped."""

    theorem: Theorem
    certify: Check
    mutate: Check


RELATIONS = {"=": "exactly", "≤": "at most", "≥": "at least", ">": "more than"}


@dataclass(frozen=True)
class Outcome:
    """One instance of a theorem: what was promised of it and what was found, both computed from its ``arrays``.

    ``pictures`` are what its images show, each a tuple of things such as ``"red car"``; ``absent`` the things that a
    single picture lacks, and ``places`` where its present and absent things lie, when that says something.
    ``captions`` are those in play and ``size`` says how small the instance is.  ``quantity`` names the number, with its
    unit, and ``relation``, a key of ``RELATIONS``, how ``found`` must stand to ``promised``.  ``tried`` counts the
    instances that a search drew, this one included.
    """

    pictures: tuple[tuple[str, ...], ...]
    captions: tuple[str, ...]
    size: str
    quantity: str
    relation: str
    promised: float
    found: float
    arrays: Mapping[str, Any]
    note: str = ""
    absent: tuple[str, ...] = ()
    places: tuple[tuple[float, float], ...] = ()
    tried: int = 0

    @property
    def slack(self) -> float:
        """By how much the promise is missed, in the units of the quantity."""
        over = self.found - self.promised
        return {"=": abs(over), "≤": over, "≥": -over, ">": -over}[self.relation]

    def missed(self, by: float) -> bool:
        """Whether the promise is missed by more than ``by``; a strict one by equality already, up to rounding."""
        return self.slack > (-1e-12 if self.relation == ">" else by)


Search = Callable[[np.random.Generator], Outcome]


def smallest(
    sizes: Iterable[Any],
    draw: Callable[[Any, np.random.Generator], Mapping[str, Any]],
    measure: Callable[..., Outcome],
    rng: np.random.Generator,
    tries: int = 400,
    clear: float = 0.05,
) -> Outcome:
    """The first instance that misses its promise by more than ``clear``, over growing sizes, ``tries`` draws of each.

    ``draw(size, rng)`` returns the arrays of an instance and ``measure(**arrays)`` its outcome, from them alone.
    Raises ``LookupError`` when no draw of any size breaks the theorem.
    """
    tried = 0
    for size in sizes:
        for _ in range(tries):
            tried += 1
            outcome = measure(**draw(size, rng))
            if outcome.missed(clear):
                return replace(outcome, tried=tried)
    raise LookupError(f"none of {tried} instances breaks the theorem by more than {clear}")


@dataclass(frozen=True)
class Convenient:
    """A hypothesis that only eases the wording: the ``reason``, and an instance without it, where the theorem holds."""

    reason: str
    example: Search


@dataclass(frozen=True)
class Ablation:
    """What each hypothesis of a theorem is there for.

    ``example(rng)`` is an instance under all hypotheses.  ``without`` maps every hypothesis to a search for an instance
    that keeps the others and breaks the theorem, or to ``Convenient``.  Raises ``ValueError`` when one is left out.
    """

    theorem: Theorem
    example: Search
    without: Mapping[str, Search | Convenient]

    def __post_init__(self):
        if tuple(self.without) != self.theorem.hypotheses:
            raise ValueError(f"{self.theorem.label} has the hypotheses {self.theorem.hypotheses}, not all are dropped")
