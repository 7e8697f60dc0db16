"""The figures of the throttle on pixels draw what their rows say."""

import pytest
import vl_convert

from bindlib.explorers import pixels as explorer

ROWS = [
    {
        "swap_rate": rate, "batches": batches, "seed": seed, "loss": 0.02 + rate / 9, "sliver": rate * 0.3466,
        "accuracy_held_in": 0.6 + rate / 3, "accuracy_held_in_low": 0.55, "accuracy_held_in_high": 0.97,
        "margin_held_in": 0.1, "binding_to_order": 1 + rate,
    }
    for rate in (0, 0.1, 1)
    for batches in ("disjoint", "ordinary")
    for seed in (0, 1)
]  # fmt: skip
DECILES = [
    {"name": name, "decile": i, "n": 100, "ceiling": i / 10, "accuracy": 0.5 + i / 25, "low": 0.4, "high": 0.95}
    for name in ("shipped:0", "shipped:1")
    for i in range(1, 11)
]
FIGURES = {
    "accuracy": (lambda: explorer.chart(ROWS), 12, "accuracy"),
    "sliver": (lambda: explorer.sliver(ROWS), 12, "loss"),
    "deciles": (lambda: explorer.deciles(DECILES), 20, "accuracy"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_draws_a_mark_for_each_row_and_says_what_it_shows(name):
    draw, marks, field = FIGURES[name]
    figure = draw()
    assert len(figure.alt) > 60 and len(figure.table) == marks
    svg = vl_convert.vegalite_to_svg(figure.spec())
    assert svg.count("<path aria-label") >= marks or svg.count("<path") >= marks
    ROW = ROWS if name != "deciles" else DECILES
    key = "accuracy_held_in" if name == "accuracy" else field
    assert [row[field] for row in figure.table] == [row[key] for row in ROW]


def test_the_table_has_the_mean_over_seeds_with_the_lowest_and_the_highest():
    full = [row | {"accuracy_held_out": 0.5 + row["seed"] / 10, "ceiling": 0.2, "usage": 0.3} for row in ROWS]
    shown = explorer.rows_for_table(full)
    assert [(row["batches"], row["swap rate π"], row["seeds"]) for row in shown] == [
        (name, rate, 2) for name in explorer.BATCHES.values() for rate in ("0", "0.1", "1")
    ]
    assert all(row["on held-out pairs"].split() == ["0.550", "[0.500,", "0.600]"] for row in shown)
    assert shown[1]["loss"] == pytest.approx(0.02 + 0.1 / 9) and shown[2]["d / d_order"] == 2


def test_the_samples_are_pictures_with_the_captions_of_their_scenes():
    figure = explorer.samples(0)
    svg = vl_convert.vegalite_to_svg(figure.spec())
    assert svg.count("<image") == len(figure.table) == 4
    first_and_second = [row["caption"].split(" and ") for row in figure.table]  # each on a line of its own
    assert all(f">{first}<" in svg and f">and {second}<" in svg for first, second in first_and_second)
    assert all(row["caption"] in figure.alt for row in figure.table)
    assert explorer.samples(0).table == figure.table != explorer.samples(1).table


def test_each_kind_of_batches_has_its_own_colour_and_shape():
    for figure in (explorer.chart(ROWS), explorer.sliver(ROWS)):
        text = str(figure.spec())
        assert all(name in text for name in (*explorer.BATCHES.values(), *explorer._COLOURS, *explorer._SHAPES))
