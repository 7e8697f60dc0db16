import json
from dataclasses import asdict
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bindlib.book import verify
from bindlib.book.verify import LAST_PLACE, Number, differences
from bindlib.errors import BindlibError


def number(value, tolerance=None, reason="a reason", name="x", source="chapters/one"):
    default, why = verify._default(value)
    return Number(
        source, name, value, default if tolerance is None else tolerance, why if tolerance is None else reason
    )


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("0.31", "0.31", True),
        ("0.31", "0.33", True),  # two units of the last printed place
        ("0.31", "0.34", False),
        ("0.71, 0.78", "0.72, 0.78", True),
        ("0.71, 0.78", "0.72, 0.84", False),
        ("0.71, 0.78", "0.71", False),
        ("120", "121", False),  # counts are exact
        ("4,945,050,000", "4,945,050,001", False),
        ("6.6e-06", "6.8e-06", True),
        ("6.6e-06", "6.6e-05", False),
        ("−1.50", "-1.50", True),
        ("SAT", "UNSAT", False),
        ("3 of 3", "3 of 4", False),
        ("up 0.10", "down 0.10", False),
        ("0.10", "nan", False),
        ("1e999", "1e999", True),
        ("1e999", "1e998", False),  # no float is so large: it has to be the same
        ("0.5, 1e999", "0.5, 1e998", False),
    ],
)
def test_drift(before, after, same):
    assert bool(differences([number(before)], [number(after)])) != same


def test_missing_and_new_numbers_are_drift():
    lines = differences([number("1.0", name="old")], [number("1.0", name="new")])
    assert [("no longer computed" in line, "new, 1.0" in line) for line in lines] == [(False, True), (True, False)]


def test_a_line_names_source_expression_both_values_and_the_reason():
    (line,) = differences([number("0.31")], [number("0.41")])
    for part in ("chapters/one", "x", "0.31", "0.41", "moved by 0.1", LAST_PLACE):
        assert part in line


def test_round_trip_keeps_tolerances_set_by_hand(tmp_path):
    path = tmp_path / "expectations.json"
    verify.update(path, "ci", [number("0.31"), number("7", name="y")], "first")
    content = json.loads(path.read_text())
    content["ci"][0] |= {"tolerance": 0.5, "reason": "depends on the device"}
    path.write_text(json.dumps(content))
    verify.update(path, "ci", [number("0.35"), number("8", name="y")], "second")
    wide, strict = verify.load(path, "ci")
    assert (wide.value, wide.tolerance, wide.reason) == ("0.35", 0.5, "depends on the device")
    assert (strict.value, strict.tolerance) == ("8", 0.0)
    assert json.loads(path.read_text())["reason"] == {"ci": "second"}


def test_profiles_do_not_mix(tmp_path):
    path = tmp_path / "expectations.json"
    verify.update(path, "ci", [number("0.31")], "a")
    verify.update(path, "full", [number("0.32")], "b")
    assert verify.load(path, "ci")[0].value == "0.31"


def test_a_claim_that_no_longer_holds_is_drift():
    row = {"label": "thm-x", "holds": True, "instances": 10, "tolerance": 1e-12,
           "mutant": {"holds": False, "worst_slack": 0.4}}  # fmt: skip
    before, after = (list(verify._claim(row | change)) for change in ({}, {"holds": False}))
    assert len(differences(before, after)) == 1
    worse = list(verify._claim(row | {"mutant": {"holds": False, "worst_slack": 0.41}}))
    assert len(differences(before, worse)) == 1


ROW = asdict(number("0.31"))
DEEP = '{"ci": ' + "[" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{", '{"ci": [{"wrong": 1}]}', '{"ci": null}', '{"ci": {}}', '{"ci": [1]}', DEEP),
        *(json.dumps({"ci": [ROW | {"source": odd}]}) for odd in (["x"], {}, None, 1, "\ud800")),
        *(json.dumps({"ci": [ROW | {"tolerance": odd}]}) for odd in (nan, inf, -1, True, None, "0", 10**400)),
        *(json.dumps({"ci": [ROW | {name: 0}]}) for name in ("name", "value", "reason", "a\nb")),
        json.dumps({"ci": [{name: ROW[name] for name in list(ROW)[1:]}]}),
        json.dumps({"ci": [ROW, ROW | {"value": "0.32"}]}),
    ],
    ids=range(26),
)
def test_bad_files_are_one_line(tmp_path, content):
    path = tmp_path / "expectations.json"
    path.write_text(content)
    for use in (verify.load, lambda *where: verify.update(*where, [number("0.31")], "a reason")):
        with pytest.raises(BindlibError, match=r"expectations\.json") as raised:
            use(path, "ci")
        assert "\n" not in str(raised.value)
    assert path.read_text() == content


TEXTS = st.text(st.sampled_from("0123456789.,eE+-−٣ nainf"), max_size=12) | st.text(max_size=5)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(st.integers(), max_size=1)
ROWS = st.fixed_dictionaries(
    {"source": TEXTS, "name": TEXTS, "value": TEXTS, "tolerance": VALUES, "reason": TEXTS | VALUES}
) | st.dictionaries(st.sampled_from([*ROW, "other"]), VALUES)


@given(VALUES | st.lists(ROWS | VALUES, max_size=3), VALUES | st.dictionaries(TEXTS, VALUES), TEXTS)
def test_whatever_stands_in_the_file_is_read_or_refused_in_one_line(tmp_path_factory, rows, reasons, value):
    path = tmp_path_factory.mktemp("fuzz") / "expectations.json"
    path.write_text(json.dumps({"ci": rows, "reason": reasons}))
    try:
        expected = verify.load(path, "ci")
        verify.update(path, "ci", expected, "a reason")
        differences(expected, [number(value, name=one.name, source=one.source) for one in expected])
        assert verify.load(path, "ci") == expected
    except BindlibError as error:
        assert str(path) in str(error) and "\n" not in str(error)


@given(TEXTS, TEXTS)
def test_a_value_is_as_expected_of_itself_and_differs_the_same_both_ways(one, other):
    assert differences([number(one)], [number(one)]) == []
    there, back = (bool(differences([number(a, 0.5)], [number(b)])) for a, b in ((one, other), (other, one)))
    assert there == back


def test_missing_expectations_name_the_fix(tmp_path):
    with pytest.raises(BindlibError, match="--update"):
        verify.load(tmp_path / "none.json", "ci")
