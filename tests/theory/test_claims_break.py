"""Every check finds a wrong formula: on functions that are a little off, no claim's certificate holds."""

from dataclasses import is_dataclass, replace

import numpy as np
import pytest

from bindlib.book import claims
from bindlib.theory import (
    axioms,
    axioms_claims,
    bag_of_words,
    balanced_coupling,
    balanced_coupling_claims,
    binding_functions_claims,
    coverage_claims,
    depth_law_claims,
    factored_codes_claims,
    factored_inference,
    factored_inference_claims,
    frontier,
    radon,
    separation,
    throttle,
    throttle_claims,
)

# The broken functions compute NaN or divide by what they broke; that the check says so is the point.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def scaled(result, factor):
    """``factor`` times a number or array, every value of a dictionary, or the first entry of a tuple."""
    if isinstance(result, dict):
        return {key: factor * value for key, value in result.items()}
    if isinstance(result, axioms.Encoder):
        return axioms.Encoder(factor * result.images, result.texts)
    if isinstance(result, tuple):
        return (scaled(result[0], factor), *result[1:])
    return factor * np.asarray(result)


def by(factor):
    return lambda function: lambda *args, **kwargs: scaled(function(*args, **kwargs), factor)


def field(name, factor):
    """The field of a dataclass, times the factor."""
    return lambda function: lambda *args, **kwargs: _scaled_field(function(*args, **kwargs), name, factor)


def _scaled_field(result, name, factor):
    assert is_dataclass(result)
    return replace(result, **{name: factor * getattr(result, name)})


def always(value):
    return lambda function: lambda *args, **kwargs: value


def after(change):
    """The function, its result changed."""
    return lambda function: lambda *args, **kwargs: change(function(*args, **kwargs))


def called_with(change):
    """The function, its arguments changed."""
    return lambda function: lambda *args, **kwargs: function(*change(*args), **kwargs)


def verdicts_flipped(verdicts):
    flipped = np.where(verdicts.status == separation.SEPARABLE, separation.INSEPARABLE, separation.SEPARABLE)
    return replace(verdicts, status=flipped)


def one_sign_wrong(found):
    objects = found.objects.copy()
    objects[0] *= -1
    return replace(found, objects=objects)


def unsigned(circuits):
    return replace(circuits, weights=np.abs(circuits.weights))


def apart(separation):
    return replace(separation, margin=1.0)


def objects_by(factor):
    return field("objects", factor)


def by_position(leaves, roles, depth):
    return leaves * np.arange(len(leaves))[:, None], roles, depth


def more_own(side, own, *rest):
    return side, own + 1e-3, *rest


def smaller_scene(mu, k):
    return mu, k - 0.5


def texts_rolled(encoder):
    return axioms.Encoder(encoder.images, np.roll(encoder.texts, 1, axis=1))


def changed(key, value):
    return lambda table: table | {key: value}


def negations_flipped(holistic, scores, negated, *rest):
    return holistic, scores, ~negated, *rest


def another_scene(scene):
    return fi.WORLD.draw(len(scene), np.random.default_rng(9))


def additive(_, *rest):
    return "additive", *rest


def one_code_less(codes, rng):
    return codes[1:], rng


def uneven(n_a, n_b, share=0.5):
    return n_a, n_b, 0.51


def one_mass_a_token(row_masses):
    return lambda n_a, n_b, share=0.5: np.full(n_a + n_b, 1 / (n_a + n_b))


def rising(masses):
    """A little more mass the later a token stands."""
    tilted = masses * np.linspace(1, 1.1, len(masses))
    return tilted / tilted.sum()


ax, fc, de = axioms_claims, factored_codes_claims, depth_law_claims
th, co = throttle_claims, coverage_claims
fi, bf, bc = factored_inference_claims, binding_functions_claims, balanced_coupling_claims
BELOW, ABOVE, NAN, MINUS = map(by, (0.999, 1.001, np.nan, -1.0))

