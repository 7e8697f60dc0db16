"""What the book's sources and executed pages must keep to."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from bindlib.book import kernel, markdown, prose
from bindlib.book.cache import Parameters
from bindlib.book.layout import Book, files, read_text
from bindlib.book.notebook import Notebook, leftovers, numbered, read, source, tags

MAX_DEF_LINES = 5

_RESULT = re.compile(
    r"""(?:\d|(?<![\w.)]))(?:\.|\{[.,]\})\d+  # 0.5, .5, 0{,}5
      | \b\d+e[-+]?\d+                     # 1e-3
      | \d+(?:\s|\\[,:;!\ ])?(?:\\?[%‰‱％﹪٪]|per\s?cent|per\s?mille?\b|pct\b)""",
    re.VERBOSE | re.IGNORECASE,
)
# Lines that hold no prose: sizes of figures, files that a directive names, targets of [links].
_NO_PROSE = re.compile(
    r"""^\s* (?: :(?:width|height|scale|figwidth|widths):
            | [`~:]{3,}\{(?:figure|image|include|download)\}
            | \[(?!\^)[^\]\n]+\]: ) .*$""",
    re.MULTILINE | re.VERBOSE,
)
_ENTITY = re.compile(r"&(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z]+);", re.IGNORECASE)
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """A fault in a source file; ``cell`` and ``line`` count from 1, and are 0 where they say nothing."""

    file: str
    cell: int
    line: int
    message: str

    def __str__(self) -> str:
        places = [f"cell {self.cell}"] * bool(self.cell) + [f"line {self.line}"] * bool(self.line)
        return f"{', '.join([self.file, *places])}: {self.message}"


def source_findings(book: Book) -> list[Finding]:
    """Every fault in the committed sources of the book: its pages, and all of ``chapters/``, listed or not."""
    folder = book.root / "chapters"
    listed = {page.source for page in book.pages}
    found = []
    for path in sorted(listed | set(files(folder) if folder.is_dir() else ())):
        name = path.relative_to(book.root).as_posix()
        if path.suffix == ".ipynb":
            found += (Finding(name, *rest) for rest in _notebook(path))
        elif path.suffix == ".md":
            found += (Finding(name, 0, *rest) for rest in _page(read_text(path)))
    return found


def page_faults(notebook: Notebook) -> Iterator[str]:
    """What keeps an executed notebook from being a page: a cell that did not run, errors, warnings, endless output."""
    for cell in notebook["cells"]:
        number = cell.get("metadata", {}).get(prose.ORIGIN, {}).get("cell", 0)
        if cell["cell_type"] == "code" and cell.get("execution_count") is None and source(cell).strip():
            yield f"cell {number} was not executed (tagged skip-execution?): what it checks is unchecked"
        yield from (f"cell {number} left {fault}" for fault in kernel.faults(cell.get("outputs", ())))
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                yield f"cell {number} left an error: {output['ename']}: {output['evalue']}"
            elif output.get("name") == "stderr":
                text = kernel.shortened("".join(output["text"]).strip())
                yield f"cell {number} wrote to stderr, which would stand on the page:\n{text}"


def bare_results(text: str) -> Iterator[tuple[int, str]]:
    """Decimals and percentages typed in a Markdown text, as pairs of line and snippet.

    Maths is searched too; code, computed values, citations, links and the sizes of figures are not.
    """
    text = _ENTITY.sub(_number_part, text)
    hidden = {span for span in markdown.spans(text) if span.kind in ("code", "eval", "link", "markup") or _cites(span)}
    seen = _NO_PROSE.sub(lambda match: " " * len(match[0]), markdown.blank(text, hidden))
    for match in _RESULT.finditer(seen):
        around = text[max(0, match.start() - 30) : match.end() + 30]
        yield markdown.line_of(text, match.start()), " ".join(around.split())


def _number_part(entity: re.Match) -> str:
    """The character of an HTML entity that may be a part of a number or its unit; any other entity as it is."""
    character = unescape(entity[0])
    part = (
        character in ".,%‰‱％﹪٪"
        or character.isdigit()
        or (character.isspace() and character.splitlines() == [character])
    )
    return character if part else entity[0]


def stray_roles(text: str) -> Iterator[tuple[int, str]]:
    """``{eval}`` roles where none is evaluated, as pairs of line and snippet: in maths or raw HTML."""
    for span in markdown.spans(text):
        inside = text[span.start : span.end]
        if span.kind in ("math", "html") and "{eval}`" in inside:
            yield markdown.line_of(text, span.start + inside.index("{eval}`")), " ".join(inside.split())[:60]


def long_definitions(code: str) -> Iterator[tuple[int, str]]:
    """Functions of more than ``MAX_DEF_LINES`` lines in a cell's code, as pairs of line and name."""
    for node in ast.walk(ast.parse(_MAGIC.sub(r"\1pass", code))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_DEF_LINES:
                yield node.lineno, node.name


def _cites(span: markdown.Span) -> bool:
    return span.role == "cite" or span.role.startswith("cite:")


def _page(text: str) -> Iterator[tuple[int, str]]:
    yield from _prose(text)
    for role in prose.roles(text):
        yield markdown.line_of(text, role.start), "{eval} needs a notebook: a Markdown page has no kernel"


def _prose(text: str) -> Iterator[tuple[int, str]]:
    for line, snippet in bare_results(text):
        yield line, f"a typed result, {snippet!r}: compute it with {{eval}}, or put it in `code` if it is none"
    for line, snippet in stray_roles(text):
        yield line, f"{{eval}} is not evaluated in maths or HTML, {snippet!r}: move it into the text"


def _notebook(path: Path) -> Iterator[tuple[int, int, str]]:
    notebook = read(path)
    for cell, what in leftovers(notebook):
        yield cell, 0, f"holds {what}: run .venv/bin/nbstripout on the file"
    for number, cell in numbered(notebook):
        if cell["cell_type"] != "code":
            yield from ((number, *rest) for rest in _prose(source(cell)))
    for number, cell in numbered(notebook, "code"):
        yield from ((number, *rest) for rest in _code(source(cell)))
    yield from _parameters(notebook)


def _code(code: str) -> Iterator[tuple[int, str]]:
    try:
        for line, name in long_definitions(code):
            yield line, f"{name} is longer than {MAX_DEF_LINES} lines: move it into bindlib"
    except SyntaxError as error:
        yield error.lineno or 1, f"is not Python: {error.msg}"


def _parameters(notebook: Notebook) -> Iterator[tuple[int, int, str]]:
    cells = [(number, cell) for number, cell in numbered(notebook, "code") if "parameters" in tags(cell)]
    if len(cells) != 1:
        yield 0, 0, f"needs one code cell tagged 'parameters', has {len(cells)}"
        return
    number, cell = cells[0]
    if "hide-input" not in tags(cell):
        yield number, 0, "the parameters cell needs the tag 'hide-input' too"
    for name in Parameters().to_dict():
        if not re.search(rf"^{name}\b[^=\n]*=", source(cell), re.MULTILINE):
            yield number, 0, f"the parameters cell does not set {name}"
