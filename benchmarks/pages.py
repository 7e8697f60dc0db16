"""What a page of the book costs its reader, beside a plain Sphinx page built here and measured in the same run.

A server on this machine compresses and lets cache as static hosts do (gzip; ten minutes).  For every page with figures:

* ``first_kB``: all that is transferred, headers too, on a first visit; ``next_kB``: after a visit to another such page.
* ``p50_ms`` and ``p95_ms``: from a slider's input event until the picture has changed and that frame is painted, median
  and 95th percentile over drags along the first slider of each figure and back; a frame of the screen lasts 16.7 ms.
* ``shift``: the cumulative layout shift of a visit, that of the formulas included.
* ``chart_px``: the most that the height of a figure changes when it is drawn.

Run: ``python benchmarks/pages.py``, after ``make book``.
"""

import gzip
import mimetypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from timing import print_table

ROOT = Path(__file__).parents[1]
BOOK = Path(os.environ.get("BINDLIB_HTML") or ROOT / "_build" / "html")
COLUMNS = ("page", "first_kB", "next_kB", "p50_ms", "p95_ms", "shift", "chart_px")
SCREENS = (390, 1280)  # widths in pixels
MOVES, TIMES = 60, 2  # of the mouse from one end of a slider to the other, and how often it goes
PLAIN = "A page\n======\n\n" + "Plain words, as Sphinx sets them when it is told nothing else.\n\n" * 40

WATCH = """() => {
  window.shift = 0;
  const add = (list) => { for (const entry of list.getEntries()) window.shift += entry.value; };
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""
HEIGHTS = "() => [...document.querySelectorAll('figure.bindlib-figure')].map((f) => f.getBoundingClientRect().height)"
# A message posted in an animation frame arrives when that frame has been painted.
TIME = """(track) => {
  const figure = track.closest("figure"), times = (track.times = []);
  let changed = 0;
  const seen = new MutationObserver(() => { changed = performance.now(); });
  for (const part of figure.querySelectorAll("svg, .bindlib-figure__readouts"))
    seen.observe(part, { subtree: true, childList: true, attributes: true, characterData: true });
  track.addEventListener("input", (event) => {
    const look = () => requestAnimationFrame(() => {
      if (changed < event.timeStamp) return performance.now() - event.timeStamp < 2000 && look();
      const painted = new MessageChannel();
      painted.port1.onmessage = () => times.push(performance.now() - event.timeStamp);
      painted.port2.postMessage(null);
    });
    look();
  }, { capture: true });
}"""


@cache
def packed(path: Path) -> tuple[bytes, dict[str, str]]:
    """A file's body and headers as a static host sends them."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    body, headers = path.read_bytes(), {"Content-Type": kind, "Cache-Control": "max-age=600"}
    if kind.startswith("text/") or kind.endswith(("javascript", "json", "xml")):
        body, headers = gzip.compress(body, 6), headers | {"Content-Encoding": "gzip"}
    return body, headers | {"Content-Length": str(len(body))}


class Host(ThreadingHTTPServer):
    """Serves a folder and counts the bytes that it sends."""

    daemon_threads = True

    def __init__(self, folder: Path):
        self.folder, self.sent = folder, 0
        super().__init__(("127.0.0.1", 0), Answer)


class Answer(BaseHTTPRequestHandler):
    """One answer of a `Host`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.server.folder / unquote(urlsplit(self.path).path).lstrip("/")
        if not path.is_file():
            return self.send_error(404)
        body, headers = packed(path)
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.server.sent += sum(map(len, self._headers_buffer)) + len(body)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        pass


@contextmanager
def hosted(folder: Path) -> Iterator[tuple[Host, str]]:
    """A host of ``folder``, and its address."""
    host = Host(folder)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    try:
        yield host, f"http://127.0.0.1:{host.server_port}"
    finally:
        host.shutdown()
        host.server_close()


@contextmanager
def opened(browser: Browser, width: int = 1280) -> Iterator[Page]:
    """A page of a reader who has never been here."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.add_init_script(f"({WATCH})()")
    try:
        yield context.new_page()
    finally:
        context.close()


def visit(page: Page, url: str) -> None:
    """Go there, and wait until figures and formulas are there and nothing more is fetched."""
    page.goto(url, wait_until="networkidle")
    page.evaluate("() => window.MathJax?.startup?.promise")
    drawn = "() => [...document.querySelectorAll('figure.bindlib-figure')].every((f) => 'drawn' in f.dataset)"
    page.wait_for_function(drawn)
    page.wait_for_load_state("networkidle")


