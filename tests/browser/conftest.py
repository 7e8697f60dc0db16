"""Fixtures of the browser tests: the built book, a server for it on this machine, and headless Chromium."""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from walking import CROSSED, MODES, PAPER, WIDTHS, Visit, chromium, walk_all
from walking import settle as settled

ROOT = Path(__file__).parents[2]


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
def chromium_path() -> str:
    """The Chromium that ``CHROMIUM`` names, or the first on the path."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail(f"none of {', '.join(names)} is on the path: install chromium", pytrace=False)
    return path


@pytest.fixture(scope="session")
def browser(chromium_path):
    with chromium(chromium_path) as opened:
        yield opened


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
def visits(chromium_path, html, origin, pages) -> list[Visit]:
    """Every page from the server, loaded once and seen at all widths, in both modes, and on paper."""
    settings = [(width, mode) for width in WIDTHS[:2] for mode in MODES] + [(WIDTHS[2], MODES[0]), (PAPER, "paper")]
    return walk_all(chromium_path, [(f"{origin}/{page}", page) for page in pages], settings, axe=True)


@pytest.fixture(scope="session")
def file_visits(chromium_path, html, pages) -> list[Visit]:
    """Every page straight from the disk, narrow and dark, wide and light; axe saw the same markup on ``visits``."""
    addresses = [((html / page).as_uri(), f"{page} from disk") for page in pages]
    return walk_all(chromium_path, addresses, list(CROSSED))


@pytest.fixture(scope="session")
def settle():
    """Wait until a page has drawn its figures and set its formulas."""
    return settled
