"""One rule says which of two a score prefers, and every accuracy of the book keeps to it."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import bindlib
from bindlib.decisions import DOUBLE, SINGLE, decided
from bindlib.encoders import drawn
from bindlib.encoders.base import SAME_POINT
from bindlib.measurements import pixels
from bindlib.measurements.diagnostic import per_triplet
from bindlib.remedies import balanced_coupling_benchmark, factored_inference_runs, pixel_runs, trained_throttle
from bindlib.theory import binding_functions

MARGINS = arrays(np.float64, st.integers(1, 20), elements=st.floats(allow_nan=False))
TIES = st.floats(0, 1)


@given(MARGINS, TIES)
def test_the_opposite_margins_have_the_other_accuracy(margin, tie):
    np.testing.assert_array_equal(decided(-margin, tie), 1 - decided(margin, tie))


@given(MARGINS, TIES)
def test_a_decision_is_right_wrong_or_a_tie_within_the_resolution(margin, tie):
    for found, m in zip(decided(margin, tie), margin, strict=True):
        assert found == (0.5 if -tie <= m <= tie else float(m > 0))


@pytest.mark.parametrize(
    "margin, tie, problem",
    [([0, np.nan], 0, "is NaN"), ([1], -1, "got -1"), ([1], np.nan, "got nan"), ([1, 2], np.array([1, -1]), "got")],
)
def test_what_decides_nothing_is_refused(margin, tie, problem):
    with pytest.raises(ValueError, match=problem):
        decided(margin, tie)


def test_the_resolution_of_single_numbers_is_the_distance_of_one_point():
    assert SAME_POINT == SINGLE > DOUBLE > np.finfo(float).eps


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def rounded_twins(n, rng, dim=16):
    """Unit vectors that are equal but for the rounding of float32, as those of two captions of one bag of words are."""
    rows = unit(rng.standard_normal((n, dim)))
    return [unit(rows + 3e-8 * rng.standard_normal(rows.shape)) for _ in range(2)]


class Blind:
    """An encoder whose captions and their swaps differ by rounding alone, in images and texts of one space."""

    name, revision = "blind", "none"

    def encode_text(self, captions):
        bags = [sorted(caption.replace(",", "").split()) for caption in captions]
        rows = np.array([np.random.default_rng(list(" ".join(bag).encode())).standard_normal(16) for bag in bags])
        return unit(rows + 3e-8 * np.random.default_rng(0).standard_normal(rows.shape)).astype(np.float32)

    def encode_image(self, images):
        return unit(np.random.default_rng(1).standard_normal((len(images), 16))).astype(np.float32)


def on_pixels():
    return pixels.per_scene(Blind(), *pixels.scenes_to_check(False, 60))["correct"].mean()


def while_training_on_pixels():
    tensor = lambda rows: torch.from_numpy(rows)  # noqa: E731
    model = SimpleNamespace(
        encode_image=lambda images, normalize: tensor(Blind().encode_image(images)),
        encode_text=lambda texts, normalize: tensor(Blind().encode_text(texts)),
    )
    same = lambda items: list(items)  # noqa: E731
    trainer = SimpleNamespace(step=1, setting=SimpleNamespace(swap_rate=0), model=model, pixels=same, tokens=same)
    with np.errstate(invalid="ignore"):  # a ratio to an order distance of 0
        row = pixel_runs.checked(trainer, 0.0)
    return (row["accuracy_held_in"] + row["accuracy_held_out"]) / 2


def in_the_toy():
    setup = replace(trained_throttle.Setup(), product=0.0)
    generator = torch.Generator().manual_seed(0)
    towers = trained_throttle.Towers(setup, generator, "cpu")
    scenes = trained_throttle.draw_scenes(500, setup, generator)
    return towers.swap_accuracy(scenes, torch.randn(500, setup.dim, generator=generator))


def of_triplets():
    n, rng = 61, np.random.default_rng(0)  # odd: half of the draws cannot come out right by chance
    query = unit(rng.standard_normal((n, 16)))
    return per_triplet(np.stack([query, *rounded_twins(n, rng)], axis=1))["nearer"].mean()


def of_logic():
    scores = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    return factored_inference_runs.right(np.stack([scores.sum(axis=1), scores[:, ::-1].sum(axis=1)], axis=1)).mean()


def of_couplings():
    scores = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    return balanced_coupling_benchmark.accuracy(scores.sum(axis=1) - scores[:, ::-1].sum(axis=1))


def of_fits():
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((3, 60, 16))
    own, swaps = parts.sum(axis=0).reshape(-1, 20, 16), parts[::-1].sum(axis=0).reshape(-1, 20, 16)
    predicted = np.concatenate([own[:, :10], swaps[:, :10]], axis=1).reshape(-1, 16)
    return binding_functions.swap_decided(rng.standard_normal((60, 16)), predicted).mean()


@pytest.mark.parametrize(
    "accuracy",
    [on_pixels, while_training_on_pixels, in_the_toy, of_triplets, of_logic, of_couplings, of_fits],
)
def test_what_is_blind_up_to_rounding_gets_exactly_one_half(accuracy):
    assert accuracy() == 0.5


def test_images_that_are_asked_for_the_swap_get_the_other_accuracy():
    """Of an encoder that is not blind: with caption and swap exchanged the accuracies add to 1."""

    class Seeing(Blind):
        def encode_text(self, captions):
            seeds = [list(caption.encode()) for caption in captions]
            return unit(np.array([np.random.default_rng(seed).standard_normal(16) for seed in seeds])).astype(
                np.float32
            )

    scenes, rng = pixels.scenes_to_check(False, 60)
    state = rng.bit_generator.state
    found = []
    for shown in (scenes, drawn.swapped(scenes)):
        rng.bit_generator.state = state
        found.append(pixels.per_scene(Seeing(), shown, rng)["correct"].mean())
    assert found[0] == 1 - found[1] and 0.2 < found[0] < 0.8


def test_no_accuracy_is_counted_by_another_rule():
    other = re.compile(r"np\.sign\([^\n]*\+ 1\)|> 0(\.0)?\)+(\.float\(\))?\.(mean|sum)\(|mean\([^\n]*> 0(\.0)?\)")
    root = Path(bindlib.__file__).parent
    counted = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in sorted(root.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if other.search(line) and "radon" not in path.name  # which counts the members of a set
    ]
    assert counted == []
