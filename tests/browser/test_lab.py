"""Live widgets in a real JupyterLab, moved by key and by pointer: they show what `bindlib` computes here."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from bindlib.explorers import break_theorem, depth_law, frontier, radon, throttle
from bindlib.explorers.live import _shown

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SECONDS = 60
PAGE = 5  # steps of a live slider for one press of Page Up or Page Down

# The source of a cell, and the figure whose readouts its widget must show.
WIDGETS = {
    "frontier": ("from bindlib.explorers import frontier; frontier.widget()", frontier.chart),
    "radon": ("from bindlib.explorers import radon; radon.widget()", radon.chart),
    "throttle": ("from bindlib.explorers import throttle; throttle.widget()", throttle.chart),
    "depth_law": ("from bindlib.explorers import depth_law; depth_law.widget()", lambda: depth_law.chart([])),
    "a broken theorem": (
        "from bindlib.explorers import break_theorem; break_theorem.widget('frontier').live",
        lambda: break_theorem.chart(break_theorem.widget("frontier").theorem.value),
    ),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of its own, with one notebook that makes every widget."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "live.ipynb").write_text(json.dumps(notebook([source for source, _ in WIDGETS.values()])))
    quiet = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    port, token = free_port(), secrets.token_hex(16)
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_WORKSPACES_DIR")
    env = os.environ | {name: str(folder / name.lower()) for name in own}
    env |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    command += ["--LabApp.expose_app_in_browser=True", "--allow-root"]
    log = folder / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        answers(f"http://127.0.0.1:{port}/api/status?token={token}", server, log)
        yield f"http://127.0.0.1:{port}/lab/tree/live.ipynb?token={token}"
    finally:
        stop(server)


def notebook(sources: list[str]) -> dict:
    cells = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
        for i, text in enumerate(sources)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(url: str, server: subprocess.Popen, log: Path) -> None:
    """Wait until the server answers."""
    for _ in range(10 * SECONDS):
        assert server.poll() is None, log.read_text()
        try:
            return urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"JupyterLab does not answer:\n{log.read_text()}")


def stop(server: subprocess.Popen) -> None:
    """End the server and, through it, its kernel."""
    server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@pytest.fixture(scope="module")
def page(browser, lab):
    """The notebook, run to its end."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(lab)
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    wanted = "(n) => document.querySelectorAll('.jp-OutputArea-output [role=status]').length === n"
    page.wait_for_function(wanted, arg=len(WIDGETS))
    yield page
    context.close()


class Shown:
    """The widget of a cell, as a reader meets it."""

    def __init__(self, page, index: int, figure):
        self.page, self.figure = page, figure
        self.output = page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".jp-OutputArea")
        kinds = {"range": ".widget-slider [role=slider]", "checkbox": ".widget-checkbox input", "select": "select"}
        self.nodes, seen = {}, dict.fromkeys(kinds, 0)
        for control in figure.controls:
            self.nodes[control.name] = self.output.locator(kinds[control.kind]).nth(seen[control.kind])
            seen[control.kind] += 1

    def by_key(self, control, value) -> None:
        node, press = self.nodes[control.name], self.page.keyboard.press
        node.focus()
        if control.kind == "checkbox":
            return press("Space")
        if control.kind == "select":
            # JupyterLab takes the arrows of a closed list for its own.
            for key in ["Space", "Home", *["ArrowDown"] * control.options.index(value), "Enter"]:
                press(key)
            return None
        steps = round((value - control.low) / control.step)
        back = round((control.high - control.low) / control.step) - steps
        press("Home" if steps <= back else "End")
        pages, rest = divmod(min(steps, back), PAGE)
        for key in ["Page"] * pages + ["Arrow"] * rest:
            press(key + ("Up" if steps <= back else "Down"))

    def by_pointer(self, control, value) -> None:
        node = self.nodes[control.name]
        if control.kind == "checkbox":
            return node.click()
        if control.kind == "select":
            return node.select_option(index=control.options.index(value)) and None
        track = node.locator("xpath=ancestor::*[contains(@class, 'noUi-target')]")
        wanted = round((value - control.low) / control.step)
        share = (value - control.low) / (control.high - control.low)
        for _ in range(5):  # the notebook may still be scrolling to the cell
            node.scroll_into_view_if_needed()
            box = track.bounding_box()
            self.page.mouse.click(box["x"] + share * (box["width"] - 1), box["y"] + box["height"] / 2)
            missed = wanted - round(float(node.get_attribute("aria-valuenow")))
            if abs(missed * control.step) <= max(control.step, 0.02 * (control.high - control.low)):
                break
            self.page.wait_for_timeout(200)
        else:
            pytest.fail(f"{control.name} is not hit")
        node.focus()
        for _ in range(abs(missed)):  # there are more steps than pixels
            self.page.keyboard.press("ArrowRight" if missed > 0 else "ArrowLeft")

    def says(self, values: dict) -> None:
        """Wait until the readouts are those that are computed here."""
        found = self.figure.computed(**values)
        wanted = {readout.signal: _shown(readout, found[readout.signal]) for readout in self.figure.readouts}
        texts = "(node) => Object.fromEntries([...node.querySelectorAll('[data-signal]')]"
        texts += ".map((cell) => [cell.dataset.signal, cell.textContent]))"
        until = time.monotonic() + 10
        while (shown := self.output.evaluate(texts)) != wanted and time.monotonic() < until:
            self.page.wait_for_timeout(50)
        assert shown == wanted, values


@pytest.mark.parametrize("name", WIDGETS)
@pytest.mark.parametrize("hand", ["by_key", "by_pointer"])
def test_a_widget_shows_what_is_computed(name, hand, page):
    figure = WIDGETS[name][1]()
    shown = Shown(page, list(WIDGETS).index(name), figure)
    first = {control.name: control.value for control in figure.controls}
    shown.says(first)
    for control in figure.controls:
        for value in [*(stop for stop in control.stops() if stop != control.value), control.value]:
            getattr(shown, hand)(control, value)
            shown.says(first | {control.name: value})


def test_the_picture_follows(page):
    shown = Shown(page, 0, frontier.chart())
    picture = shown.output.locator("img")
    before = picture.get_attribute("src")
    shown.by_key(shown.figure.controls[0], 1)
    until = time.monotonic() + 30
    while picture.get_attribute("src") == before and time.monotonic() < until:
        page.wait_for_timeout(50)
    assert picture.get_attribute("src") != before
    assert picture.get_attribute("alt") == shown.figure.alt
