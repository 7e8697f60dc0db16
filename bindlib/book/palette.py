"""The colours and the Altair theme of every figure, chosen once.

The four series colours are those of Okabe and Ito that keep a contrast of 3:1 against both the white and
the dark page, so a chart needs no second spec for dark mode. They stay apart under protanopia, deuteranopia
and tritanopia (``tests/book/test_palette.py`` measures both). Give a series a dash or a shape as well when
there are more than two: colour should never be the only difference.

``INK`` is the colour of words and axes in a chart. The page's style sheet maps it to the text colour of the
current mode, so annotations drawn in ``INK`` stay legible everywhere; any other dark colour does not.
"""

import altair as alt

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SERIES = (BLUE, VERMILION, GREEN, PURPLE)

GREY = "#767676"
INK = "#222832"

LIGHT_PAGE = "#ffffff"
DARK_PAGE = "#121212"

THEME_NAME = "bindlib"

_FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', sans-serif"
_LABELS = {
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 13,
    "titleFontSize": 13,
    "titleFontWeight": "normal",
}


@alt.theme.register(THEME_NAME, enable=False)
def chart_theme() -> alt.theme.ThemeConfig:
    """The configuration that every `bindlib.book.figure.Figure` draws with."""
    return alt.theme.ThemeConfig(
        {
            "config": {
                "background": "transparent",
                "font": _FONT,
                # One label for the picture, set by the page, rather than one for every mark.
                "aria": False,
                "view": {"stroke": "transparent", "continuousWidth": 300, "continuousHeight": 300},
                "axis": {
                    **_LABELS,
                    "titlePadding": 8,
                    "labelOverlap": "parity",
                    "labelSeparation": 6,
                    "labelFlush": False,
                    "domainColor": GREY,
                    "tickColor": GREY,
                    "gridColor": GREY,
                    "gridOpacity": 0.25,
                },
                # Set flush right, a title may run back under the labels of the y axis: the room counts on a telephone.
                "axisX": {"titleAnchor": "end"},
                # One below the other: side by side they run out of a phone's page.
                "legend": {**_LABELS, "orient": "top", "columns": 1, "labelLimit": 0, "symbolStrokeWidth": 2.5},
                "header": _LABELS,
                "title": {"color": INK, "subtitleColor": INK, "anchor": "start", "fontSize": 15},
                "range": {
                    "category": list(SERIES),
                    "ramp": {"scheme": "viridis"},
                    "heatmap": {"scheme": "viridis"},
                },
                "mark": {"color": BLUE},
                "line": {"strokeWidth": 2.5},
                "point": {"filled": True, "size": 60},
                "rule": {"color": GREY, "strokeWidth": 1.5},
                "text": {"color": INK, "fontSize": 13},
            }
        }
    )
