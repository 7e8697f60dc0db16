from functools import cache
from types import SimpleNamespace

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bindlib.encoders import drawn
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.remedies import balanced_coupling as remedy
from bindlib.remedies import balanced_coupling_benchmark as bench
from bindlib.remedies import balanced_coupling_features as features
from bindlib.theory import balanced_coupling as theory

pytestmark = pytest.mark.usefixtures("quiet")

SEEDS = st.integers(0, 2**31 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


def draw(seed=0, n_a=3, n_b=5, sizes=(4, 9), dim=6):
    draws = rng(seed)
    tokens = [draws.standard_normal((n, dim)) for n in (n_a, n_b)]
    return *tokens, [draws.standard_normal((p, dim)) for p in sizes]


@cache
def towers(which="1"):
    return features.shipped_towers(which)


@cache
def items(task="swap", n=6):
    return bench.draw_items(task, n, rng(3))


def solved(call):
    """What ``call()`` returns; the example does not count where ``ε`` is too small for the solver, which says so."""
    try:
        return call()
    except ValueError as error:
        assume("raise" not in str(error))
        raise


@given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.floats(0.02, 3))
@settings(max_examples=25)
def test_exchange_turns_the_sign_of_the_score(seed, n_a, n_b, epsilon):
    a, b, patches = draw(seed, n_a, n_b)
    weights = rng(seed).standard_normal(4)
    there = solved(lambda: remedy.score(a, b, patches, epsilon, weights))
    assert there == pytest.approx(-remedy.score(b, a, patches, epsilon, weights), abs=1e-6)
    assert solved(lambda: remedy.score(a, a, patches, epsilon, weights)) == pytest.approx(0, abs=1e-6)


@given(SEEDS, st.floats(0.002, 5))
@settings(max_examples=15)
def test_pot_finds_the_plan_that_newton_steps_find(seed, epsilon):
    """The oracle solves the dual with SciPy; small ε run in the log domain."""
    a, b, patches = draw(seed)
    wanted, found = (solved(lambda f=f: f(a, b, patches, epsilon)) for f in (theory.couple, remedy.coupling))
    np.testing.assert_allclose(found.plan, wanted.plan, atol=1e-6)
    assert found.masses == pytest.approx((0.5, 0.5), abs=1e-6)


def test_differences_are_scores_one_by_one():
    n, draws = 5, rng()
    a, b = draws.standard_normal((n, 3, 6)), draws.standard_normal((n, 4, 6))
    patches, weights = draws.standard_normal((n, 2, 9, 6)), np.array([1, 2, 3, 4])
    found = remedy.differences(a, b, patches, 0.2) @ weights
    assert found == pytest.approx([remedy.score(a[i], b[i], patches[i], 0.2, weights) for i in range(n)], abs=1e-8)


