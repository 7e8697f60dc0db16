import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bindlib.errors import BindlibError
from bindlib.measurements import files
from bindlib.measurements.items import COLUMNS, KINDS, Pair, Triplet

QUARTET = {key: f"a red car {i}" for i, key in enumerate(COLUMNS["quartets"])}
# Any caption: what a file in UTF-8 can hold, with a letter that white space cannot hide.
CAPTION = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60).map("a".__add__)
# Python's writer leaves a lone carriage return bare unless it ends the lines.
DIALECTS = [("\r\n", csv.QUOTE_MINIMAL), ("\r\n", csv.QUOTE_ALL), ("\n", csv.QUOTE_ALL)]
SUBSET = st.sampled_from(["", "swap", 'odd "name", with comma'])


def read(path: str, strict: bool = False):
    return files.read(path, strict)[0]


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


def as_csv(items, terminator="\r\n", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(items[0])), lineterminator=terminator, quoting=quoting)
    writer.writeheader()
    writer.writerows(map(asdict, items))
    return text.getvalue()


def as_json_lines(items):
    return "".join(json.dumps(asdict(item), ensure_ascii=i % 2 == 0) + "\n" for i, item in enumerate(items))


@st.composite
def any_items(draw):
    kind = draw(st.sampled_from(list(KINDS)))
    items = []
    for i in range(draw(st.integers(1, 4))):
        # A number at its end keeps each text of an item from its others; the items themselves may repeat.
        texts = [f"{draw(CAPTION)}{i}.{j}" for j in range(len(COLUMNS[kind]))]
        items.append(KINDS[kind](*texts, *([] if kind == "quartets" else [draw(SUBSET)])))
    return kind, (*items, items[0])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_items(), st.sampled_from(DIALECTS), st.booleans())
def test_any_text_comes_back_from_csv_and_from_json_lines(write, data, dialect, bom):
    kind, items = data
    mark = "\ufeff" * bom
    assert read(write("a.csv", mark + as_csv(items, *dialect))) == items
    assert read(write("a.jsonl", mark + as_json_lines(items))) == items
    if kind == "quartets":
        assert read(write("a.json", mark + json.dumps({"quartets": [asdict(item) for item in items]}))) == items


def test_reads_the_independent_quartets(quartets_file, independent_quartets):
    assert [q.anchor for q in read(str(quartets_file))] == [q["anchor"] for q in independent_quartets["quartets"]]


def test_columns_in_any_order_others_ignored_blank_lines_and_short_subset_cells(write):
    text = "\n id ,NEGATIVE, Caption ,subset,note\n1,b,a, swap,x,,\n\n2,d,c\n3,f,e,\n"
    assert read(write("a.CSV", text)) == (Pair("a", "b", "swap"), Pair("c", "d"), Pair("e", "f"))
    text = '\n{"caption": "a", "id": 1, "negative": "b"}\r\n\n{"negative":"d","caption":"c","subset":null}\n'
    text += '{"caption": "e", "negative": "f", "subset": 3}'
    assert read(write("a.jsonl", text)) == (Pair("a", "b"), Pair("c", "d"), Pair("e", "f", "3"))


def test_odd_but_good_captions(write):
    long, broken, odd = "word " * 2000, 'two\nlines and\r\n"quotes"', "emoji 👩‍👩‍👧 | pipe; \u2028 \x1b[31m ,"
    items = (Pair(long, broken), Pair(odd, long))
    assert read(write("a.csv", as_csv(items))) == items
    assert read(write("a.jsonl", as_json_lines(items))) == items


# Each file has one item that cannot be used, between two that can.
ONE_BAD = {
    "a.csv": "query,positive,swapped\na,b,c\nd,e,d \nf,f,g\n",
    "b.csv": "query,positive,swapped\na,b,c\n,,\nf,f,g\n",
    "c.csv": "query,positive,swapped\na,b,c\nd,e,f,h\nf,f,g\n",
    "d.jsonl": '{"query":"a","positive":"b","swapped":"c"}\n[1\n{"query":"f","positive":"f","swapped":"g"}\n',
    "e.jsonl": '{"query":"a","positive":"b","swapped":"c"}\n{}\n{"query":"f","positive":"f","swapped":"g"}\n',
}


