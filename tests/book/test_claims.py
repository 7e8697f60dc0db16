import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from bindlib.book import claims, verify
from bindlib.errors import BindlibError, CheckFailed
from bindlib.theory import bag_of_words, frontier

ROOT = Path(__file__).parents[2]
CHAPTERS, EXPECTATIONS = ROOT / "chapters", ROOT / verify.FILE
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


@pytest.fixture(scope="session")
def rows() -> dict[str, dict]:
    """Every claim and its mutant, checked once for all tests here."""
    return {row["label"]: row for row in claims.run(mutants=True)}


@pytest.mark.parametrize("label", claims.CLAIMS)
def test_claim_holds_and_its_mutant_fails(rows, label):
    row = rows[label]
    assert claims.sound(row) and row["holds"], row
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


def test_rows_are_json_with_the_promised_fields(rows):
    assert list(rows) == list(claims.CLAIMS)
    fields = {"label", "chapter", "statement", "hypotheses", "instances", "worst_slack", "tolerance", "seed", "holds",
              "mutant"}  # fmt: skip
    assert all(fields <= set(row) for row in json.loads(json.dumps(list(rows.values()), allow_nan=False)))


def test_the_claims_are_those_that_are_expected(rows):
    """``bindlib verify`` compares the book too; a claim that was added, or counts otherwise, is seen here already."""
    expected = [n for n in verify.load(EXPECTATIONS, "ci") if n.source.startswith("claim ")]
    assert not verify.differences(expected, [n for row in rows.values() for n in verify._claim(row)])


@pytest.fixture
def tampered(monkeypatch):
    """Replace the check or the mutant of one claim, the only one, whose own check is a short one."""
    chapter, claim = claims.CLAIMS["thm-frontier"]
    monkeypatch.setattr(claims, "CLAIMS", {"thm-frontier": (chapter, claim)})

    def tamper(**changes):
        short = {"certify": lambda seed: claim.certify(seed=seed, instances=20)} | changes
        monkeypatch.setitem(claims.CLAIMS, "thm-frontier", (chapter, replace(claim, **short)))

    return tamper


def test_a_mutant_runs_when_it_is_asked_for_and_not_else(tampered):
    ran = []
    mutate = claims.CLAIMS["thm-frontier"][1].mutate
    tampered(mutate=lambda seed: ran.append(seed) or mutate(seed=seed))
    (with_mutant,), (without,) = claims.run(mutants=True, seed=3), claims.run(seed=3)
    assert ran == [3] and with_mutant["mutant"]["fails"] and without["mutant"] is None


def test_what_did_not_run_has_failed(tampered, monkeypatch):
    tampered()
    (row,) = claims.run(mutants=True)
    assert claims.sound(row) and not claims.unsound([row])
    skipped = row | {"mutant": None}
    assert not claims.sound(skipped)
    assert claims.unsound([skipped]) == claims.unsound([]) == claims.unsound([], mutants=False) == ["thm-frontier"]
    assert not claims.unsound([skipped], mutants=False)
    monkeypatch.setattr(claims, "check", lambda label, mutant=True, seed=0: skipped)
    with pytest.raises(BindlibError, match="DID NOT RUN"):
        claims.card("thm-frontier")
    with pytest.raises(CheckFailed, match="did not run: thm-frontier"):
        verify.computed(SimpleNamespace(chapters=()), SimpleNamespace(seed=0))


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
