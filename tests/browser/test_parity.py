"""Every control of every figure at both ends and in the middle: the page shows what `bindlib` computed for it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from bindlib.book.controls import Control, Value
from bindlib.book.figure import SPEC_MIME

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted(str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "chapters").rglob("*.ipynb"))
VIEWPORTS = {"desktop": {"width": 1280}, "phone": {"width": 390, "has_touch": True}}
TOLERANCE = 1e-9  # relative; of a value below a thousandth, that share of a thousandth
THUMB = 16  # pixels; half of it lies beyond either end of a slider's travel
NUDGES = (0, 1, -1, 2, -2)  # pixels beside the computed place, where the steps are finer than a pixel is exact

STATE = """(figure) => {
  const value = (c) => c.type === "checkbox" ? c.checked : c.type === "range" ? Number(c.value) : c.selectedIndex;
  const controls = [...figure.querySelectorAll(".bindlib-figure__controls :is(input, select)")];
  const readouts = [...figure.querySelectorAll("[data-signal]")];
  return [Object.fromEntries(controls.map((c) => [c.name, value(c)])),
          Object.fromEntries(readouts.map((r) => [r.dataset.signal, r.dataset.value]))];
}"""
CLIPPED = """(figure) => {
  const picture = figure.querySelector("svg").getBoundingClientRect();
  const words = [...figure.querySelectorAll("svg text")];
  return words.filter((t) => t.textContent && getComputedStyle(t).opacity > 0).filter((t) => {
    const word = t.getBoundingClientRect();
    return word.left < picture.left - 2 || word.right > picture.right + 2 ||
      word.top < picture.top - 2 || word.bottom > picture.bottom + 2;
  }).map((t) => t.textContent);
}"""
PLACE = """(node) => {
  node.scrollIntoView({ block: "center", behavior: "instant" });
  const box = node.getBoundingClientRect();
  return [box.x, box.y, box.width, box.height];
}"""
RESET = """(node, value) => {
  if (node.type === "checkbox") node.checked = value;
  else if (node.type === "range") node.value = value;
  else node.selectedIndex = value;
  for (const kind of ["input", "change"]) node.dispatchEvent(new Event(kind));
}"""


@dataclass
class Tally:
    """What the whole run tried: settings, the readouts compared in them, and the worst difference."""

    settings: int = 0
    readouts: int = 0
    helped: int = 0
    worst: float = 0.0
    where: str = ""
    wrong: list[str] = field(default_factory=list)

    def compare(self, name: str, expected: Any, found: str | None) -> None:
        self.readouts += 1
        difference = apart(expected, found)
        if difference > self.worst:
            self.worst, self.where = difference, name
        if difference > TOLERANCE:
            self.wrong.append(f"{name}: {found} on the page, {expected} computed")


@pytest.fixture(scope="session")
def total(request):
    """The tally of all pages, told at the end."""
    tally = Tally()
    yield tally
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(
            f"\nparity: {tally.settings} settings, {tally.readouts} readouts, worst difference {tally.worst:.1e}"
            f" ({tally.where}); in {tally.helped} settings keys finished what a pixel was too coarse for"
        )


def figures(html: Path, chapter: str) -> list[dict]:
    """The specifications of a chapter's figures as its notebook holds them, in the order of the page."""
    notebook = json.loads((html.parent / "stage" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    specs = (output.get("data", {}).get(SPEC_MIME, {}) for output in outputs)
    return [spec for spec in specs if "bindlib" in spec.get("usermeta", {})]


def controls(spec: dict) -> list[Control]:
    return [Control.of(param) for param in spec.get("params", ()) if "bind" in param]


def apart(expected: Any, found: str | None) -> float:
    """The relative difference of a number, or infinity where a text is another one."""
    if isinstance(expected, bool):
        expected = str(expected).lower()
    if not isinstance(expected, int | float):
        return 0.0 if found == str(expected) else float("inf")
    try:
        return abs(float(found) - expected) / max(abs(expected), 1e-3)
    except (TypeError, ValueError):
        return float("inf")


def position(control: Control, value: Value) -> Value:
    """What ``STATE`` says of a control at ``value``: the place of a list's entry, else the value itself."""
    return control.options.index(value) if control.kind == "select" else value


def now(node: Locator) -> float:
    return float(node.input_value())


def by_key(page: Page, node: Locator, control: Control, value: Value) -> None:
    node.focus()
    press = page.keyboard.press
    if control.kind == "checkbox":
        return press("Space")
    if control.kind == "select":
        press("Home")
        for _ in range(control.options.index(value)):
            press("ArrowDown")
        return None
    press("Home" if value - control.low <= control.high - value else "End")
    walk(page, node, control, value)


def walk(page: Page, node: Locator, control: Control, value: float) -> None:
    """The rest of the way by pages and single steps, each seen to go towards ``value``."""
    gap = value - now(node)
    while abs(gap) > control.step / 2:
        pages = abs(gap) > 0.11 * (control.high - control.low)
        page.keyboard.press(("Page" if pages else "Arrow") + ("Up" if gap > 0 else "Down"))
        before, gap = gap, value - now(node)
        assert abs(gap) < abs(before), f"{control.name} does not come nearer to {value}: it is at {value - gap}"


def by_pointer(page: Page, node: Locator, control: Control, value: Value) -> bool:
    """Click or tap; whether the keyboard had to finish, since the slider has more steps than pixels."""
    if control.kind == "select":
        node.select_option(index=control.options.index(value))  # the open list is the system's, not the page's
        return False
    hit = page.touchscreen.tap if page.evaluate("navigator.maxTouchPoints") else page.mouse.click
    x, y, width, height = node.evaluate(PLACE)
    if control.kind == "checkbox":
        hit(x + width / 2, y + height / 2)
        return False
    share = (value - control.low) / (control.high - control.low)
    for nudge in NUDGES:
        hit(x + THUMB / 2 + share * (width - THUMB) + nudge, y + height / 2)
        if abs(now(node) - value) < control.step / 2:
            return False
    assert abs(now(node) - value) < 4 * (control.high - control.low) / width, f"{control.name} is not hit"
    walk(page, node, control, value)
    return True


def check(figure: Locator, entry: dict, known: list[Control], name: str, tally: Tally) -> None:
    """Compare a figure with an entry of its grid, once the page has had a moment to follow."""
    for _ in range(40):
        at, shown = figure.evaluate(STATE)
        if all(apart(value, shown.get(signal)) <= TOLERANCE for signal, value in entry["shown"].items()):
            break
        figure.page.wait_for_timeout(25)
    tally.settings += 1
    for control in known:
        wanted = position(control, entry["set"][control.name])
        if apart(wanted, str(at[control.name]).lower()) > TOLERANCE:
            tally.wrong.append(f"{name}: {control.name} is at {at[control.name]}, not at {wanted}")
    tally.wrong += [f"{name}: “{word}” runs out of the picture" for word in figure.evaluate(CLIPPED)]
    for signal, value in entry["shown"].items():
        tally.compare(f"{name}: {signal}", value, shown.get(signal))


def drive(page: Page, figure: Locator, spec: dict, name: str, tally: Tally) -> None:
    """Set every control as the figure's grid says, by pointer and by keyboard, the others staying as at first."""
    known = controls(spec)
    first, *others = spec["usermeta"]["bindlib"]["grid"]
    for move in (by_pointer, by_key):
        check(figure, first, known, f"{name} at first", tally)
        for control in known:
            node = figure.locator(f".bindlib-figure__controls [name='{control.name}']")
            for entry in others:
                value = entry["set"][control.name]
                if value != control.value:
                    tally.helped += bool(move(page, node, control, value))
                    check(figure, entry, known, f"{name}, {move.__name__}, {control.name} = {value}", tally)
            node.evaluate(RESET, position(control, control.value))


@pytest.mark.parametrize("viewport", VIEWPORTS)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_page_shows_what_is_computed(chapter, viewport, html, origin, open_page, settle, total):
    specs = figures(html, chapter)
    page = open_page(f"{origin}/{chapter}.html", **VIEWPORTS[viewport])
    settle(page)
    shown = page.locator("figure.bindlib-figure").all()
    assert len(shown) == len(specs)
    total.wrong.clear()
    for i, (figure, spec) in enumerate(zip(shown, specs, strict=True), 1):
        if controls(spec):
            drive(page, figure, spec, f"{chapter} ({viewport}), figure {i}", total)
    assert not total.wrong, "\n".join(total.wrong)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_figure_with_controls_has_a_grid_of_all_of_them(chapter, html):
    for spec in figures(html, chapter):
        known = controls(spec)
        tried = spec["usermeta"]["bindlib"]["grid"]
        for control in known:
            assert {entry["set"][control.name] for entry in tried} >= set(control.stops()), control.name
        assert all(entry["shown"] for entry in tried) and bool(tried) >= bool(known), spec["description"]


def test_one_per_cent_is_noticed(html, origin, open_page, settle):
    chapter = "chapters/frontier"
    page = open_page("about:blank")
    text = (html / f"{chapter}.html").read_text(encoding="utf-8")
    bent = text.replace('"2 * sqrt(2 * delta)"', '"2.02 * sqrt(2 * delta)"')
    page.route("**/frontier.html", lambda route: route.fulfill(body=bent, content_type="text/html; charset=utf-8"))
    page.goto(f"{origin}/{chapter}.html")
    settle(page)
    specs, tally = figures(html, chapter), Tally()
    i = next(i for i, spec in enumerate(specs) if "2 * sqrt(2 * delta)" in json.dumps(spec))
    drive(page, page.locator("figure.bindlib-figure").nth(i), specs[i], "bent", tally)
    assert tally.wrong and all("paper_cap" in name for name in tally.wrong)
