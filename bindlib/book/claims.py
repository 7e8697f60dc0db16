"""The table of claims: every theorem of the book, the function that certifies it, and its mutant.

The label is the one on the theorem in the text.  A mutant is the theorem with one hypothesis removed; it must fail on
a stored witness, which is computed again each time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from bindlib.certificates import Ablation, Certificate, Claim, Convenient, Outcome
from bindlib.errors import BindlibError
from bindlib.theory import (
    axioms_claims,
    bag_of_words,
    balanced_coupling_claims,
    binding_functions_claims,
    coverage_claims,
    depth_law_claims,
    factored_codes_claims,
    factored_inference_claims,
    frontier,
    radon_claims,
    throttle_claims,
)
from bindlib.theory.counterexamples import ABLATIONS

# Each module lists the claims of one chapter.
CHAPTERS = {
    "axioms": axioms_claims,
    "radon": radon_claims,
    "bag_of_words": bag_of_words,
    "factored_codes": factored_codes_claims,
    "depth_law": depth_law_claims,
    "throttle": throttle_claims,
    "coverage": coverage_claims,
    "frontier": frontier,
    "factored_inference": factored_inference_claims,
    "binding_functions": binding_functions_claims,
    "balanced_coupling": balanced_coupling_claims,
}
CLAIMS: dict[str, tuple[str, Claim]] = {
    claim.theorem.label: (chapter, claim) for chapter, module in CHAPTERS.items() for claim in module.CLAIMS
}


def find(label: str) -> tuple[str, Claim]:
    """Chapter and claim with this label; ``BindlibError`` lists the labels when there is none."""
    if label not in CLAIMS:
        raise BindlibError(f"no claim is labelled {label!r}; the labels are {', '.join(CLAIMS)}")
    return CLAIMS[label]


def ablation(label: str) -> Ablation:
    """What each hypothesis of a theorem is there for; ``BindlibError`` when no search is written for it."""
    if label not in ABLATIONS:
        raise BindlibError(f"no counterexamples are searched for {label!r}, but for {', '.join(ABLATIONS)}")
    return ABLATIONS[label]


def search(label: str, dropped: str | None, rng: np.random.Generator) -> Outcome:
    """The smallest instance found that breaks the theorem without the hypothesis ``dropped`` and keeps the others.

    With nothing dropped, or a hypothesis that is only convenient, an instance of which the theorem holds.  Raises
    ``BindlibError`` for an unknown label or hypothesis, or when the instance does not do what it is there to show,
    which stops the build; and ``LookupError`` when the search finds none.
    """
    found = ablation(label)
    if dropped is not None and dropped not in found.without:
        raise BindlibError(f"{label} has no hypothesis {dropped!r}; it has {', '.join(found.without)}")
    how = found.example if dropped is None else found.without[dropped]
    breaks = dropped is not None and not isinstance(how, Convenient)
    outcome = how.example(rng) if isinstance(how, Convenient) else how(rng)
    if outcome.missed(1e-9) != breaks:
        without = "" if dropped is None else f" without {dropped!r}"
        raise BindlibError(f"{label}{without} should {'break' if breaks else 'hold'} of {outcome}: mend one of the two")
    return outcome


def _fields(certificate: Certificate) -> dict[str, Any]:
    return {k: v for k, v in certificate.to_dict().items() if k != "claim"}


def _mutant(claim: Claim, seed: int) -> dict[str, Any]:
    certificate = claim.mutate(seed=seed)
    (dropped,) = set(claim.theorem.hypotheses) - set(certificate.hypotheses)
    return {"dropped": dropped} | _fields(certificate) | {"fails": certificate.fails}


def check(label: str, mutant: bool = True, seed: int = 0) -> dict[str, Any]:
    """One claim checked, as JSON-ready values; ``mutant`` is ``None`` unless asked for."""
    chapter, claim = find(label)
    return (
        {"label": label, "chapter": chapter}
        | _fields(claim.certify(seed=seed))
        | {"mutant": _mutant(claim, seed) if mutant else None}
    )


def run(mutants: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """Every claim checked, in the order of the chapters: one JSON-ready row each."""
    return [check(label, mutants, seed) for label in CLAIMS]


def sound(row: dict[str, Any]) -> bool:
    """Whether a row is as it must be: the claim holds, and its mutant ran and fails."""
    return bool(row["holds"] and row["mutant"] is not None and row["mutant"]["fails"])


def unsound(rows: Iterable[dict[str, Any]], mutants: bool = True) -> list[str]:
    """The labels whose row is missing or not sound, in the order of the book: what did not run has failed.

    Without ``mutants`` only that each claim holds is asked.
    """
    good = {row["label"] for row in rows if (sound(row) if mutants else row["holds"])}
    return [label for label in CLAIMS if label not in good]


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _terms(pairs: dict[str, str]) -> str:
    return "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs.items())


@dataclass(frozen=True)
class Card:
    """What a claim's check found, as a reader sees it beside the theorem."""

    row: dict[str, Any]

    def __str__(self) -> str:
        row, mutant = self.row, self.row["mutant"]
        verdict = "holds" if row["holds"] else "FAILS"
        broken = (
            "Its mutant DID NOT RUN."
            if mutant is None
            else (
                f'Without "{mutant["dropped"]}" it {"fails" if mutant["fails"] else "DOES NOT FAIL"}, '
                f"slack {mutant['worst_slack']:.3g}."
            )
        )
        return (
            f"Claim {row['label']}: {verdict} on {row['instances']:,} instances, worst slack {row['worst_slack']:.2g} "
            f"(tolerance {row['tolerance']:.2g}, seed {row['seed']}). {broken}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        row, mutant = self.row, self.row["mutant"]
        witness = ", ".join(f"{k.replace('_', ' ')} {_number(v)}" for k, v in mutant["witness"].items())
        state = "holds" if sound(row) else "fails"
        return (
            f'<section class="claim-card claim-card--{state}" aria-label="Claim card of {escape(row["label"])}">'
            f'<p class="claim-card__title">Checked by computation: {"holds" if row["holds"] else "FAILS"}</p>'
            f"<p>{escape(row['statement'])}</p><p>Hypotheses: {escape('; '.join(row['hypotheses']))}.</p><dl>"
            + _terms(
                {
                    "instances": f"{row['instances']:,}",
                    "largest violation": f"{row['worst_slack']:.2g}",
                    "tolerance": f"{row['tolerance']:.2g}",
                    "seed": str(row["seed"]),
                }
            )
            + '</dl><div class="claim-card__mutant">'
            f"<p>Mutant, without the hypothesis <em>{escape(mutant['dropped'])}</em>: "
            f"{'fails' if mutant['fails'] else 'DOES NOT FAIL'}, by {mutant['worst_slack']:.3g}.</p>"
            f"<p>Witness: {escape(witness)}.</p></div></section>"
        )


def card(label: str, seed: int = 0) -> Card:
    """The claim card of one theorem, computed now.

    Raises ``BindlibError`` for an unknown label or a claim that is not sound, which stops the build.
    """
    row = check(label, seed=seed)
    if not sound(row):
        raise BindlibError(f"{Card(row)}: the text must not state it; mend the theorem or its check")
    return Card(row)
