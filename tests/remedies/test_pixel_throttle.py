import math

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from bindlib.encoders import drawn, shipped
from bindlib.remedies import pixel_throttle as pt
from bindlib.remedies.trained_throttle import one_thread

SETTING = pt.Setting(0.5)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(pt, "GROUPS", 2)
    monkeypatch.setattr(pt, "ORDINARY", 20)
    with one_thread():
        yield


@pytest.fixture(scope="module")
def trainer():
    return pt.Trainer(SETTING)


def unit(*shape, seed=0):
    return normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=-1)


@pytest.mark.parametrize(
    "wrong", [{"swap_rate": -0.1}, {"swap_rate": 1.1}, {"batches": "odd"}, {"steps": 0}, {"log_every": 0}]
)
def test_a_wrong_setting_is_refused(wrong):
    with pytest.raises(ValueError):
        pt.Setting(**({"swap_rate": 0.5} | wrong))


def test_the_loss_is_infonce_one_image_and_one_caption_at_a_time():
    image, text, swap = unit(3, 5, 4), unit(3, 5, 4, seed=1), unit(3, 5, 4, seed=2)
    generator = torch.Generator().manual_seed(3)
    given = torch.rand(3, 5, generator=generator) < 0.5
    excluded = torch.rand(3, 5, 5, generator=generator) < 0.3
    excluded |= excluded.mT.clone()
    excluded &= ~torch.eye(5, dtype=torch.bool)
    losses = []
    for g in range(3):
        for i in range(5):
            score = lambda a, b: math.exp(7 * float(a @ b))  # noqa: E731
            allowed = [j for j in range(5) if not excluded[g, i, j]]
            captions = sum(score(image[g, i], text[g, j]) for j in allowed)
            captions += score(image[g, i], swap[g, i]) if given[g, i] else 0
            images = sum(score(image[g, j], text[g, i]) for j in allowed)
            own = score(image[g, i], text[g, i])
            losses += [-math.log(own / captions), -math.log(own / images)]
    found = pt.contrastive_loss(image, text, swap[given], given, excluded, 7.0)
    assert float(found) == pytest.approx(np.mean(losses), abs=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_a_blind_model_that_is_perfect_otherwise_pays_the_sliver(rate):
    text = torch.eye(8, dtype=torch.float64).expand(4, 8, 8)
    given = torch.arange(32).view(4, 8) % 4 < 4 * rate
    loss = pt.contrastive_loss(text, text, text[given], given, torch.zeros(4, 8, 8, dtype=torch.bool), 100.0)
    assert float(loss) == pytest.approx(rate * math.log(2) / 2, abs=1e-12)


def test_swaps_and_repetitions_share_all_four_words():
    scenes = np.array([[[1, 2, 3, 4], [1, 2, 4, 3], [2, 1, 3, 4], [2, 1, 4, 3], [1, 2, 3, 5], [3, 4, 1, 2]]])
    expected = np.zeros((6, 6), dtype=bool)
    expected[:4, :4] = ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(pt.same_words(scenes)[0], expected)


@pytest.mark.parametrize("batches", ["disjoint", "ordinary"])
def test_a_batch_depends_on_seed_and_step_and_the_rate_decides_only_who_is_given_a_swap(batches):
    never, half, always = (pt.draw_batch(pt.Setting(rate, batches), 7) for rate in (0.0, 0.5, 1.0))
    assert half.scenes.shape == {"disjoint": (2, 12, 4), "ordinary": (1, 20, 4)}[batches]
    for other in (never, always):
        np.testing.assert_array_equal(half.scenes, other.scenes)
        np.testing.assert_array_equal(half.images, other.images)
        assert half.captions == other.captions
    assert not never.given.any() and never.swaps == [] and always.given.all() and 0 < half.given.mean() < 1
    assert half.swaps == [swap for swap, given in zip(always.swaps, half.given, strict=True) if given]
    for caption, swap in zip(always.captions, always.swaps, strict=True):
        assert caption != swap and sorted(caption.split()) == sorted(swap.split())
        assert caption.split()[2] == swap.split()[2], "an exact swap names the glyphs in the same order"
    for setting, step in ((pt.Setting(0.5, batches, seed=1), 7), (pt.Setting(0.5, batches), 8)):
        assert not np.array_equal(pt.draw_batch(setting, step).scenes, half.scenes)


def test_the_share_of_captions_that_are_given_their_swap_is_the_rate():
    given = np.concatenate([pt.draw_batch(pt.Setting(0.2), step).given for step in range(60)])
    assert given.mean() == pytest.approx(0.2, abs=0.04)


@torch.inference_mode()
def test_the_towers_without_what_nobody_reads_are_open_clips(trainer):
    batch = pt.draw_batch(SETTING, 1)
    pixels, tokens = trainer.pixels(batch.images), trainer.tokens(batch.captions + batch.swaps)
    torch.testing.assert_close(pt.encode_images(trainer.model, pixels), trainer.model.encode_image(pixels))
    torch.testing.assert_close(pt.encode_texts(trainer.model, tokens), trainer.model.encode_text(tokens))


def test_the_learning_rate_warms_up_and_decays_to_zero():
    rates = np.array([pt.schedule(step, 1000) for step in range(1, 1001)])
    assert rates[0] == 0.01 and rates.argmax() == 99 and rates[99] == 1 and rates[-1] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.diff(rates[:100]), 0.01)
    assert np.all(np.diff(rates[99:]) < 0) and rates[549] == pytest.approx(0.5)
    assert pt.schedule(3, 3) == 0.03


