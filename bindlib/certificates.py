"""Certificates: what a theorem's executable check tried, and how closely the theorem held."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


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

    @property
    def holds(self) -> bool:
        # NaN compares false, so a check that computed nothing sensible does not hold.
        return self.instances > 0 and self.worst_slack <= self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON-ready values, ``holds`` included."""
        return asdict(self) | {"hypotheses": list(self.hypotheses), "witness": dict(self.witness), "holds": self.holds}
