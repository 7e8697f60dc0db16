"""Computed prose: ``{eval}`expression` `` in a Markdown cell shows a value of the notebook's own run.

JupyterLab renders the role live.  For the built page every expression is evaluated by a hidden cell just before the
Markdown cell that holds it, and its ``str()`` takes the place of the role.
"""

import re
from copy import deepcopy

from bindlib.book import markdown
from bindlib.book.notebook import Cell, Notebook, numbered, source
from bindlib.errors import CheckFailed, printable

MIME = "application/vnd.bindlib.prose+json"
ORIGIN = "bindlib"  # the metadata key that says which committed cell a cell of the run stands for
COMPUTED = "bindlib_computed"  # the metadata key under which a page's cell keeps its expressions and their values
UNKNOWN = "…"

_RECORD = "__import__('bindlib.book.prose', fromlist=['record']).record(globals(), {!r})"
_LINE_OPENING = re.compile(r"(?:[\s>*+:-]|\d+[.)]\s)*")
# Quotes too: an escaped one is not made a curly one.
_SPECIAL = re.compile(r"""([\\`*_{}\[\]<>&$|~#^@'"])""")


def roles(text: str) -> list[markdown.Span]:
    """The ``{eval}`` roles of a Markdown text; those in code, maths or raw HTML are none."""
    return [span for span in markdown.spans(text) if span.kind == "eval"]


def substitute(text: str, values: list[str]) -> str:
    """``text`` with its roles replaced by ``values``, in order, escaped to show as they are."""
    for span, value in reversed(list(zip(roles(text), values, strict=True))):
        line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
        text = text[: span.start] + escape(value, opens_line=bool(_LINE_OPENING.fullmatch(line))) + text[span.end :]
    return text


def escape(value: str, opens_line: bool = False) -> str:
    """Markdown that shows ``value`` on one line, also where a digit or sign would open a list or a heading.

    Characters that cannot be seen are spelled out.
    """
    value = printable(" ".join(value.split()))
    opener = value[:1] if opens_line and value[:1].isascii() and not value[:1].isalpha() else ""
    return (f"&#{ord(opener)};" if opener else "") + _SPECIAL.sub(r"\\\1", value[len(opener) :])


def instrument(notebook: Notebook) -> Notebook:
    """A copy to execute: every cell knows its number, and hidden cells evaluate the roles of the cell after them."""
    notebook = deepcopy(notebook)
    cells = []
    for number, cell in numbered(notebook):
        if cell["cell_type"] == "markdown" and (found := roles(source(cell))):
            cells.append(_recorder(notebook, number, [" ".join(role.text.split("\n")) for role in found]))
        cell.setdefault("metadata", {})[ORIGIN] = {"cell": number}
        cells.append(cell)
    notebook["cells"] = cells
    return notebook


def settle(executed: Notebook) -> Notebook:
    """A copy of the executed notebook with the committed cells only, values in place of roles, and fresh counts.

    Raises ``CheckFailed`` when a cell has more or fewer values than roles.
    """
    notebook = deepcopy(executed)
    cells, values, count = [], [], 0
    for cell in notebook["cells"]:
        origin = cell.get("metadata", {}).pop(ORIGIN, None)
        if origin is None:
            continue  # papermill's own cell
        if origin.get("recorder"):
            values = [output["data"][MIME] for output in cell["outputs"] if MIME in output.get("data", {})]
            continue
        if cell["cell_type"] == "markdown":
            _put_values(cell, origin["cell"], values)
            values = []
        if cell["cell_type"] == "code":
            count = _renumber(cell, count + 1)
        cells.append(cell)
    notebook["cells"] = cells
    return notebook


def computed(notebook: Notebook) -> list[tuple[str, str]]:
    """Every computed value of a settled notebook's text, in order: pairs of expression and value."""
    return [tuple(pair) for cell in notebook["cells"] for pair in cell.get("metadata", {}).get(COMPUTED, ())]


def _put_values(cell: Cell, number: int, values: list[dict]) -> None:
    """Write the values into the cell's text, and beside it under which expression each was computed."""
    text = source(cell)
    found = roles(text)
    if len(values) != len(found):
        problem = f"has {len(found)} {{eval}} but {len(values)} values"
        raise CheckFailed(f"cell {number} {problem}: an expression in it must not display or clear output")
    if found:
        shown = [value["value"] for value in values]
        expressions = [" ".join(role.text.split()) for role in found]
        cell.setdefault("metadata", {})[COMPUTED] = [list(pair) for pair in zip(expressions, shown, strict=True)]
        cell["source"] = substitute(text, shown)


def unknown(notebook: Notebook) -> Notebook:
    """A copy of a notebook that was not executed, with an ellipsis in place of every role."""
    notebook = deepcopy(notebook)
    for _, cell in numbered(notebook, "markdown"):
        text = source(cell)
        cell["source"] = substitute(text, [UNKNOWN] * len(roles(text)))
    return notebook


def record(namespace: dict, expression: str) -> None:
    """Evaluate one expression in the kernel and put its ``str()`` among the cell's outputs.

    Raises ``RuntimeError`` with the expression when it cannot be evaluated.
    """
    from IPython.display import display
    from IPython.utils.capture import capture_output

    try:
        with capture_output(stdout=False, stderr=False):  # the cell's outputs are to be the values alone
            value = str(eval(expression.strip(), namespace))
    except Exception as error:
        message = f"{{eval}}`{expression}` cannot be evaluated: {type(error).__name__}: {error}"
        raise RuntimeError(message) from error
    display({MIME: {"value": value}}, raw=True)


def _recorder(notebook: Notebook, number: int, expressions: list[str]) -> Cell:
    cell = {
        "cell_type": "code",
        "metadata": {ORIGIN: {"cell": number, "recorder": True}},
        "source": "\n".join(_RECORD.format(expression) for expression in expressions),
        "outputs": [],
        "execution_count": None,
    }
    # The format has had cell ids since 4.5, and refuses them before.
    return cell | ({"id": f"prose-{number}"} if notebook.get("nbformat_minor", 0) >= 5 else {})


def _renumber(cell: Cell, count: int) -> int:
    cell["execution_count"] = count
    for output in cell["outputs"]:
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
    return count
