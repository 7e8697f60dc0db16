"""Fixtures of the browser tests: the built book, a server for it on this machine, and headless Chromium."""

import functools
import http.server
import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
WIDTHS = (390, 1280)
MODES = ("light", "dark")
UNFOLD = """() => {
  document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
  return Promise.all(document.getAnimations().map((fading) => fading.finished));
}"""


@dataclass
class Visit:
    """One page as a reader met it, and everything that was wrong with it."""

    name: str
    fetched: set[str] = field(default_factory=set)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    faults: dict = field(default_factory=dict)
    axe: list[dict] = field(default_factory=list)

    @property
    def page(self) -> str:
        return self.name.split()[0]


@pytest.fixture(scope="session")
def html() -> Path:
    """The built book: ``BINDLIB_HTML`` or ``_build/html``."""
    folder = Path(os.environ.get("BINDLIB_HTML") or ROOT / "_build" / "html").resolve()
    if not (folder / "index.html").is_file():
        pytest.fail(f"no book in {folder}: run make book first", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def pages(html) -> list[str]:
    """Every page of the book, and the theme's own (search, indices), as paths below its folder."""
    return sorted(str(p.relative_to(html)) for p in html.rglob("*.html") if "_static" not in p.parts)


@pytest.fixture(scope="session")
def origin(html):
    """The address of a local server for the book."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=html))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """Chromium, headless: the one that ``CHROMIUM`` names, or the first on the path."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail(f"none of {', '.join(names)} is on the path: install chromium", pytrace=False)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser, request):
    """Open an address in a context of its own (width, mode, and what Playwright takes); closed after the test.

    A test of many pages closes each by ``with``: the scripts of all that are open go on running.
    """

    def opened(url: str, width: int = 1280, mode: str = "light", **options) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=mode, **options)
        request.addfinalizer(context.close)
        page = context.new_page()
        page.goto(url)
        return page

    return opened


@pytest.fixture(scope="session")
def visits(browser, html, origin, pages) -> list[Visit]:
    """Every page from the server, at both widths and in both modes."""
    return [
        visit(browser, f"{origin}/{page}", f"{page} at {width} px, {mode}", width, mode, axe=True)
        for width in WIDTHS
        for mode in MODES
        for page in pages
    ]


@pytest.fixture(scope="session")
def file_visits(browser, html, pages) -> list[Visit]:
    """Every page straight from the disk, narrow and dark, wide and light; axe saw the same markup on ``visits``."""
    return [
        visit(browser, (html / page).as_uri(), f"{page} from disk at {width} px, {mode}", width, mode)
        for width, mode in zip(WIDTHS, reversed(MODES), strict=True)
        for page in pages
    ]


@pytest.fixture(scope="session")
def settle():
    """Wait until a page has drawn its figures and set its formulas."""
    return _settle


def visit(browser: Browser, url: str, name: str, width: int, mode: str, axe: bool = False) -> Visit:
    """Load a page, wait until its charts and formulas are there, and note what is wrong."""
    seen = Visit(name)
    base = url.split("/", 3)[:3] if url.startswith("http") else ["file:", "", ""]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=mode)
    page = context.new_page()
    page.on("request", lambda r: None if _own(r.url, base) else seen.foreign.append(r.url))
    page.on("request", lambda r: seen.fetched.add(urlsplit(r.url).path))
    page.on("response", lambda r: seen.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    # A request that the browser gave up because the page moved on, as the start page does, is no failure.
    page.on("requestfailed", lambda r: None if "ABORTED" in r.failure else seen.errors.append(f"{r.failure} {r.url}"))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda m: seen.errors.append(f"console: {m.text}") if m.type == "error" else None)
    page.goto(url, wait_until="load")
    page.wait_for_load_state("networkidle")
    _settle(page)
    seen.faults = page.evaluate((Path(__file__).parent / "faults.js").read_text())
    if axe:
        page.evaluate(UNFOLD)
        seen.axe = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    context.close()
    return seen


def _settle(page: Page) -> None:
    """Wait until every figure is drawn, or fails to be within ten seconds, and every formula is set."""
    page.evaluate("() => window.MathJax?.startup?.promise")
    with_charts = "() => [...document.querySelectorAll('figure.bindlib-figure')].every((f) => 'drawn' in f.dataset)"
    try:
        page.wait_for_function(with_charts, timeout=10_000)
    except Exception:
        return  # the faults will name the figure


def _own(url: str, base: list[str]) -> bool:
    return url.startswith(("data:", "blob:")) or url.split("/", 3)[:3] == base
