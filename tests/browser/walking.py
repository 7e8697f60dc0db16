"""A walk through the book as a reader meets it: one load of a page, seen in every setting."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
WIDTHS = (390, 1280, 1920)
PAPER = 718  # A4 between Chromium's own margins
MODES = ("light", "dark")
CROSSED = ((WIDTHS[0], MODES[1]), (WIDTHS[1], MODES[0]))  # each mode and each of two widths once
UNFOLD = """() => {
  document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
  document.querySelectorAll(".toggle-hidden").forEach((folded) => folded.classList.remove("toggle-hidden"));
  return Promise.all(document.getAnimations().map((fading) => fading.finished));
}"""
FOLD = "document.querySelectorAll('details').forEach((folded) => { folded.open = false; })"
# Two frames: the observers of sizes have then been heard, and what they asked for is drawn.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
FIT = """() => [...document.querySelectorAll(".bindlib-figure__chart:not(.bindlib-figure__chart--fixed)")]
  .every((box) => Math.abs((box.querySelector("svg")?.getBoundingClientRect().width ?? 0) - box.clientWidth) <= 2)"""
HEIGHTS = "() => [...document.querySelectorAll('figure.bindlib-figure')].map((figure) => figure.offsetHeight)"
FAULTS, HIDDEN = ((Path(__file__).parent / name).read_text() for name in ("faults.js", "hidden.js"))


@dataclass
class Visit:
    """One page as a reader met it, and everything that was wrong with it."""

    name: str
    fetched: set[str] = field(default_factory=set)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    faults: dict = field(default_factory=dict)
    axe: list[dict] = field(default_factory=list)
    heights: list[int] = field(default_factory=list)

    @property
    def page(self) -> str:
        return self.name.split()[0]

    @property
    def width(self) -> int:
        return int(self.name.split()[-3])


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """The headless browser at ``path``."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def walk_all(
    path: str, addresses: Sequence[tuple[str, str]], settings: list[tuple[int, str]], axe: bool = False
) -> list[Visit]:
    """``walk`` each (url, name), in their order; every core has a browser of its own, since axe keeps one core busy."""
    n = os.cpu_count() or 1
    shares = [addresses[start::n] for start in range(n)]
    with ProcessPoolExecutor(n, mp_context=get_context("spawn")) as pool:
        walked = list(pool.map(partial(_walk_share, path, settings, axe), shares))
    return [visit for i in range(len(addresses)) for visit in walked[i % n][i // n]]


def _walk_share(
    path: str, settings: list[tuple[int, str]], axe: bool, addresses: Sequence[tuple[str, str]]
) -> list[list[Visit]]:
    with chromium(path) as browser:
        return [walk(browser, url, name, settings, axe) for url, name in addresses]


def walk(browser: Browser, url: str, name: str, settings: list[tuple[int, str]], axe: bool = False) -> list[Visit]:
    """Load a page, wait until its charts and formulas are there, and note what is wrong in each setting."""
    seen = [Visit(f"{name} at {width} px, {mode}") for width, mode in settings]
    base = url.split("/", 3)[:3] if url.startswith("http") else ["file:", "", ""]
    context = browser.new_context(viewport={"width": settings[0][0], "height": 900}, color_scheme=settings[0][1])
    page, at = context.new_page(), seen[0]  # what happens is noted in the setting of its time
    page.on("request", lambda r: None if _own(r.url, base) else at.foreign.append(r.url))
    page.on("request", lambda r: seen[0].fetched.add(urlsplit(r.url).path))
    page.on("response", lambda r: at.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    # A request that the browser gave up because the page moved on, as the start page does, is no failure.
    page.on("requestfailed", lambda r: None if "ABORTED" in r.failure else at.errors.append(f"{r.failure} {r.url}"))
    page.on("pageerror", lambda error: at.errors.append(str(error)))
    page.on("console", lambda m: at.errors.append(f"console: {m.text}") if m.type == "error" else None)
    page.goto(url, wait_until="load")
    page.wait_for_load_state("networkidle")
    settle(page)
    for at, (width, mode) in zip(seen, settings, strict=True):
        look(page, at, width, mode, axe)
    context.close()
    return seen


def look(page: Page, seen: Visit, width: int, mode: str, axe: bool) -> None:
    """Note what is wrong with a loaded page at this width and in this mode (light, dark or paper)."""
    paper = mode == "paper"
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="print" if paper else "screen", color_scheme="dark" if paper else mode)
    page.evaluate(FOLD)
    page.evaluate(DRAWN)
    with suppress(TimeoutError):  # the faults will name the chart that does not fit
        page.wait_for_function(FIT, timeout=5_000)
    seen.faults, seen.heights = page.evaluate(FAULTS), page.evaluate(HEIGHTS)
    page.evaluate(UNFOLD)
    page.evaluate(DRAWN)
    seen.faults["hidden"] = page.evaluate(HIDDEN, paper)
    if axe and (width, mode) in CROSSED:  # what it looks for hangs on one of the two, not on both
        seen.axe = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]


def settle(page: Page) -> None:
    """Wait until every figure is drawn, or fails to be within ten seconds, and every formula is set."""
    page.evaluate("() => window.MathJax?.startup?.promise")
    with_charts = "() => [...document.querySelectorAll('figure.bindlib-figure')].every((f) => 'drawn' in f.dataset)"
    try:
        page.wait_for_function(with_charts, timeout=10_000)
    except Exception:
        return  # the faults will name the figure


def _own(url: str, base: list[str]) -> bool:
    return url.startswith(("data:", "blob:")) or url.split("/", 3)[:3] == base
