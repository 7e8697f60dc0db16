import json
import os

import pytest

from bindlib.errors import BindlibError
from bindlib.measurements.datasets import KEYS, N_BUILT_IN, built_in_quartets, load_quartets
from bindlib.scenes import ANCHOR_WORDINGS

GOOD = {key: f"a red car {i}" for i, key in enumerate(KEYS)}


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def test_built_in_quartets_are_distinct_and_always_the_same():
    first = built_in_quartets()
    assert len(set(first)) == len(first) == N_BUILT_IN["ci"]
    assert not {q.caption for q in first} & {q.swap for q in first}, "a scene and its swap are one pair, not two"
    assert first == built_in_quartets() == load_quartets("quartets")
    for wording in range(len(ANCHOR_WORDINGS)):
        assert [q.caption for q in built_in_quartets(wording)] == [q.caption for q in first]


def test_no_more_pairs_than_there_are():
    with pytest.raises(ValueError, match="fewer than"):
        built_in_quartets(n=10_000)


def test_reads_a_file(quartets_file, independent_quartets):
    quartets = load_quartets(str(quartets_file))
    assert [q.anchor for q in quartets] == [q["anchor"] for q in independent_quartets["quartets"]]


def test_reads_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "bom.json"
    path.write_text(json.dumps({"quartets": [GOOD]}), encoding="utf-8-sig")
    assert len(load_quartets(str(path))) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "no list under the key 'quartets'"),
        ({"quartets": {}}, "no list under the key 'quartets'"),
        ({"quartets": []}, "holds no quartets"),
        ({"quartets": [GOOD, "a red car"]}, r"quartet 1 \(counted from 0\): should be an object"),
        ({"quartets": [GOOD, {k: v for k, v in GOOD.items() if k != "anchor"}]}, "quartet 1.*'anchor' is missing"),
        ({"quartets": [GOOD | {"swap": " "}]}, "quartet 0.*'swap' should be a caption"),
        ({"quartets": [GOOD | {"swap": GOOD["caption"]}]}, "quartet 0.*are the same text"),
        ({"quartets": [GOOD | {"swap": None}]}, "quartet 0.*'swap' should be a caption"),
        ({"quartets": [GOOD | {"caption": 3}]}, "quartet 0.*'caption' should be a caption"),
        ('{"quartets": [' + json.dumps(GOOD).replace("car 0", "\\ud800") + "]}", "lone surrogate"),
    ],
)
def test_malformed_files_name_the_item_and_key(tmp_path, content, says):
    with pytest.raises(BindlibError, match=says) as error:
        load_quartets(write(tmp_path / "bad.json", content))
    assert "\n" not in str(error.value)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(BindlibError, match="no data named"):
        load_quartets("quartet")
    with pytest.raises(BindlibError, match="cannot be read"):
        load_quartets(str(tmp_path))
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\x00\x80caf\xe9")
    with pytest.raises(BindlibError, match="cannot be read"):
        load_quartets(str(tmp_path / "latin.json"))


@pytest.mark.parametrize(
    ("content", "message"), [("[" + "1" * 5000 + "]", "not valid JSON"), ("[" * 100_000, "not valid JSON")]
)
def test_json_that_python_cannot_take_is_an_error(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(BindlibError, match=message):
        load_quartets(str(tmp_path / "a.json"))


def test_an_empty_name_and_a_pipe_are_errors_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BindlibError, match="no data named ''"):
        load_quartets("")
    with pytest.raises(BindlibError, match="no regular file"):
        load_quartets(str(tmp_path / "pipe"))
