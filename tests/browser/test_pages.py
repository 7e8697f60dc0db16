"""Every page of the built book, as a reader meets it: self-contained, whole, legible and named."""

import gzip
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from walking import DRAWN, HEIGHTS, HIDDEN, PAPER, WIDTHS

pytestmark = pytest.mark.browser

WHAT = {
    "overflow": "the page scrolls sideways",
    "unnamed": "a picture or figure has no accessible name",
    "wordless": "a picture has an empty alt text",
    "undrawn": "a figure shows no marks",
    "silent": "a readout shows nothing",
    "faint": "words in a chart have a contrast below 4.5",
    "clipped": "words in a chart run out of the picture",
    "misfit": "a chart is wider or narrower than its place",
    "scripts": "a live-code script is loaded",
    "unset": "a formula is not typeset",
    "misset": "a formula has an error",
    "hidden": "something is cut off and nothing reveals it",
    "pale": "ink on paper is not dark",
    "useless": "paper shows controls, or no picture",
}


def complaints(visits, of) -> str:
    return "\n".join(f"{v.name}: {item}" for v in visits for item in of(v))


def test_every_page_of_the_contents_is_built(html):
    contents = yaml.safe_load((Path(__file__).parents[2] / "_toc.yml").read_text())
    entries = [contents["root"], *_files(contents)]
    missing = [entry for entry in entries if not (html / entry).with_suffix(".html").is_file()]
    assert not missing


def _files(part):
    if isinstance(part, list):
        return [name for item in part for name in _files(item)]
    if not isinstance(part, dict):
        return []
    own = [part["file"]] if "file" in part else []
    return own + [name for item in part.values() for name in _files(item)]


@pytest.mark.parametrize("source", ["visits", "file_visits"])
class TestSelfContained:
    def test_nothing_is_requested_from_elsewhere(self, source, request):
        assert not complaints(request.getfixturevalue(source), lambda v: v.foreign)

    def test_nothing_fails_to_load_or_run(self, source, request):
        assert not complaints(request.getfixturevalue(source), lambda v: v.errors)


@pytest.mark.parametrize("source", ["visits", "file_visits"])
@pytest.mark.parametrize("kind", WHAT)
def test_no_page_has_the_fault(kind, source, request):
    faults = complaints(request.getfixturevalue(source), lambda v: v.faults.get(kind, ()))
    assert not faults, f"{WHAT[kind]}:\n{faults}"


def test_axe_finds_no_serious_fault_in_our_markup_or_the_theme_s(visits):
    def serious(visit):
        return (
            f"{violation['id']}: {node['html'][:200]}"
            for violation in visit.axe
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        )

    faults = complaints(visits, serious)
    assert not faults, faults


def test_a_figure_keeps_its_place_while_it_loads(html, origin, pages, visits, open_page):
    for name in _with_figures(html, pages):
        with open_page("about:blank", 390) as before:
            before.route("**/bindlib-figure.js*", lambda route: route.abort())
            before.goto(f"{origin}/{name}")
            for visit in (v for v in visits if v.page == name and "light" in v.name):
                before.set_viewport_size({"width": visit.width, "height": 900})
                before.evaluate(DRAWN)
                reserved = before.evaluate(HEIGHTS)
                assert visit.heights == pytest.approx(reserved, abs=2), f"{visit.name}: drawn, and reserved"


def test_a_chart_follows_the_width_of_its_place(origin, open_page, settle):
    page = open_page(f"{origin}/chapters/bag_of_words.html", 1280)
    settle(page)
    figure = page.locator("figure.bindlib-figure").first
    for room in ("700px", "690px", "350px"):  # ten less: the width that Vega holds for the marks within its padding
        figure.evaluate("(node, room) => { node.style.width = room; }", room)
        page.wait_for_timeout(500)
        assert abs(figure.locator("svg").bounding_box()["width"] - (int(room[:-2]) - 34)) <= 2


