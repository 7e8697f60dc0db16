"""The explorer of binding functions shows what its rows say, on the page and with a kernel."""

import pytest
import vl_convert
from parity import agree_everywhere

from bindlib.book.table import with_interval
from bindlib.explorers import binding_functions as explorer
from bindlib.theory.binding_functions import seed_interval


def row(source, model, coverage, seed):
    swap = 0.5 if model == "additive" else min(1.0, 0.4 + coverage / 2 + seed / 50)
    return {
        "source": source, "model": model, "coverage": coverage, "seed": seed, "part": "held_out",
        "r2": -3.0 + 4 * coverage + seed / 10, "swap_r2": coverage - seed / 7, "recognition": swap / 2, "swap": swap,
        "blind_r2": 0.8 + seed / 100,
    }  # fmt: skip


ROWS = [
    row(source, model, coverage, seed)
    for source, coverages in (("code: product", (0.1, 0.5, 0.9)), ("minilm", (0.5,)))
    for model in explorer.MODELS[:3]
    for coverage in coverages
    for seed in (0, 1, 2)
]
OTHERS = [r | {"part": "held_in", "swap": 7.0} for r in ROWS] + [r | {"model": "free objects"} for r in ROWS]
RUNS = [
    {"image_side": side, "coverage": c, "seed": s, "swap_held_in": 1 - s / 50, "swap_held_out": 0.5 + c / 2 - s / 20}
    for side, seeds in (("product", 3), ("hashed", 1))
    for c in (0.2, 0.5, 0.9)
    for s in range(seeds)
]
FIGURES = {"chart": lambda: explorer.chart(ROWS + OTHERS), "transition": lambda: explorer.transition(RUNS)}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60 and figure.table
    assert vl_convert.vegalite_to_svg(figure.spec()).count("<path") > 10


def test_the_page_says_what_the_rows_say(signals):
    figure = FIGURES["chart"]()
    assert figure.prompt and figure.answer
    agree_everywhere(signals, figure, draws=30)


def test_a_readout_is_the_mean_over_seeds_with_its_interval():
    shown = FIGURES["chart"]().computed(source="minilm", model="product", tenths=5, measure="swap")
    mean, low, high = seed_interval([0.65, 0.67, 0.69])
    assert shown["swap"] == with_interval(mean, (low, high), 2)
    assert shown["r2"].startswith("-0.90") and shown["best_blind"].startswith("0.81")


def test_sources_are_compared_in_one_row_each():
    first, second = explorer.compared(ROWS, 0.5)
    assert (first["embeddings"], second["embeddings"], first["seeds"]) == ("code: product", "minilm", 3)
    told = {r["model"]: r for r in explorer.rows_for_table(ROWS) if (r["embeddings"], r["seen"]) == ("minilm", "0.5")}
    assert second["bag: R²"] == told["additive"]["R²"]
    assert second["product: swap accuracy"] == told["product"]["swap accuracy"] != second["bag: R²"]
    assert second["readout: R² of swaps"] == told["product with readout"]["R² of swaps"]
    assert [r["embeddings"] for r in explorer.compared(ROWS, 0.9)] == ["code: product"]


def test_a_measure_is_told_across_coverages():
    first, second = explorer.across(ROWS + OTHERS, "product", "swap")
    assert list(first) == ["embeddings", "0.1 seen", "0.5 seen", "0.9 seen"]
    assert second == {"embeddings": "minilm", "0.1 seen": "", "0.5 seen": first["0.5 seen"], "0.9 seen": ""}
    assert first["0.5 seen"] == with_interval(*_mean([0.65, 0.67, 0.69]), 2)


def _mean(values):
    mean, *ends = seed_interval(values)
    return mean, ends


def test_an_explosion_is_called_one():
    (told,) = explorer.rows_for_table([row("minilm", "product", 0.5, 0) | {"swap_r2": -1e6, "r2": -9.0}])
    assert told["R² of swaps"] == "< -10" and told["R²"].startswith("-9.00")
    (told,) = explorer.rows_for_table([row("glove", "additive", 0.5, s) | {"swap_r2": float("nan")} for s in (0,)])
    assert told["R² of swaps"] == explorer.NOTHING


def test_what_was_not_measured_is_said_so():
    computed = FIGURES["chart"]().computed
    for asked in ({"source": "minilm", "tenths": 9}, {"model": "global product"}):
        values = {"source": "code: product", "model": "product", "tenths": 5, "measure": "swap"} | asked
        assert set(computed(**values).values()) == {explorer.ABSENT}


def test_only_unseen_objects_are_shown():
    assert explorer.chart(ROWS + OTHERS).spec() == explorer.chart(ROWS).spec()


def test_the_lines_are_those_of_the_source_that_is_chosen():
    figure = FIGURES["chart"]()
    assert figure.svg(source="code: product") != figure.svg(source="minilm")
    assert figure.svg(measure="recognition") != figure.svg(measure="swap")


def test_one_seed_has_no_interval():
    marks = {(m["side"], m["objects"], m["tenths"]): m for m in FIGURES["transition"]().table}
    alone = marks["image side: hashed", "unseen objects", 5]
    assert alone["low"] is alone["high"] is None and alone["accuracy"] == 0.75
    three = marks["image side: product", "unseen objects", 5]
    assert three["accuracy"] == pytest.approx(0.7) and 0.5 < three["low"] < 0.7 < three["high"]


def test_the_widget_says_what_the_rows_say():
    widget = explorer.widget(ROWS)
    widget.inputs["source"].value, widget.inputs["tenths"].value = "minilm", 5
    widget.inputs["model"].value = "additive"
    assert widget.settle()
    assert widget.said["swap"] == with_interval(0.5, (0.5, 0.5), 2)
