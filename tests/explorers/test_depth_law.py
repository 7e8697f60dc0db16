"""The explorers of the depth law: Vega's own evaluation against the theory, and the widgets driven from Python."""

from math import floor, log, sqrt

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere

from bindlib.explorers import depth_law as explorer
from bindlib.explorers import depth_law_live as trees
from bindlib.theory import depth_law as theory
from bindlib.theory import depth_law_measured

JAVASCRIPT = {"pow": pow, "sqrt": sqrt, "log": log, "floor": floor, "max": max}
PRODUCTS = [
    {"branching": b, "depth": d, "margin": 2 / b**d, "law": 2 / b**d, "product": 2.0, "sd": 0.1, "predicted_sd": 0.1,
     "lowest": 1.9, "highest": 2.1}
    for b in (2, 3, 4) for d in (1, 2)
]  # fmt: skip
STEPS = [
    {"branching": b, "log_dim": n, "formula": theory.resolvable_depth(2**n, b), "measured": 1, "single": 1.0,
     "draws": 2}
    for b in explorer.BRANCHINGS for n in (8, 12)
]  # fmt: skip
TREES = [{"branching": 2, "log_dim": 16, "depth": 1, "margin": 0.99}]
INTERACTIVE = {
    "chart": lambda: explorer.chart(TREES),
    "staircase": lambda: explorer.staircase(STEPS),
    "aliasing": explorer.aliasing,
}


@pytest.mark.parametrize("name", [*INTERACTIVE, "figure 2a"])
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = (INTERACTIVE | {"figure 2a": lambda: explorer.figure2a(PRODUCTS)})[name]()
    assert len(figure.alt) > 60 and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("name", INTERACTIVE)
def test_the_page_says_what_the_theory_computes(name, signals):
    figure = INTERACTIVE[name]()
    assert figure.prompt and figure.answer
    agree_everywhere(signals, figure)


def test_where_no_level_is_resolved_there_is_no_margin(signals):
    figure, place = explorer.chart(TREES), {"b": 8, "log_dim": 8, "noise": 40}
    seen = signals(figure, ("depth", "margin", "told_apart"), **place)
    shown = figure.computed(**place, roles="phases shared by all levels")
    assert (seen["depth"], seen["margin"], seen["told_apart"]) == ("0", explorer.UNRESOLVED, "1")
    assert (shown["depth"], shown["margin"], shown["told_apart"]) == (0, explorer.UNRESOLVED, 1)


def test_resolvable_depth_at_every_place_of_the_sliders():
    for b in explorer.BRANCHINGS:
        for log_dim in explorer.LOG_DIMS:
            for noise in range(1, 41):
                found = JAVASCRIPT | {"b": b, "log_dim": log_dim, "noise": noise}
                for name, formula in explorer.RESOLVED.items():
                    found[name] = eval(formula, {}, found)
                assert found["depth"] == theory.resolvable_depth(2**log_dim, b, floor=noise), (b, log_dim, noise)


def test_measured_rows_lie_on_the_law():
    rows = explorer.measured_rows(np.random.default_rng(0), leaves=64)
    products = [r["margin"] * r["branching"] ** r["depth"] for r in rows if r["log_dim"] == 16]
    assert products == pytest.approx([2.0] * len(products), abs=0.15)
    assert {r["branching"] for r in rows} == set(explorer.BRANCHINGS)


def test_the_staircase_counts_what_was_measured():
    steps = depth_law_measured.staircase_rows((2,), (8, 9), np.random.default_rng(0))
    shown = explorer.staircase(steps).computed(b=2)
    assert (shown["cells"], shown["agreeing"]) == (2, sum(row["measured"] == row["formula"] for row in steps))
    assert explorer.staircase(STEPS).computed(b=8)["top"] == 2


def test_the_widget_draws_a_new_tree_at_every_change(monkeypatch):
    asked = []
    monkeypatch.setattr(
        explorer, "tree_rows", lambda b, log_dim, rng, leaves: asked.append((b, log_dim, leaves)) or TREES
    )
    widget = explorer.widget(np.random.default_rng(0))
    assert widget.settle()
    widget.inputs["b"].value = 3
    assert widget.settle()
    widget.inputs["log_dim"].value = 20
    assert widget.settle()
    assert asked == [(2, 16, 256), (3, 16, 256), (3, 20, 32)]
    assert widget.said == explorer.computed(**widget.values)
    assert widget.said["depth"] == theory.resolvable_depth(2**20, 3)


def test_the_widget_s_trees_come_from_its_generator(monkeypatch):
    drawn, chart = [], explorer.chart
    monkeypatch.setattr(explorer, "chart", lambda rows: drawn.append(rows) or chart(rows))
    widget = explorer.widget(np.random.default_rng(7))
    assert widget.settle()
    widget.inputs["log_dim"].value = 8
    assert widget.settle()
    rng = np.random.default_rng(7)
    expected = [theory.swap_margins(2, 8, 2**log_dim, rng) for log_dim in (16, 8)]
    assert [[row["margin"] for row in rows] for rows in drawn] == [[], *map(list, expected)]


def test_many_trees_are_drawn_one_after_another_and_averaged():
    job = trees.many_trees(np.random.default_rng(3))
    values = {"b": 3, "log_dim": 10, "noise": 10, "draws": 10}
    for name, value in values.items():
        job.inputs[name].value = value
    job.run()
    assert job.settle() and job.progress.value == job.progress.max == 10
    rng, depth = np.random.default_rng(3), theory.resolvable_depth(2**10, 3) + 1
    margins = np.array([theory.swap_margins(3, depth, 2**10, rng) for _ in range(10)])
    assert all(f"<td>{margin:.4f}</td>" in job.found.value for margin in margins.mean(axis=0))
    reached = int((margins.mean(axis=0) >= 10 / 32).sum())
    assert f"10 trees reach the floor down to depth {reached}; the formula says {depth - 1}." in job.found.value


def test_many_trees_can_be_stopped():
    job = trees.many_trees(np.random.default_rng(3))
    job.inputs["draws"].value = 400
    job.progress.observe(lambda change: change.new == 4 and job.stop.click(), "value")
    job.run()
    assert job.settle()
    assert job.progress.value == 4 and "Stopped." in job.found.value and "of 4 trees" in job.found.value


def test_a_depth_that_is_too_large_to_draw_is_said_to_be():
    job = trees.many_trees(np.random.default_rng(0))
    for name, value in {"b": 8, "log_dim": 18, "noise": 1, "draws": 10}.items():
        job.inputs[name].value = value
    (first, *_) = job._steps(**job.values)
    assert "Trees deeper than 2 were not drawn" in first[2]


def test_rows_of_one_tree_have_no_spread():
    (row,) = trees.depth_rows(np.array([[1.0]]), 2, 64, 0.5)
    assert row["spread"] is None and row["mean times b^D"] == 2 and row["resolved"] == "yes"
