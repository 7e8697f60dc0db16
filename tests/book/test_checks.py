"""The rules for sources, each broken once."""

import pytest
from tiny_books import PARAMETERS, code, make_book, md, notebook, write

from bindlib.book.checks import bare_results, long_definitions, page_faults, source_findings, stray_roles
from bindlib.book.kernel import FAULT
from bindlib.book.layout import Book

TYPED = [
    "The cap is 0.667 here.",
    "It rose by 12%.",
    "It rose by 12 percent.",
    "It rose by 12 pct.",
    "It rose by 12‰.",
    "It rose by 12％.",
    "It rose by 12&percnt;.",
    "It rose by 12&nbsp;&#37;.",
    "It rose by 12&#x25;.",
    "A cap of 0&period;5.",
    "Also $50\\,\\%$ of it.",
    "It rose by 12 per\ncent.",
    "A cap of .5 is reached.",
    "A slack of 1e-3.",
    "A cap of $0{,}25$.",
    "It rose by 12 %.",
    "A cap of $\\delta = 0.25$.",
    "Also $50\\%$ of it.",
    "$$\n\\kappa = 1.5\n$$",
    "```{math}\n\\kappa = 1.5\n```",
    "| a | b |\n|---|---|\n| 1.5 | x |",
    "```{note}\n:class: tip\nSo 0.5 it is.\n```",
    ":::{prf:theorem} At most 0.5\ntext\n:::",
    "<div>\n0.5\n</div>",
    "A [cap of 0.5](there.md).",
    "{strong}`0.5`",
    "Text[^1].\n\n[^1]: A cap of 0.5.",
    "```{figure} a.svg\n:alt: a cap of 0.5\n```",
]
ALLOWED = [
    "Two thirds, $2/3$, of 12 captions; in 2024.",
    "The cap is {eval}`f'{0.667:.2f}'`.",
    "Use `tolerance=0.01` and ``1.5``.",
    "```python\nx = 0.5\n```",
    ":::{code-block} python\nx = 0.5\n:::",
    "text\n\n    x = 0.5",
    "See {cite}`smith2.5` and {cite:t}`a1.2`.",
    "At <https://x.org/v1.2> or https://x.org/1.2 or [here](https://x.org/1.2_(b)).",
    "[here]: https://x.org/1.2",
    "```{figure} v1.2/a.svg\n:width: 50%\nCaption.\n```",
    "% a comment: 0.5",
    "The sets $\\{1,2\\}$, {1,2} and $\\{0, 1\\}$; 12 pcts &amp; &lt; 3.",
    "`12&percnt;`",
    "(sec-1.2)=\n# Title",
]


@pytest.mark.parametrize("text", TYPED)
def test_a_typed_result_is_found(text):
    assert len(list(bare_results(text))) == 1


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_no_result_passes(text):
    assert list(bare_results(text)) == []


def test_the_line_and_a_snippet_are_named():
    assert list(bare_results("one\n\n- two\n- the cap is 0.5\n  percent")) == [
        (4, "one - two - the cap is 0.5 percent")
    ]


def test_roles_that_nothing_evaluates_are_found():
    assert [line for line, _ in stray_roles("fine {eval}`x`\n\n$a = {eval}`x`$\n\n<p>\n{eval}`x`\n</p>")] == [3, 6]
    assert list(stray_roles("`{eval}` is the role, as in ``{eval}`x` ``")) == []


def test_a_function_of_six_lines_is_found_and_one_of_five_is_not():
    body = "    x = 1\n"
    assert list(long_definitions(f"def short():\n{body * 4}")) == []
    assert list(long_definitions(f"%matplotlib inline\n\nclass A:\n    def long(self):\n{('    ' + body) * 5}")) == [
        (4, "long")
    ]


def findings(root, *cells) -> list[str]:
    return [str(finding) for finding in source_findings(make_book(root, one=list(cells)))]


def test_clean_sources_have_no_findings(tiny):
    assert findings(tiny, md("# One"), PARAMETERS, code("1 + 1"), md("so {eval}`seed`")) == []


