import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from bindlib.book import claims
from bindlib.errors import BindlibError

CHAPTERS = Path(__file__).parents[2] / "chapters"
STATED = re.compile(r"\{prf:(?:theorem|proposition|lemma|corollary)\}[^\n]*\n:label:\s*(\S+)")
CARDED = re.compile(r"card\(\"([^\"]+)\"")


def chapters():
    for path in sorted(CHAPTERS.rglob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        yield path.stem, STATED.findall(prose), CARDED.findall(code)


def test_every_theorem_has_a_claim_and_every_claim_a_theorem():
    stated = {(chapter, label) for chapter, labels, _ in chapters() for label in labels}
    claimed = {(chapter, label) for label, (chapter, _) in claims.CLAIMS.items()}
    assert stated == claimed


def test_every_theorem_shows_its_card():
    for chapter, stated, carded in chapters():
        assert sorted(stated) == sorted(carded), chapter


def test_no_theorem_goes_unlabelled():
    for path in CHAPTERS.rglob("*.ipynb"):
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        kinds = re.findall(r"\{prf:(?:theorem|proposition|lemma|corollary)\}", text)
        assert len(kinds) == len(STATED.findall(text)), path


@pytest.mark.parametrize("label", claims.CLAIMS)
def test_claim_holds_and_its_mutant_fails(label):
    row = claims.check(label)
    assert row["holds"], row
    assert not row["mutant"]["holds"], row
    assert row["mutant"]["witness"]
    assert row["instances"] >= 100


@pytest.mark.parametrize("label", claims.CLAIMS)
def test_claim_does_not_hang_on_one_seed(label):
    assert claims.sound(claims.check(label, seed=12345))


def test_rows_are_json_with_the_promised_fields():
    rows = json.loads(json.dumps(claims.run(mutants=True), allow_nan=False))
    fields = {"label", "chapter", "statement", "hypotheses", "instances", "worst_slack", "tolerance", "seed", "holds",
              "mutant"}  # fmt: skip
    assert all(fields <= set(row) for row in rows)
    assert [row["mutant"] for row in claims.run()] == [None] * len(rows)


@pytest.fixture
def tampered(monkeypatch):
    """Replace the check or the mutant of one claim."""

    def tamper(**changes):
        chapter, claim = claims.CLAIMS["thm-frontier"]
        monkeypatch.setitem(claims.CLAIMS, "thm-frontier", (chapter, replace(claim, **changes)))

    return tamper


def test_a_false_claim_stops_the_page(tampered):
    claim = claims.CLAIMS["thm-frontier"][1]
    tampered(certify=lambda seed: claim.theorem.certificate(seed, 10, 0.1, {}))
    with pytest.raises(BindlibError, match="FAILS"):
        claims.card("thm-frontier")


def test_a_mutant_that_holds_stops_the_page(tampered):
    claim = claims.CLAIMS["thm-frontier"][1]
    dropped = claim.theorem.hypotheses[0]
    tampered(mutate=lambda seed: claim.theorem.certificate(seed, 10, -1.0, {"x": 1}, dropped=dropped))
    with pytest.raises(BindlibError, match="HOLDS STILL"):
        claims.card("thm-frontier")


def test_unknown_label():
    with pytest.raises(BindlibError, match="thm-frontier"):
        claims.card("thm-frontiers")


def test_card_is_well_formed_and_escapes(tampered):
    claim = claims.CLAIMS["thm-frontier"][1]
    dropped = claim.theorem.hypotheses[0]
    hostile = {"caption": "<script>alert(1)</script>"}
    tampered(mutate=lambda seed: claim.theorem.certificate(seed, 1, 1.0, hostile, dropped=dropped))
    html = claims.card("thm-frontier")._repr_html_()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)
    parser.feed(html)
    assert "script" not in tags and "section" in tags
