"""The JavaScript libraries of the page, taken from pinned Python packages when the book is built.

None of it is committed. Vega comes from ``vl-convert-python``, which also draws the still pictures, so both agree;
MathJax comes from ``sphinx-mathjax-offline``, of whose 24 MB the pages load one script and its fonts.  The theme brings
every icon there is in one script, of which the pages get those that they show.
"""

import re
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import vl_convert

from bindlib.errors import BindlibError

VEGA_SCRIPT = f"vega-{vl_convert.get_vega_version()}-bundle.js"
MATHJAX_SCRIPT = "mathjax/tex-chtml.js"

# The extensions are small, and MathJax fetches one only when a formula uses its macro.
_MATHJAX_FOLDERS = ("output/chtml/fonts/woff-v2", "input/tex/extensions")
_EXPORTS = "window.vegaEmbed = vegaEmbed;"
# In Font Awesome's script: name: [width, height, [other names and code points], "code point", outline or outlines].
_ICON = re.compile(
    r"""(?P<name>"[\w-]+"|[\w$]+):\[\d+,\d+,\[(?P<others>[^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\["[^"]*"(?:,"[^"]*")*\])\],?"""
)


def write_vega(static: Path) -> Path:
    """Write Vega, Vega-Lite and vega-embed as one plain script into ``static`` (about 0.9 MB), unless it is there."""
    target = static / VEGA_SCRIPT
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        # The bundle declares thousands of short names: inside a function they stay out of the page's way.
        target.write_text(f"(() => {{\n{vl_convert.javascript_bundle(_EXPORTS)}\n}})();\n", encoding="utf-8")
    return target


def copy_mathjax(static: Path) -> Path:
    """Copy the part of MathJax that a page can load into ``static/mathjax``."""
    package = find_spec("sphinx-mathjax-offline")
    if package is None:
        raise BindlibError("MathJax is missing: pip install -c constraints.txt sphinx-mathjax-offline")
    source, target = Path(package.origin).parent / "static" / "mathjax", static / "mathjax"
    for folder in _MATHJAX_FOLDERS:
        shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)
    shutil.copy(source / "tex-chtml.js", target)
    return target


def icons_in(texts: Iterable[str]) -> set[str]:
    """The names of the icons that pages, styles and scripts speak of."""
    return {name for text in texts for name in re.findall(r"\bfa-([a-z0-9-]+)", text)}


def thin_icons(script: Path, names: set[str]) -> None:
    """Leave in Font Awesome's ``script`` (1.5 MB) the outlines of the icons called ``names``."""

    def kept(icon: re.Match) -> str:
        own = {icon["name"].strip('"'), *re.findall(r'"([\w-]+)"', icon["others"])}
        return icon[0] if own & names else ""

    script.write_text(_ICON.sub(kept, script.read_text(encoding="utf-8")), encoding="utf-8")