A, B, PATCHES = draw()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: remedy.score(A, B, PATCHES, 0), "ε must be positive"),
        (lambda: remedy.score(A, B, PATCHES, np.nan), "ε must be positive"),
        (lambda: remedy.score(A * np.nan, B, PATCHES), "token feature is not finite"),
        (lambda: remedy.score(A, B[:, :2], PATCHES), "dimension 2 and patches 6"),
        (lambda: remedy.score(A[:0], B, PATCHES), "n >= 1"),
        (lambda: remedy.score(A, B, []), "no depth"),
        (lambda: remedy.score(A, B, [PATCHES[0][:3]]), "3 patches are no square"),
        (lambda: remedy.transport(np.ones((2, 2)), np.array([0, 1]), np.ones(2) / 2, 1), "positive mass"),
        (lambda: remedy.transport(np.ones((2, 3)), np.ones(2) / 2, np.ones(2) / 2, 1), "a mass a row and a column"),
        (lambda: remedy.differences(A[None], B[[0, 0], None], np.ones((1, 1, 4, 6))), "got 1, 2 and 1"),
        (
            lambda: remedy.differences(A[None], B[None], np.ones((1, 1, 4, 6)), positions=np.zeros((1, 3, 2))),
            "one position",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_no_convergence_is_said(monkeypatch):
    monkeypatch.setattr(remedy, "_MAX_STEPS", 2)
    with pytest.raises(ValueError, match=r"did not converge at ε = 0\.01: raise ε"):
        remedy.score(A, B, PATCHES, 0.01)


def test_one_patch_and_one_token():
    """One patch leaves the semantics alone: then the score is the difference of mean cosines."""
    patches = [PATCHES[0][:1]]
    cosines = [1 - theory.cosine_costs(x, patches[0]).mean() for x in (A, B)]
    assert remedy.score(A, B, patches) == pytest.approx(cosines[0] - cosines[1], abs=1e-8)
    assert np.isfinite(remedy.score(A[:1], B[:1], PATCHES))


def test_pooled_vectors_are_those_of_the_encoder():
    encoder = load_encoder("shipped:1")
    of = items()
    np.testing.assert_allclose(towers().pooled_texts(of.captions), encoder.encode_text(of.captions), atol=1e-6)
    np.testing.assert_allclose(towers().pooled_images(of.images), encoder.encode_image(of.images), atol=1e-6)


def test_patches_are_what_hooks_on_the_blocks_see():
    model, seen = towers().model, []
    hooks = [b.register_forward_hook(lambda *call: seen.append(call[-1])) for b in model.visual.transformer.resblocks]
    try:
        model.encode_image(torch.stack([towers().transform(image) for image in items().images]))
    finally:
        for hook in hooks:
            hook.remove()
    wanted = torch.stack([model.visual.ln_post(x)[:, 1:] @ model.visual.proj for x in seen], dim=1)
    np.testing.assert_allclose(towers().patches(items().images), wanted.numpy(), atol=1e-5)
    np.testing.assert_allclose(towers().patches(items().images, [2, 0]), wanted.numpy()[:, [2, 0]], atol=1e-5)


def test_tokens_are_the_words_and_the_tower_looks_back_only():
    captions = ["a red A and a blue K", "a red A and a green K"]
    one, other = towers().tokens(captions)
    assert one.shape == (7, 64)
    np.testing.assert_allclose(one[:5], other[:5], atol=1e-6)
    assert np.abs(one[5:] - other[5:]).min(axis=1).min() >= 0 and not np.allclose(one[5], other[5])
    words = towers().words(["a red A and a blue K", "a blue K and a red A"])
    np.testing.assert_array_equal(words[0][[1, 2, 5, 6]], words[1][[5, 6, 1, 2]])


def test_the_end_token_would_be_the_pooled_vector():
    """An independent reading of the tower: the projected state at the end is the global vector."""
    model, caption = towers().model, ["a red A and a blue K"]
    ids = towers().tokenizer(caption)
    told = model.forward_intermediates(text=ids, text_indices=1, normalize_intermediates=True, intermediates_only=True)
    end = (told["text_intermediates"][-1][0] @ model.text_projection)[int(ids.argmax())]
    np.testing.assert_allclose(end / end.norm(), towers().pooled_texts(caption)[0], atol=1e-6)


@pytest.mark.parametrize("custom", [False, True])
def test_any_clip_with_byte_pairs(custom):
    kind = open_clip.CustomTextCLIP if custom else open_clip.CLIP
    model = kind(
        embed_dim=8,
        vision_cfg={"image_size": 32, "patch_size": 16, "width": 16, "layers": 2, "head_width": 8},
        text_cfg={"width": 16, "heads": 2, "layers": 1, "vocab_size": 49408, "context_length": 12},
    ).eval()
    small = features.Towers("small", model, open_clip.get_tokenizer("ViT-B-32", context_length=12), towers().transform)
    captions = ["a red car and a blue dog!", "dog"]
    assert [t.shape for t in small.tokens([captions[0]])] == [(8, 8)]
    assert [len(t) for t in small.words(captions)] == [8, 1]
    with pytest.raises(BindlibError, match="has no words"):
        small.words(["a dog", " "])
    with pytest.raises(BindlibError, match="has the depths 0 to 1"):
        small.patches(items().images, [2])


def test_towers_without_patches_or_end_token_are_refused():
    ours = towers().model
    no_patches = SimpleNamespace(visual=torch.nn.Identity(), text_pool_type="argmax")
    with pytest.raises(BindlibError, match=r"has no patches in the joint space \(Identity\): use a ViT"):
        features.Towers("RN50", no_patches, None, None)
    last = SimpleNamespace(visual=ours.visual, text=SimpleNamespace(pool_type="last", cls_emb=None))
    with pytest.raises(BindlibError, match="it pools 'last'"):
        features.Towers("SigLIP", last, None, None)
    with pytest.raises(BindlibError, match="write shipped: and one of"):
        features.shipped_towers("2")
    with pytest.raises(BindlibError, match="has no seed: write untrained:0"):
        features.shipped_towers("untrained:one")
    with pytest.raises(ValueError, match="there is no task 'add': choose one of swap"):
        bench.draw_items("add", 1, rng())


def test_alignment_finds_words_in_patches():
    """Patches that are a rotation of one word each: told nothing but the captions, the maps bring each to its own.

    The words have a large part in common, which only whitening takes out.
    """
    draws = rng()
    basis, turned = np.eye(12) + 3 * draws.standard_normal(12), np.linalg.qr(draws.standard_normal((12, 12)))[0]
    basis[:, :6] *= 5
    said = np.stack([draws.choice(12, 4, replace=False) for _ in range(800)])
    seen = (np.eye(12)[said] @ turned)[:, None]
    found = features.align(basis[said], seen)
    cosines = 1 - theory.cosine_costs(found.tokens(basis[said]), found.patches(seen)[:, 0])
    assert (cosines.argmax(axis=2) == np.arange(4)).mean() > 0.99
    white = found.tokens(basis[said]).reshape(800 * 4, -1)
    np.testing.assert_allclose(np.cov(white.T), np.eye(white.shape[1]), atol=1e-6)


def test_a_small_epsilon_runs_in_the_log_domain():
    """A word opposite to all patches: outside the log domain its whole row is zero to the last digit."""
    draws = rng()
    patches = [np.array([1, 0, 0.0]) + draws.standard_normal((4, 3)) / 50]
    a, b = np.array([[1, 0.1, 0], [-1, 0.1, 0]]), np.array([[1, 0, 0.1], [0, 1, 0]])
    wanted, found = (f(a, b, patches, 0.002).plan for f in (theory.couple, remedy.coupling))
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize("task", bench.TASKS)
def test_items_hold_what_the_task_says(task):
    of = bench.draw_items(task, 60, rng(1))
    both = [(a.split(), b.split()) for a, b in zip(of.captions, of.wrong, strict=True)]
    changed = [[i for i in (1, 2, 3, 5, 6) if a[i] != b[i]] for a, b in both]  # articles follow their colours
    if task == "replacement":
        assert {tuple(c) for c in changed} == {(1,), (2,), (5,), (6,)}
    else:
        assert all(c == [1, 5] for c in changed) and all(sorted(a) == sorted(b) for a, b in both)
    pairs = [(c.split()[i + 1], c.split()[i]) for c in of.captions + of.wrong for i in (1, 5)]
    held_out = [drawn.HELD_OUT[drawn.GLYPHS.index(g), drawn.HUES.index(h)] for g, h in pairs]
    assert all(held_out) if task == bench.TASKS[1] else not any(held_out)


def test_controls_change_what_they_should():
    found = bench.featured(towers(), items())
    tokens, patches = bench.Reader("as they are", None, {}).inputs(found)
    plain = bench.preferences(tokens, patches)
    by = {control: bench.controlled(control, tokens, patches, rng()) for control in bench.CONTROLS}
    np.testing.assert_allclose(by["patches shuffled"][:, 0], plain[:, 0], atol=1e-8)
    assert np.abs(by["patches shuffled"][:, 1:] - plain[:, 1:]).min(axis=0).max() > 1e-6
    np.testing.assert_allclose(by["words shuffled"][:, [0, 1, 3]], plain[:, [0, 1, 3]], atol=1e-7)
    assert np.abs(by["words shuffled"][:, 2] - plain[:, 2]).max() > 1e-6
    np.testing.assert_allclose(by["another image"][-1:], bench.preferences(tokens[:, -1:], patches[:1]), atol=1e-7)
    np.testing.assert_allclose(by["depth 2 only"], bench.preferences(tokens, patches[:, 1:2]), atol=1e-8)
    assert (by["depth 2 only"][:, 3] == 0).all()
    assert np.abs(by["twice ε"] - plain).max() > 1e-6


def test_words_alone_leave_the_decision_to_the_order_energy():
    found = bench.featured(towers(), items())
    reader = bench.Reader("aligned words", features.align(found.words[0], found.patches), {})
    preferred = bench.preferences(*reader.inputs(found))
    assert (preferred[:, [0, 1, 3]] == 0).all() and (preferred[:, 2] != 0).any()


def test_weights():
    preferred = rng().standard_normal((300, 4)) * [1, 10, 1, 0] + [0.5, 0, -0.5, 0]
    found = bench.weigh(preferred)
    assert found["equal weights"] == pytest.approx([*(1 / preferred[:, :3].std(axis=0)), 0])
    fitted = found["fitted weights"]
    assert fitted[0] > 0.2 and fitted[2] < -0.2 and abs(fitted[1]) < 0.1 and fitted[3] == 0


def test_accuracy_counts_ties_one_half():
    assert bench.accuracy(np.array([1, -1, 1e-12, 2])) == 0.625


def test_summary_has_the_interval_of_wilson():
    told = dict.fromkeys(("encoder", "task", "reader", "energy", "control"), "")
    (row,) = bench.summary([told | {"n": 50, "accuracy": a, "seed": s} for s, a in enumerate((0.6, 0.8))])
    wanted = binomtest(70, 100).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high))
    assert (row["accuracy"], row["lowest"], row["highest"], row["seeds"], row["n"]) == (0.7, 0.6, 0.8, 2, 100)


def test_planted_features_are_bound_by_order_alone():
    found = bench.preferences(*features.planted(60, 1.0, rng()))
    assert bench.accuracy(found[:, 2]) == 1 and (found[:, [0, 1, 3]] == 0).all()


def test_the_committed_results_are_of_this_code(tmp_path):
    """One encoder and task, the readings that need no fitting, all seeds."""
    rows, size = bench.results(), bench.SIZES["full"]
    assert {row["encoder"] for row in rows} == set(bench.ENCODERS)
    bench.write_results(rows, tmp_path / "again.csv")
    assert bench.results(tmp_path / "again.csv") == rows
    plain = [bench.Reader("as they are", None, {})]
    seeds = range(size.seeds)
    again = bench.summary(row for s in seeds for row in bench.decide(towers(), plain, "replacement", size.test, s))
    for row in again:
        (committed,) = [old for old in rows if all(old[key] == row[key] for key in bench.KEYS)]
        assert row["accuracy"] == pytest.approx(committed["accuracy"], abs=2e-3), row
        assert row["n"] == committed["n"]
