"""The table of claims: every theorem of the book, the function that certifies it, and its mutant.

The label is the one on the theorem in the text.  A mutant is the theorem with one hypothesis removed; it must fail on
a stored witness, which is computed again each time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from bindlib.certificates import Certificate
from bindlib.errors import BindlibError
from bindlib.theory import bag_of_words, frontier


@dataclass(frozen=True)
class Claim:
    """A theorem's ``label`` in ``chapter``, its check, its mutant and the hypothesis that the mutant ``drops``."""

    label: str
    chapter: str
    certify: Callable[..., Certificate]
    mutate: Callable[..., Certificate]
    drops: str


CLAIMS = {
    claim.label: claim
    for claim in (
        Claim("thm-bag-of-words-collapse", "bag_of_words", bag_of_words.certify_collapse, bag_of_words.mutate_collapse,
              "t depends on the word multiset only"),
        Claim("prop-ceiling", "bag_of_words", bag_of_words.certify_ceiling, bag_of_words.mutate_ceiling,
              "the image vector is unit"),
        Claim("prop-position-blind", "bag_of_words", bag_of_words.certify_position_blind,
              bag_of_words.mutate_position_blind, "no causal mask"),
        Claim("thm-frontier", "frontier", frontier.certify_frontier, frontier.mutate_frontier, "the anchor is unit"),
        Claim("thm-sharp-frontier", "frontier", frontier.certify_sharp, frontier.mutate_sharp, "the captions are unit"),
        Claim("prop-midpoint-anchor", "frontier", frontier.certify_midpoint, frontier.mutate_midpoint,
              "the anchor is unit"),
    )
}  # fmt: skip


def find(label: str) -> Claim:
    """The claim with this label; ``BindlibError`` lists the labels when there is none."""
    if label not in CLAIMS:
        raise BindlibError(f"no claim is labelled {label!r}; the labels are {', '.join(CLAIMS)}")
    return CLAIMS[label]


def mutant_of(claim: Claim, seed: int = 0) -> dict[str, Any]:
    """The mutant's certificate as JSON-ready values, with the hypothesis it ``drops``."""
    return {"drops": claim.drops} | _fields(claim.mutate(seed=seed))


def _fields(certificate: Certificate) -> dict[str, Any]:
    return {k: v for k, v in certificate.to_dict().items() if k != "claim"}


def run(mutants: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """Every claim checked: one JSON-ready row each, ``mutant`` being ``None`` unless asked for."""
    return [
        {"label": claim.label, "chapter": claim.chapter}
        | _fields(claim.certify(seed=seed))
        | {"mutant": mutant_of(claim, seed) if mutants else None}
        for claim in CLAIMS.values()
    ]


def sound(row: dict[str, Any]) -> bool:
    """Whether a row of ``run`` is as it must be: the claim holds, and its mutant, if run, fails."""
    return row["holds"] and not (row["mutant"] or {"holds": False})["holds"]


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
        return (
            f"Claim {row['label']}: {verdict} on {row['instances']:,} instances, worst slack {row['worst_slack']:.2g} "
            f'(tolerance {row["tolerance"]:.2g}, seed {row["seed"]}). Without "{mutant["drops"]}" it '
            f"{'HOLDS STILL' if mutant['holds'] else 'fails'}, slack {mutant['worst_slack']:.3g}."
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        row, mutant = self.row, self.row["mutant"]
        witness = ", ".join(f"{k.replace('_', ' ')} {_number(v)}" for k, v in mutant["witness"].items())
        state = "holds" if sound(row) else "fails"
        return (
            f'<section class="claim-card claim-card--{state}" aria-label="Claim card of {escape(row["label"])}">'
            f'<p class="claim-card__title">Checked by computation: {"holds" if row["holds"] else "FAILS"}</p><dl>'
            + _terms(
                {
                    "instances": f"{row['instances']:,}",
                    "worst slack": f"{row['worst_slack']:.2g}",
                    "tolerance": f"{row['tolerance']:.2g}",
                    "seed": str(row["seed"]),
                }
            )
            + '</dl><div class="claim-card__mutant">'
            f"<p>Mutant, without the hypothesis <em>{escape(mutant['drops'])}</em>: "
            f"{'STILL HOLDS' if mutant['holds'] else 'fails'}, slack {mutant['worst_slack']:.3g}.</p>"
            f"<p>Witness: {escape(witness)}.</p></div></section>"
        )


def card(label: str, seed: int = 0) -> Card:
    """The claim card of one theorem, computed now.

    Raises ``BindlibError`` for an unknown label or a claim that is not sound, which stops the build.
    """
    claim = find(label)
    row = {"label": label} | _fields(claim.certify(seed=seed)) | {"mutant": mutant_of(claim, seed)}
    if not sound(row):
        raise BindlibError(f"{Card(row)}: the text must not state it; mend the theorem or its check")
    return Card(row)
