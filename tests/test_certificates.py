import json
from math import nan

import pytest

from bindlib.certificates import Theorem

THEOREM = Theorem("thm-test", "x ≤ 1", ("x is small", "x is real"), tolerance=1e-9)


def test_holds_within_tolerance_only():
    assert THEOREM.certificate(0, 10, -1.0, {}).holds
    assert THEOREM.certificate(0, 10, 1e-9, {}).holds
    assert not THEOREM.certificate(0, 10, 2e-9, {}).holds


def test_a_check_of_nothing_does_not_hold():
    assert not THEOREM.certificate(0, 0, 0.0, {}).holds
    assert not THEOREM.certificate(0, 10, nan, {}).holds


def test_mutant_loses_one_hypothesis():
    mutant = THEOREM.certificate(0, 1, 5.0, {"x": 6.0}, dropped="x is small")
    assert mutant.hypotheses == ("x is real",)
    with pytest.raises(ValueError, match="no hypothesis"):
        THEOREM.certificate(0, 1, 5.0, {}, dropped="x is green")


def test_json():
    row = json.loads(json.dumps(THEOREM.certificate(3, 1, 5.0, {"x": 6.0}).to_dict()))
    assert row["holds"] is False and row["witness"] == {"x": 6.0} and row["seed"] == 3
