"""What the coverage explorer shows at each step, against the criteria of the theory."""

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import coverage as explorer
from bindlib.theory.coverage import ExposureGraph, covered, hadamard_decidable, tensor_decidable
from bindlib.theory.coverage_trials import arrangement_rows

ACCURACIES = arrangement_rows(4, 4, np.random.default_rng(0))


@pytest.mark.parametrize("figure", [explorer.chart(), explorer.accuracies(ACCURACIES)], ids=["chart", "accuracies"])
def test_figure_compiles_draws_and_says_what_it_shows(figure):
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("order", explorer.ORDERS)
def test_every_order_shows_every_pair_once(order):
    assert sorted(explorer.ORDERS[order]) == [(o, a) for o in range(4) for a in range(4)]


@pytest.mark.parametrize("order", explorer.ORDERS)
def test_first_steps_and_counts(order):
    """The steps stored for each question give the counts that the readouts state, at every position."""
    rows = [row for row in explorer._question_rows() if row["order"] == order]
    for step in range(17):
        graph = ExposureGraph(4, 4, explorer.ORDERS[order][:step])
        for key, rule in (("tensor", tensor_decidable), ("signs", hadamard_decidable)):
            truth = [rule(graph, q) for q in graph.questions()]
            assert [row[key] <= step for row in rows] == truth
            assert explorer.counts(order, rule)[step] == sum(truth)
        assert explorer.counts(order, covered)[step] == sum(covered(graph, q) for q in graph.questions())


def test_pairs_are_seen_fixed_or_covered_in_this_order():
    for row in explorer._pair_rows():
        assert row["covered"] <= row["fixed"] <= row["seen"]
