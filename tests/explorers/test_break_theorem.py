"""Break this theorem: the page says what the searches find, for every set of boxes, and the widget searches anew."""

from html import unescape
from itertools import product
from pathlib import Path

import pytest

from bindlib.book import claims
from bindlib.book.notebook import read
from bindlib.explorers import break_theorem

ROOT = Path(__file__).parents[2]
# The chapters on the ways out have claims, and no searched counterexamples.
LIMITS = [name for name in claims.CHAPTERS if (ROOT / "chapters" / f"{name}.ipynb").exists()]


def boxes(figure):
    names = [control.name for control in figure.controls]
    return [dict(zip(names, values, strict=True)) for values in product([True, False], repeat=len(names))]


@pytest.mark.parametrize("label", claims.ABLATIONS)
def test_the_page_says_what_the_searches_find_for_every_set_of_boxes(signals, label):
    figure = break_theorem.chart(label)
    names = [readout.signal for readout in figure.readouts]
    assert len(figure.alt) > 60 and len(figure.table) == len(figure.controls)
    for values in boxes(figure):
        shown = {name: unescape(text) for name, text in signals(figure, names, **values).items()}
        assert shown == figure.computed(**values)


def test_several_boxes_unticked_are_decided_by_the_first_that_breaks_it():
    first, second = claims.ablation("thm-throttle-average").theorem.hypotheses
    assert break_theorem.deciding("thm-throttle-average", [second, first]) == first
    assert break_theorem.deciding("thm-throttle-average", [second]) == second
    unit, distinct, covered = claims.ablation("thm-coverage-decides").theorem.hypotheses
    assert break_theorem.deciding("thm-coverage-decides", [unit, covered, distinct]) == distinct
    assert break_theorem.deciding("thm-coverage-decides", []) is None


@pytest.mark.parametrize("chapter", LIMITS)
def test_the_widget_of_every_chapter_searches_anew(chapter):
    widget = break_theorem.widget(chapter)
    assert widget.live.said["verdict"] == "the theorem holds"
    last = list(widget.live.inputs)[-1]
    widget.live.inputs[last].value = False
    before = [widget.live.said]
    for _ in range(4):
        widget.again.click()
        assert not widget.live.values[last]
        before.append(widget.live.said)
    assert widget.seed.value == 4
    assert len({said["found"] + said["size"] for said in before}) > 1
    widget.theorem.value = widget.theorem.options[-1]
    assert widget.live.settle() and "data:image/svg" in widget.live._picture.value


def test_a_chapter_without_searches_has_no_widget():
    with pytest.raises(KeyError, match="measurements"):
        break_theorem.widget("measurements")


@pytest.mark.parametrize("chapter", LIMITS)
def test_a_chapter_names_both_of_its_live_versions(chapter):
    cells = read(ROOT / "chapters" / f"{chapter}.ipynb")["cells"]
    words = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert f'In a live notebook `break_theorem.widget("{chapter}")` searches anew' in words
    assert "In a live notebook `explorer.widget(" in words
