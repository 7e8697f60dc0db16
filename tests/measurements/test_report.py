"""The report card: what it says, that it says it safely, and that the reference rows are what comes out now."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from bindlib.book import palette
from bindlib.encoders import shipped, steady, zoo
from bindlib.encoders.base import TextTower
from bindlib.errors import BindlibError
from bindlib.measurements import card, report, verdicts
from bindlib.measurements.card import kind, references, section
from bindlib.measurements.datasets import built_in, load
from bindlib.measurements.diagnostic import measure_encoder, per_item
from bindlib.measurements.items import Dataset, Pair, Triplet
from bindlib.measurements.strips import Point, Scale, drawn, linear, octaves
from bindlib.measurements.sweep import Settings
from bindlib.scenes import Quartet
from bindlib.theory.bag_of_words import multiset_hash, position_weighted

TEMPLATES = Path(report.__file__).parent / "templates"
NASTY = '<script>alert("x")</script><img src=http://example.com/x> &amp; \u202e{{ 7*7 }}'


def tower(text_map=None, name="toy", **changes) -> TextTower:
    encode = text_map or position_weighted(16, 0)
    return replace(
        TextTower(name, "0", None, lambda captions: np.stack([encode(text) for text in captions])), **changes
    )


@pytest.fixture
def toy(monkeypatch):
    """``toy`` can be reported on, and ``bag``."""
    towers = {"toy": tower(), "bag": tower(multiset_hash(16, 0), "bag")}
    card, _ = zoo.require("glove")
    monkeypatch.setattr(zoo, "require", lambda name: (replace(card, licence=f"mine {NASTY}"), ""))
    monkeypatch.setattr(zoo, "load_encoder", lambda name, device, cache: towers[name])
    return towers


@pytest.fixture
def page(toy, tmp_path):
    def page(data, name="toy"):
        out = tmp_path / "card.html"
        text = report.report(name, data, Settings(), out)
        return BeautifulSoup(out.read_text(encoding="utf-8"), "html.parser"), text

    return page


@pytest.fixture
def files(tmp_path):
    """One of each kind, with texts that would do harm."""
    made = {}
    for name, columns, rows in (
        ("pairs.csv", "caption,negative,subset", [("a b", "b a", "s<i>"), (NASTY, "a man", "t")]),
        ("triplets.csv", "query,positive,swapped", [(NASTY, "a man", "a woman"), ("a b c", "c a b", "b a c")]),
        ("quartets.csv", "caption,swap,caption_reordered,swap_reordered,anchor", [(NASTY, "b a", "c", "d", "e")]),
    ):
        lines = [columns, *(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        made[name.partition(".")[0]] = str(tmp_path / name)
    return made


def test_a_card_needs_nothing_from_elsewhere_and_runs_nothing(page, files):
    soup, _ = page(["quartets", *files.values()])
    html = str(soup)
    assert not soup.find_all(["script", "img", "iframe", "object", "embed", "link", "form", "base"])
    assert not [
        tag for tag in soup.find_all(True) for name in tag.attrs if name.startswith("on") or name in ("src", "href")
    ]
    assert not re.search(r"url\(|@import|javascript:", html)
    policy = soup.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert "prefers-color-scheme: dark" in html and "@media print" in html and 'name="viewport"' in html


def test_captions_are_text_whatever_they_hold(page, files):
    soup, text = page(list(files.values()))
    shown = NASTY.replace("\u202e", "\\u202e")
    assert [dd.text for dd in soup.find_all("dd")].count(shown) == 3
    assert f"mine {NASTY}" in soup.get_text() and "s<i>" in soup.get_text() and not soup.find("i")
    assert shown in text and "\u202e" not in text and "&lt;" not in text, "the terminal gets text, not HTML"


def test_the_numbers_are_those_of_the_diagnostic(page):
    (row,) = measure_encoder(tower(), built_in())
    soup, text = page(["quartets"])
    for metric in ("usage", "binding_to_order"):
        low, high = row["intervals"][metric]
        for found in (soup.get_text(" "), text.replace("\u00a0", " ")):
            assert re.search(rf"{row[metric]:.3f}\s+\[{low:.3f}, {high:.3f}\]", found)


def test_it_stands_among_the_references_in_order(page):
    soup, _ = page(["quartets"])
    for table, metric in zip(soup.find_all("table", class_="lines"), ("usage", "binding_to_order"), strict=True):
        rows = table.select("tbody tr[role=row]")
        names = [row.th.find(string=True).strip() for row in rows]
        assert set(names) == {"toy", *(c.encoder for c in references() if c.data == "quartets")}
        values = [row.select_one(".value").text.split()[0] for row in rows]
        numbers = [float(value) for value in values if value != "undefined"]
        assert numbers == sorted(numbers) and len(numbers) >= 5
        assert [row["class"] for row in rows].count(["this"]) == 1
        assert metric == "usage" or "undefined" in values


def test_a_shipped_encoder_stands_among_the_others_on_drawn_captions():
    on_drawn = {c.encoder: kind(c.encoder) for c in references() if c.data == "drawn"}
    assert {f"shipped:{which}" for which in shipped.CHECKPOINTS} < on_drawn.keys()
    assert set(on_drawn.values()) == {"trained", "null", "bag"}


def test_the_zoo_is_not_shown_twice_nor_on_other_data(page, files, monkeypatch):
    soup, _ = page([files["quartets"]])
    assert [row.th.text for row in soup.select("table.lines tbody tr[role=row]")] == ["toy"] * 2
    assert "No other encoder of the book was measured on this data" in soup.get_text()
    names = [row.point.name for row in section(tower(name="glove"), built_in(), 0).strips[0].rows]
    assert names.count("glove") == 1


def test_the_worst_items_come_first():
    dataset = built_in()
    arrays = per_item(tower(), dataset)
    found = section(tower(), dataset, 0).worst
    expected = sorted(range(len(dataset)), key=lambda i: arrays["usage"][i])[: card.N_WORST]
    assert [item.texts["caption"] for item in found] == [dataset.items[i].caption for i in expected]
    assert [item.numbers["usage"] for item in found] == [arrays["usage"][i] for i in expected]


def test_subsets_have_a_line_each(page, files):
    soup, text = page([files["pairs"]])
    rows = soup.select("table.lines tbody tr[role=row]")
    assert [row.th.find(string=True).strip() for row in rows] == ["s<i>", "t", "all"]
    assert "Ceilings by subset" in text and "Only 1 of the 2 pairs exchange words" in soup.get_text()


def test_a_subset_says_what_lies_at_one_point_and_who_the_others_are():
    dataset = Dataset("d", (Pair("a b", "b a", "x"), Pair("a b", "c d", "x"), Pair("a", "b", "y")))
    found = section(tower(multiset_hash(16, 0)), dataset, 0)
    assert [subset.size for subset in found.subsets] == ["n = 2, 50.0% at d = 0", "n = 1", "n = 3, 33.3% at d = 0"]
    assert found.legend == {}
    (reference,) = [c for c in references() if (c.encoder, c.data) == ("glove", "sugarcrepe")]
    shown, _ = card._subsets(reference.rows, [reference])
    assert replace(found, subsets=shown).legend == {"bag": ["glove"]} and len(shown) == 8


def test_each_caption_is_encoded_once(toy, tmp_path):
    asked = []
    whole = toy["toy"].vectors
    toy["toy"] = replace(toy["toy"], vectors=lambda captions: (asked.extend(captions), whole(captions))[1])
    report.report("toy", ["quartets", "quartets:1"], Settings(), tmp_path / "card.html")
    again = 2 * 2 * steady.CAPTIONS  # of each data a few, twice: to see that the encoder is a function
    assert asked and len(asked) == len(set(asked)) + again


def test_a_bag_of_words_is_said_to_be_one(page):
    soup, text = page(["quartets"], "bag")
    assert "as a bag of words does" in soup.select_one(".found").text and "undefined" in text
    assert "The anchor is a choice" not in text, "at any anchor it uses nothing"


def test_what_the_numbers_cannot_say(page):
    _, text = page(["quartets"])
    said = " ".join(text.split())
    for words in ("Usage alone does not show binding: untrained towers", "The anchor is a choice",
                  "Only the text tower was measured", "None of the 600 texts was cut"):  # fmt: skip
        assert words in said
    cut = tower(context_length=3, lengths=lambda texts: [len(text.split()) for text in texts])
    limits = section(cut, built_in(), 0).limits
    assert any("600 of 600 texts are longer than the 3 tokens" in limit for limit in limits)


def test_pairs_that_all_exchange_words_are_not_said_to_differ_in_others():
    pairs = (Pair("a red dog", "red a dog"), Pair("a man", "a hat"))
    assert any("Only 1 of the 2 pairs" in limit for limit in section(tower(), Dataset("d", pairs), 0).limits)
    assert not any("in their words" in limit for limit in section(tower(), Dataset("d", pairs[:1]), 0).limits)


@pytest.mark.parametrize(
    ("interval", "says"),
    [([1.1, 1.2], "more than one"), ([0.8, 0.9], "less than one"), ([0.9, 1.1], "cannot be told from one"),
     (None, "no interval")],
)  # fmt: skip
def test_a_ratio_is_held_against_one_by_its_interval(interval, says):
    row = {
        "usage": 0.3,
        "ceiling": 0.1,
        "binding_to_order": 1.0,
        "intervals": {"usage": None, "binding_to_order": interval},
    }
    assert says in "".join(verdicts.found(row, []))


@pytest.mark.parametrize(("usage", "says"), [(0.1, "below those"), (0.3, "among those"), (0.5, "above them")])
def test_a_usage_is_held_against_the_untrained_towers(usage, says):
    null = [{"usage": u, "binding_to_order": 0.8} for u in (0.2, 0.4)]
    row = {"usage": usage, "ceiling": 0.1, "binding_to_order": None, "intervals": {"usage": None}}
    assert says in "".join(verdicts.found(row, null))


def test_one_item_of_each_kind_makes_a_card():
    for item in (Quartet("a b", "b a", "b, a", "a, b", "a"), Pair("a", "b"), Triplet("a", "b", "c")):
        for encoder in (tower(), tower(lambda text: np.ones(4))):
            made = section(encoder, Dataset("d", (item,)), 0)
            assert made.found and made.amount == f"1 {type(item).__name__.lower()}"


@pytest.mark.parametrize("name", ["card.pdf", "no/card.html", "card"])
def test_an_out_that_cannot_be_is_said_before_anything_is_loaded(tmp_path, monkeypatch, name):
    monkeypatch.setattr(zoo, "load_encoder", None)
    with pytest.raises(BindlibError, match="--out"):
        report.report("glove", ["quartets"], Settings(), tmp_path / name)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(BindlibError, match="cannot be written"):
        report.report("glove", ["quartets"], Settings(), tmp_path / "folder.html")


def test_a_card_that_fails_leaves_the_old_one(toy, tmp_path, monkeypatch):
    out = tmp_path / "card.html"
    out.write_text("old")
    monkeypatch.setattr(report.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match=r"No space.*card\.html"):
        report.report("toy", ["quartets"], Settings(), out)
    assert out.read_text() == "old" and list(tmp_path.iterdir()) == [out]


def test_the_same_card_twice(toy, tmp_path):
    for name in ("a.html", "b.html"):
        report.report("toy", ["quartets"], Settings(), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_colours_are_the_books():
    style = (TEMPLATES / "card.html").read_text()
    for name, colour in (("this", palette.BLUE), ("null", palette.GREEN), ("bag", palette.VERMILION),
                         ("trained", palette.GREY), ("page", palette.DARK_PAGE), ("ink", palette.INK)):  # fmt: skip
        assert f"--{name}: {colour};" in style


def test_the_kinds_of_the_references():
    found = {c.encoder: kind(c.encoder) for c in references()}
    assert {name for name, what in found.items() if what == "bag"} == {"glove", "minilm-no-positions"}
    assert {name for name, what in found.items() if what == "null"} == {f"random-clip:{seed}" for seed in range(3)}
    assert found["minilm"] == "trained"


@pytest.mark.parametrize(
    ("name", "data"), [("glove", "quartets"), ("paraphrase-l3", "quartets"), ("shipped:1", "drawn")]
)
def test_the_reference_rows_are_what_comes_out_now(name, data):
    (known,) = (c for c in references() if (c.encoder, c.data) == (name, data))
    encoder, dataset = zoo.load_encoder(name), load(data)
    assert (known.provenance.encoder_revision, known.provenance.data_revision) == (encoder.revision, dataset.revision)
    for row, now in zip(known.rows, measure_encoder(encoder, dataset, known.provenance.seed), strict=True):
        assert row.keys() == now.keys()
        for metric in row["intervals"]:
            for a, b in zip(
                [row[metric], *(row["intervals"][metric] or [])],
                [now[metric], *(now["intervals"][metric] or [])],
                strict=True,
            ):
                assert a == b == None or a == pytest.approx(b, abs=1e-4)  # noqa: E711


@given(st.lists(st.floats(0, 2), min_size=1), st.floats(0, 2))
def test_places_lie_on_the_line_and_keep_the_order(values, value):
    for scale in (linear(max(values)), octaves(values), Scale((0, 0.5, 1))):
        places = [scale.place(v) for v in sorted(values)]
        assert places == sorted(places) and all(0 <= place <= 100 for place in places)
        assert 0 <= scale.place(value) <= 100
        assert [place for place, _ in scale.marks()] == sorted(place for place, _ in scale.marks())
        assert scale.place(scale.ticks[-1]) == 100 and scale.place(scale.ticks[0]) == 0


def test_an_interval_is_drawn_around_its_value():
    (nothing, one) = drawn([Point("x", "this", 0.5, [0.25, 1.0]), Point("y", "bag", None)], Scale((0, 1)))
    assert (one.left, one.place, one.width) == (25, 50, 75) and nothing.place is None
    assert octaves([0.8, 12]).marks()[0] == (0.0, "0.5") and octaves([0.8, 12]).marks()[-1] == (100.0, "16")


def test_a_long_text_is_shortened_in_the_card_and_that_is_said(page, tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"caption": "a" * 200_000, "negative": "a man", "subset": "s" * 5_000}))
    soup, text = page([str(path)])
    assert len(text) < 5_000 and "(shortened here: it has 200000 characters)" in soup.get_text()
    assert max(len(dd.text) for dd in soup.find_all("dd")) < 600


def test_a_line_feed_in_a_caption_begins_no_line_of_the_text(page, tmp_path):
    path = tmp_path / "lines.csv"
    path.write_text('caption,negative\n"a dog\nbindlib: all is well",a man\n')
    _, text = page([str(path)])
    assert "a dog\\nbindlib: all is well" in text
