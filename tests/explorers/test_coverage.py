"""The coverage explorers: Vega's bits against the exposure graphs of the theory, and the widget driven from Python."""

from itertools import combinations

import numpy as np
import pytest
import vl_convert
from parity import agree, agree_everywhere

from bindlib.explorers import coverage as explorer
from bindlib.explorers.live import Live
from bindlib.theory.coverage import ExposureGraph, covered, hadamard_decidable, tensor_decidable
from bindlib.theory.coverage_trials import arrangement_rows

ACCURACIES = arrangement_rows(4, 4, np.random.default_rng(0))
INTERACTIVE = {"chart": explorer.chart, "exposures": explorer.exposures}


@pytest.mark.parametrize("name", [*INTERACTIVE, "accuracies"])
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = (INTERACTIVE | {"accuracies": lambda: explorer.accuracies(ACCURACIES)})[name]()
    assert len(figure.alt) > 60 and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("name", INTERACTIVE)
def test_the_page_says_what_the_theory_computes(name, signals):
    figure = INTERACTIVE[name]()
    assert figure.prompt and figure.answer
    agree_everywhere(signals, figure, draws=40)


@pytest.mark.parametrize("masks", [(3, 6, 12, 8), (8, 3, 12, 6), (1, 3, 6, 0), (3, 3, 12, 12)])
def test_long_paths_are_followed_to_their_ends(masks, signals):
    agree(signals, explorer.exposures(), dict(zip(explorer.OBJECTS, masks, strict=True)))


@pytest.mark.parametrize("order", explorer.ORDERS)
def test_every_order_shows_every_pair_once(order):
    assert sorted(explorer.ORDERS[order]) == [(o, a) for o in range(4) for a in range(4)]


def words(figure, **values):
    """The words that stand in the cells, row by row."""
    svg = figure.svg(**values)
    told = [part.split("<")[0].split(">")[-1] for part in svg.split("<text")[1:]]
    return [word for word in told if word in ("seen", "fixed", "±", "?", "both", "tensor", "–")]


def expected(graph):
    pairs = [(o, a) for o in range(4) for a in range(4)]
    for pair in pairs:
        joined, known = graph.connected(pair), graph.seen[0][pair[0]] and graph.seen[1][pair[1]]
        yield "seen" if pair in graph.pairs else "fixed" if joined else "±" if known else "?"
    for q in graph.questions():
        yield "both" if hadamard_decidable(graph, q) else "tensor" if tensor_decidable(graph, q) else "–"


@pytest.mark.parametrize("seed", range(8))
def test_every_cell_says_what_the_theory_decides(seed):
    rng = np.random.default_rng(seed)
    masks = dict(zip(explorer.OBJECTS, map(int, rng.integers(16, size=4) & rng.integers(16, size=4)), strict=True))
    assert words(explorer.exposures(), **masks) == list(expected(explorer.graph_of(**masks)))
    order, step = list(explorer.ORDERS)[seed % 3], 2 * seed + 1
    graph = ExposureGraph(4, 4, explorer.ORDERS[order][:step])
    assert words(explorer.chart(), order=order, step=step) == list(expected(graph))


def test_the_answers_are_the_counts():
    first, *_ = explorer.ORDERS
    needed = [explorer.counts(first, rule).index(36) for rule in (tensor_decidable, covered, hadamard_decidable)]
    assert needed == [3, 4, 6]
    assert f"{first.capitalize()}: 3 with a tensor code, 6 with a sign code." in explorer.chart().answer
    assert "the blue car and the red dog each join" in explorer.exposures().answer


def test_five_pairs_are_enough_for_a_sign_code_and_four_are_not():
    """The exercise of the chapter."""
    every = [(o, a) for o in range(4) for a in range(4)]
    for pairs in combinations(every, 4):
        graph = ExposureGraph(4, 4, pairs)
        assert not all(hadamard_decidable(graph, q) for q in graph.questions())
    assert explorer.computed_exposures(car=3, dog=2, cup=6, hat=0) == {
        "pairs": 5, "tensor": 36, "matcher": 9, "signs": 36,
    }  # fmt: skip


def test_the_widgets_say_what_the_theory_computes():
    widget = explorer.widget()
    for name, mask in zip(explorer.OBJECTS, (3, 6, 12, 0), strict=True):
        widget.inputs[name].value = mask
    assert widget.settle()
    graph = ExposureGraph(4, 4, ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)))
    assert widget.said == {"pairs": 6} | explorer.decided(graph)
    ordered = Live(explorer.chart())
    ordered.inputs["step"].value = 16
    assert ordered.settle() and ordered.said == {"step": 16, "tensor": 36, "matcher": 36, "signs": 36}