def test_without_scripts_a_picture_and_its_words_remain(html, origin, pages, open_page):
    for name in _with_figures(html, pages):
        with open_page(f"{origin}/{name}", java_script_enabled=False) as page:
            for figure in page.locator("figure.bindlib-figure").all():
                picture = figure.locator("img")
                assert picture.get_attribute("alt"), name
                assert picture.bounding_box()["height"] > 100, name
                for part in ("chart", "controls", "readouts"):
                    assert not figure.locator(f".bindlib-figure__{part}").is_visible(), part


def test_without_the_libraries_a_picture_and_its_words_remain(html, origin, pages, open_page):
    page = open_page("about:blank")
    page.route("**/*-bundle.js*", lambda route: route.abort())
    page.goto(f"{origin}/{_with_figures(html, pages)[0]}")
    for figure in page.locator("figure.bindlib-figure").all():
        assert figure.locator(".bindlib-figure__chart img").is_visible()


WIDE = '<article class="bd-article"><{0} {1} style="width: 200px; white-space: nowrap; {2}">{3}</{0}></article>'
FADES = 'tabindex="0" data-more="right"', "overflow-x: auto; mask-image: linear-gradient(red, blue)"


@pytest.mark.parametrize(
    ("width", "node", "paper", "found"),
    [
        (390, ("div", "", "overflow: hidden", "long " * 40), False, 1),
        (390, ("div", "", "overflow: auto", "long " * 40), False, 1),
        (390, ("div", *FADES, "long " * 40), False, 0),
        (1280, ("div", *FADES, "long " * 40), False, 1),
        (1280, ("pre", *FADES, "long " * 40), False, 0),
        (PAPER, ("pre", *FADES, "long " * 40), True, 1),
        (PAPER, ("pre", "", "", "long " * 40), True, 1),
        (1280, ("div", "", "overflow: hidden; direction: rtl", "long " * 40), False, 1),
        (1280, ("div", "", "overflow: hidden; height: 1em", "two<br>lines"), False, 1),
        (1280, ("div", "", "overflow: hidden", "short"), False, 0),
        (1280, ("div", 'class="math"', "overflow: hidden", '<mjx-c style="display: inline-block">D</mjx-c>'), False, 1),
        (1280, ("div", 'class="math"', "overflow: hidden; padding: 6px", "<mjx-c>D</mjx-c>"), False, 0),
    ],
)
def test_what_is_cut_off_is_found(width, node, paper, found, open_page):
    page = open_page("about:blank", width)
    page.set_content(f"<!doctype html><body>{WIDE.format(*node)}")
    faults = page.evaluate(HIDDEN, paper)
    assert bool(faults) == bool(found), faults


def test_every_page_was_seen_on_paper_and_at_every_width(visits, pages):
    seen = {page: {visit.width for visit in visits if visit.page == page} for page in pages}
    assert set(map(frozenset, seen.values())) == {frozenset({*WIDTHS, PAPER})}
    assert all("hidden" in visit.faults and ("pale" in visit.faults) == ("paper" in visit.name) for visit in visits)


def test_the_libraries_come_only_with_the_pages_that_draw(html, pages):
    drawing = set(_with_figures(html, pages))
    assert drawing, "no page has a figure"
    loading = {page for page in pages if "-bundle.js" in (html / page).read_text()}
    assert loading == drawing


def test_a_page_is_light_on_a_first_visit_and_lighter_after_another(html, pages, visits):
    def kilobytes(paths):
        files = (html / path.lstrip("/") for path in paths)
        return sum(_packed(file) for file in files if file.is_file()) / 1000

    drawing = _with_figures(html, pages)
    for before, visit in pairwise(visit for visit in visits if visit.fetched and visit.page in drawing):
        assert kilobytes(visit.fetched) < 1000, visit.name
        own = {f"/{visit.page}"} | visit.fetched - before.fetched
        assert kilobytes(own) < 150, f"{visit.name} after {before.name}"


@cache
def _packed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 6))


def _with_figures(html, pages) -> list[str]:
    return [page for page in pages if '<figure class="bindlib-figure"' in (html / page).read_text()]
