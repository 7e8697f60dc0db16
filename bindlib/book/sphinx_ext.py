"""The Sphinx extension of the book: our style sheet, and libraries that come with the pages instead of a CDN."""

from html import escape
from pathlib import Path

from bindlib import __version__
from bindlib.book import vendor

_STATIC = Path(__file__).parent / "static"


def setup(app) -> dict:
    """Register with Sphinx."""
    app.connect("config-inited", _configure)
    app.connect("builder-inited", _add_static_files)
    # Before any page is written, so that Sphinx finds the files when it computes their checksums.
    app.connect("env-updated", _write_libraries)
    app.connect("html-collect-pages", _write_start_page)
    app.connect("build-finished", _thin_icons)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}


def _configure(app, config) -> None:
    config.mathjax_path = vendor.MATHJAX_SCRIPT
    config.html_favicon = config.html_logo = str(_STATIC / "bindlib-mark.svg")


def _add_static_files(app) -> None:
    app.config.html_static_path.append(str(_STATIC))
    app.add_css_file("bindlib.css")
    app.add_js_file("bindlib-page.js", defer="defer")


def _write_libraries(app, env) -> None:
    if app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    vendor.write_vega(static)
    vendor.copy_mathjax(static)


def _thin_icons(app, fault) -> None:
    html, script = Path(app.outdir), Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    if fault or app.builder.format != "html" or not script.is_file():
        return
    others = (path for kind in ("*.html", "*.js") for path in html.rglob(kind) if path != script)
    vendor.thin_icons(script, vendor.icons_in(path.read_text(encoding="utf-8") for path in others))


def _write_start_page(app) -> tuple:
    """``index.html`` where the book's first page has another name: what the contents extension writes has no icon."""
    if app.builder.name in ("html", "dirhtml") and app.config.root_doc != "index":
        first, title = app.builder.get_target_uri(app.config.root_doc), escape(app.config.html_title)
        (Path(app.outdir) / "index.html").write_text(_START_PAGE.format(title=title, url=first), encoding="utf-8")
    return ()


_START_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/bindlib-mark.svg" type="image/svg+xml">
<meta http-equiv="refresh" content="0; url={url}">
<p><a href="{url}">{title}</a></p>
"""
