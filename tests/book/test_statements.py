"""What a theorem says in the text and in Python is the same: its hypotheses by name, its conditions, its formulas."""

import re
from pathlib import Path

import nbformat
import pytest
from statements import FORMULAS, HYPOTHESES, NAMING

from bindlib.book import claims

CHAPTERS = Path(__file__).parents[2] / "chapters"
DIRECTIVE = re.compile(r"^:{3,}\{prf:(\w+)\}[^\n]*\n:label: *(\S+)\n(.*?)\n:{3,}$", re.MULTILINE | re.DOTALL)
CONDITION = re.compile(r"(?:Let|Suppose|If|Under|Give) ")
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "kappa": "κ", "mu": "μ",
    "sigma": "σ", "pi": "π", "theta": "θ", "Delta": "Δ", "ell": "ℓ",
}  # fmt: skip
THEOREMS = {label: claim.theorem for label, (_, claim) in claims.CLAIMS.items()}


def one_line(text):
    return " ".join(text.split())


def stated():
    """The text of every labelled directive, and of its chapter."""
    texts, pages = {}, {}
    for path in CHAPTERS.rglob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for _, label, text in DIRECTIVE.findall(prose):
            texts[label], pages[label] = one_line(text), one_line(prose)
    return texts, pages


TEXTS, PAGES = stated()


def where(label, words):
    """The text that must hold the ``words``, and the words alone."""
    place, colon, rest = words.partition(": ")
    if colon and (place == "page" or place in TEXTS):
        return (PAGES[label] if place == "page" else TEXTS[place]), rest
    return TEXTS[label], words


@pytest.mark.parametrize("label", THEOREMS)
def test_every_hypothesis_stands_in_the_text_and_every_text_has_its_claim(label):
    assert tuple(HYPOTHESES[label]) == THEOREMS[label].hypotheses
    for hypothesis, words in HYPOTHESES[label].items():
        text, wanted = where(label, words)
        assert wanted in text, f"{label}: {hypothesis!r} should stand in the text as {wanted!r}"


def test_no_label_is_left_over():
    assert set(HYPOTHESES) == set(THEOREMS) and set(FORMULAS) | set(NAMING) <= set(THEOREMS)


def sentences(text):
    """Split after full stops, outside of displayed formulas."""
    return re.split(r"(?<=[.\])])\s+(?=[A-Z])", re.sub(r"\$\$.*?\$\$", " ", text))


@pytest.mark.parametrize("label", THEOREMS)
def test_the_text_has_no_condition_that_the_claim_lacks(label):
    """A sentence that begins as a condition holds a hypothesis of the claim, or is known to name things only."""
    known = [where(label, words)[1] for words in HYPOTHESES[label].values()] + list(NAMING.get(label, ()))
    for sentence in sentences(TEXTS[label]):
        sentence = re.sub(r"^\d\. ", "", sentence)
        if CONDITION.match(sentence):
            assert any(words in sentence for words in known), f"{label}: {sentence!r} is no hypothesis in Python"


SAME = {
    "le": "≤", "ge": "≥", "langle": "<", "rangle": ">", "infty": "∞", "lfloor": "floor", "binom": "C",
    **dict.fromkeys(("lvert", "rvert", "lVert", "rVert"), "|"),
    **dict.fromkeys(("bigl", "bigr", "Bigl", "Bigr", "left", "right", "mathbb", "text", "operatorname"), ""),
}  # fmt: skip


def plain(text):
    """A formula, in LaTeX or in letters, as the characters that both ways of writing share."""
    text = re.sub(r"\\[td]?frac(\d)(\d)", r"\1/\2", text)
    text = re.sub(r"\\[td]?frac(?![a-z])", "", text)
    for name, letter in (GREEK | SAME).items():
        text = re.sub(rf"\\{name}(?![a-z])", letter, text)
    for written, letter in {"²": "^2", "<=": "≤", ">=": "≥"}.items():
        text = text.replace(written, letter)
    return re.sub(r"[\\\s{}()\[\],;:!/$&]", "", text)


@pytest.mark.parametrize("label", FORMULAS)
def test_the_formulas_of_the_claim_stand_in_the_text(label):
    for formula in FORMULAS[label]:
        ours, theirs = (formula, formula) if isinstance(formula, str) else formula
        assert ours in THEOREMS[label].statement, f"{label}: {ours!r} has gone from the claim"
        assert plain(theirs) in plain(TEXTS[label]), f"{label}: {theirs!r} has gone from the text"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (r"\frac{2}{k} \sqrt{\frac{k}{k-1}}", "(2/k) sqrt(k/(k-1))", True),
        (r"2\sqrt{2\delta}", "2 sqrt(2 δ)", True),
        (r"2\sqrt{2\delta}", "2 sqrt(3 δ)", False),
        (r"d \le \tfrac12 \lvert x \rvert^2", "d ≤ 1/2 |x|²", True),
        (r"d \ge \tfrac12", "d ≤ 1/2", False),
    ],
)
def test_formulas_are_compared_up_to_their_writing(one, other, same):
    assert (plain(one) == plain(other)) == same


def test_the_card_shows_the_hypotheses():
    html = claims.card("thm-frontier")._repr_html_()
    assert "Hypotheses: the anchor is unit; the captions are unit; the image is unit." in html
