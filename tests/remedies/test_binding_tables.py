"""Nearest tables are no worse than what a slow search finds, and every claim about rank one holds on made tables."""

import numpy as np
import pytest
from scipy.stats import pearsonr

from bindlib.encoders import drawn
from bindlib.remedies import binding_tables as tables
from bindlib.remedies.binding_functions import nearest_scales
from bindlib.remedies.binding_runs import SIDE, code_source


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_table_of_a_code_is_found_again():
    source = code_source("code: product", 0)
    found = tables.object_table(source, 3000, rng())
    pairs = np.indices((SIDE, SIDE)).reshape(2, -1).T
    doubled = source.embed(np.repeat(pairs[:, None], 2, axis=1)).reshape(found.shape)
    np.testing.assert_allclose(2 * found, doubled, atol=1e-9)


def test_an_object_in_no_scene_is_an_error():
    with pytest.raises(ValueError, match="300 scenes do not show all 400 objects: draw more"):
        tables.object_table(code_source("code: bag", 0), 300, rng())


def test_made_tables_are_kept_whole():
    s, v, u = rng(1).uniform(1, 2, 5), rng(2).standard_normal((7, 3)), rng(3).standard_normal((5, 3))
    scaled, product, bag = s[:, None, None] * v, u[:, None] * v, u[:, None] + v
    for table, nearest in ((scaled, tables.best_scales), (scaled, tables.best_product), (product, tables.best_product)):
        assert tables.energy(table, nearest(table)) == pytest.approx(1)
    assert tables.energy(product, tables.best_scales(product)) < 0.95
    np.testing.assert_allclose(nearest_scales(scaled)[0] / nearest_scales(scaled)[0][0], s / s[0])
    np.testing.assert_allclose(tables.beyond_bag(bag), 0, atol=1e-12)
    a, b, c, d = (tables.beyond_bag(product)[i, j] for i, j in ((0, 0), (1, 1), (0, 1), (1, 0)))
    w = product
    np.testing.assert_allclose(a + b - c - d, w[0, 0] + w[1, 1] - w[0, 1] - w[1, 0])  # the swap difference


def test_nothing_of_the_form_is_nearer():
    table = rng(4).standard_normal((4, 6, 3))
    for nearest, coordinates in ((tables.best_scales, 1), (tables.best_product, 3)):
        best = np.sum((table - nearest(table)) ** 2)
        for seed in range(5):
            u, v = rng(seed).standard_normal((4, 1, coordinates)), rng(seed).standard_normal((6, 3))
            for _ in range(300):  # alternating least squares, one coordinate or all at once
                over = 1 if coordinates > 1 else (1, 2)
                u = (table * v).sum(axis=over).reshape(u.shape) / (v**2).sum(axis=0 if coordinates > 1 else (0, 1))
                v = (table * u).sum(axis=0) / (u**2).sum(axis=0)
            assert np.sum((table - u * v) ** 2) > best - 1e-6


def test_rank_one_in_every_direction_is_one_scale_a_kind():
    """Of random tables of rank one in each coordinate, those of rank one in random directions share a factor."""
    for seed in range(20):
        x, y = rng(seed).standard_normal((2, 3, 4))  # three coordinates
        shares = seed % 3
        x, y = (np.tile(z[:1], (3, 1)) if shares == kind else z for kind, z in enumerate((x, y)))
        matrices = x[:, :, None] * y[:, None]
        direction = np.tensordot(rng(seed).standard_normal(3), matrices, 1)
        ranks_one = np.linalg.svd(direction, compute_uv=False)[1] < 1e-9
        table = np.moveaxis(matrices, 0, 2)
        kept = [tables.energy(t, tables.best_scales(t)) for t in (table, table.transpose(1, 0, 2))]
        assert ranks_one == (max(kept) > 1 - 1e-9) == (shares < 2)


def test_ink_is_the_share_of_a_tile_that_is_drawn():
    wanted = drawn._masks()[:SIDE].sum(axis=(1, 2))
    found = tables.ink(rng())
    assert np.corrcoef(found, wanted)[0, 1] > 0.999 and (found > 0).all() and (found < 0.4).all()


def test_the_interval_is_that_of_scipy():
    x, y = rng(5).standard_normal((2, 20))
    wanted = pearsonr(x, x + y)
    r, *ends = tables.correlation(x, x + y)
    assert r == pytest.approx(wanted.statistic)
    assert ends == pytest.approx(list(wanted.confidence_interval(0.95)))


def test_a_row_tells_the_forms_apart_and_shuffling_undoes_them():
    covered = rng(6).uniform(1, 2, SIDE)
    table = covered[:, None, None] * rng(7).standard_normal((SIDE, 6))
    row = tables.scale_row(table, covered + 0.01 * rng(8).standard_normal(SIDE))
    assert row["one scale"] == pytest.approx(1) and row["product"] == pytest.approx(1)
    assert row["ink from"] < row["ink"] < row["ink to"] and row["ink"] > 0.99
    assert row["one scale, beyond the bag"] == pytest.approx(1) and row["bag"] < 1 > row["one scale a hue"]
    mixed = tables.shuffled_table(table, rng())
    assert sorted(mixed.ravel()) == sorted(table.ravel())
    assert max(tables.scale_row(mixed, covered)[key] for key in ("bag", "one scale", "product")) < 0.5
