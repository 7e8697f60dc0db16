"""Where things are in a MyST page: which stretches of its source are code, maths, roles, links.

The block structure (fences, directives, tables, quotes) comes from markdown-it with the plugins that MyST uses;
markdown-it gives no positions inside a paragraph, so what lies there is found by one regular expression.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin

Kind = Literal["code", "math", "html", "markup", "link", "role", "eval"]

# Directives whose body is not parsed as Markdown.
VERBATIM = {"code", "code-block", "code-cell", "sourcecode", "highlight", "literalinclude", "parsed-literal", "raw"}
VERBATIM |= {"eval-rst", "mermaid", "doctest", "testcode", "prompt"}

_INLINE = re.compile(
    r"""
    \\.
    | \{(?P<role>[a-zA-Z0-9_:+-]+)\}(?P<role_ticks>`+)(?!`)(?P<text>.+?)(?P=role_ticks)
    | (?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))
    | `+
    | (?P<math>\$\$.+?(?<!\\)\$\$ | \$.+?(?<!\\)\$)
    | (?P<link>\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"\n]*")?\) | <?https?://[^\s<>]+>?)
    | (?P<markup></?[A-Za-z][^<>]*> | <!--.*?-->)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\{([^}\s]+)\}")


@dataclass(frozen=True)
class Span:
    """``source[start:end]`` is of this ``kind``; for a role, ``role`` is its name and ``text`` what it holds.

    An ``{eval}`` role has the kind ``"eval"`` where MyST would parse a role in running text, and is part of a
    ``"math"``, ``"code"`` or ``"html"`` span elsewhere.
    """

    start: int
    end: int
    kind: Kind
    role: str = ""
    text: str = ""


def spans(source: str) -> list[Span]:
    """The parts of ``source`` that are not plain text, in order and without overlap."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = []
    for kind, first, last in sorted(set(_blocks(source, 0)), key=lambda block: block[1:]):
        start, end = starts[first], starts[min(last, len(lines))]
        found += _inline(source, start, end) if kind == "prose" else [Span(start, end, kind)]
    return found


def blank(source: str, hidden: set[Span]) -> str:
    """``source`` with these spans overwritten by spaces, line breaks kept, so that positions stay true."""
    for span in hidden:
        empty = re.sub(r"[^\n]", " ", source[span.start : span.end])
        source = source[: span.start] + empty + source[span.end :]
    return source


def line_of(source: str, position: int) -> int:
    """The line, counted from 1, that ``position`` lies on."""
    return source.count("\n", 0, position) + 1


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    for plugin in (front_matter_plugin, myst_block_plugin, footnote_plugin, dollarmath_plugin):
        parser.use(plugin)
    for plugin in (colon_fence_plugin, amsmath_plugin, deflist_plugin):
        parser.use(plugin)
    return parser.disable(["footnote_inline", "footnote_tail"])


_PARSER = _parser()


def _blocks(source: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """The kinds of the lines ``first..last - 1``, where ``offset`` is the number of lines above ``source``."""
    # The plugin for colon fences looks past the end of a text that ends inside a quoted fence.
    for token in _PARSER.parse(f"{source}\n"):
        if token.map is None:
            continue
        first, last = token.map[0] + offset, token.map[1] + offset
        if token.type == "inline":
            yield "prose", first, last
        elif token.type in ("fence", "colon_fence"):
            yield from _fence(token, first, last)
        elif token.type == "code_block":
            yield "code", first, last
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            yield "math", first, last
        elif token.type == "html_block":
            yield "html", first, last
        elif token.type in ("front_matter", "myst_line_comment", "myst_target", "myst_block_break"):
            yield "markup", first, last


def _fence(token, first: int, last: int) -> Iterator[tuple[str, int, int]]:
    directive = _DIRECTIVE.match(token.info.strip())
    if directive is None or directive[1] in VERBATIM:
        yield "code", first, last
    elif directive[1] == "math":
        yield "math", first, last
    else:
        yield "prose", first, first + 1  # the title
        yield from _blocks(token.content, first + 1)


def _inline(source: str, start: int, end: int) -> Iterator[Span]:
    for match in _INLINE.finditer(source, start, end):
        kind = match.lastgroup
        if match["role"]:
            kind = {"eval": "eval", "math": "math", "code": "code"}.get(match["role"], "role")
            yield Span(*match.span(), kind, match["role"], match["text"])
        elif kind is not None:
            kind = next(name for name in ("code", "math", "link", "markup") if match[name])
            yield Span(*match.span(), kind)
