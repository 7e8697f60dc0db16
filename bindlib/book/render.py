"""How a `Figure` in a notebook becomes HTML: the MyST-NB renderer of its MIME type.

The page needs no kernel and no network. A figure is written as a ``<figure>`` that holds its specification in a
JSON script tag; ``static/bindlib-figure.js`` draws it with the Vega libraries that `bindlib.book.vendor` put
beside the page. Without scripts the still picture is shown.
"""

import base64
import hashlib
import json
import re
from html import escape
from typing import Any

from docutils import nodes

from bindlib.book.controls import Control
from bindlib.book.figure import SPEC_MIME, takes_page_width
from bindlib.book.table import Table
from bindlib.book.vendor import VEGA_SCRIPT

FIGURE_SCRIPT = "bindlib-figure.js"
_HTML_BUILDERS = ("html", "dirhtml", "singlehtml")


class FigureRenderer:
    """The MyST-NB plugin: ``myst_nb.mime_renderers`` in ``pyproject.toml`` names it.

    It accepts the bundles that `Figure` wrote and leaves every other output to MyST-NB. A bare Altair chart has
    no alt text and is left too, which fails a build that treats warnings as errors.
    """

    mime_priority_overrides = tuple((builder, SPEC_MIME, 1) for builder in _HTML_BUILDERS)

    @staticmethod
    def handle_mime(renderer, data, inline: bool) -> list[nodes.Node] | None:
        """The docutils nodes of one output of a cell, or None to decline it."""
        own = data.output_metadata.get(data.mime_type, {})
        if data.mime_type == "image/png" and "alt" in own:
            return [_with_alt(node, own["alt"]) for node in renderer.render_image(data)]
        if inline or data.mime_type != SPEC_MIME or "bindlib" not in data.content.get("usermeta", {}):
            return None
        renderer.add_js_file("bindlib_vega", VEGA_SCRIPT, {"defer": "defer"})
        renderer.add_js_file("bindlib_figure", FIGURE_SCRIPT, {"defer": "defer"})
        before, after = figure_html(data.content, own["height"])
        picture = nodes.image(uri=_write_still(renderer, own["still"]), alt=data.content["usermeta"]["bindlib"]["alt"])
        return [nodes.raw("", before, format="html"), picture, nodes.raw("", after, format="html")]


def figure_html(spec: dict, height: int) -> tuple[str, str]:
    """The markup of a figure before and after its still picture; ``height`` in CSS pixels is kept free for it."""
    words = spec["usermeta"]["bindlib"]
    drawn = {key: value for key, value in spec.items() if key not in ("usermeta", "background")}
    if takes_page_width(spec):
        drawn["width"] = "container"
    controls = [Control.of(param) for param in spec.get("params", ()) if "bind" in param]
    box = "bindlib-figure__chart" if takes_page_width(spec) else "bindlib-figure__chart bindlib-figure__chart--fixed"
    # The picture itself carries the alt text; the figure around it only says what kind of thing it is.
    kind = "Interactive figure" if controls else "Figure"
    before = (
        f'<figure class="bindlib-figure" aria-label="{kind}">{_prompt_html(words["prompt"], words["answer"])}'
        f'<div class="{box}" role="img" aria-label="{escape(words["alt"])}" style="--height: {height}px">'
        # Vega gives every mark a role but no name: the label above stands for all of them.
        '<div aria-hidden="true"></div></div><noscript>'
    )
    at_first = words["grid"][0]["shown"] if words["grid"] else {}
    after = (
        f'</noscript><div class="bindlib-figure__controls">{"".join(map(_control_html, controls))}</div>'
        f"{_readouts_html(words['readouts'], at_first)}{_table_html(words['table'], words['columns'])}"
        f'<script type="application/json" class="bindlib-figure__spec">{script_json(drawn)}</script></figure>'
    )
    return before, after


def script_json(value) -> str:
    """JSON that is safe inside a script element: no ``<`` survives to end it or to open a comment."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _prompt_html(prompt: str | None, answer: str | None) -> str:
    if not prompt:
        return ""
    folded = f"<details><summary>Answer</summary>{escape(answer)}</details>" if answer else ""
    return f'<div class="bindlib-figure__prompt"><strong>Predict first.</strong> {escape(prompt)}{folded}</div>'


def _control_html(control: Control) -> str:
    """What Vega will put in the place of this, so that nothing moves then; it can be used when Vega's is there."""
    match control.kind:
        case "range":
            shown = f'<input type="range" disabled><span>{control.value}</span>'
        case "select":
            shown = f"<select disabled><option>{escape(max(control.labels, key=len))}</option></select>"
        case "checkbox":
            shown = '<input type="checkbox" disabled>'
    name = f'<span class="vega-bind-name">{escape(control.label)}</span>'
    return f'<div class="vega-bind"><label>{name}{shown}</label></div>'


def _readouts_html(readouts: list[dict], at_first: dict[str, Any]) -> str:
    if not readouts:
        return ""
    rows = "".join(_readout_html(r["signal"], r["label"], r["format"], at_first.get(r["signal"], "")) for r in readouts)
    # The list changes at every step of a drag, so only the second element, filled when the drag rests, is announced.
    # The class "simple" keeps the theme's margins for definition lists away.
    return (
        f'<dl class="bindlib-figure__readouts simple">{rows}</dl>'
        '<p class="bindlib-figure__spoken" role="status" aria-live="polite"></p>'
    )


def _readout_html(signal: str, label: str, form: str, value: Any) -> str:
    """A readout as the page's script will write it; one in words is marked for the style sheet."""
    number = form and isinstance(value, int | float) and not isinstance(value, bool)
    text = format(value, form).replace("-", "−") if number else str(value)
    words = "" if form and not re.search(r"\s", text) else " data-words"
    return (
        f'<div><dt>{escape(label)}</dt><dd data-signal="{escape(signal)}" data-value="" data-format="{escape(form)}"'
        f"{words}>{escape(text)}</dd></div>"
    )


def _table_html(rows: list[dict], columns: list[str]) -> str:
    if not rows:
        return ""
    table = Table(rows, tuple(columns), digits=4)._repr_html_()
    return f'<details class="bindlib-figure__data"><summary>The numbers in this figure</summary>{table}</details>'


def _write_still(renderer, png: str) -> str:
    content = base64.b64decode(png)
    return renderer.write_file([f"{hashlib.sha256(content).hexdigest()}.png"], content, overwrite=False, exists_ok=True)


def _with_alt(image: nodes.image, alt: str) -> nodes.image:
    image["alt"] = alt
    return image
