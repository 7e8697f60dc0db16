import numpy as np
import pytest

from bindlib.theory import depth_law_measured as measured
from bindlib.theory.depth_law import law, resolvable_depth, swap_margins


def rng(seed=0):
    return np.random.default_rng(seed)


def test_products_are_means_over_the_draws():
    rows = measured.product_rows(5, rng(), dim=1024, trees=[(3, 2)])
    generator = rng()
    found = np.array([swap_margins(3, 2, 1024, generator) for _ in range(5)])
    assert [row["margin"] for row in rows] == pytest.approx(found.mean(axis=0))
    assert rows[1]["product"] == pytest.approx(9 * found[:, 1].mean())
    assert rows[1]["lowest"] <= rows[1]["product"] <= rows[1]["highest"]
    assert rows[1]["law"] == law(3, 2)


def test_figure_2_a_at_full_size():
    """Four standard errors of twelve draws; the chapter takes more."""
    for row in measured.product_rows(12, rng(1)):
        assert row["product"] == pytest.approx(2, abs=4 * row["predicted_sd"] / 12**0.5)


def test_figure_2_b_follows_the_formula():
    rows = measured.staircase_rows(range(2, 9), range(8, 15), rng())
    assert [row["measured"] for row in rows] == [row["formula"] for row in rows]
    assert len(rows) == 49
    single = {(row["branching"], row["log_dim"]): row["single"] for row in rows}
    assert single[2, 14] == 1.0 and 0.3 < single[3, 11] < 0.8


def test_a_margin_next_to_the_floor_asks_for_many_draws():
    """N = 2048, b = 3: the margin 2/9 is half a percent above the floor."""
    assert measured.draws_to_decide(3, 2048, 2) > 500
    assert measured.draws_to_decide(2, 65_536, 2) == 2
    assert resolvable_depth(2048, 3) == 2


def test_draws_where_a_margin_is_the_floor_exactly():
    assert measured.draws_to_decide(2, 25 * 4**3, 3) >= 3


def test_aliasing_finds_the_lost_pairs():
    rows = {(row["one"], row["other"]): row for row in measured.aliasing_rows(3, 2, 2048, rng())}
    assert len(rows) == 36
    lost = {pair for pair, row in rows.items() if row["shared"] < 0.02}
    swapped = {("12", "21"), ("13", "31"), ("23", "32")}
    undone = {("11", "22"), ("11", "33"), ("22", "33")}
    assert lost == swapped | undone
    assert min(row["per_level"] for row in rows.values()) > 0.1
    assert min(row["shared_permutations"] for row in rows.values()) > 0.1