@pytest.mark.parametrize(
    ("left", "what"),
    [
        ({"outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}]}, "outputs"),
        ({"execution_count": 3}, "an execution count"),
        ({"metadata": {"papermill": {}}}, "papermill metadata"),
        ({"metadata": {"execution": {}}}, "execution metadata"),
    ],
)
def test_what_a_run_leaves_is_found(tiny, left, what):
    assert findings(tiny, md("# One"), PARAMETERS, code("1") | left) == [
        f"chapters/one.ipynb, cell 3: holds {what}: run .venv/bin/nbstripout on the file"
    ]


def test_run_metadata_of_the_notebook_is_found(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS])
    dirty = notebook(md("# One"), PARAMETERS)
    dirty["metadata"]["widgets"] = {}
    write(tiny / "chapters/one.ipynb", dirty)
    assert [str(finding) for finding in source_findings(book)] == [
        "chapters/one.ipynb: holds widgets metadata: run .venv/bin/nbstripout on the file"
    ]


def test_typed_results_are_found_in_notebooks_and_in_pages_that_no_toc_lists(tiny):
    write(tiny / "chapters/back/note.md", "# Note\n\n0.5")
    found = findings(tiny, md("# One"), PARAMETERS, md("a\n\n0.5"))
    assert [text.split(": a typed")[0] for text in found] == [
        "chapters/back/note.md, line 3",
        "chapters/one.ipynb, cell 3, line 3",
    ]


def test_a_page_without_a_kernel_cannot_compute(tiny):
    write(tiny / "chapters/note.md", "# Note\n\n{eval}`x`")
    assert findings(tiny, PARAMETERS) == [
        "chapters/note.md, line 3: {eval} needs a notebook: a Markdown page has no kernel"
    ]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "needs one code cell tagged 'parameters', has 0"),
        ([PARAMETERS, PARAMETERS], "needs one code cell tagged 'parameters', has 2"),
        ([code("profile = device = 1\ndevice = 2", "parameters", "hide-input")], "does not set seed"),
        ([code("profile = device = seed = 1\ndevice = 2\nseed = 3", "parameters")], "needs the tag 'hide-input'"),
        ([PARAMETERS, code("def f():\n" + "    x = 1\n" * 5)], "f is longer than 5 lines"),
        ([PARAMETERS, code("1 +")], "is not Python"),
    ],
)
def test_each_rule_for_code_is_kept(tiny, cells, message):
    (found,) = findings(tiny, md("# One"), *cells)
    assert message in found


def test_errors_and_warnings_of_a_run_are_faults_and_plain_output_is_not():
    outputs = [
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": []},
        {"output_type": "stream", "name": "stderr", "text": ["warn", "ing"]},
        {"output_type": "stream", "name": "stdout", "text": "fine"},
        {"output_type": "display_data", "data": {}},
    ]
    cell = code("1") | {"outputs": outputs, "metadata": {"bindlib": {"cell": 4}}, "execution_count": 2}
    faults = list(page_faults(notebook(cell)))
    assert len(faults) == 2 and all(fault.startswith("cell 4 ") for fault in faults) and "warning" in faults[1]


def test_a_cell_that_did_not_run_is_a_fault_and_an_empty_one_is_not():
    origin = {"metadata": {"bindlib": {"cell": 4}, "tags": ["skip-execution"]}}
    assert list(page_faults(notebook(code(" \n"), md("text")))) == []
    (fault,) = page_faults(notebook(code("assert False") | origin))
    assert fault.startswith("cell 4 was not executed")


def test_output_that_was_too_long_is_a_fault_and_a_long_warning_is_cut():
    refused = {"output_type": "display_data", "data": {FAULT: "more than 7 characters"}, "metadata": {}}
    warned = {"output_type": "stream", "name": "stderr", "text": ["x" * 10**6]}
    ran = code("1") | {"metadata": {"bindlib": {"cell": 4}}, "execution_count": 2}
    first, second = page_faults(notebook(ran | {"outputs": [refused, warned]}))
    assert first == "cell 4 left more than 7 characters" and len(second) < 30_000


def test_pages_outside_chapters_and_raw_cells_are_checked_too(tiny):
    make_book(tiny, one=[md("# One"), PARAMETERS, md("0.5") | {"cell_type": "raw"}])
    write(tiny / "intro.md", "# Intro\n\n0.5")
    write(tiny / "_toc.yml", "root: intro\nchapters: [{file: chapters/one}]")
    found = [str(finding).split(": a typed")[0] for finding in source_findings(Book.find(tiny))]
    assert found == ["chapters/one.ipynb, cell 3, line 1", "intro.md, line 3"]
