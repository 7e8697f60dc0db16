"""The slider of the frontier chapter, from a server and from disk: dragged, along its track, spoken, seen and hit."""

import numpy as np
import pytest

from bindlib.theory import frontier

pytestmark = pytest.mark.browser

CAPS = {"paper_cap": frontier.paper_cap, "sharp_cap": frontier.sharp_cap}


@pytest.fixture(params=["server", "disk"])
def figure(request, html, origin, open_page, settle):
    """The first figure of the chapter with a slider for delta and both caps."""
    page = open_page({"server": f"{origin}/chapters/frontier.html",
                      "disk": (html / "chapters/frontier.html").as_uri()}[request.param])  # fmt: skip
    settle(page)
    found = page.locator("figure.bindlib-figure").filter(has=page.locator("[data-signal=paper_cap]")).first
    found.scroll_into_view_if_needed()
    return found


def slider(figure):
    return figure.locator("input[type=range][name=delta]")


def value(figure, signal: str) -> float:
    return float(figure.locator(f"[data-signal={signal}]").get_attribute("data-value"))


def assert_readouts_are_computed(figure):
    delta = value(figure, "delta")
    assert delta == float(slider(figure).input_value())
    for signal, cap in CAPS.items():
        assert value(figure, signal) == pytest.approx(float(cap(delta)), rel=1e-12, abs=1e-12)
        readout = figure.locator(f"[data-signal={signal}]")
        assert readout.get_attribute("data-format") == ".4f"
        assert readout.inner_text() == f"{cap(delta):.4f}"


def test_dragged_by_pointer(figure):
    before, picture = value(figure, "delta"), figure.locator("svg").inner_html()
    box = slider(figure).bounding_box()
    low, high = (float(slider(figure).get_attribute(end)) for end in ("min", "max"))
    x = box["x"] + box["width"] * (before - low) / (high - low)
    y = box["y"] + box["height"] / 2
    mouse = figure.page.mouse
    mouse.move(x, y)
    mouse.down()
    for share in (0.4, 0.55, 0.7):
        mouse.move(box["x"] + share * box["width"], y, steps=4)
        assert_readouts_are_computed(figure)
    mouse.up()
    assert value(figure, "delta") == pytest.approx(low + 0.7 * (high - low), abs=0.03 * (high - low))
    assert figure.locator("svg").inner_html() != picture


TRACK = """async (control) => {
  const figure = control.closest("figure"), seen = [];
  for (let i = 0; i <= Math.round((control.max - control.min) / control.step); i++) {
    control.value = Number(control.min) + i * control.step;
    control.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
    const value = (signal) => +figure.querySelector(`[data-signal=${signal}]`).dataset.value;
    seen.push(["delta", "paper_cap", "sharp_cap"].map(value));
  }
  return seen;
}"""


def test_agrees_along_the_whole_track(figure):
    seen = slider(figure).evaluate(TRACK)
    delta, paper, sharp = np.array(seen).T
    assert delta == pytest.approx(np.linspace(delta[0], delta[-1], len(seen))) and delta[-1] - delta[0] >= 1
    assert paper == pytest.approx(frontier.paper_cap(delta), rel=1e-12, abs=1e-12)
    assert sharp == pytest.approx(frontier.sharp_cap(delta), rel=1e-12, abs=1e-12)


def test_speaks_once_when_it_rests(figure):
    spoken = figure.locator("[aria-live=polite]")
    assert spoken.inner_text() == ""
    slider(figure).focus()
    for _ in range(3):
        figure.page.keyboard.press("ArrowRight")
    assert spoken.inner_text() == ""
    figure.page.wait_for_timeout(800)
    assert f"{value(figure, 'sharp_cap'):.4f}" in spoken.inner_text()


def test_can_be_seen_named_and_hit(figure):
    control = slider(figure)
    assert control.get_attribute("aria-label")
    assert control.bounding_box()["height"] >= 44
    figure.page.keyboard.press("Tab")
    control.focus()
    outline = control.evaluate("(node) => getComputedStyle(node).outlineStyle + getComputedStyle(node).outlineWidth")
    assert outline == "solid3px"


def test_a_brush_selects_the_points_in_it(origin, open_page, settle):
    page = open_page(f"{origin}/chapters/measurements.html")
    settle(page)
    figure = page.locator("figure.bindlib-figure").filter(has=page.locator("[data-signal=farthest]")).first
    figure.locator("svg").evaluate("(node) => node.scrollIntoView({ block: 'center', behavior: 'instant' })")
    boxes = "(nodes) => nodes.map((node) => node.getBoundingClientRect()).map((b) => [b.x, b.y, b.width, b.height])"
    x, y, width, height = np.array(figure.locator(".scenes_marks path").evaluate_all(boxes)).T
    x, y = x + width / 2, y + height / 2
    assert value(figure, "count") == len(x)
    left, right = np.median(x), x.max() + 3
    page.mouse.move(left, y.min() - 3)
    page.mouse.down()
    page.mouse.move(right, np.median(y), steps=5)
    page.mouse.up()
    inside = np.sum((x > left) & (y < np.median(y)))
    assert 0 < inside < len(x) and abs(value(figure, "count") - inside) <= 2  # a point may lie on the edge
    page.mouse.dblclick(left, y.min() - 3 + (np.median(y) - y.min()) / 2)
    assert value(figure, "count") == len(x)
