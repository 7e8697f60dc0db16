"""A figure on its way to the page: what the notebook stores, and what the renderer makes of it."""

import base64
import json
import math

import altair as alt
import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from sphinx.application import Sphinx

from bindlib.book.figure import SPEC_MIME, Figure, Readout, png_size, takes_page_width
from bindlib.book.render import figure_html, script_json
from bindlib.errors import BindlibError

HOSTILE = "</script><img src=x onerror=alert(1)><!-- \"'&amp; ]]> </title></noscript>"


def chart(rows=({"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 2.0})) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_line()
        .encode(x="x:Q", y="y:Q")
        .add_params(
            alt.param(name="delta", value=0.5, bind=alt.binding_range(min=0, max=1, step=0.01, name="smoothness")),
            alt.param(name="cap", expr="2 * sqrt(2 * delta)"),
        )
    )


def figure(words: str = "A line that rises.", rows=({"encoder": "minilm", "ceiling": 0.25},)) -> Figure:
    readouts = (Readout("delta", words, ".2f"), Readout("cap", words))
    return Figure(chart([{"x": 0.0, "y": 1.0, "name": words}]), words, readouts, words, words, rows)


def on_page(spec: dict) -> dict:
    """The specification that the page's script finds."""
    soup = BeautifulSoup("".join(figure_html(spec, 300)), "html.parser")
    return json.loads(soup.find("script", class_="bindlib-figure__spec").string)


class TestBundle:
    def test_holds_the_specification_a_picture_and_words(self):
        data, metadata = figure()._repr_mimebundle_()
        assert set(data) == {SPEC_MIME, "image/png", "text/plain"}
        assert data["text/plain"] == "A line that rises."
        png = base64.b64decode(data["image/png"], validate=True)
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = png_size(png)
        assert metadata["image/png"]["width"] == width // 2
        assert metadata[SPEC_MIME] == {"still": data["image/png"], "height": height // 2}

    def test_survives_a_notebook(self):
        data, metadata = figure()._repr_mimebundle_()
        output = nbformat.v4.new_output("execute_result", data, execution_count=1, metadata=metadata)
        cell = nbformat.v4.new_code_cell("figure", outputs=[output], execution_count=1)
        notebook = nbformat.v4.new_notebook(cells=[cell])
        nbformat.validate(notebook)
        read = nbformat.reads(nbformat.writes(notebook), as_version=4)
        assert read.cells[0].outputs[0].data[SPEC_MIME] == data[SPEC_MIME]

    def test_notebook_gets_a_width_and_the_page_its_own(self):
        spec = figure().spec()
        assert (spec["width"], spec["background"]) == (640, "#ffffff")
        drawn = on_page(spec)
        assert drawn["width"] == "container"
        assert "background" not in drawn and "usermeta" not in drawn

    def test_composition_keeps_its_own_width(self):
        pair = Figure(alt.hconcat(chart(), chart()), "Two lines.").spec()
        assert "width" not in pair and "width" not in on_page(pair)
        assert not takes_page_width(chart().encode(column="x:N").to_dict())
        assert not takes_page_width(chart().facet("x:N").to_dict())

    def test_picture_does_not_depend_on_the_name_that_the_page_gives_it(self):
        assert Figure(chart(), "one").still() == Figure(chart(), "another").still()

    def test_long_titles_are_broken_and_short_ones_left(self):
        title = "a title that is a good deal longer than a telephone is wide"
        spec = Figure(chart().encode(x=alt.X("x:Q", title=title), y=alt.Y("y:Q", title=title)), "A line.").spec()
        lines = spec["encoding"]["x"]["title"]
        assert " ".join(lines) == title and max(map(len, lines)) <= 40
        assert spec["encoding"]["y"]["title"] == title


class TestMistakes:
    @pytest.mark.parametrize("words", ["", "  \n"])
    def test_no_alt_text(self, words):
        with pytest.raises(BindlibError, match="alt text"):
            Figure(chart(), words)

    def test_a_readout_of_nothing(self):
        with pytest.raises(BindlibError, match=r"'caps' is no parameter of the chart \(it has cap, delta\)"):
            Figure(chart(), "A line.", (Readout("caps", "cap"),))

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_a_number_that_is_not_json(self, value):
        with pytest.raises(BindlibError, match="plain JSON"):
            Figure(chart(), "A line.", table=({"x": value},))

    @pytest.mark.parametrize("value", [math.nan, -math.inf])
    def test_a_readout_that_is_no_number(self, value):
        shown = Figure(chart(), "A line.", (Readout("cap", "cap"),), computed=lambda **_: {"cap": value})
        with pytest.raises(BindlibError, match=r"'cap' is .*compute words"):
            shown.spec()


class TestHtml:
    def soup(self, shown: Figure) -> BeautifulSoup:
        before, after = figure_html(shown.spec(), 300)
        return BeautifulSoup(before + '<img alt="still">' + after, "html.parser")

    @pytest.mark.parametrize("words", [HOSTILE, "<b>", "a & b", "-->", "<!--<script>"])
    def test_words_stay_words(self, words):
        soup = self.soup(figure(words, ({words: words},)))
        assert [tag.name for tag in soup.find_all(["img", "script"])] == ["img", "script"]
        assert soup.find(attrs={"role": "img"})["aria-label"] == words
        assert soup.find(class_="bindlib-figure__prompt").get_text() == f"Predict first. {words}Answer{words}"
        assert [dt.get_text() for dt in soup.find_all("dt")] == [words, words]
        assert soup.find("tbody").get_text() == words
        spec = json.loads(soup.find("script").string)
        assert spec["data"]["values"][0]["name"] == words

    def test_no_event_handler_and_no_address(self):
        before, after = figure_html(figure(HOSTILE).spec(), 300)
        for tag in BeautifulSoup(before + after, "html.parser").find_all(True):
            assert not [name for name in tag.attrs if name.startswith("on") or name in ("src", "href")]

    def test_readouts_can_be_read_by_scripts(self):
        first, second = self.soup(figure()).find_all("dd")
        assert (first["data-signal"], first["data-format"]) == ("delta", ".2f")
        assert (second["data-signal"], second["data-format"]) == ("cap", ".4f")
        assert self.soup(figure()).find(attrs={"aria-live": "polite"})

    def test_readouts_are_there_before_the_picture(self):
        def computed(delta):
            return {"delta": -delta, "cap": "far away"}

        moved = Figure(chart(), "A line.", (Readout("delta", "δ", ".2f"), Readout("cap", "cap")), computed=computed)
        number, words = self.soup(moved).find_all("dd")
        assert (number.get_text(), words.get_text()) == ("−0.50", "far away")
        assert words.has_attr("data-words") and not number.has_attr("data-words")

    def test_controls_hold_their_place_and_wait(self):
        controls = [
            alt.param(name="at", value=2, bind=alt.binding_range(min=0, max=4, step=1, name="<place>")),
            alt.param(name="on", value=True, bind=alt.binding_checkbox(name="on")),
            alt.param(name="of", value="a", bind=alt.binding_select(options=["a", "<bb>"], name="of")),
        ]
        soup = self.soup(Figure(chart().add_params(*controls), "A line."))
        kinds = [tag.get("type", tag.name) for tag in soup.select(".vega-bind :is(input, select)")]
        assert kinds == ["range", "range", "checkbox", "select"]
        assert all(tag.has_attr("disabled") for tag in soup.select(".vega-bind :is(input, select)"))
        names = [name.get_text() for name in soup.select(".vega-bind-name")]
        assert names == ["smoothness", "<place>", "on", "of"]
        assert soup.option.get_text() == "<bb>"

    def test_what_a_figure_does_not_have_leaves_no_trace(self):
        soup = self.soup(Figure(chart(), "A line."))
        assert not soup.find_all(["p", "dl", "details"])

    def test_room_is_kept(self):
        style = self.soup(figure()).find(class_="bindlib-figure__chart")["style"]
        assert style == "--height: 300px"

    def test_same_figure_same_bytes(self):
        assert figure_html(figure().spec(), 300) == figure_html(figure().spec(), 300)
        assert not self.soup(figure()).find_all(id=True)


TEXT = st.text() | st.text(alphabet='<>&/!-script"\\')
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)


@given(JSON)
def test_script_json_is_json_and_has_no_markup(value):
    text = script_json(value)
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book of two pages, one with a hostile figure, rendered by Sphinx; warnings are errors."""
    folder = tmp_path_factory.mktemp("book")
    data, metadata = figure(HOSTILE)._repr_mimebundle_()
    output = nbformat.v4.new_output("execute_result", data, execution_count=1, metadata=metadata)
    cells = [nbformat.v4.new_markdown_cell("# Figure"), nbformat.v4.new_code_cell("figure", outputs=[output])]
    kernel = {"language_info": {"name": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "first.ipynb")
    (folder / "second.md").write_text("# No figure\n\n$x$\n")
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nfirst\nsecond\n```\n")
    settings = {"extensions": ["myst_nb", "bindlib.book.sphinx_ext"], "nb_execution_mode": "off",
                "myst_enable_extensions": ["dollarmath"]}  # fmt: skip
    html = folder / "html"
    app = Sphinx(folder, None, html, folder / "doctrees", "html", settings, status=None, warningiserror=True)
    app.build()
    assert app.statuscode == 0
    return html


class TestPage:
    def test_figure_arrives_with_its_picture(self, built):
        soup = BeautifulSoup((built / "first.html").read_text(), "html.parser")
        shown = soup.find("figure", class_="bindlib-figure")
        picture = shown.find("noscript").find("img")
        assert picture["alt"] == HOSTILE
        assert (built / picture["src"]).read_bytes().startswith(b"\x89PNG")
        assert not soup.find_all(attrs={"onerror": True})

    def test_libraries_are_beside_the_page_that_needs_them(self, built):
        scripts = {page: [tag["src"].split("?")[0] for tag in BeautifulSoup((built / page).read_text(), "html.parser")
                          .find_all("script", src=True)] for page in ("first.html", "second.html")}  # fmt: skip
        for page, sources in scripts.items():
            assert all((built / source).is_file() for source in sources), page
        needed = [s for s in scripts["first.html"] if "vega" in s or "bindlib-figure" in s]
        assert ["vega" in source for source in needed] == [True, False]
        assert not set(needed) & set(scripts["second.html"])

    def test_formulas_come_from_the_page_s_own_folder(self, built):
        assert "_static/mathjax/tex-chtml.js" in (built / "second.html").read_text()
        size = sum(path.stat().st_size for path in (built / "_static" / "mathjax").rglob("*") if path.is_file())
        assert size < 2.5e6
