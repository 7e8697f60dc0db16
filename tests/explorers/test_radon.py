"""The Radon explorer draws, and its closed forms are those of the theory."""

import re
from itertools import combinations

import numpy as np
import pytest
import vl_convert

from bindlib.explorers import radon as explorer
from bindlib.theory import radon, separation


@pytest.fixture(scope="module")
def chart():
    return explorer.chart()


@pytest.fixture(scope="module")
def rows():
    return explorer.price_rows(10)


@pytest.mark.parametrize("which", ["chart", "price"])
def test_figure_compiles_draws_and_says_what_it_shows(which, chart, rows):
    figure = chart if which == "chart" else explorer.price(rows)
    assert len(figure.alt) > 60
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


SETTINGS = [
    explorer.START, (0, 90, 180, 270), (5, 350, 40, 200), (10, 20, 30, 40), (300, 10, 170, 95),
    (7, 7, 100, 200), (0, 180, 0, 180), (50, 50, 50, 50), (359, 0, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("degrees", SETTINGS)
def test_what_the_chart_says_is_what_the_programme_decides(chart, degrees, signals):
    points = np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1)
    failing = {(a + 1, b + 1) for a, b in combinations(range(4), 2)
               if separation.separable(points, (a, b)).status != separation.SEPARABLE}  # fmt: skip
    assert explorer.failing_pairs(degrees) == failing
    values = {f"x{i}": v for i, v in enumerate(degrees, 1)}
    seen = signals(chart, ("reached", "failing", "px", "py"), **values)
    assert int(seen["reached"]) == 6 - len(failing)
    pairs = re.findall(r"\{x(.), x(.)\}", seen["failing"])
    assert {tuple(map(explorer._NAMES.index, pair)) for pair in pairs} == failing
    if len(set(degrees)) == 4:
        point = radon.radon_partition(points).point
        assert [float(seen["px"]), float(seen["py"])] == pytest.approx(list(point), abs=1e-9)


def test_random_settings_without_vega():
    rng = np.random.default_rng(1)
    for _ in range(60):
        degrees = rng.integers(0, 360, 4)
        points = np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1)
        found = separation.all_subsets(points, 2)
        failing = {tuple((s + 1).tolist()) for s in found.subsets[found.status != separation.SEPARABLE]}
        assert explorer.failing_pairs(degrees.tolist()) == failing


def test_price_reads_its_table(rows, signals):
    figure = explorer.price(rows)
    seen = signals(figure, ("gap1", "gap2", "gap3"), objects=9)
    for k in (1, 2, 3):
        assert float(seen[f"gap{k}"]) == radon.worst_unit_gap(9, 2 * k, k)
    assert signals(figure, ("gap3",), objects=5)["gap3"] == "NaN"
    assert {row["objects"] for row in rows if row["k"] == 3} == {8, 9, 10}