@pytest.mark.parametrize("name", ONE_BAD)
def test_an_item_that_cannot_be_used_is_counted_named_and_left_out(write, name, caplog):
    path = write(name, ONE_BAD[name])
    assert read(path) == (Triplet("a", "b", "c"), Triplet("f", "f", "g"))
    place = "line 3: " if name.endswith("csv") else "line 2: "  # after the header
    (warning,) = caplog.messages
    assert f"{path}: 1 of 3 items cannot be used and are left out" in warning and place in warning
    expect_fault(path, place)


def test_what_is_left_out_is_known_by_its_subset_if_that_is_one(write):
    text = "caption,negative,subset\na,b,x\na,a,x\n,,\na,a,gone\na,b,\na,a\n"
    assert files.read(write("a.csv", text))[1] == ("x", "", "", "")
    assert files.read(write("a.jsonl", f'{PAIR}\n[1]\n{{"caption": "a", "subset": []}}\n'))[1] == ("", "")


def test_the_kind_is_that_of_the_first_item_which_has_one(write, caplog):
    assert read(write("a.jsonl", f"{{}}\n[1]\n{PAIR}\n")) == (Pair("a", "b"),)
    assert "2 of 3 items" in caplog.text and "line 1: 'caption' is missing" in caplog.text


def test_rows_of_empty_cells_above_the_header_are_no_items(write, caplog):
    assert read(write("a.csv", ",,\n\ncaption,negative,\na,b,\n")) == (Pair("a", "b"),)
    assert not caplog.messages


def test_of_many_unusable_items_the_first_are_named(write, caplog):
    read(write("a.csv", "caption,negative\n" + "a,a\n" * 5 + "a,b\n"))
    (warning,) = caplog.messages
    assert "5 of 6 items" in warning and warning.count("same text") == 3 and warning.endswith("; and 2 more")


def test_a_file_of_which_nothing_can_be_used_is_refused(write):
    with pytest.raises(BindlibError, match=r"line 2: .* are the same text"):
        read(write("a.csv", "caption,negative\na,a\n"))
    with pytest.raises(BindlibError, match="line 1: is not valid JSON"):
        read(write("a.jsonl", "{\n"))


def test_a_subset_may_be_a_number_and_a_cell_of_any_length(write):
    assert read(write("a.jsonl", '{"caption": "a", "negative": "b", "subset": 0}\n')) == (Pair("a", "b", "0"),)
    long = "b" * 200_000
    assert read(write("a.csv", f"caption,negative\na,{long}\n")) == (Pair("a", long),)
    assert csv.field_size_limit() == 131_072, "Python's own limit is as it was"


def test_equal_items_are_kept(write):
    assert len(read(write("a.csv", "caption,negative\na,b\na,b\n"))) == 2


CSV_FAULTS = [
    ("", "has no columns: quartets have .*; pairs have .*; triplets have .*"),
    ("\n\n", "has no columns"),
    ("caption,negative\n", "holds no pairs"),
    ("caption;negative\na;b\n", "has ';' between its columns: save it with commas"),
    ("caption\tnegative\na\tb\n", r"has '\\t' between its columns: save it with commas"),
    ("text\na\n", "one kind of data, each once, and has 'text': quartets have .* pairs have"),
    ("caption,swap\na,b\n", "and has 'caption', 'swap'"),
    ("caption,negative,query,positive,swapped\na,b,c,d,e\n", "columns of one kind"),
    ("caption,negative,caption\na,b,c\n", "each once"),
    ("caption,negative,subset,Subset\na,b,c,d\n", "each once"),
    ("caption,negative\na,b\n ,c\n", "line 3: 'caption' should be a caption"),
    ("caption,negative\na,b\nc\n", "line 3: 'negative' is missing"),
    ("caption,negative\na,b\nc,\n", "line 3: 'negative' should be a caption"),
    ("caption,negative\na car, red,a car\n", "line 2: has 3 cells where the header names 2: put quotes"),
    ('caption,negative\n"a\nb",c\nd,d\n', "line 4: 'caption' and 'negative' are the same text"),
    ("caption,negative\na b,c\na b,a  b \n", "line 3: 'caption' and 'negative' are the same text"),
    ("caption,negative\na,a\nb,c\nd,d\n,e\n", r"line 2: .* are the same text.* \(and 2 more, next line 4\)"),
    ('caption,negative\na,"b\nc,d\n', "line 2: is not valid CSV"),
    ('caption,negative\na,"b"c\n', "line 2: is not valid CSV"),
    ('caption,negative\na,"' + "b" * 200_000 + "\n", "line 2: is not valid CSV .*close each quote"),
    ("caption,negative\na,b\n,\n", "line 3: 'caption' should be a caption"),
    ("query,positive,swapped\na,b,b\n", "line 2: 'positive' and 'swapped' are the same text"),
    ("query,positive,swapped\na,b,a\n", "line 2: 'query' and 'swapped' are the same text"),
    ("caption,negative,subset\na,b, all\n", "line 2: the subset 'all' is the name for every item"),
    ("caption,negative\na,b\0\n", "UTF-16 or binary"),
    ("caption,negative\na,b\n".encode("utf-16"), "UTF-16 or binary: save it as UTF-8"),
    ("caption,negative\na,b\n".encode("utf-16-le"), "UTF-16 or binary"),
    ("caption,negative\na,café\n".encode("latin-1"), "cannot be read as UTF-8 text .*: save it as UTF-8"),
]