def transferred(browser: Browser, host: Host, url: str, before: str | None) -> float:
    """Kilobytes sent for a page, on a first visit or after a page that was seen ``before``."""
    with opened(browser) as page:
        if before:
            visit(page, before)
        host.sent = 0
        visit(page, url)
        return host.sent / 1000


def shifts(browser: Browser, url: str) -> tuple[float, float]:
    """The cumulative layout shift of a visit, and the most that a figure grows when it is drawn, in pixels."""
    scores, grown = [], [0.0]
    for width in SCREENS:
        with opened(browser, width) as page:
            visit(page, url)
            scores.append(page.evaluate("window.shift"))
            drawn = page.evaluate(HEIGHTS)
        with opened(browser, width) as page:
            page.route("**/bindlib-figure.js*", lambda route: route.abort())
            page.goto(url)
            grown += [abs(after - before) for before, after in zip(page.evaluate(HEIGHTS), drawn, strict=True)]
    return max(scores), max(grown)


def redraws(browser: Browser, url: str) -> tuple[float | None, float | None]:
    """The median and the 95th percentile of all redraws, in milliseconds; None on a page without sliders."""
    times = []
    with opened(browser) as page:
        visit(page, url)
        for figure in page.locator("figure.bindlib-figure:has(input[type=range])").all():
            times += dragged(page, figure.locator("input[type=range]").first)
    return tuple(np.percentile(times, [50, 95]).tolist()) if times else (None, None)


def dragged(page: Page, track) -> list[float]:
    """Milliseconds of every redraw while the mouse moves along the track and back."""
    track.evaluate(TIME)
    track.evaluate("(node) => node.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = track.bounding_box()
    y = box["y"] + box["height"] / 2
    there = np.linspace(0, 1, MOVES + 1)
    page.mouse.move(box["x"] + 8, y)
    page.mouse.down()
    for share in np.concatenate([there, there[::-1]] * (TIMES // 2)):
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * share, y)
        page.wait_for_timeout(20)
    page.mouse.up()
    page.wait_for_timeout(300)
    return track.evaluate("(node) => node.times")


def with_figures(folder: Path) -> list[str]:
    """The pages that have figures, by their path below ``folder``."""
    pages = (path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts)
    return [str(p.relative_to(folder)) for p in pages if '<figure class="bindlib-figure"' in p.read_text("utf-8")]


def plain(folder: Path) -> Path:
    """Two pages as Sphinx makes them unless told otherwise."""
    source = folder / "source"
    source.mkdir()
    (source / "conf.py").write_text("")
    (source / "index.rst").write_text(PLAIN + ".. toctree::\n\n   other\n")
    (source / "other.rst").write_text(PLAIN)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(folder / "html")]
    subprocess.run(command, check=True)
    return folder / "html"


def measured(browser: Browser, folder: Path, pages: list[str], name: str = "") -> list[dict]:
    """A row for every page; what was seen before it is the page before, or the last."""
    rows = []
    with hosted(folder) as (host, origin):
        urls = [f"{origin}/{page}" for page in pages]
        for i, url in enumerate(urls):
            shift, grown = shifts(browser, url)
            row = {"page": name or pages[i].removesuffix(".html"), "shift": shift, "chart_px": grown}
            row["first_kB"] = transferred(browser, host, url, None)
            row["next_kB"] = transferred(browser, host, url, urls[i - 1])
            row["p50_ms"], row["p95_ms"] = redraws(browser, url)
            rows.append(row)
    return rows


def main() -> list[dict]:
    """The book's pages, and a plain one."""
    if not (BOOK / "index.html").is_file():
        sys.exit(f"no book in {BOOK}: run make book first")
    chromium = subprocess.run(["sh", str(ROOT / ".ci" / "chromium")], check=True, stdout=subprocess.PIPE, text=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=chromium.stdout.strip(), args=flags)
        baseline = measured(browser, plain(Path(folder)), ["other.html", "index.html"], "plain Sphinx")[-1:]
        return measured(browser, BOOK, with_figures(BOOK)) + baseline


if __name__ == "__main__":
    print_table(main(), COLUMNS)
