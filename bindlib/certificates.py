"""Certificates: what a theorem's executable check tried, and how closely the theorem held."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
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
