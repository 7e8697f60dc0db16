"""The explorers of factored inference draw, and their closed forms are those of the theory."""

import re

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere, random_settings

from bindlib.explorers import factored_inference as explorer
from bindlib.theory.factored_inference import de_morgan_gap, lcse

ROWS = [
    {"encoder": encoder, "form": form, "method": method, "n": 50, "value": 0.1 * i + 0.2, "low": 0.1, "high": 0.9}
    for encoder in ("shipped:0", "shipped:1")
    for form in ("not", "and", "neither")
    for i, method in enumerate([*explorer.SHOWN, "something else"])
]
FIGURES = {"chart": explorer.chart, "by form": lambda: explorer.by_form(ROWS)}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60 and figure.table and figure.prompt and figure.answer
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def test_the_page_says_what_the_theory_says(signals):
    agree_everywhere(signals, explorer.chart(), 25)
    agree_everywhere(signals, explorer.by_form(ROWS), 4)


def test_every_figure_with_controls_has_readouts_in_all_its_settings():
    for figure in (make() for make in FIGURES.values()):
        assert {c.name for c in figure.controls} and len(figure.grid()) == len(list(figure.settings()))
        assert all(entry["shown"] for entry in figure.grid())


def test_by_form_names_the_weakest_form_of_each_method():
    lower = [row | {"value": 0.05} if row["form"] == "neither" else row for row in ROWS]
    said = explorer.by_form(lower).computed("shipped:0")
    assert len(said) == len(explorer.SHOWN)
    assert all(words.startswith("lowest for 'neither': 0.05") for words in said.values())


def test_an_edited_score_out_of_the_picture_is_a_triangle_at_its_edge():
    out = {"query": "not (a and b)", "plain": 0.5, "mu": 0.4}
    assert explorer.computed(**explorer.AT_START | out)["edited"] > explorer.HIGH
    point = re.compile(r'mark-symbol role-mark.*?<path transform="translate\([\d.]+,([\d.]+)\)" d="([^"]+)"')
    (inside, disc), (outside, triangle) = (point.search(explorer.chart().svg(**v)).groups() for v in ({}, out))
    assert float(inside) > float(outside) == 0 and "A" in disc and "A" not in triangle


def test_the_live_figure_says_what_the_theory_says():
    figure, widget = explorer.chart(), explorer.widget()
    for values in random_settings(figure, 2, seed=1):
        for control, value in values.items():
            widget.inputs[control].value = value
        assert widget.settle()
        assert widget.said == pytest.approx(figure.computed(**values))


@pytest.mark.parametrize("query", explorer.QUERIES)
def test_readouts_are_the_formula(query):
    sign_a, sign_b, whole, exponent = explorer.QUERIES[query]
    for s_a, s_b in ((0.1, 0.3), (0.25, 0.2), (0.5, 0.0)):
        said = explorer.computed(**explorer.AT_START | {"query": query, "s_a": s_a, "s_b": s_b})
        negated, operator = np.array([sign_a < 0, sign_b < 0]), exponent.removeprefix("gamma_")
        flat = lcse(np.array([0.24]), np.array([[s_a, s_b]]), negated, operator)[0]
        if whole > 0:
            assert said["edited"] == pytest.approx(flat, abs=1e-12)
        p = np.array([said["p_a"], said["p_b"]])
        assert said["p_soft"] == pytest.approx(p.mean())
        assert said["edit"] == pytest.approx(said["edited"] - 0.24)
        if query == "not (a and b)":
            other = explorer.computed(**explorer.AT_START | {"query": "not a or not b", "s_a": s_a, "s_b": s_b})
            assert said["p_logical"] - other["p_logical"] == pytest.approx(float(de_morgan_gap(p)), abs=1e-12)


def drawn_curve(name, signals, score):
    """The drawn expression of a curve, evaluated as the page does, with b at ``score``."""
    layer = next(layer for layer in explorer.chart().spec()["layer"] if layer["mark"]["type"] == "line")
    expression = layer["transform"][0]["calculate"].replace("datum.s", f"({score})").replace("datum.curve", f"'{name}'")
    figure = explorer.chart()
    figure = type(figure)(
        figure.chart.add_params(explorer.alt.param(name="drawn", expr=expression)), figure.alt, computed=figure.computed
    )
    return float(signals(figure, ["drawn"])["drawn"])


def test_curves_pass_through_what_is_computed(signals):
    for score in (0.05, 0.26, 0.4):
        said = explorer.computed(**explorer.AT_START | {"s_b": score})
        assert drawn_curve("plain score held", signals, score) == pytest.approx(said["edited"], abs=1e-9)
        logit = np.log(said["p_logical"] / (1 - said["p_logical"]))
        soft = drawn_curve("plain score is the soft evidence", signals, score)
        assert soft == pytest.approx(0.22 + logit / 30, abs=1e-9)
        assert drawn_curve("plain score, no edit", signals, score) == 0.24


def test_what_the_prompt_asks_is_so():
    scores = np.arange(0.2, 0.4, 0.01)
    edited = [explorer.computed(**explorer.AT_START | {"s_b": s})["edited"] for s in scores]
    assert explorer.AT_START["s_b"] > explorer.AT_START["s_a"] and (np.diff(edited) < 0).all()


def test_by_form_shows_the_encoder_chosen_and_known_methods_only():
    figure = explorer.by_form(ROWS)
    (control,) = figure.controls
    assert control.options == ("shipped:0", "shipped:1") and control.value == "shipped:1"
    assert {row["method"] for row in figure.table} == set(explorer.SHOWN)
    assert len(figure.table) == 2 * 3 * len(explorer.SHOWN)
    assert len({*explorer.SHOWN.values()}) == len({c for c, _ in explorer.SHOWN.values()}) == len(explorer.SHOWN)


def test_a_wide_table_has_a_column_for_each_value():
    table = explorer.wide(ROWS, ("encoder", "method"), "form")
    assert len(table) == 2 * (len(explorer.SHOWN) + 1)
    assert list(table[0]) == ["encoder", "method", "not", "and", "neither"]
    assert table[0]["and"].split() == ["0.20", "[0.10,", "0.90]"]


def test_a_wide_table_has_the_places_asked_for():
    assert explorer.wide(ROWS[:1], ("encoder",), "form", 3)[0]["not"].replace("\u00a0", " ") == "0.200 [0.100, 0.900]"


def test_a_long_table_has_the_interval_and_the_range_over_seeds():
    (row,) = explorer.long([ROWS[0] | {"seed_low": 0.15, "seed_high": 0.25, "seeds": 5}], ("form",), "right")
    assert list(row) == ["form", "items", "right", "over seeds", "seeds"]
    assert row["right"].split() == ["0.200", "[0.100,", "0.900]"] and row["over seeds"] == "0.150 to 0.250"
