"""Models of a binding function recover codes whose answer is known, and say clearly what they cannot do."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bindlib.remedies import binding_functions as models
from bindlib.theory.binding_functions import bands, judge, split

SIZES = (12, 14)


def rng(seed=0):
    return np.random.default_rng(seed)


def table(kind, dim=6):
    u, v = rng(1).uniform(0.5, 2, (2, 14, dim)) * rng(2).choice([-1, 1], (2, 14, dim))  # no coordinate is near 0
    u = u[:12]
    if kind == "turned":
        return (u[:, None] * v) @ np.linalg.qr(rng(2).standard_normal((9, dim)))[0].T
    if kind == "bag":
        return u[:, None] + v
    if kind == "scaled":
        return rng(4).uniform(0.5, 2, 12)[:, None, None] * v
    return u[:, None] * v if kind == "product" else rng(3).standard_normal((12, 14, dim))


def embed(of, scenes):
    return of[scenes[..., 0], scenes[..., 1]].sum(axis=1)


def problem(kind, coverage=0.5, n=900):
    of, seen = table(kind), bands(*SIZES, coverage, rng())
    scenes = split(seen, n, 20, rng(5))
    return of, scenes, embed(of, scenes.train)


@pytest.mark.parametrize(
    ("kind", "model", "coverage"),
    [
        ("bag", "additive", 0.2),
        ("product", "product", 0.3),
        ("product", "product", 0.7),
        ("scaled", "one scale", 0.3),
        ("scaled", "product", 0.5),
        ("turned", "product with readout", 0.7),
        ("bag", "product with readout", 0.5),
    ],
)
def test_a_code_is_recovered_on_unseen_objects(kind, model, coverage, monkeypatch):
    """Up to the ridge, and almost exactly without it."""
    of, scenes, y = problem(kind, coverage)
    for ridge, least in ((models.RIDGE, 0.99), (1e-9, 1 - 1e-3)):
        monkeypatch.setattr(models, "RIDGE", ridge)
        found = models.fit(model, scenes.train, y, SIZES, rng())
        assert judge(embed(of, scenes.held_out), found.predict(scenes.held_out), y.mean(axis=0))["r2"] > least


@pytest.mark.parametrize("model", ["product", "one scale", "product with readout", "additive"])
def test_nothing_is_recovered_of_hashed_objects(model):
    of, scenes, y = problem("hashed", 0.7)
    found = models.fit(model, scenes.train, y, SIZES, rng())
    assert judge(embed(of, scenes.held_out), found.predict(scenes.held_out), y.mean(axis=0))["r2"] < 0.2


@pytest.mark.parametrize("model", ["additive", "global product"])
def test_blind_models_give_a_scene_and_its_swap_one_prediction(model):
    _, scenes, y = problem("product")
    guess = models.fit(model, scenes.train, y, SIZES, rng()).predict(scenes.held_in)
    halves = guess.reshape(-1, 2, 10, guess.shape[1])
    np.testing.assert_allclose(halves[:, 0], halves[:, 1], atol=1e-12)


def test_additive_is_least_squares_over_all_bags():
    """No other bag is closer: the residual is orthogonal to every concept's scenes."""
    _, scenes, y = problem("hashed")
    off = y - models.fit("additive", scenes.train, y, SIZES, rng()).predict(scenes.train)
    for kind, size in enumerate(SIZES):
        for concept in range(size):
            count = (scenes.train[..., kind] == concept).sum(axis=1)
            np.testing.assert_allclose(count @ off, 0, atol=1e-9)


def test_product_is_no_worse_than_gradients_find(monkeypatch):
    """One coordinate of a code that is no product, against L-BFGS from eight starts, both without a ridge."""
    monkeypatch.setattr(models, "RIDGE", 1e-9)
    _, scenes, y = problem("hashed", 0.8, 400)
    train, y = scenes.train, y[:, :1]

    def loss(flat):
        p, q = np.split(flat, [12])
        guess = (p[train[..., 0]] * q[train[..., 1]]).sum(axis=1)
        return float(np.sum((y[:, 0] - guess) ** 2))

    found = models.fit("product", train, y, SIZES, rng())
    ours = float(np.sum((y - found.predict(train)) ** 2))
    best = min(minimize(loss, rng(i).standard_normal(26), method="L-BFGS-B").fun for i in range(8))
    assert ours < 1.05 * best


def test_gradient_of_the_global_product(monkeypatch):
    seen = []

    def spy(loss, start, **options):
        x = start + 0.1 * rng().standard_normal(len(start))
        numeric = [(loss(x + step)[0] - loss(x - step)[0]) / 2e-6 for step in 1e-6 * np.eye(len(x))]
        np.testing.assert_allclose(loss(x)[1], numeric, atol=1e-7)
        seen.append(True)
        return minimize(loss, start, **options)

    monkeypatch.setattr(models, "minimize", spy)
    _, scenes, y = problem("product")
    models.fit("global product", scenes.train, y[:, :2] + 1, SIZES, rng())
    assert seen


def test_free_objects_reproduce_seen_objects_and_refuse_others():
    of, scenes, y = problem("hashed")
    found = models.fit("free objects", scenes.train, y, SIZES, rng())
    np.testing.assert_allclose(found.predict(scenes.held_in), embed(of, scenes.held_in), atol=1e-9)
    with pytest.raises(ValueError, match=r"object \(\d+, \d+\) was in no scene fitted on"):
        found.predict(scenes.held_out)


def test_parameters_are_counted():
    _, scenes, y = problem("product")
    counted = {m: models.fit(m, scenes.train, y, SIZES, rng()).parameters for m in models.MODELS}
    assert counted == {
        "additive": 26 * 6, "product": 26 * 6, "one scale": 12 + 14 * 6, "product with readout": 26 * (6 + 8) + 8 * 6,
        "global product": 27 * 6, "free objects": 168 * 6,
    }  # fmt: skip


def _without(concept):
    _, scenes, y = problem("product")
    kept = (scenes.train[..., 1] != concept).all(axis=1)
    return scenes.train[kept], y[kept]


def _with_nan():
    _, scenes, y = problem("product")
    y = y.copy()
    y[7, 2] = np.nan
    return scenes.train, y


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: models.fit("cubic", *_without(99), SIZES, rng()), "no model is called 'cubic'"),
        (
            lambda: models.fit("product", *_without(3), SIZES, rng()),
            "concept 3 of the second kind is in no",
        ),
        (lambda: models.fit("additive", *_with_nan(), SIZES, rng()), "embedding 7 is not finite"),
        (lambda: models.fit("additive", _without(99)[0], np.ones((3, 2)), SIZES, rng()), "one embedding for each of"),
        (lambda: models.fit("product", *_without(99), (5, SIZES[1]), rng()), "on a grid of 5 × "),
        (
            lambda: models.fit("product", -_without(99)[0], _without(99)[1], SIZES, rng()),
            "scenes are .n, 2, 2. indices",
        ),
        (lambda: models.fit("product", _without(99)[0], 0 * _without(99)[1], SIZES, rng()), "every embedding is zero"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