def test_steps_lower_the_loss_of_their_batch(trainer, monkeypatch):
    batch = pt.draw_batch(pt.Setting(1.0), 1)
    monkeypatch.setattr(pt, "draw_batch", lambda setting, step: batch)
    monkeypatch.setattr(pt, "WARM_UP", 1)
    learner = pt.Trainer(pt.Setting(1.0, steps=60))
    losses = [learner.advance() for _ in range(8)]
    assert learner.step == 8 and losses[-1] < 0.7 * losses[0]
    assert learner.model.logit_scale.exp().item() <= pt.MAX_SCALE * 1.0001


def test_gradients_are_clipped_and_the_scale_of_the_logits_is_bounded(monkeypatch):
    learner = pt.Trainer(pt.Setting(1.0, steps=200))
    with torch.no_grad():
        learner.model.logit_scale.fill_(6.0)
    norms = []
    real = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda p, most: norms.append((float(real(p, most)), most)))
    learner.advance()
    left = math.sqrt(sum(float((p.grad**2).sum()) for p in learner.model.parameters()))
    assert norms[0][0] > 1 and norms[0][1] == 1.0 and left == pytest.approx(1, abs=1e-3)
    assert learner.model.logit_scale.exp().item() == pytest.approx(100)


def test_matrices_decay_and_gains_and_biases_do_not(trainer):
    decay = {id(p): group["weight_decay"] for group in trainer.optimiser.param_groups for p in group["params"]}
    for name, parameter in trainer.model.named_parameters():
        plain = name == "logit_scale" or name.endswith("bias") or ".ln_" in f".{name}" or "class_embedding" in name
        assert decay[id(parameter)] == (0.0 if plain else 0.05), name


@torch.inference_mode()
def test_what_is_learnt_from_is_what_an_encoder_is_given(trainer, tmp_path):
    """Pixels and tokens of the training, against open_clip's own preprocessing of a PIL image."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    from bindlib.encoders.config_beside import config_beside

    told = config_beside(shipped.FOLDER / "x.safetensors")["preprocess_cfg"]
    transform = image_transform_v2(PreprocessCfg(**told, size=drawn.IMAGE), is_train=False)
    scenes = drawn.draw_scenes(4, np.random.default_rng(0))
    pictures = drawn.pictures(scenes, np.random.default_rng(1))
    expected = torch.stack([transform(picture) for picture in pictures])
    torch.testing.assert_close(trainer.pixels(drawn.render(scenes, np.random.default_rng(1))), expected)
