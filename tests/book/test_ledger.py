import json

import numpy as np
import pytest

from bindlib.book import ledger
from bindlib.book.reported import REPORTED


@pytest.fixture(scope="module")
def rows():
    return json.loads(json.dumps(ledger.run(), allow_nan=False))


def test_nothing_is_missed(rows):
    assert [row for row in rows if row["status"] == ledger.MISSED] == []


def test_what_is_contradicted_is_named(rows):
    found = [row["figure"] for row in rows if row["status"] == ledger.CONTRADICTED]
    assert found == ["Figure 6", "Figure 11", "Figure 16"]


@pytest.mark.parametrize(
    ("module", "name", "value", "figure"),
    [
        (ledger.radon, "largest_scene", 3, "Figure 6"),
        (ledger.frontier, "sharp_cap", 2.0, "Figure 11"),
        (ledger.coverage, "hadamard_accuracy", 1.0, "Figure 16"),
        (ledger.coverage, "covered", False, "Figure 16"),
    ],
)
def test_a_contradiction_whose_example_is_gone_is_missed(monkeypatch, module, name, value, figure):
    monkeypatch.setattr(module, name, lambda *_: value)
    status = {row.figure: row.status for row in ledger._contradictions()}
    assert {name for name, found in status.items() if found == ledger.MISSED} == {figure}


def test_the_largest_margin_at_one_half_is_root_three():
    row = next(row for row in ledger._contradictions() if row.figure == "Figure 11")
    assert f"{2.0:.4f}" in row.ours and f"{np.sqrt(3):.4f}" in row.ours
    captions = ledger.frontier.saturating_captions(0.5, 8, np.random.default_rng(0))
    assert np.linalg.norm(captions[1] - captions[2]) == pytest.approx(np.sqrt(3))


def test_depths_at_clip_scale(rows):
    row = next(row for row in rows if row["quantity"] == "resolvable depth at CLIP scale")
    assert row["ours"] == "N = 512: 2, 1, 0; N = 1024: 2, 1, 0" and row["status"] == ledger.REPRODUCED


def test_every_row_says_what_why_and_over_how_many_draws(rows):
    statuses = {ledger.REPRODUCED, ledger.SPREAD, ledger.NOT_HERE, ledger.CONTRADICTED, ledger.READING}
    for row in rows:
        assert row["status"] in statuses
        assert row["figure"] and row["quantity"] and row["reports"] and row["why"] and row["command"], row
        assert row["status"] != ledger.SPREAD or row["draws"] > 1, row
        assert (row["ours"] == "") == (row["status"] == ledger.NOT_HERE), row


def test_the_figures_with_numbers_all_have_a_row(rows):
    named = " ".join(row["figure"] for row in rows)
    for figure in ("2(a)", "2(b)", "3", "6", "7", "8", "9", "10", "11", "12", "13", "15", "16", "Abstract"):
        assert figure in named, figure


def test_what_cannot_be_computed_is_reported_and_nothing_else_is(rows):
    for row in rows:
        if row["status"] == ledger.NOT_HERE:
            assert any(row["reports"] == figure.text for figure in REPORTED.values())


@pytest.mark.parametrize(
    ("value", "draws", "status"),
    [
        (1.0, [1.004], ledger.REPRODUCED),
        (1.0, [1.006], ledger.MISSED),
        (1.0, [0.9, 1.108], ledger.REPRODUCED),
        (1.0, [0.9, 1.2], ledger.SPREAD),
        (1.0, [1.1, 1.2], ledger.MISSED),
    ],
)
def test_judgement(value, draws, status):
    assert ledger.judge(value, draws, 0.005) == status


def test_the_counted_depth_is_the_definition():
    for b in (2, 3, 5):
        for dim in (256, 4096, 65536):
            depth = ledger._counted_depth(dim, b)
            assert 2 * b**-depth >= 10 / np.sqrt(dim) > 2 * b ** -(depth + 1) or depth == 0


def test_a_wrong_law_is_seen(monkeypatch):
    right = ledger.depth_law.resolvable_depth
    monkeypatch.setattr(ledger.depth_law, "resolvable_depth", lambda dim, b: right(dim, b) + (b == 5))
    statuses = [row.status for row in ledger._depth(np.random.default_rng(0), 2) if row.figure == "Figure 2(b)"]
    assert statuses == [ledger.MISSED]
