"""Factored inference on real encoders: scores of concepts, logic on them, and one edit of the score of the query.

A nested query is evaluated from its leaves: ``p`` of a concept, ``1 - p`` of a negation, the power means of AND and OR
of their parts.  The edit is made once, at the root, against the arithmetic mean of the ``p`` of the distinct concepts.
A flat query is edited as ``lcse`` does it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindlib.book.reported import Reported
from bindlib.encoders.base import DualEncoder
from bindlib.errors import BindlibError
from bindlib.remedies.queries import (
    And,
    Concept,
    Not,
    Or,
    Query,
    and_,
    concept,
    concepts,
    not_,
    or_,
    parse,
    require_contingent,
)
from bindlib.scenes import article
from bindlib.theory.factored_inference import (
    BETA,
    GAMMA,
    MU,
    calibrate,
    evidence,
    lcse,
    mean_log_odds,
    power_mean,
    soft_log_odds,
)

__all__ = (
    "PUBLISHED",
    "Setting",
    "and_",
    "calibrate",
    "concept",
    "concept_vectors",
    "edit",
    "lcse",
    "log_odds",
    "not_",
    "or_",
    "parse",
    "power_mean",
    "score",
)

# Of arXiv 2607.23052, abstract, in percent.  None of these was measured by us.
PUBLISHED = {
    "lcse": Reported("85.5", "Abstract", "accuracy of LCSE on FACTOR-Bench"),
    "fine_tuned": Reported("73.2", "Abstract", "accuracy of the best fine-tuned baseline on FACTOR-Bench"),
    "siglip": Reported("90.7", "Abstract", "accuracy of LCSE with SigLIP 2 on FACTOR-Bench"),
    "negbench_before": Reported("27.2", "Abstract", "accuracy on the COCO questions of NegBench, without LCSE"),
    "negbench_after": Reported("65.2", "Abstract", "accuracy on the COCO questions of NegBench, with LCSE"),
}
TEMPLATES = ("{}", "a photo of {}", "there is {}")
Scores = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """Slope and threshold of the evidence, and the exponents of the two power means; as published unless given."""

    beta: float = BETA
    mu: float = MU
    gamma_and: float = GAMMA["and"]
    gamma_or: float = GAMMA["or"]


def log_odds(query: Query, x: Scores, setting: Setting = Setting()) -> np.ndarray:
    """Log-odds ``(n,)`` of ``p_logical`` of a query, from those of its concepts, ``(n,)`` each."""
    match query:
        case Concept(name):
            return x[name]
        case Not(part):
            return -log_odds(part, x, setting)
        case And(parts) | Or(parts):
            gamma = setting.gamma_and if isinstance(query, And) else setting.gamma_or
            return mean_log_odds(np.stack([log_odds(part, x, setting) for part in parts], axis=-1), gamma)


def edit(query: Query, scores: Scores, setting: Setting = Setting()) -> np.ndarray:
    """What is added to the score of the query, ``(n,)``, from ``scores`` of its concepts, ``(n,)`` cosines each.

    Raises ``BindlibError`` for a query that is true of all images or of none, and for concepts without scores or with
    unequally many; ``ValueError`` for scores or a setting that ``evidence`` refuses.
    """
    missing = [name for name in concepts(require_contingent(query)) if name not in scores]
    if missing:
        raise BindlibError(f"there are no scores of {missing[0]!r}: give those of every concept of '{query}'")
    sizes = {np.shape(scores[name]) for name in concepts(query)}
    if len(sizes) > 1:
        raise BindlibError(f"concepts have scores of the shapes {sorted(sizes)}: score all on the same images")
    x = {name: evidence(scores[name], setting.beta, setting.mu) for name in concepts(query)}
    soft = soft_log_odds(np.stack(list(x.values()), axis=-1))
    return log_odds(query, x, setting) / setting.beta - soft / setting.beta


def concept_vectors(encoder: DualEncoder, names: Sequence[str], templates: Sequence[str] = TEMPLATES) -> np.ndarray:
    """One row ``(len(names), dim)`` a concept, whose inner product with an image is the mean cosine over templates.

    A template has ``{}`` where the words go, and may have ``{a}`` for their article.  Raises ``BindlibError`` for no
    templates or one without a place for the words, and what the encoder raises for words that it does not know.
    """
    if not templates or not all("{}" in template for template in templates):
        raise BindlibError(f"every template needs a place {{}} for the concept, got {list(templates)}")
    try:
        texts = [template.format(name, a=article(name)) for template in templates for name in names]
    except (LookupError, ValueError):
        raise BindlibError(f"a template has the places {{}} and {{a}} and no others, got {list(templates)}") from None
    vectors = encoder.encode_text(texts).astype(np.float64)
    return vectors.reshape(len(templates), len(names), -1).mean(axis=0)


def score(
    encoder: DualEncoder,
    images: Sequence[Any],
    query: Query,
    text: str | None = None,
    templates: Sequence[str] = TEMPLATES,
    setting: Setting = Setting(),
) -> np.ndarray:
    """The edited scores ``(n,)`` of ``images`` (PIL) for a query.

    ``text`` is the query as the encoder reads it for the holistic score: the query in words unless given.  Raises
    ``BindlibError`` for an empty, contradictory or tautological query, for no images, and for words or features that
    the encoder refuses.
    """
    require_contingent(query)
    if not len(images):
        raise BindlibError("there is nothing to rank: give at least one image")
    image = encoder.encode_image(list(images)).astype(np.float64)
    holistic = image @ encoder.encode_text([text or str(query)])[0].astype(np.float64)
    names = concepts(query)
    cosines = image @ concept_vectors(encoder, names, templates).T
    return holistic + edit(query, dict(zip(names, cosines.T, strict=True)), setting)
