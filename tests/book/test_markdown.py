"""The positions found in MyST text, against MyST's own parser."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from bindlib.book import markdown

MYST = create_md_parser(
    MdParserConfig(enable_extensions={"colon_fence", "dollarmath", "amsmath", "deflist"}), RendererHTML
)

ROLE = "{eval}`x`"
PLACES = {
    "text": f"The cap is {ROLE}.",
    "heading": f"## About {ROLE}",
    "list": f"- one\n- {ROLE}\n  1. {ROLE}",
    "quote": f"> says {ROLE}\n> and more",
    "emphasis": f"**{ROLE}**",
    "table": f"| a | b |\n|---|---|\n| {ROLE} | 1 |",
    "directive": f"```{{note}}\n:class: tip\n{ROLE}\n```",
    "title": f":::{{prf:theorem}} At most {ROLE}\n:label: thm-x\ntext\n:::",
    "nested": f"::::{{exercise}}\n:::{{dropdown}} Solution\n| a |\n|---|\n| {ROLE} |\n:::\n::::",
    "in a list": f"- item\n\n  ```{{note}}\n  {ROLE}\n  ```",
    "longer ticks": "{eval}``x``",
    "after a stray tick": f"a stray ` tick\n\n{ROLE}",
    "after money": f"it costs \\$5 and {ROLE} or \\$6",
    "dash": f"term\n: {ROLE}",
}
ELSEWHERE = {
    "code span": "`{eval}` and ``{eval}`x` ``",
    "fence": f"```python\n{ROLE}\n```",
    "tilde fence": f"~~~\n{ROLE}\n~~~",
    "nested fence": f"````{{note}}\n```md\n{ROLE}\n```\n````",
    "code directive": f"```{{code-block}} md\n{ROLE}\n```",
    "indented code": f"text\n\n    {ROLE}",
    "escaped": "\\{eval}`x`",
    "maths": f"$a = {ROLE}$",
    "display maths": f"$$\na = {ROLE}\n$$",
    "maths directive": f"```{{math}}\n{ROLE}\n```",
    "comment": f"% {ROLE}",
    "other role": "{math}`x` {cite}`eval`",
}


def roles(text: str) -> list[str]:
    return [span.text for span in markdown.spans(text) if span.kind == "eval"]


def myst_roles(text: str) -> list[str]:
    """The same by MyST's tokens; only directive bodies, which Sphinx parses later, are opened by hand."""
    found = []
    for token in MYST.parse(text):
        if token.type in ("fence", "colon_fence") and token.info.startswith("{"):
            name, _, title = token.info[1:].partition("}")
            if name not in markdown.VERBATIM | {"math"}:
                found += myst_roles(title.strip()) + myst_roles(token.content)
        for child in token.children or ():
            if child.type == "myst_role" and child.meta["name"] == "eval":
                found.append(child.content)
    return found


@given(
    st.lists(st.sampled_from([*PLACES.values(), *ELSEWHERE.values(), "plain `code` $m$ text", "% note"]), max_size=6)
)
def test_the_roles_are_those_that_myst_parses(blocks):
    text = "\n\n".join(blocks)
    assert roles(text) == myst_roles(text)


# Without brackets and unpaired dollars, where markdown-it itself is not consistent.
PIECES = ["`", "``", "{eval}", ROLE, "$a$", "\\`", " ", "\n", "\n\n", ">", "- ", "|", "a", "*", "<b>"]
PIECES += ["```", "```{note}", "\n```\n", ":::{tip} t\n", "\n:::\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_pieces_in_any_order_are_read_as_myst_reads_them(text):
    assert [" ".join(role.split("\n")) for role in roles(text)] == myst_roles(f"{text}\n")


@given(st.text("`{}eval$x\\ \n>-|:", max_size=30))
def test_any_text_is_covered_in_order_without_overlap(text):
    end = 0
    for span in markdown.spans(text):
        assert end <= span.start < span.end <= len(text)
        end = span.end


def test_every_place_has_its_roles_and_no_other_place_has_one():
    assert [name for name, text in PLACES.items() if len(roles(text)) != text.count("{eval}")] == []
    assert [name for name, text in ELSEWHERE.items() if roles(text)] == []


def test_a_role_is_where_its_span_says():
    for text in PLACES.values():
        for span in markdown.spans(text):
            if span.kind == "eval":
                assert text[span.start : span.end].strip("`") in ("{eval}`x", "{eval}``x")


def test_blanking_keeps_every_other_character_in_place():
    text = "a `b\nc` d {eval}`e` f"
    assert markdown.blank(text, set(markdown.spans(text))) == "a   \n   d           f"
    assert markdown.line_of(text, text.index("d")) == 2
