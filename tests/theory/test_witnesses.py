"""A mutant's witness is what its text says it is: each fixed value worked out by hand, whatever the seed."""

from math import exp, log, log1p, sqrt

import pytest

from bindlib.book import claims

RUNNING = {"caption": "a red car and a blue dog", "swap": "a blue car and a red dog", "dim": 64}
LINE = [[0, 0], [1, 1], [2, 2], [3, 3]]


def softplus(x):
    return log1p(exp(x))


RIVAL_GAP = 0.1 * log((2 + exp(-2)) / (1 + exp(-4) + exp(-8))) + 0.9 * log((1 + exp(-2)) / (1 + exp(-8)))
SLIVER = 0.1 * (log(2) - softplus(-4))

# label: the fixed part of the witness; and by how much the theorem is missed, where that is fixed too
WITNESSES = {
    "thm-satisfiability": (
        {"dim": 2, "verdict": "UNSAT", "by": "thm-radon", "no encoder exceeds": 0, "gamma": 1 / sqrt(18)},
        1 / sqrt(18),
    ),
    "prop-signed-encoder": ({"images": 3, "captions": 8, "dim": 2, "needed": 2 / sqrt(3)}, None),
    "prop-circle": ({"sum": 0}, None),
    "prop-best-image": ({"best margin": -1 / 2, "distance": 0}, 1 / 2),
    "prop-margin-bound": ({"image_norm": 2, "margin": 2 * sqrt(2), "bound": sqrt(2)}, sqrt(2)),
    "thm-radon": ({"dim": 4, "objects": 6, "k": 3, "the 2-scene of the poles": "inseparable"}, 1),
    "prop-half-shattered": ({"dim": 2, "objects": 4, "scenes": 8}, None),
    "thm-moment-curve-tight": (
        {"dim": 2, "points": 5, "scene": [0, 2], "verdict": "inseparable", "crossed by": [[1, 3]]},
        1,
    ),
    "prop-circuits": ({"points": LINE}, None),
    "prop-cover": ({"points": LINE, "count": 8, "formula": 14}, 6),
    "prop-coherent-codes": ({"dim": 8, "claimed coherence": 0}, None),
    "thm-bag-of-words-collapse": (RUNNING, None),
    "prop-ceiling": ({"image_norm": 2}, None),
    "prop-position-blind": (RUNNING, None),
    "thm-pooled-margins": ({"k": 4, "leakage": 1 / 4, "margin": 1 / 4}, 1 / 4),
    "prop-all-swaps": ({"k": 4, "margin": 1, "bound": 1 / sqrt(3)}, 1 - 1 / sqrt(3)),
    "prop-additive-cannot-bind": ({"k": 2, "dim": 64}, None),
    "prop-leakage-price": ({"k": 4, "dim": 64, "predicted": 1 / 2}, None),
    "lem-pooling-step": ({"branching": 2, "role_norm": 2}, None),
    "thm-depth-law": ({"branching": 2, "depth": 1, "margin": 1 / 2, "law": 1}, 1 / 2),
    "thm-finite-depth-law": ({"mu": 0, "ratio": 1 / 2, "bound": 1}, 1 / 2),
    "cor-resolvable-depth": ({"dim": 1024, "branching": 2, "cosine": 1 / 2, "depth": 1, "formula": 2}, 1),
    "prop-role-aliasing": ({"branching": 2, "depth": 2, "dim": 1024}, None),
    "thm-throttle-average": (
        {
            "captions": 3,
            "swap_rate": 1,
            "line": log(2) - softplus(-1),
            "gap": softplus(-1 / 2) - softplus(-1),
        },
        None,
    ),
    "thm-throttle-reversal": ({"loss": "hinge", "swap_rate": 1, "mean_margin": 2, "gap": 3}, 1),
    "prop-unmatched-offsets": ({"g": 4, "c0": 4, "bound": softplus(-4)}, 4 - softplus(-4)),
    "thm-infonce-throttle": ({"swap_rate": 0.1, "gap": 4}, None),
    # a = e^4, b = 1, so w = a; the drawn x scores -4 and its swap 8, their mean is 2
    "prop-blind-rival": ({"swap_rate": 0.1, "gap": RIVAL_GAP, "sliver": SLIVER}, (RIVAL_GAP - SLIVER) / (1 + SLIVER)),
    "prop-implicit-rate": (
        {"captions": 6, "batch_size": 4, "rate": 3 / 5, "formula": 1 - (5 / 6) ** 3},
        3 / 5 - 1 + (5 / 6) ** 3,
    ),
    "thm-tensor-gauge": ({"object_norm": 2, "attribute_norm": 1 / 2}, None),
    "thm-coverage-decides": ({"beta": -1, "gap": 0, "promised": 0}, 1),
    "prop-one-of-each": ({"seen": "green car, green dog", "change_of_exposures_and_image": 0}, 1),
    "thm-hadamard-undecidable": ({"seen": "red car, blue dog", "dim": 1, "accuracy": 5 / 8}, 1 / 8),
    "thm-hadamard-decidable": ({"seen": "red car, blue dog", "dim": 1, "accuracy": 1 / 2}, 1 / 8),
    # at 60 degrees from the anchor: h = 1/2, twice of it is 1
    "thm-frontier": ({"anchor_norm": 2, "delta": 0, "ceiling": sqrt(3)}, 3),
    # h = 4/5, its sine 3/5
    "thm-sharp-frontier": ({"caption_norm": 6 / 5, "delta": 1 / 25, "ceiling": 36 / 25}, 44 / 25),
    "prop-midpoint-anchor": ({"anchor_norm": 2, "delta": -3 / 5, "ceiling": 6 / 5}, 4 / 5),
    "prop-edit-sign": ({"operator": "and", "scores": "0.10 and 0.15, both negated"}, None),
    "prop-single-not": ({"query": "neither a nor b", "scores": "0.30 and 0.14"}, None),
    "thm-soft-replaced": ({"query": "a and b", "score of b": "0.26, then 0.30"}, None),
    "prop-slopes": ({"scores": "0.18 and 0.26"}, None),
    "thm-de-morgan": ({"p": "1 and 2^0.55 - 1"}, None),
    "thm-words-are-blind": ({"concepts": "a red car, a blue dog"}, None),
    "thm-product-represents": ({"dim": 16}, None),
    "prop-blind-fit": ({"r2": 1, "swap_r2": 1, "recognition": 1, "swap": 1}, 1),
    "thm-path-identifies": ({"seen": [1, 0, 0], "unseen": [1, 3]}, 2),
    "prop-hashed-unseen": ({"dim": 8, "inner_product": 8}, 8),
    "thm-coupling-antisymmetric": ({"share": 7 / 10}, None),
    "prop-coupling-length": ({"times": 3}, None),
    "prop-coupling-limits": ({"n": 4, "m": 5, "ε": 50}, None),
    "prop-coupling-same-words": ({}, None),
    "prop-coupling-two-things": ({}, None),
}


