"""A report card as a reader meets it: straight from the disk, narrow and wide, light and dark, and on paper."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from bindlib.encoders import zoo
from bindlib.encoders.base import TextTower
from bindlib.measurements import report
from bindlib.measurements.sweep import Settings
from bindlib.theory.bag_of_words import position_weighted

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def card(tmp_path_factory) -> str:
    """The address of a card on two kinds of data, of an encoder and captions with long words."""
    folder = tmp_path_factory.mktemp("card")
    (folder / "pairs.csv").write_text(f"caption,negative,subset\n{'long' * 60},short,{'subset_' * 20}\na man,a hat,x\n")
    encode = position_weighted(16, 0)
    name = "python:a_module_with_a_long_name.and_another:encode_the_captions"
    tower = TextTower(name, "0", None, lambda captions: np.stack([encode(text) for text in captions]))
    with pytest.MonkeyPatch.context() as patch:
        known = zoo.require("random-clip:0")
        patch.setattr(zoo, "require", lambda _: known)
        patch.setattr(zoo, "load_encoder", lambda *_: tower)
        report.report(name, ["quartets", str(folder / "pairs.csv")], Settings(), folder / "card.html")
    return (folder / "card.html").as_uri()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_card_fits_its_page_and_can_be_read(card, open_page, width, mode):
    page = open_page("about:blank", width, mode, bypass_csp=True)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(card)
    assert asked == [card]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    cut = """() => [...document.querySelectorAll("th, td, li, dd, p, h1, h2, h3, .axis span")]
        .filter(e => { const box = e.getBoundingClientRect(); return box.left < -1 || box.right > innerWidth + 1 })
        .map(e => e.outerHTML.slice(0, 100))"""
    assert page.evaluate(cut) == []


def test_no_label_of_an_axis_lies_on_another(card, open_page):
    page = open_page(card, 390)
    over = """() => [...document.querySelectorAll(".axis")].flatMap(axis => {
        const boxes = [...axis.children].map(e => e.getBoundingClientRect());
        return boxes.slice(1).filter((box, i) => box.left < boxes[i].right).length })"""
    assert sum(page.evaluate(over)) == 0


def test_on_paper_it_is_dark_on_white(card, open_page):
    page = open_page(card, 800, "dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
