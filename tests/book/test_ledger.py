import json

import numpy as np
import pytest

from bindlib.book import ledger
from bindlib.book.reported import REPORTED


@pytest.fixture(scope="module")
def rows():
    return json.loads(json.dumps(ledger.run(), allow_nan=False))


def test_nothing_is_contradicted(rows):
    assert [row for row in rows if row["status"] == ledger.MISSED] == []


def test_every_row_says_what_why_and_over_how_many_draws(rows):
    statuses = {ledger.REPRODUCED, ledger.SPREAD, ledger.NOT_HERE}
    for row in rows:
        assert row["status"] in statuses
        assert row["figure"] and row["quantity"] and row["reports"] and row["why"] and row["command"], row
        assert row["status"] != ledger.SPREAD or row["draws"] > 1, row
        assert (row["ours"] == "") == (row["status"] == ledger.NOT_HERE), row


def test_the_figures_with_numbers_all_have_a_row(rows):
    named = " ".join(row["figure"] for row in rows)
    for figure in ("2(a)", "2(b)", "3", "7", "8", "9", "10", "11", "12", "15", "16", "Abstract"):
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
