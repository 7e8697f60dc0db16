import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest

from bindlib.book import claims
from bindlib.errors import BindlibError
from bindlib.theory import bag_of_words, frontier

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


def test_no_theorem_goes_unlabelled_or_stands_on_a_page_without_a_kernel():
    for path in CHAPTERS.rglob("*.md"):
        assert not STATED.search(path.read_text()), path
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
    for seed in (11, 20, 12345):
        assert claims.sound(claims.check(label, seed=seed)), seed


def wrong(function, factor):
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


@pytest.mark.parametrize(
    ("label", "module", "name", "factor"),
    [
        ("thm-bag-of-words-collapse", bag_of_words, "margin", np.nan),
        ("prop-ceiling", bag_of_words, "ceiling", 0.999),
        ("prop-ceiling", bag_of_words, "best_image", 0.999),
        ("prop-ceiling", bag_of_words, "margin", np.nan),
        ("prop-position-blind", bag_of_words, "ceiling", np.nan),
        ("thm-frontier", frontier, "paper_cap", 0.999),
        ("thm-frontier", frontier, "paper_cap", 1.001),
        ("thm-frontier", frontier, "margin", 1.001),
        ("thm-sharp-frontier", frontier, "sharp_cap", 0.999),
        ("thm-sharp-frontier", frontier, "sharp_cap", 1.001),
        ("thm-sharp-frontier", frontier, "smoothness", 1.001),
        ("thm-sharp-frontier", frontier, "ceiling", np.nan),
        ("prop-midpoint-anchor", frontier, "smallest_delta", 1.001),
        ("prop-midpoint-anchor", frontier, "smallest_delta", 0.999),
        ("prop-midpoint-anchor", frontier, "sharp_cap", 1.001),
    ],
)
def test_a_wrong_formula_is_found_by_the_check(monkeypatch, label, module, name, factor):
    monkeypatch.setattr(module, name, wrong(getattr(module, name), factor))
    assert not claims.CLAIMS[label][1].certify(seed=0, instances=300).holds


def test_a_map_that_sees_order_is_found_by_the_check(monkeypatch):
    monkeypatch.setattr(bag_of_words, "superposition", bag_of_words.position_weighted)
    assert not claims.CLAIMS["thm-bag-of-words-collapse"][1].certify(seed=0, instances=50).holds


def test_an_anchor_on_the_wrong_side_is_found_by_the_check(monkeypatch):
    right = frontier.saturating_captions
    monkeypatch.setattr(frontier, "saturating_captions", lambda *args: (-right(*args)[0], *right(*args)[1:]))
    assert not claims.CLAIMS["thm-sharp-frontier"][1].certify(seed=0, instances=50).holds


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
    with pytest.raises(BindlibError, match="DOES NOT FAIL"):
        claims.card("thm-frontier")


@pytest.mark.parametrize(("instances", "slack"), [(1, np.nan), (0, 5.0), (1, np.inf)])
def test_a_mutant_that_computes_nothing_stops_the_page(tampered, instances, slack):
    claim = claims.CLAIMS["thm-frontier"][1]
    dropped = claim.theorem.hypotheses[0]
    tampered(mutate=lambda seed: claim.theorem.certificate(seed, instances, slack, {"x": 1}, dropped=dropped))
    with pytest.raises(BindlibError, match="DOES NOT FAIL"):
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
