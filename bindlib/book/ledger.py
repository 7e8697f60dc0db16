"""The ledger: each figure and number that the source paper reports, and what comes out here.

Every row is computed when it is asked for.  A value that depends on a random draw is held against many draws: it is
*reproduced* when their mean lies within the tolerance, and *within the spread of single draws* when the mean does not
but single draws lie on both sides of it.

What the book *contradicts* is a finding with its reason and a computed example, no failure: such a row is one only as
long as the example is found again.  A *reading* is a sentence without a number; the row says what speaks for it here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from bindlib.book import claims
from bindlib.book.reported import reported
from bindlib.theory import (
    coverage,
    coverage_trials,
    depth_law,
    depth_law_measured,
    frontier,
    radon,
    throttle_simulation,
)
from bindlib.theory import factored_codes as codes
from bindlib.theory.radon_claims import pierced_simplex
from bindlib.theory.separation import all_subsets
from bindlib.theory.throttle_toy import SignCodes, closed_forms, constants_over_codes

REPRODUCED = "reproduced"
SPREAD = "within the spread of single draws"
MISSED = "not reproduced"
CONTRADICTED = "contradicted"
READING = "a reading, not a number"
NOT_HERE = "not reproducible here"
DRAWS = {"ci": 40, "full": 400}


@dataclass(frozen=True)
class Row:
    """One line of the ledger; all text, ``draws`` a count of independent draws (0: nothing was drawn)."""

    figure: str
    quantity: str
    reports: str
    ours: str
    draws: int
    tolerance: str
    why: str
    status: str
    command: str = "bindlib reproduce"


def judge(value: float, draws: Sequence[float], tolerance: float) -> str:
    """The status of a reported ``value`` against independent ``draws``, or against a single closed form."""
    draws = np.asarray(draws, dtype=np.float64)
    if abs(draws.mean() - value) <= tolerance:
        return REPRODUCED
    return SPREAD if len(draws) > 1 and draws.min() <= value <= draws.max() else MISSED


def _drawn(figure: str, key: str, draws: np.ndarray, tolerance: float, why: str) -> Row:
    value = reported(key)
    ours = f"{draws.mean():.4f}, from {draws.min():.4f} to {draws.max():.4f}"
    status = judge(value.number, draws, tolerance)
    return Row(figure, value.meaning, value.text, ours, len(draws), f"{tolerance:g} on the mean", why, status)


def _bounded(figure: str, quantity: str, reports: str, off: float, tolerance: float, draws: int, why: str) -> Row:
    status = REPRODUCED if off <= tolerance else MISSED
    return Row(figure, quantity, reports, f"off by at most {off:.2g}", draws, f"{tolerance:g}", why, status)


def _claimed(figure: str, quantity: str, label: str, seed: int) -> Row:
    row = claims.check(label, seed=seed)
    ours = f"claim {label}: worst slack {row['worst_slack']:.1g}; mutant fails by {row['mutant']['worst_slack']:.2g}"
    status = REPRODUCED if claims.sound(row) else MISSED
    why = "a theorem: proved in the book, checked on random instances"
    return Row(figure, quantity, "the statement", ours, row["instances"], f"{row['tolerance']:g}", why, status)


def _depth(rng: np.random.Generator, draws: int) -> Iterator[Row]:
    products = np.array([row["product"] for row in depth_law_measured.product_rows(draws, rng)])
    within, why = reported("depth_products_within"), "means over draws, b = 2, 3, 4; the paper names neither"
    off = float(np.abs(products - 2).max())
    yield _bounded("Figure 2(a)", within.meaning, within.text, off, within.number, draws, why)
    cells = [(b, 2**n) for b in range(2, 9) for n in range(8, 21)]
    wrong = float(sum(depth_law.resolvable_depth(n, b) != _counted_depth(n, b) for b, n in cells))
    why = f"the definition, counted depth by depth in {len(cells)} cells: b in 2..8, N in 2^8..2^20"
    yield _bounded("Figure 2(b)", "D* = floor(log_b(sqrt(N)/5)), the staircase", "exact", wrong, 0.0, 0, why)
    depths = {n: [depth_law.resolvable_depth(n, b) for b in (2, 3, 8)] for n in (512, 1024)}
    ours = "; ".join(f"N = {n}: " + ", ".join(map(str, found)) for n, found in depths.items())
    status = REPRODUCED if max(max(found) for found in depths.values()) < 10 else MISSED
    why = "closed form, for b = 2, 3, 8; at depth 0 no swap at all is resolved"
    yield Row("Abstract", "resolvable depth at CLIP scale", "single-digit", ours, 0, "exact", why, status)


def _counted_depth(dim: int, branching: int) -> int:
    """Depths whose margin ``2 b^-D`` reaches ``10 / sqrt(N)``, that is ``25 b^(2 D) <= N``, counted in integers."""
    depth = 0
    while 25 * branching ** (2 * (depth + 1)) <= dim:
        depth += 1
    return depth


def _pooled(rng: np.random.Generator, draws: int) -> Iterator[Row]:
    few, scenes = max(3, draws // 20), int(reported("pooled_scenes").number)
    drawn = [codes.draw_code("hadamard", 40, 40, 4096, rng) for _ in range(few)]
    ratios = [
        codes.margins(code, k, scenes, rng)[kind].mean() / codes.predicted_margins(k)[kind]
        for code in drawn
        for k in (2, 4, 8, 16, 32)
        for kind in codes.KINDS
    ]
    off, why = float(np.abs(np.array(ratios) - 1).max()), "largest over sizes 2 to 32 and three kinds"
    what = "measured over predicted margins, 2/k, 1/k and 1 - sqrt(k/(k+1))"
    yield _bounded("Figure 10", what, "to plotting accuracy", off, 0.01, few, why)
    products = codes.inner_products(drawn[0], 2000, rng)
    off = float(np.max([abs(values.mean() - (name == "gain")) for name, values in products.items()]))
    why = "mean products of 2,000 pairs of atoms of one code, N = 4096"
    yield _bounded("Figure 9", "gain and leakage of tied factored codes", "g = 1, l near 0", off, 0.01, 1, why)


TOY_DIM, TOY_WORDS = 64, 6


def _throttle(rng: np.random.Generator, draws: int) -> Iterator[Row]:
    why = f"codes of N = {TOY_DIM}, M = K = {TOY_WORDS}; the paper does not give its sizes, these are inferred"
    for noise, low in (("throttle_noise", ""), ("throttle_low_noise", "low_")):
        found = constants_over_codes(reported(noise).number, TOY_DIM, TOY_WORDS, draws, rng)
        yield _drawn("Figure 15", f"throttle_{low}average", found[:, 0], 0.005, why)
        yield _drawn("Figure 15", f"throttle_{low}reversal", found[:, 1], 0.005, why)
        if not low:
            yield _drawn("Figure 15", "throttle_average_slope", found[:, 0] - found[:, 2], 0.005, why)
            yield _drawn("Figure 15", "throttle_reversal_slope", found[:, 1] - found[:, 3], 0.005, why)
    yield from _throttle_simulated(rng)


def _throttle_simulated(rng: np.random.Generator) -> Iterator[Row]:
    toy = SignCodes.draw(TOY_WORDS, TOY_WORDS, TOY_DIM, rng)
    error, noises = reported("throttle_error"), [reported(f"throttle_{low}noise").number for low in ("", "low_")]
    rows = throttle_simulation.comparison_rows(toy, noises, 10**6, rng)
    off = float(np.max([abs(row["simulated"] - row["quadrature"]) for row in rows]))
    why = "a million samples against quadrature: four constants at each noise"
    yield _bounded("Figure 15", "constants recovered by simulation", f"to {error.text}", off, error.number, 1, why)
    rates = np.linspace(0, 1, 11)
    gaps, errors = map(np.asarray, throttle_simulation.measured_gaps(toy, noises[0], rates, 200_000, rng))
    closed = closed_forms(toy, noises[0])
    lines = np.stack([closed.average_gap(rates), closed.reversal_gap(rates)], axis=1)
    off = float(np.abs((gaps - lines) / errors).max())
    why = "in standard errors, from the line of the closed forms; 11 rates, samples of their own"
    yield _bounded("Figure 15", "both gaps linear in the swap rate", "exactly linear", off, 4.0, 1, why)


def _coverage(rng: np.random.Generator) -> Row:
    apart, trials = coverage_trials.ARRANGEMENTS["four words, all apart"], 500
    rule = coverage_trials.tensor_matcher
    right = coverage_trials.tensor_accuracy(apart, coverage_trials.QUESTION, rule, 16, trials, rng)
    what = "a sign-agnostic matcher decides swaps across components (tensor codes)"
    status = REPRODUCED if right == trials else MISSED
    why = "fresh factors for every question"
    return Row("Figure 16", what, "it decides", f"{right} of {trials} right", trials, "all", why, status)


def _radon(rng: np.random.Generator, draws: int) -> Row:
    dim, n = (int(reported(key).number) for key in ("radon_dim", "radon_objects"))
    crossed = 0
    for _ in range(draws):
        angles = np.sort(rng.uniform(0, 2 * np.pi, n))
        part = radon.radon_partition(np.stack([np.cos(angles), np.sin(angles)], axis=1))
        crossed += {frozenset(part.left), frozenset(part.right)} == {frozenset({0, 2}), frozenset({1, 3})}
    what = f"N = {dim}, M = {n}: the chords of opposite points cross, so no image separates them"
    status, ours = REPRODUCED if crossed == draws > 0 else MISSED, f"{crossed} of {draws} circles"
    return Row("Figure 7", what, "the picture", ours, draws, "all", "Radon partition of random points", status)


def _frontier() -> Row:
    delta, cap = reported("clip_b32_delta"), reported("clip_b32_cap_of_mean")
    ours, why = float(frontier.paper_cap(delta.number)), "closed form; rounded as printed"
    status = judge(cap.number, [ours], 0.0005)
    return Row("Figure 11", f"2 sqrt(2 δ) at δ = {delta.text}", cap.text, f"{ours:.4f}", 0, "0.0005", why, status)


def _contradicted(figure: str, quantity: str, reports: str, ours: str, shown: bool, why: str) -> Row:
    return Row(figure, quantity, reports, ours, 0, "exact", why, CONTRADICTED if shown else MISSED)


def _contradictions() -> Iterator[Row]:
    """What the book contradicts, each with the example that does, computed anew."""
    size, dim = 3, 4
    points = pierced_simplex(dim)
    shares = {k: all_subsets(points, k).share for k in range(1, size + 1)}
    shown = shares[size] == 1 and size > radon.largest_scene(dim) and len(points) == dim + 2
    why = f"Radon forbids some size up to {size}, not this one: with N + 2 objects a single size can hold"
    ours = ", ".join(f"{100 * share:.0f} % of scenes of {k}" for k, share in shares.items()) + " separable"
    what = "content of one size j > floor(N/2) alone"
    yield _contradicted("Figure 6", what, "forbidden", f"N = {dim}, M = {len(points)}: {ours}", shown, why)
    delta = 0.5
    curve, sharp = float(frontier.paper_cap(delta)), float(frontier.sharp_cap(delta))
    why = "the sharp cap sqrt(4 δ (2 - δ)) lies below the curve for every δ > 0: proved, for a unit anchor"
    ours = f"at δ = 1/2 the curve says {curve:.4f}, and the largest margin is {sharp:.4f}"
    what = "pairs (δ, M) below 2 sqrt(2 δ) are achievable"
    yield _contradicted("Figure 11", what, "the curve is attained", ours, sharp < curve - 0.1, why)
    graph, question = coverage_trials.ARRANGEMENTS["four words, all apart"], coverage_trials.QUESTION
    best = coverage.hadamard_accuracy(graph, question, 512)
    shown = coverage.covered(graph, question) and best == 0.5
    why = (
        "true of tensor codes; with sign codes, those of Figure 9, signs of the components decide, and they are unseen"
    )
    ours = f"all four words seen, N = 512: no rule is right more often than {best:g}"
    what = "coverage, and not connectivity, is the information threshold"
    yield _contradicted("Figure 16", what, "for the factored code", ours, shown, why)


def _readings() -> Iterator[Row]:
    """Sentences of the paper without a number, and what speaks for or against them here."""
    cap = float(frontier.paper_cap(0.5))
    yield Row("Figure 13", "which limit remains", "the frontier; depth is not on the map",
              f"from δ = 1/2 the curve allows {cap:g}, every margin there is", 0, "",
              "the abstract says that a depth ceiling remains; the frontier limits only captions near an anchor, and "
              "the depth law only codes that are pooled at every level", READING)  # fmt: skip
    yield Row("Abstract", "why deployed encoders fail", "incentive and code structure, not dimension or smoothness",
              "not decided", 0, "",
              "a usage below the cap says that smoothness is not used up and nothing of the cause: untrained towers "
              "have such a usage too", READING)  # fmt: skip
    yield Row("Abstract", "the nesting depth of ordinary language", "single-digit", "not checked", 0, "",
              "no source is named; corpora have clauses nested in the centre three deep at most (Karlsson 2007), which "
              "is another measure than the depth of a tree of roles", READING)  # fmt: skip


WEIGHTS = "needs the weights of the paper's encoders, which must be downloaded, and its captions, which are not public"
IMAGES = "needs SugarCrepe's images (COCO) and the weights of the paper's dual encoders"


MEASURE = "bindlib measure open_clip:ARCH/TAG ..."
NOT_REPRODUCIBLE = (
    ("Figure 3, Table 1", ("usage_low", "usage_high", "models", "negclip"), WEIGHTS, MEASURE),
    ("Figure 11", ("clip_b32_usage", "clip_b32_delta", "clip_b32_mean_cap"), WEIGHTS, MEASURE),
    ("Figure 12", ("sugarcrepe_models", "sugarcrepe_decisions", "errors_below_median", "top_decile_accuracy",
                   "low_decile_accuracy", "subset_order", "subset_correlation"),
     IMAGES, "none: this book loads no images of SugarCrepe"),
)  # fmt: skip


def _not_here() -> Iterator[Row]:
    for figure, keys, why, command in NOT_REPRODUCIBLE:
        for value in map(reported, keys):
            yield Row(figure, value.meaning, value.text, "", 0, "", why, NOT_HERE, command)


def run(profile: str = "ci", seed: int = 0) -> list[dict]:
    """Every row of the ledger, JSON-ready, computed now; ``profile`` sets the number of draws."""
    rng, draws = np.random.default_rng(seed), DRAWS[profile]
    rows = [
        *_depth(rng, draws),
        _radon(rng, 500),
        _claimed("Figure 8", "a pairing-blind text map has margin 0", "thm-bag-of-words-collapse", seed),
        *_pooled(rng, draws),
        _claimed("Figure 11", "m ≤ d ≤ 2 sqrt(2 δ)", "thm-frontier", seed),
        _frontier(),
        *_throttle(rng, draws),
        _coverage(rng),
        *_contradictions(),
        *_readings(),
        *_not_here(),
    ]  # fmt: skip
    return [asdict(row) for row in rows]
