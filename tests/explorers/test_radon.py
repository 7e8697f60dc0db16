"""The Radon explorer draws, and its closed forms are those of the theory."""

import re
from itertools import combinations
from math import comb

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere, random_settings

from bindlib.explorers import radon as explorer
from bindlib.explorers.live import Live
from bindlib.theory import radon, separation


@pytest.fixture(scope="module")
def chart():
    return explorer.chart()


@pytest.fixture(scope="module")
def rows():
    return explorer.price_rows(10)


@pytest.fixture(scope="module")
def reached():
    return explorer.reach_rows()


@pytest.fixture(scope="module")
def figures(chart, rows, reached):
    return {"chart": chart, "price": explorer.price(rows), "reach": explorer.reach(reached)}


@pytest.mark.parametrize("which", ["chart", "price", "reach"])
def test_figure_compiles_draws_and_says_what_it_shows(which, figures):
    figure = figures[which]
    assert len(figure.alt) > 60
    assert figure.prompt and figure.answer and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("which", ["chart", "price", "reach"])
def test_the_page_says_what_the_theory_says(which, figures, signals):
    agree_everywhere(signals, figures[which])


SETTINGS = [
    explorer.START, (0, 90, 180, 270), (5, 350, 40, 200), (10, 20, 30, 40), (300, 10, 170, 95),
    (7, 7, 100, 200), (0, 90, 90, 200), (0, 180, 0, 180), (50, 50, 50, 50), (359, 0, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("degrees", SETTINGS)
def test_what_the_chart_says_is_what_the_programme_decides(chart, degrees, signals):
    points = np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1)
    failing = {(a + 1, b + 1) for a, b in combinations(range(4), 2)
               if separation.separable(points, (a, b)).status != separation.SEPARABLE}  # fmt: skip
    values = {f"x{i}": v for i, v in enumerate(degrees, 1)}
    seen = signals(chart, ("reached", "failing", "px", "py"), **values)
    assert int(seen["reached"]) == 6 - len(failing)
    pairs = re.findall(r"\{x(.), x(.)\}", seen["failing"])
    assert {tuple(map(explorer._NAMES.index, pair)) for pair in pairs} == failing
    assert seen["failing"] == explorer.computed(**values)["failing"]
    if len(set(degrees)) == 4:
        point = radon.radon_partition(points).point
        assert [float(seen["px"]), float(seen["py"])] == pytest.approx(list(point), abs=1e-9)
    else:
        assert seen["px"] == seen["py"] == explorer.MEET


def test_price_reads_its_table(rows, signals):
    figure = explorer.price(rows)
    seen = signals(figure, ("gap1", "gap2", "gap3"), objects=9)
    for k in (1, 2, 3):
        assert float(seen[f"gap{k}"]) == radon.worst_unit_gap(9, 2 * k, k)
    few = {"gap1": str(radon.worst_unit_gap(5, 2, 1)), "gap2": "from 6 objects on", "gap3": "from 8 objects on"}
    assert signals(figure, tuple(few), objects=5) == few
    assert {row["objects"] for row in rows if row["k"] == 3} == {8, 9, 10}
    assert figure.answer == "At more objects than are shown."
    assert explorer.price(explorer.price_rows(20)).answer == "At 19 objects, in dimension 4."
    assert radon.worst_unit_gap(19, 4, 2) < radon.FORMAT_RESOLUTION["bfloat16"] < radon.worst_unit_gap(18, 4, 2)


def test_scenes_within_reach_are_those_of_few_arcs(reached):
    """The page counts arcs; circuits decided every scene of the rows."""
    for row in reached:
        m, k = row["objects"], row["k"]
        arcs = [m * comb(k - 1, r - 1) * comb(m - k - 1, r - 1) // r for r in range(1, row["dim"] // 2 + 1)]
        assert row["reached"] == sum(arcs)
        assert (row["gap"] > 0) == (row["reached"] == row["scenes"])


@pytest.mark.parametrize(("dim", "objects"), [(2, 7), (4, 8), (6, 9)])
def test_the_arcs_of_all_sizes_are_cover_s_count(dim, objects):
    found = [separation.all_subsets(radon.moment_curve(objects, dim), k).status for k in range(objects + 1)]
    assert sum(int(np.sum(status == separation.SEPARABLE)) for status in found) == radon.cover_count(objects, dim)


def test_a_further_object_raises_no_share_and_lowers_the_gaps(reached):
    of = {(row["dim"], row["objects"], row["k"]): row for row in reached}
    for (dim, m, k), row in of.items():
        if (more := of.get((dim, m + 1, k))) is not None:
            assert more["reached"] / more["scenes"] <= row["reached"] / row["scenes"]
            assert more["gap"] < row["gap"] or row["gap"] == 0


@pytest.mark.parametrize("which", ["chart", "price", "reach"])
def test_the_live_figure_says_what_the_theory_says(which, figures):
    widget = explorer.widget() if which == "chart" else Live(figures[which])
    for values in random_settings(figures[which], 3, seed=1):
        for name, value in values.items():
            widget.inputs[name].value = value
        assert widget.settle()
        assert widget.said == pytest.approx(figures[which].computed(**values))
        assert "svg" in widget._picture.value
