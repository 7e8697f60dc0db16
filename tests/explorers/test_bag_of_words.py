"""The explorers of the collapse draw, and what the page says is what vectors do; the live one measures any words."""

import re
from dataclasses import astuple

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere, random_settings

from bindlib.explorers import bag_of_words as explorer
from bindlib.explorers.live import Live
from bindlib.scenes import RED_CAR_BLUE_DOG, Quartet, Scene
from bindlib.theory.bag_of_words import attention_tower, ceiling

ROWS = [
    {"encoder": "words", "order_distance": 0.0, "swap_distance": 0.0},
    {"encoder": "model", "order_distance": 0.25, "swap_distance": 0.125},
    {"encoder": "model-no-positions", "order_distance": 0.0, "swap_distance": 0.0},
    {"encoder": "alone-no-positions", "order_distance": 0.0, "swap_distance": 0.5},
]


@pytest.fixture(scope="module")
def figures():
    return {"chart": explorer.chart(), "word orders": explorer.word_orders(ROWS, first="model")}


@pytest.mark.parametrize("which", ["chart", "word orders"])
def test_figure_compiles_draws_and_says_what_it_shows(which, figures):
    figure = figures[which]
    assert len(figure.alt) > 60
    assert figure.prompt and figure.answer and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


@pytest.mark.parametrize("which", ["chart", "word orders"])
def test_the_page_says_what_was_computed(which, figures, signals):
    agree_everywhere(signals, figures[which])


def test_at_no_weight_every_image_has_margin_nought():
    found = [explorer.computed(0, angle) for angle in (-90, 0, 37, 180)]
    assert {(f["margin"], f["ceiling"]) for f in found} == {(0, 0)}


def test_positions_replace_a_row_by_that_of_the_encoder_without_them(figures):
    figure = figures["word orders"]
    assert figure.controls[0].options == ("words", "model", "alone-no-positions")
    said = {(row["encoder"], p): figure.computed(row["encoder"], p) for row in ROWS[:2] for p in (True, False)}
    assert (said["model", True]["order_distance"], said["model", False]["order_distance"]) == (0.25, 0)
    assert [said["model", p]["switched"] for p in (True, False)] == ["on", "off"]
    assert said["words", False] == said["words", True]
    assert said["words", True]["switched"].startswith("no switch")
    moved = [figure.computed(name, True)["moved_more"] for name in ("words", "model", "alone-no-positions")]
    assert moved == ["nothing moves it", "by the order", "by the swap"]


def bars(figure, **values):
    """Lengths of the bars as drawn, relative to the longest, and their opacities."""
    marks = re.search(r'<g class="mark-rect role-mark marks".*?</g>', figure.svg(**values)).group()
    drawn = re.findall(r'd="M0,[^"]*?h(-?[\d.]+)v[^"]*"[^>]*opacity="([\d.]+)"', marks)
    longest = max(float(length) for length, _ in drawn)
    return [(round(float(length) / longest, 3), float(opacity)) for length, opacity in drawn]


def test_the_controls_change_what_is_drawn(figures):
    figure = figures["word orders"]
    on, off, other = (bars(figure, **v) for v in ({}, {"positions": False}, {"encoder": "words"}))
    assert [length for length, _ in on] == [0, 0, 0.5, 0.25, 0, 1]
    assert [length for length, _ in off] == [0, 0, 0, 0, 0, 1]
    assert [opacity == 1 for _, opacity in on] == [False, False, True, True, False, False]
    assert [opacity == 1 for _, opacity in other] == [True, True, False, False, False, False]


def test_random_towers_are_those_of_the_theory():
    texts = list(astuple(Quartet.of(RED_CAR_BLUE_DOG)))
    switches = [(masked, positions) for masked in (False, True) for positions in (True, False)]
    for tower, (masked, positions) in zip(explorer.RANDOM_TOWERS, switches, strict=True):
        vectors = [attention_tower(text, 64, 0, causal=masked, positions=positions) for text in texts]
        assert tower.encode_text(texts) == pytest.approx(np.stack(vectors), abs=1e-6)
    rows = explorer.word_order_rows(explorer.RANDOM_TOWERS, RED_CAR_BLUE_DOG)
    still = {row["encoder"] for row in rows if row["swap_distance"] < 1e-6}
    assert still == {"random-unmasked-no-positions"}


def test_the_live_figure_of_the_chart(figures):
    widget = Live(figures["chart"])
    for values in random_settings(figures["chart"], 4):
        for name, value in values.items():
            widget.inputs[name].value = value
        assert widget.settle()
        assert widget.said == pytest.approx(explorer.computed(**values))


@pytest.fixture(scope="module")
def widget():
    return explorer.widget("random-causal")


def put(widget, **values):
    for name, value in values.items():
        widget.inputs[name].value = value
    assert widget.settle()
    return widget.said


def test_the_reader_s_own_words_are_measured(widget):
    words = {"object1": "hat", "attribute1": "green", "object2": "cup", "attribute2": "pink"}
    for tower in explorer.RANDOM_TOWERS:
        name, positions = tower.name.removesuffix(explorer.OFF), not tower.name.endswith(explorer.OFF)
        said = put(widget, encoder=name, positions=positions, **words)
        quartet = Quartet.of(Scene.of(hat="green", cup="pink"))
        assert (said["caption"], said["swap"]) == ("a pink cup and a green hat", "a green cup and a pink hat")
        here, order, swapped = tower.encode_text([quartet.caption, quartet.caption_reordered, quartet.swap])
        assert said["order_distance"] == pytest.approx(ceiling(here, order), abs=1e-6)
        assert said["swap_distance"] == pytest.approx(ceiling(here, swapped), abs=1e-6)
        assert said["switched"] == ("on" if positions else "off")
    assert "svg" in widget._picture.value and "a pink cup and a green hat" in widget._readouts.value


def test_words_that_make_no_scene_are_answered_in_words(widget):
    said = put(widget, encoder="random-causal", object1="hat", object2="hat")
    assert "two different" in said["caption"]
    assert said["order_distance"] == said["swap_distance"] == ""
    assert put(widget, object2="dog")["caption"] == "a pink dog and a green hat"


def offered():
    """The choices of the live figure, from its chart: of bases, a switch for positions makes two encoders of some."""
    (choices,) = (
        p["bind"]["options"] for p in explorer.own_words().chart.to_dict()["params"] if p["name"] == "encoder"
    )
    return choices


@pytest.mark.parametrize("name", offered())
def test_each_encoder_that_the_live_figure_offers_is_loaded_and_reads_the_words(name):
    words = {"object1": "hat", "attribute1": "green", "object2": "cup", "attribute2": "pink"}
    for positions in (True, False):
        said = explorer.words_computed(name, positions, **words)
        assert 0 <= said["order_distance"] <= 2 and 0 <= said["swap_distance"] <= 2
    assert said["swap"] == "a green cup and a pink hat"


def test_what_is_installed_is_offered_and_no_placeholder_is():
    names = explorer.live_encoders()
    assert len(set(names)) == len(names)
    assert {"minilm", "minilm-no-positions", "paraphrase-l3", "use-multilingual", "glove", "random-clip:0"} < set(names)
    assert {name.partition(":")[0] for name in names if ":" in name} == {"random-clip"}
