"""The colours hold what the palette says of them: contrast on both pages, and apart for every kind of eye."""

from itertools import combinations
from pathlib import Path

import altair as alt
import numpy as np
import pytest

from bindlib.book import palette
from bindlib.book.figure import Figure

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "trichromat": np.eye(3),
    "protanope": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranope": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanope": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
SEEN_APART = 15  # CIE76; about 2 is the least that an eye notices


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("page", [palette.LIGHT_PAGE, palette.DARK_PAGE])
@pytest.mark.parametrize("color", [*palette.SERIES, palette.GREY])
def test_marks_stand_out_on_both_pages(color, page):
    assert contrast(color, page) >= 3


@pytest.mark.parametrize("eye", EYES)
def test_series_are_told_apart(eye):
    seen = {color: lab(np.array(EYES[eye]) @ linear(color)) for color in palette.SERIES}
    for one, other in combinations(palette.SERIES, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > SEEN_APART, (one, other)


def test_ink_reads_on_paper():
    assert contrast(palette.INK, palette.LIGHT_PAGE) >= 7


def test_style_sheet_maps_this_ink():
    style = (Path(palette.__file__).parent / "static" / "bindlib.css").read_text()
    assert f'svg [fill="{palette.INK}"]' in style and f'svg [stroke="{palette.INK}"]' in style


def test_every_figure_uses_the_theme_and_leaves_altair_s_own_alone():
    chart = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    before = chart.to_dict()["config"]
    assert Figure(chart, "A point.").spec()["config"]["range"]["category"] == list(palette.SERIES)
    assert chart.to_dict()["config"] == before
