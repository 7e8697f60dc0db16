from itertools import combinations, permutations, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from bindlib.scenes import World
from bindlib.theory import throttle, throttle_claims, throttle_simulation, throttle_toy
from bindlib.theory.throttle import logistic_loss, zipf_swap_rate
from bindlib.theory.throttle_toy import Constants, SignCodes

SEEDS = st.integers(0, 2**31 - 1)
RATES = st.floats(0, 1)


def random_world(seed):
    return throttle_claims._draw_world(np.random.default_rng(seed))


@settings(deadline=None, max_examples=50)
@given(SEEDS, RATES)
def test_objective_by_summing_case_by_case(seed, rate):
    world, scores = random_world(seed)
    total = 0.0
    for (i, c), p in np.ndenumerate(world.joint):
        total += p * rate * logistic_loss(scores[i, c] - scores[i, world.swap[c]])
        for other, q in enumerate(world.unmatched[c]):
            total += p * (1 - rate) * q * logistic_loss(scores[i, c] - scores[i, other])
    assert throttle.pairwise_objective(scores, world, rate) == pytest.approx(float(total), rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(SEEDS, RATES)
def test_gaps_are_straight_lines(seed, rate):
    """The gap at π lies on the chord between the gaps at 0 and 1, whose right end is known."""
    world, scores = random_world(seed)
    margin = scores - scores[:, world.swap]
    ends = {
        throttle.pairing_blind: log(2) - float(np.sum(world.joint * logistic_loss(margin))),
        throttle.reversal: float(np.sum(world.joint * margin)),
    }
    for change, matched in ends.items():
        gap = [
            throttle.pairwise_objective(change(scores, world.swap), world, r)
            - throttle.pairwise_objective(scores, world, r)
            for r in (0, rate, 1)
        ]
        assert gap[2] == pytest.approx(matched, abs=1e-9)
        assert gap[1] == pytest.approx((1 - rate) * gap[0] + rate * gap[2], abs=1e-9)


def test_logistic_loss_does_not_overflow():
    assert logistic_loss(0) == pytest.approx(log(2))
    assert logistic_loss(-1e4) == 1e4 and logistic_loss(1e4) == 0


@pytest.mark.parametrize(("mean", "sd"), [(2, 0), (2, 1.2), (0, 2), (1, 0.85), (-3, 3)])
def test_quadrature_by_adaptive_integration(mean, sd):
    def integrand(z):
        return logistic_loss(mean + sd * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    exact = quad(integrand, -15, 15, epsabs=1e-12, limit=500)[0]
    assert throttle_toy.expected_logistic_loss(mean, sd) == pytest.approx(exact, abs=1e-7)


@settings(deadline=None, max_examples=50)
@given(SEEDS, st.integers(2, 6), st.integers(2, 6), st.integers(1, 40))
def test_mean_margin_over_every_scene(seed, m, k, dim):
    codes = SignCodes.draw(m, k, dim, np.random.default_rng(seed))
    scenes = np.array([s for s in product(range(m), range(m), range(k), range(k)) if s[0] != s[1] and s[2] != s[3]])
    true, swapped = codes.captions(scenes)
    margins = np.sum(true * (true - swapped), axis=1)
    assert codes.mean_margin() == pytest.approx(margins.mean(), abs=1e-9)
    assert margins == pytest.approx(np.sum((true - swapped) ** 2, axis=1) / 2)  # not the whole squared distance


@settings(deadline=None, max_examples=50)
@given(SEEDS)
def test_pair_gram_from_the_vectors_themselves(seed):
    rng = np.random.default_rng(seed)
    codes = SignCodes.draw(3, 4, 16, rng)
    scenes, others = throttle_toy.draw_scenes(20, 3, 4, rng), throttle_toy.draw_scenes(20, 3, 4, rng)
    vectors = np.stack([*codes.captions(scenes), *codes.captions(others)], axis=1)
    gram = throttle_toy.pair_gram(codes, scenes, others, codes.atom_gram())
    assert gram == pytest.approx(vectors @ np.swapaxes(vectors, 1, 2))
    root = throttle_simulation._semidefinite_root(gram)
    assert root @ np.swapaxes(root, 1, 2) == pytest.approx(gram, abs=1e-6)


def test_root_of_vectors_that_nearly_coincide():
    x, y = np.random.default_rng(0).standard_normal((2, 6))
    vectors = np.stack([x, x + 0.01 * y, x, y])
    gram = (vectors @ vectors.T)[None]
    root = throttle_simulation._semidefinite_root(gram)
    assert root @ np.swapaxes(root, 1, 2) == pytest.approx(gram, abs=1e-9)


def test_closed_forms_against_noise_vectors_drawn_in_full():
    """A second derivation: noise in all N coordinates, scores by inner products, in a vocabulary where scenes recur."""
    rng = np.random.default_rng(3)
    codes, n, noise = SignCodes.draw(3, 3, 32, rng), 100_000, 0.6
    scenes, others = throttle_toy.draw_scenes(n, 3, 3, rng), throttle_toy.draw_scenes(n, 3, 3, rng)
    (true, swapped), (other, other_swapped) = codes.captions(scenes), codes.captions(others)
    image = true + noise * rng.standard_normal(true.shape)
    a, b, c, d = (np.sum(image * t, axis=1) for t in (true, swapped, other, other_swapped))
    base = logistic_loss(a - c)
    samples = [
        log(2) - logistic_loss(a - b),
        a - b,
        logistic_loss((a + b - c - d) / 2) - base,
        logistic_loss(b - d) - base,
    ]
    closed = list(vars(throttle_toy.closed_forms(codes, noise)).values())
    simulated, errors = throttle_simulation.simulated_constants(codes, noise, n, rng)
    for sample, exact, quick, error in zip(
        samples, closed, vars(simulated).values(), vars(errors).values(), strict=True
    ):
        assert sample.std() / n**0.5 == pytest.approx(error, rel=0.1)
        assert abs(sample.mean() - exact) < 5 * error
        assert abs(sample.mean() - quick) < 7 * error


def test_limit_constants_from_orthonormal_atoms():
    """Walsh functions of indices that differ in separate bits have orthonormal products."""
    bits = np.arange(64)

    def walsh(index):
        parity = [bin(index & int(b)).count("1") % 2 for b in bits]
        return 1.0 - 2.0 * np.array(parity)

    codes = SignCodes(np.stack([walsh(i) for i in range(4)]), np.stack([walsh(8 * j) for j in range(4)]))
    assert codes.atom_gram() == pytest.approx(np.eye(16))
    scenes, others = np.array([[0, 1, 0, 1]]), np.array([[2, 3, 2, 3]])
    gram = throttle_toy.pair_gram(codes, scenes, others, codes.atom_gram())
    mean = gram[:, 0] @ throttle_toy.CONTRASTS.T
    sd = 0.6 * np.sqrt(np.einsum("di,nij,dj->nd", throttle_toy.CONTRASTS, gram, throttle_toy.CONTRASTS))
    losses = throttle_toy.expected_logistic_loss(mean, sd)[0]
    limit = throttle_toy.limit_constants(0.6)
    assert limit.matched_average == pytest.approx(log(2) - losses[0])
    assert limit.matched_reversal == pytest.approx(mean[0, 0]) == pytest.approx(codes.mean_margin())
    assert (limit.offset_average, limit.offset_reversal) == pytest.approx(tuple(losses[2:] - losses[1]))


def test_drawn_pairs_estimate_the_average_over_all_pairs():
    codes, rng = SignCodes.draw(4, 3, 24, np.random.default_rng(1)), np.random.default_rng(2)
    every, some = throttle_toy.closed_forms(codes, 0.4), throttle_toy.closed_forms(codes, 0.4, rng, 60_000)
    assert list(vars(some).values()) == pytest.approx(list(vars(every).values()), abs=0.02)
    assert len(throttle_toy.all_scenes(4, 3)) == throttle.n_two_object_scenes(4, 3)


def test_figure_15_constants_and_straightness():
    """Linear in π to Monte-Carlo error, and recovered constants within 0.005 of the closed forms."""
    rng = np.random.default_rng(0)
    codes, rates = SignCodes.draw(6, 6, 256, rng), np.linspace(0, 1, 6)
    exact = throttle_toy.closed_forms(codes, 0.6)
    gaps, errors = throttle_simulation.measured_gaps(codes, 0.6, rates, 100_000, rng)
    for column, (offset, matched) in enumerate(
        [(exact.offset_average, exact.matched_average), (exact.offset_reversal, exact.matched_reversal)]
    ):
        line = throttle_simulation.fit_line(rates, gaps[:, column], errors[:, column])
        assert line.worst_residual < 5
        assert line.at_zero == pytest.approx(offset, abs=0.02) and line.at_one == pytest.approx(matched, abs=0.02)
    rows = throttle_simulation.comparison_rows(codes, (0.6, 0.25), 400_000, rng)
    assert len(rows) == 8
    for row in rows:
        assert abs(row["simulated"] - row["quadrature"]) < min(0.01, 5 * row["standard error"])


def test_paper_values_lie_among_code_draws():
    """Figure 15, noise 0.6: the single values of the paper, and what they imply for c1 and c0."""
    values = dict(zip(Constants.__dataclass_fields__, (0.477, 1.949, 0.476 - 0.290, 1.943 - 1.261), strict=True))
    rows = throttle_toy.code_draw_rows(0.6, [(64, 6)], values, 40, np.random.default_rng(0))
    assert [row["paper"] for row in rows] == list(values.values())
    assert all(abs(row["scores"]) < 2.5 for row in rows)


def test_infonce_losses_by_hand():
    own, others = np.array([[1.0, -0.5]]), np.array([[[[0.2, 9.0], [-1.0, 9.0]]]])
    rest = np.exp(0.2) + np.exp(-1.0)
    assert throttle.infonce_losses(own, others, False) == pytest.approx(np.log((np.e + rest) / np.e))
    assert throttle.infonce_losses(own, others, True) == pytest.approx(np.log((np.e + np.exp(-0.5) + rest) / np.e))
    assert throttle.softened(own) == pytest.approx(np.log((np.e + np.exp(-0.5)) / 2))


def test_infonce_bound_is_close_where_scores_are_separated():
    """Own scores far above all others: gap and bound agree to the mass of the others."""
    rng = np.random.default_rng(0)
    own, others = np.array([[10.0, 7.0], [9.0, 7.0]]), rng.standard_normal((2, 3, 4, 2))
    both = np.concatenate([others, others[..., ::-1]], axis=1)
    laws = {held: np.full((2, 6), 1 / 6) for held in (True, False)}
    excess, witness = throttle_claims._infonce_excess(own, both, np.full(2, 0.5), laws, 0.1)
    assert excess <= 1e-12
    assert 0 < witness["bound"] - witness["gap"] < 0.01 < witness["gap"]


def test_web_scale_rate():
    scenes = throttle.n_two_object_scenes(1000, 100)
    assert scenes == 499_500 * 9_900
    assert throttle.implicit_swap_rate(32_768, 1 / scenes) == pytest.approx(32_767 / scenes, rel=1e-5)
    assert f"{throttle.implicit_swap_rate(32_768, 1 / scenes):.1e}" == "6.6e-06"


def test_number_of_scenes_by_listing_them():
    world = World(tuple("abcd"), tuple("xyz"))
    assert throttle.n_two_object_scenes(4, 3) == world.n_scenes(2) == len(set(world.scenes(2)))
    assert throttle.n_two_object_scenes(2, 2) == len(set(World(("a", "b"), ("x", "y")).scenes(2))) == 2


def test_implicit_rate_at_its_ends():
    assert throttle.implicit_swap_rate(1, 0.5) == 0
    assert throttle.implicit_swap_rate(1, 1.0) == 0
    assert throttle.implicit_swap_rate(2, 1.0) == 1
    assert throttle.implicit_swap_rate(100, np.zeros(3), np.full(3, 1 / 3)) == 0


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_claims_hold_for_any_seed_and_mutants_fail(seed):
    for claim in throttle_claims.CLAIMS:
        certificate = claim.certify(seed=seed, instances=100)
        assert certificate.holds, certificate
        assert not claim.mutate(seed=seed).holds


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
def test_bad_rates(rate):
    world, scores = random_world(0)
    for rates in ([rate], [0.5, rate], [rate, 0.5], [[0.0, 1.0], [1.0, rate]]):
        with pytest.raises(ValueError, match="rate is a probability"):
            throttle.checked_rate(rates, "the rate")
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        throttle.pairwise_objective(scores, world, rate)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        throttle.implicit_swap_rate(10, rate)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        throttle_toy.limit_constants(0.6).average_gap(rate)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        throttle_simulation.measured_gaps(SignCodes.draw(3, 3, 8, np.random.default_rng(0)), 0.1, [rate], 10, None)


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_bad_noise(noise):
    codes, rng = SignCodes.draw(3, 3, 8, np.random.default_rng(0)), np.random.default_rng(0)
    for call in (
        lambda: throttle_toy.limit_constants(noise),
        lambda: throttle_toy.closed_forms(codes, noise, rng, 10),
        lambda: throttle_simulation.draw_contrasts(codes, noise, 10, rng),
    ):
        with pytest.raises(ValueError, match="noise"):
            call()


def test_other_bad_input():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="two objects"):
        throttle_toy.draw_scenes(3, 1, 5, rng)
    for sizes in ((5, 1), (1, 5)):
        with pytest.raises(ValueError, match="two objects"):
            throttle.n_two_object_scenes(*sizes)
    with pytest.raises(ValueError, match="at least the caption"):
        throttle.implicit_swap_rate(0, 0.1)
    with pytest.raises(ValueError, match="sum to 1"):
        throttle.implicit_swap_rate(4, np.array([0.1, 0.2]), np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="one sample"):
        throttle_simulation.simulated_constants(SignCodes.draw(3, 3, 8, rng), 0.1, 0, rng)
    with pytest.raises(ValueError, match="two draws"):
        throttle_toy.code_draw_rows(0.6, [(8, 3)], {}, 1, rng)


def test_noiseless_toy():
    """Without noise every sample of the margin is half the squared distance."""
    rng = np.random.default_rng(0)
    codes = SignCodes.draw(4, 4, 16, rng)
    simulated, _ = throttle_simulation.simulated_constants(codes, 0.0, 20_000, rng)
    exact = throttle_toy.closed_forms(codes, 0.0)
    assert list(vars(simulated).values()) == pytest.approx(list(vars(exact).values()), abs=0.05)


def test_zipf_rates_against_every_scene_of_a_small_world():
    n_objects, n_attributes, batch = 5, 4, 50
    scenes = [
        (o1, o2, a1, a2)
        for o1, o2 in combinations(range(1, n_objects + 1), 2)
        for a1, a2 in permutations(range(1, n_attributes + 1), 2)
    ]
    p = np.array([1 / np.prod(scene) for scene in scenes])
    p /= p.sum()
    bound, rate = zipf_swap_rate(batch, n_objects, n_attributes)
    assert bound == pytest.approx((batch - 1) * (p @ p))
    assert rate == pytest.approx(p @ (1 - (1 - p) ** (batch - 1)))


def test_repeated_swaps_without_repeated_captions_break_the_bound():
    """Two swaps of which one stands among the others, never a copy of the caption: blindness costs nearly log 3."""
    own = np.array([[20.0, 0.0]])
    others, sure = own[:, None, None, ::-1], np.ones((1, 1))
    excess, found = throttle_claims._infonce_excess(own, others, np.ones(1), {True: sure, False: sure}, 1.0)
    assert excess > 0.01 and found["gap"] == pytest.approx(log(3)) and found["bound"] == pytest.approx(log(2))


def test_a_rival_needs_others_that_are_not_the_swap():
    """One other negative: the swap, unannounced, or as often a copy of the caption, so that it is exchangeable."""
    own = np.array([[20.0, 0.0]])
    others = np.stack([own, own[:, ::-1]], axis=1)[:, :, None]
    kept = throttle.blind_rival(own, others)[0]
    blind = np.broadcast_to(kept[:, None, None], others.shape)  # both are the image's own pair
    price = np.mean(throttle.infonce_losses(kept, blind, False) - throttle.infonce_losses(own, others, False))
    assert price == pytest.approx(log(2) / 2)  # where the sliver is 0


def test_a_swap_alone_among_the_candidates_attains_the_sliver():
    own, nothing = np.array([[3.0, 1.0]]), np.full((1, 1, 1, 2), -np.inf)
    losses = [throttle.infonce_losses(*pair, True) for pair in ((own, nothing), throttle.blind_rival(own, nothing))]
    assert losses[1] - losses[0] == pytest.approx(log(2) - logistic_loss(2.0))
