"""Of many values every one is asked: a single bad one, first or last, is refused like a whole array of them."""

import numpy as np
import pytest

from bindlib.theory import bag_of_words, balanced_coupling, factored_inference, radon

NOT_FINITE = (np.nan, np.inf, -np.inf)
ONE, QUARTERS = np.array([0.2, 0.5, 0.7, 0.9]), np.full(4, 0.25)
OVERLAP, PRESENT = np.array([0.1, 0.3, 0.2, 0.4]), np.array([False, False, True, True])
CASES = {  # name: the check, values that it takes, bad ones, what it says of them
    "points": (lambda x: radon.checked_points(x[:, None]), ONE, NOT_FINITE, "finite"),
    "units": (lambda x: bag_of_words.unit(x[:, None]), ONE, (np.nan, 0.0, np.inf), "no direction"),
    "pairs": (lambda x: bag_of_words.best_image(x[:, None], np.zeros((4, 1))), ONE, (0.0,), "same vector"),
    "probabilities": (lambda p: factored_inference.power_mean(p, 2.0), ONE, (-0.1, 1.1, np.nan), "probabilities"),
    "concept scores": (factored_inference.evidence, ONE, NOT_FINITE, "finite"),
    "evidence": (lambda s: factored_inference.evidence(s, beta=1e200), ONE, (1e200,), "too large"),
    "calibration": (lambda s: factored_inference.calibrate(s, PRESENT), OVERLAP, NOT_FINITE, "finite"),
    "costs": (lambda x: balanced_coupling.check(x[None], np.ones(1), QUARTERS, 0.1), ONE, NOT_FINITE, "not finite"),
    "masses": (lambda x: balanced_coupling.check(ONE[:, None], x, np.ones(1), 0.1), QUARTERS, (0.0, -1.0), "positive"),
    "feature rows": (lambda x: balanced_coupling._unit(x[:, None], "token"), ONE, (0.0, *NOT_FINITE), "feature is"),
}


@pytest.mark.parametrize(
    ("name", "bad", "at"), [(name, bad, at) for name, (*_, bads, _) in CASES.items() for bad in bads for at in range(4)]
)
def test_one_bad_value_among_good_ones_is_refused(name, bad, at):
    check, good, _, says = CASES[name]
    values = good.copy()
    values[at] = bad
    with pytest.raises(ValueError, match=says):
        check(values)


@pytest.mark.parametrize("name", CASES)
def test_the_good_ones_alone_are_taken(name):
    check, good, *_ = CASES[name]
    check(good)
