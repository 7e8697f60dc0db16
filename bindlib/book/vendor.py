"""The JavaScript libraries of the page, taken from pinned Python packages when the book is built.

None of it is committed. Vega comes from ``vl-convert-python``, which also draws the still pictures, so both agree;
MathJax comes from ``sphinx-mathjax-offline``, of whose 24 MB the pages load one script and its fonts.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

import vl_convert

from bindlib.errors import BindlibError

VEGA_SCRIPT = f"vega-{vl_convert.get_vega_version()}-bundle.js"
MATHJAX_SCRIPT = "mathjax/tex-chtml.js"

# The extensions are small, and MathJax fetches one only when a formula uses its macro.
_MATHJAX_FOLDERS = ("output/chtml/fonts/woff-v2", "input/tex/extensions")
_EXPORTS = "window.vegaEmbed = vegaEmbed;"


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