# label: two numbers that the text says are one, from the witness and by how much the theorem is missed
RELATIONS = {
    "prop-circle": lambda seen, missed: (sum(seen["margins"]), 0),
    "prop-ceiling": lambda seen, missed: (seen["margin"], 2 * seen["ceiling"]),
    "prop-coupling-same-words": lambda seen, missed: (missed, max(abs(v) for k, v in seen.items() if "moved" in k)),
    "prop-coupling-two-things": lambda seen, missed: (seen["score"], -seen["predicted"]),
}


def approximately(value):
    return pytest.approx(value, abs=1e-9) if isinstance(value, int | float) else value


def test_every_mutant_is_here():
    assert list(WITNESSES) == list(claims.CLAIMS)
    assert all(fixed or label in RELATIONS for label, (fixed, _) in WITNESSES.items())


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("label", WITNESSES)
def test_a_witness_is_what_its_text_says(label, seed):
    fixed, missed_by = WITNESSES[label]
    _, claim = claims.CLAIMS[label]
    certificate = claim.mutate(seed=seed)
    assert {key: certificate.witness[key] for key in fixed} == {k: approximately(v) for k, v in fixed.items()}
    if missed_by is not None:
        assert certificate.worst_slack == pytest.approx(missed_by, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("label", RELATIONS)
def test_numbers_of_a_random_witness_stand_to_each_other_as_the_text_says(label, seed):
    certificate = claims.CLAIMS[label][1].mutate(seed=seed)
    one, other = RELATIONS[label](certificate.witness, certificate.worst_slack)
    assert one == pytest.approx(other, abs=2e-4)  # margins are rounded to four places