@pytest.mark.parametrize(("content", "says"), CSV_FAULTS)
def test_a_faulty_csv_is_one_line_with_place_and_cure(write, content, says):
    expect_fault(write("bad.csv", content), says)


PAIR = '{"caption": "a", "negative": "b"}'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "has no columns"),
        ("{", "line 1: is not valid JSON"),
        (f"{PAIR}\n\n[1]\n", "line 3: should be an object, not list"),
        (f"{PAIR}\n{'[' * 100_000}\n", "line 2: is not valid JSON"),
        (f"{PAIR}\n{'1' * 5000}\n", "line 2: is not valid JSON"),
        (f'{PAIR}\n{{"caption": "a"}}', "line 2: 'negative' is missing"),
        ('{"caption": "a", "negative": 3}', "line 1: 'negative' should be a caption"),
        ('{"caption": "a", "negative": "b", "subset": "\\ud800"}', "line 1: 'subset' holds a NUL or half a character"),
        ('{"caption": "a\\u0000", "negative": "b"}', "line 1: 'caption' holds a NUL or half a character"),
        ('{"caption": "a\\ud800", "negative": "b"}', "line 1: 'caption' holds a NUL or half a character"),
        ('{"caption": "a", "negative": "b", "subset": ["c"]}', "line 1: 'subset' should be a name"),
        ('{"text": "a"}', "each once, and has 'text'"),
    ],
)
def test_faulty_json_lines_are_one_line_with_place_and_cure(write, content, says):
    expect_fault(write("bad.jsonl", content), says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[" + "1" * 5000 + "]", "not valid JSON"),
        ("[]", "no list under the key 'quartets'"),
        ({"quartets": {}}, "no list under the key 'quartets'"),
        ({"quartets": []}, "holds no quartets"),
        ({"quartets": [QUARTET, "a red car"]}, r"quartet 1 \(counted from 0\): should be an object"),
        (
            {"quartets": [QUARTET, {k: v for k, v in QUARTET.items() if k != "anchor"}]},
            "quartet 1.*'anchor' is missing",
        ),
        ({"quartets": [QUARTET | {"swap": " "}]}, "quartet 0.*'swap' should be a caption"),
        ({"quartets": [QUARTET | {"swap": QUARTET["caption"]}]}, "quartet 0.*are the same text"),
        ({"quartets": [QUARTET | {"swap": None}]}, "quartet 0.*'swap' should be a caption"),
        ({"quartets": [QUARTET | {"caption": 3}]}, "quartet 0.*'caption' should be a caption"),
        ('{"quartets": [' + json.dumps(QUARTET).replace("car 0", "\\ud800") + "]}", "lone surrogate"),
    ],
)
def test_faulty_json_names_the_item_and_key(write, content, says):
    expect_fault(write("bad.json", content if isinstance(content, str) else json.dumps(content)), says)


def expect_fault(path, says):
    with pytest.raises(BindlibError, match=says) as error:
        read(path, strict=True)
    assert "\n" not in str(error.value) and len(str(error.value)) < 700


def test_what_is_no_file_of_captions(tmp_path, write):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(BindlibError, match="no regular file"):
        read(str(tmp_path / "pipe.csv"))
    with pytest.raises(BindlibError, match="no regular file"):
        read(str(tmp_path))
    with pytest.raises(BindlibError, match="unknown ending"):
        read(write("pairs.xlsx", b"PK\3\4"))


def test_a_file_that_may_not_be_read(write, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    path = write("a.csv", "caption,negative\na,b\n")
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(BindlibError, match=r"cannot be read \(Permission denied\): check"):
        read(path)


def test_reading_needs_no_encoder():
    code = "import sys, bindlib.measurements.files; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
