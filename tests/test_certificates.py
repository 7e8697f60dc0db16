import json
from math import inf, nan

import numpy as np
import pytest

from bindlib.certificates import Theorem, worst_case

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


def test_worst_case_is_the_largest_slack_of_the_draws():
    rng = np.random.default_rng(0)
    worst, witness = worst_case(lambda rng: (x := rng.uniform(), {"x": x}), 100, seed=0)
    assert worst == witness["x"] == max(rng.uniform() for _ in range(100))


@pytest.mark.parametrize("nonsense", [nan, inf, -inf])
def test_nonsense_is_the_worst_case(nonsense):
    slacks = iter([0.0, nonsense, 0.5])
    worst, witness = worst_case(lambda rng: (slack := next(slacks), {"slack": slack}), 3, seed=0)
    assert worst == inf and str(witness["slack"]) == str(nonsense)


def test_json():
    row = json.loads(json.dumps(THEOREM.certificate(3, 1, 5.0, {"x": 6.0}).to_dict()))
    assert row["holds"] is False and row["witness"] == {"x": 6.0} and row["seed"] == 3
