"""The transformer reads objects as groups of tokens, learns from seen objects only, and does so again the same way."""

import numpy as np
import pytest
import torch

from bindlib.remedies.binding_transformer import FixedCode, Setting, Tower, Trainer, learning, swaps_trained, trained
from bindlib.theory.binding_functions import seen_objects, swapped

SMALL = {"steps": 30, "batch": 32, "width": 32, "layers": 1, "check_every": 20}


def test_tokens_are_grouped_by_object_in_either_order():
    trainer = Trainer(Setting(0.5, **SMALL))
    scenes = np.array([[[3, 7], [5, 2]]])
    assert trainer.tokens(scenes, np.array([False])).tolist() == [[3, 27, 5, 22]]
    assert trainer.tokens(scenes, np.array([True])).tolist() == [[5, 22, 3, 27]]


@pytest.mark.parametrize("side", ["product", "hashed"])
def test_a_fixed_image_side_is_the_sum_of_its_objects(side):
    code = FixedCode(Setting(0.5, side, **SMALL), np.random.default_rng(1))
    u, v = np.random.default_rng(1).choice([-1.0, 1.0], (2, 20, 32))
    rows = code(torch.tensor([[3, 27, 5, 22]])).numpy()[0]
    assert np.linalg.norm(rows) == pytest.approx(1)
    wanted = u[3] * v[7] + u[5] * v[2]
    cosine = rows @ wanted / np.linalg.norm(wanted)
    assert cosine == pytest.approx(1) if side == "product" else abs(cosine) < 0.8
    assert np.allclose(rows, code(torch.tensor([[5, 22, 3, 27]])).numpy()[0])


def test_a_tower_can_tell_the_grouping():
    torch.manual_seed(0)
    tower = Tower(Setting(0.5, **SMALL)).eval()
    rows = tower(torch.tensor([[3, 27, 5, 22], [3, 22, 5, 27]])).detach()
    assert torch.allclose(rows.norm(dim=1), torch.ones(2)) and (rows[0] - rows[1]).norm() > 1e-3


def test_no_batch_shows_an_unseen_object_or_a_scene_to_be_judged_on():
    trainer = Trainer(Setting(0.5, **SMALL))
    judged = {frozenset(map(tuple, scene.tolist())) for scene in trainer.scenes.held_in}
    pairs = 0
    for _ in range(50):
        scenes = trainer.draw()
        told = [frozenset(map(tuple, scene.tolist())) for scene in scenes]
        assert (seen_objects(trainer.seen, scenes) == 2).all() and len(scenes) <= 32
        assert len(set(told)) == len(told) and not judged & set(told)
        swaps = {frozenset(map(tuple, scene.tolist())) for scene in swapped(scenes)}
        pairs += len(swaps & set(told))
    assert pairs > 100


@pytest.mark.parametrize("tenths", [1, 2, 3, 7])
def test_the_share_of_swaps_is_that_of_the_scenes_that_batches_are_drawn_from(tenths):
    trainer = Trainer(Setting(tenths / 10))
    told = {frozenset(map(tuple, scene)) for scene in trainer.scenes.train.tolist()}
    met = [frozenset([(a, d), (c, b)]) in told for (a, b), (c, d) in trainer.scenes.train.tolist()]
    assert swaps_trained(trainer.setting) == pytest.approx(np.mean(met))
    batches = [trainer.draw() for _ in range(5)]
    assert (tenths < 3) == (sum(map(len, batches)) == 5 * trainer.setting.batch // 2)  # no swap was added


def test_training_learns_and_repeats():
    rows = [[row for _, row in learning(Setting(0.5, **SMALL))] for _ in range(2)]
    assert rows[0] == rows[1] and [row["step"] for row in rows[0]] == [20, 30]
    assert rows[0][1]["loss"] < rows[0][0]["loss"]
    assert {"recognition_held_in", "swap_held_out"} < rows[0][0].keys()


def test_a_little_training_binds_seen_objects():
    _, row = trained(Setting(0.5, "product", steps=250, batch=96, check_every=250))
    assert row["swap_held_in"] > 0.75 and row["swap_held_in"] > row["swap_held_out"] + 0.15


def test_both_sides_may_be_learned():
    trainer, row = trained(Setting(0.3, "learned", **SMALL))
    assert isinstance(trainer.image, Tower) and np.isfinite(row["loss"])
    different = [
        (a - b).abs().max() for a, b in zip(trainer.image.parameters(), trainer.text.parameters(), strict=True)
    ]
    assert max(different) > 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Setting(0.5, steps=0), "at least 1"),
        (lambda: Setting(0.5, width=8), "width at least 16"),
        (lambda: Setting(0.5, "photographs"), "image side is 'product', 'hashed' or 'learned', got 'photographs'"),
        (lambda: Setting(0.04).grid, "below 0.1 a concept is never seen"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