BROKEN = [
    ("thm-satisfiability", axioms, "truth_table_encoder", [BELOW, ABOVE, NAN, MINUS, after(texts_rolled)]),
    ("thm-satisfiability", axioms, "check_axiom", [field("margin", np.nan), field("margin", -1.0)]),
    ("prop-signed-encoder", axioms, "signed_encoder", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-signed-encoder", axioms.Encoder, "margins", [ABOVE, NAN, MINUS]),
    ("prop-circle", axioms, "ranked_encoder", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-circle", axioms, "find_cycle", [always([]), always([(0, 0, 0)]), after(lambda c: c[1:])]),
    ("prop-circle", axioms.Encoder, "margins", [NAN, MINUS]),
    ("prop-best-image", ax, "best_image", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-best-image", ax, "best_image", [after(lambda found: (found[0], 0.999 * found[1]))]),
    ("prop-margin-bound", axioms, "margin_bound", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-margin-bound", axioms, "contrast_matrix", [BELOW, ABOVE, after(np.abs)]),
    ("thm-radon", radon, "radon_partition", [field("weights", factor) for factor in (0.999, 1.001, np.nan, -1.0)]),
    ("thm-radon", radon, "radon_partition", [field("residual", np.nan)]),
    ("thm-radon", radon, "largest_scene", [after(lambda k: k - 1), NAN]),
    ("thm-radon", separation, "separable", [field("margin", np.nan), after(apart)]),
    ("prop-half-shattered", radon, "half_shattering", [always(None), always([]), after(lambda found: found or [])]),
    ("prop-half-shattered", separation, "separable", [field("margin", np.nan), after(apart)]),
    ("prop-half-shattered", radon, "lifted", [NAN, called_with(lambda points: (points**2,))]),
    ("prop-circuits", separation, "all_subsets", [after(verdicts_flipped)]),
    ("prop-circuits", separation, "circuits", [field("weights", np.nan), after(unsigned)]),
    ("prop-circuits", separation, "lifted", [called_with(lambda points: (np.abs(points),))]),
    ("prop-cover", radon, "cover_count", [BELOW, ABOVE, NAN, MINUS, after(lambda n: n + 1)]),
    ("prop-cover", separation, "all_subsets", [after(verdicts_flipped)]),
    ("thm-moment-curve-tight", radon, "moment_separator", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-moment-curve-tight", radon, "moment_curve", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-moment-curve-tight", radon, "split_gap", [NAN, MINUS]),
    ("prop-coherent-codes", radon, "coherent_gap", [BELOW, ABOVE, NAN, MINUS, called_with(smaller_scene)]),
    ("prop-coherent-codes", radon, "coherence", [BELOW, ABOVE, NAN]),
    ("prop-coherent-codes", radon, "split_gap", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-bag-of-words-collapse", bag_of_words, "margin", [NAN, after(lambda m: m + 1e-3)]),
    ("prop-ceiling", bag_of_words, "ceiling", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-ceiling", bag_of_words, "best_image", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-ceiling", bag_of_words, "margin", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-position-blind", bag_of_words, "ceiling", [NAN]),
    ("thm-pooled-margins", fc, "predicted_margins", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-pooled-margins", fc, "margins", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-all-swaps", fc, "best_swap_margin", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-all-swaps", fc, "swap_directions", [BELOW, ABOVE]),
    ("prop-additive-cannot-bind", fc, "_additive_table", [after(np.square)]),
    ("prop-additive-cannot-bind", fc, "_swap_change", [BELOW, NAN, after(lambda change: change + 1)]),
    ("prop-additive-cannot-bind", fc, "_scene_change", [NAN, after(lambda change: change + 1e-3)]),
    ("prop-leakage-price", fc, "predicted_margins", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-leakage-price", fc, "leaky_code", [called_with(more_own)]),
    ("lem-pooling-step", de, "orthonormal", [BELOW, ABOVE, NAN]),
    ("lem-pooling-step", de, "_cosine_margin", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-depth-law", de, "law", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-depth-law", de, "encode", [BELOW, ABOVE, NAN]),
    ("thm-depth-law", de, "orthonormal", [NAN, after(np.abs)]),
    ("thm-finite-depth-law", de, "law", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-finite-depth-law", de, "_angle_cosine", [by(0.1), NAN]),
    ("thm-finite-depth-law", de, "finite_bounds", [ABOVE, NAN, after(lambda b: (b[0], 0.999 * b[1]))]),
    ("thm-finite-depth-law", de, "finite_bounds", [called_with(lambda q, depth: (q / 4, depth))]),
    ("cor-resolvable-depth", de, "resolvable_depth", [BELOW, ABOVE, NAN, MINUS, after(lambda depth: depth + 1)]),
    ("prop-role-aliasing", de, "distinguishable_positions", [BELOW, ABOVE, NAN, after(lambda n: n - 1)]),
    ("prop-role-aliasing", de, "_pooled", [NAN, called_with(by_position)]),
    ("thm-throttle-average", th, "pairing_blind", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-throttle-average", throttle, "logistic_loss", [BELOW, ABOVE, NAN, called_with(lambda x: (-x,))]),
    ("thm-throttle-average", th, "pairwise_objective", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-throttle-reversal", th, "reversal", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-throttle-reversal", throttle, "logistic_loss", [BELOW, ABOVE, NAN, called_with(lambda x: (2 * x,))]),
    ("thm-throttle-reversal", th, "pairwise_objective", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-unmatched-offsets", th, "pairing_blind", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-unmatched-offsets", th, "reversal", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-unmatched-offsets", th, "logistic_loss", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-unmatched-offsets", throttle, "logistic_loss", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-infonce-throttle", th, "softened", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-infonce-throttle", th, "infonce_losses", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-infonce-throttle", th, "logistic_loss", [by(0.9), NAN, MINUS]),
    ("prop-blind-rival", th, "blind_rival", [BELOW, ABOVE, NAN, MINUS, after(lambda pair: (pair[0], 0.999 * pair[1]))]),
    ("prop-blind-rival", th, "infonce_losses", [by(2.0), NAN, MINUS]),
    ("prop-blind-rival", th, "logistic_loss", [ABOVE, by(2.0), NAN]),
    ("prop-implicit-rate", th, "implicit_swap_rate", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-tensor-gauge", co, "identify_factors", [after(one_sign_wrong), *map(objects_by, (0.999, 1.001, np.nan))]),
    ("thm-tensor-gauge", co, "tensor_exposures", [BELOW, ABOVE, NAN]),
    ("thm-coverage-decides", co, "sign_agnostic_scores", [BELOW, ABOVE, NAN, MINUS, after(lambda pair: pair[::-1])]),
    ("thm-coverage-decides", co, "matcher_decision", [always(0), always(None), after(lambda shown: 1 - shown)]),
    ("prop-one-of-each", co, "pair_presence", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-one-of-each", co, "tensor_decision", [always(0), always(None)]),
    ("prop-one-of-each", co, "tensor_decidable", [always(True), always(False)]),
    ("thm-hadamard-undecidable", co, "best_accuracy", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-hadamard-undecidable", co, "hadamard_accuracy", [BELOW, ABOVE, NAN]),
    ("thm-hadamard-undecidable", co, "hadamard_decidable", [always(False)]),
    ("thm-hadamard-decidable", co, "hadamard_accuracy", [BELOW, ABOVE, NAN, MINUS]),
    ("thm-hadamard-decidable", co, "best_accuracy", [BELOW, ABOVE, NAN]),
    ("thm-hadamard-decidable", co, "hadamard_decidable", [always(True)]),
    ("thm-frontier", frontier, "paper_cap", [BELOW, ABOVE, NAN]),
    ("thm-frontier", frontier, "margin", [ABOVE, NAN]),
    ("thm-frontier", frontier, "ceiling", [BELOW, ABOVE, NAN]),
    ("thm-sharp-frontier", frontier, "sharp_cap", [BELOW, ABOVE, NAN]),
    ("thm-sharp-frontier", frontier, "smoothness", [BELOW, ABOVE, NAN]),
    ("prop-midpoint-anchor", frontier, "smallest_delta", [BELOW, ABOVE, NAN, MINUS]),
    ("prop-midpoint-anchor", frontier, "sharp_cap", [BELOW, ABOVE, NAN]),
    ("prop-edit-sign", factored_inference, "soft_log_odds", [BELOW]),
    ("prop-edit-sign", factored_inference, "GAMMA", [changed("and", 2.0), changed("or", 0.5), changed("other", 1.001)]),
    ("prop-single-not", factored_inference, "evidence", [ABOVE]),
    ("prop-single-not", fi, "lcse", [called_with(negations_flipped)]),
    ("thm-soft-replaced", factored_inference, "logical_log_odds", [BELOW]),
    ("thm-soft-replaced", fi, "power_mean", [BELOW]),
    ("thm-soft-replaced", fi, "soft_log_odds", [ABOVE]),
    ("prop-slopes", fi, "slopes", [ABOVE, MINUS]),
    ("prop-slopes", fi, "turning_point", [by(0.95)]),
    ("prop-slopes", factored_inference, "soft_log_odds", [BELOW]),
    ("thm-de-morgan", fi, "de_morgan_gap", [NAN, by(0.0)]),
    ("thm-de-morgan", fi, "_dual_or", [BELOW]),
    ("thm-de-morgan", factored_inference, "power_mean", [BELOW]),
    ("thm-words-are-blind", fi, "words", [lambda _: fi.atoms]),
    ("thm-words-are-blind", fi, "swap", [lambda _: another_scene]),
    ("thm-words-are-blind", fi, "lcse", [lambda f: lambda h, *rest: f(h, *rest) + 1e-3 * h**2]),
    ("thm-product-represents", bf, "draw_code", [called_with(additive)]),
    ("prop-blind-fit", bf, "blind_r_squared", [BELOW]),
    ("thm-path-identifies", bf, "path_product", [ABOVE]),
    ("prop-hashed-unseen", bf, "_unseen_slack", [called_with(one_code_less)]),
    ("thm-coupling-antisymmetric", balanced_coupling, "row_masses", [called_with(uneven)]),
    ("prop-coupling-length", balanced_coupling, "row_masses", [one_mass_a_token]),
    ("prop-coupling-limits", bc, "plan", [by(0.9), NAN]),
    ("prop-coupling-same-words", balanced_coupling, "row_masses", [after(rising)]),
    ("prop-coupling-two-things", bc, "tanh", [ABOVE, BELOW, NAN]),
]  # fmt: skip
CASES = [
    pytest.param(label, module, name, broken, id=f"{label}-{name}-{row}.{i}")
    for row, (label, module, name, ways) in enumerate(BROKEN)
    for i, broken in enumerate(ways)
]


def holds(label):
    """Whether the check passes; one that stops at nonsense (``ValueError``) does not."""
    _, claim = claims.CLAIMS[label]
    try:
        return claim.certify(seed=0, instances=20 if label == "prop-circuits" else 100).holds
    except ValueError:
        return False


@pytest.mark.parametrize(("label", "module", "name", "broken"), CASES)
def test_a_wrong_formula_is_found_by_the_check(monkeypatch, label, module, name, broken):
    monkeypatch.setattr(module, name, broken(getattr(module, name)))
    assert not holds(label)


@pytest.mark.parametrize("label", claims.CLAIMS)
def test_the_short_check_holds_while_nothing_is_broken(label):
    assert holds(label)


def test_every_claim_is_broken_at_least_once():
    assert {label for label, *_ in BROKEN} == set(claims.CLAIMS)
