"""Computed prose: what is shown is the value, as it is, wherever the role stands."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from tiny_books import code, md, notebook

from bindlib.book import prose
from bindlib.book.notebook import source
from bindlib.errors import CheckFailed

# Another reader of Markdown than the one that found the role.
RENDER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(myst_role_plugin).use(dollarmath_plugin)


def shown(text: str) -> str:
    """What a reader sees of a single paragraph."""
    html = RENDER.render(text).strip()
    assert html.startswith("<p>") and html.endswith("</p>") and html.count("<") == 2, html
    return unescape(html[3:-4])


@pytest.mark.parametrize(
    "value",
    [
        "a<b>c</b>",
        "<https://a.b>",
        "<!-- c -->",
        "</p>",
        "x &amp; y",
        "&lt;b&gt;",
        "&#65;",
        "&#x41;",
        r"\&amp;",
        "a & b < c",
        r"\*a\*",
        "`a`",
        "*a*",
        "__a__",
        "{eval}`a`",
        "{a}",
        "[a](b)",
        "![a](b)",
        "a > b",
        "$a$",
        "~~a~~",
        "# a",
        "a^b",
        "a@b.c",
    ],
)
def test_tags_entities_and_marks_are_shown_as_they_are(value):
    """Fixed examples: a drawn text is a tag or an entity too rarely."""
    assert shown(prose.substitute("{eval}`v` end", [value])) == f"{value} end"
    assert shown(prose.substitute("so {eval}`v` ends", [value])) == f"so {value} ends"


AWKWARD = st.text(st.sampled_from("0123456789.-+*_`{}[]()<>&$|~#^@!\\=:% ab"), min_size=1, max_size=12)


@given(AWKWARD | st.text(min_size=1, max_size=12))
def test_a_value_is_shown_as_it_is_at_the_start_of_a_line_and_within(value):
    value = " ".join(value.split())
    if value.isprintable() and value:
        assert shown(prose.substitute("{eval}`v` end", [value])) == f"{value} end"
        assert shown(prose.substitute("so {eval}`v` ends", [value])) == f"so {value} ends"


@pytest.mark.parametrize("opening", ["- ", "> ", "1. ", "* > "])
def test_a_number_that_opens_a_line_opens_no_list(opening):
    html = RENDER.render(prose.substitute(f"{opening}{{eval}}`n`. And then", ["12"]))
    assert html.count("<li>") + html.count("<blockquote>") == len(opening.split())
    assert "12. And then" in unescape(html)


def test_a_value_stays_in_its_table_cell():
    html = RENDER.render(prose.substitute("| a | b |\n|---|---|\n| {eval}`v` | 1 |", ["x|y\nz"]))
    assert "<td>x|y z</td>" in html and html.count("<td>") == 2


def test_only_roles_are_replaced():
    text = "`{eval}` shows {eval}`x`, in maths ${eval}`x`$ nothing\n\n```python\n{eval}`x`\n```"
    assert prose.substitute(text, ["7"]) == text.replace("{eval}`x`, in", "7, in")
    assert prose.roles(prose.substitute(text, ["{eval}`x`"])) == []
    with pytest.raises(ValueError):
        prose.substitute(text, [])


def run(instrumented: dict, monkeypatch) -> dict:
    """A kernel in a few lines: runs the cells in order and keeps what is displayed."""
    namespace = {}
    for number, cell in enumerate(instrumented["cells"]):
        if cell["cell_type"] == "code":
            outputs = []
            show = lambda data, raw, outputs=outputs: outputs.append({"output_type": "display_data", "data": data})  # noqa: E731
            monkeypatch.setattr("IPython.display.display", show)
            exec(source(cell), namespace)
            cell |= {"outputs": outputs, "execution_count": number}
    return instrumented


def test_values_are_those_at_the_place_of_the_cell(monkeypatch):
    book = notebook(
        code("x = 1"),
        md("first {eval}`x` and {eval}`x + 1`"),
        md("none here"),
        code("x = 10"),
        md("then {eval}`f'{x:.2f}'` and {eval}`sum(\nrange(x))`"),
    )
    settled = prose.settle(run(prose.instrument(book), monkeypatch))
    assert [source(cell) for cell in settled["cells"]] == [
        "x = 1",
        "first 1 and 2",
        "none here",
        "x = 10",
        "then 10.00 and 45",
    ]
    assert [cell.get("execution_count") for cell in settled["cells"]] == [1, None, None, 2, None]
    assert all("bindlib" not in cell["metadata"] for cell in settled["cells"])


def test_the_notebook_itself_is_left_alone():
    book = notebook(md("{eval}`x`"))
    before = str(book)
    prose.instrument(book)
    assert prose.unknown(book)["cells"][0]["source"] == "…"
    assert str(book) == before


def test_an_expression_that_fails_is_named():
    with pytest.raises(RuntimeError, match=r"\{eval\}`1 / 0` cannot be evaluated: ZeroDivisionError"):
        prose.record({}, "1 / 0")
    with pytest.raises(RuntimeError, match="SyntaxError"):
        prose.record({}, "1 +")


def test_what_cannot_be_seen_is_spelled_out_and_quotes_stay_straight():
    smart = MarkdownIt("commonmark", {"typographer": True}).enable("smartquotes")
    html = smart.render(prose.substitute('so {eval}`v` it is, "quoted"', ["'a' \"b\" \x1b[2J\u202e"]))
    assert unescape(html) == "<p>so 'a' \"b\" \\x1b[2J\\u202e it is, “quoted”</p>\n"


def test_more_or_fewer_values_than_roles_are_an_error_that_names_the_cell():
    book = prose.instrument(notebook(md("# One"), md("{eval}`x`")))
    value = {"output_type": "display_data", "data": {prose.MIME: {"value": "1"}}}
    for outputs in ([], [value, value]):
        book["cells"][1]["outputs"] = outputs
        with pytest.raises(CheckFailed, match=r"cell 2 has 1 \{eval\} but"):
            prose.settle(book)
