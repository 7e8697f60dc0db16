import csv
from collections import Counter

import numpy as np
import pytest
import torch

from bindlib.encoders import drawn, shipped
from bindlib.encoders.weights import revision
from bindlib.measurements import pixels
from bindlib.measurements.diagnostic import measure_encoder
from bindlib.theory.bag_of_words import ceiling

RATES = {0, 0.02, 0.1, 0.3, 1}
SHIPPED = {revision(shipped.weights("", name)): name for name in shipped.CHECKPOINTS}


class Oracle:
    """Words at places as the text; the image is what ``see`` makes of the vectors of caption and swap."""

    name, revision, context_length = "oracle", "none", None

    def __init__(self, scenes, see):
        quartets = [drawn.quartet(scene) for scene in scenes]
        texts = [[getattr(quartet, key) for quartet in quartets] for key in ("caption", "swap")]
        self.images = see(*(self.encode_text(text) for text in texts))

    def encode_text(self, captions):
        words = [*drawn.GLYPHS, *drawn.HUES, "a", "an", "and"]
        rows = np.zeros((len(captions), 8, len(words)))
        for row, caption in zip(rows, captions, strict=True):
            for place, word in enumerate(caption.replace(",", "").split()):
                row[place, words.index(word)] = 1
        rows = rows.reshape(len(captions), -1)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def encode_image(self, images):
        assert len(images) == len(self.images)
        return self.images

    def count_truncated(self, captions):
        return 0


@pytest.mark.parametrize(
    "see, accuracy",
    [
        (lambda t, s: t, 1.0),
        (lambda t, s: s, 0.0),
        (lambda t, s: (t + s) / np.linalg.norm(t + s, axis=1)[:, None], 0.5),
    ],
)
def test_accuracy_is_the_share_of_images_nearer_to_their_caption_and_a_tie_is_a_half(see, accuracy):
    scenes, rng = pixels.scenes_to_check(False, 40)
    found = pixels.per_scene(Oracle(scenes, see), scenes, rng)
    assert abs(found["correct"].mean() - accuracy) < (0.2 if accuracy == 0.5 else 1e-9)
    t, s = (
        Oracle(scenes[:1], see).encode_text([getattr(drawn.quartet(row), key) for row in scenes])
        for key in ("caption", "swap")
    )
    np.testing.assert_allclose(found["ceiling"], ceiling(t, s), atol=1e-6)
    np.testing.assert_allclose(found["margin"], (accuracy - 0.5) * ceiling(t, s) ** 2, atol=1e-6)


def test_the_scenes_are_fixed_and_of_the_kind_they_are_called():
    for held_out in (False, True):
        (scenes, rng), (again, same) = (pixels.scenes_to_check(held_out) for _ in range(2))
        np.testing.assert_array_equal(scenes, again)
        assert rng.random() == same.random()
        assert len(scenes) == pixels.N_SCENES["held_out" if held_out else "held_in"]
        assert set(drawn._held_out_pairs(scenes)) == ({4} if held_out else {0})


def test_the_quartets_of_drawn_scenes_are_those_that_are_measured_with_images():
    dataset = pixels.drawn_quartets(30)
    scenes, rng = pixels.scenes_to_check(False, 30)
    oracle = Oracle(scenes, lambda t, s: t)
    (row,) = measure_encoder(oracle, dataset)
    found = pixels.per_scene(oracle, scenes, rng)
    assert row["n"] == row["permutations"] == 30
    for name in ("ceiling", "usage", "order_distance"):
        assert row[name] == pytest.approx(found[name].mean())


def test_deciles_against_a_sorted_list():
    rng = np.random.default_rng(0)
    d, correct = rng.permutation(107) / 100, rng.integers(0, 2, 107) * 1.0
    rows = pixels.by_decile(d, correct)
    ranked = sorted(zip(d, correct, strict=True))
    assert [row["n"] for row in rows] == [11] * 7 + [10] * 3 and [row["decile"] for row in rows] == [*range(1, 11)]
    for row in rows:
        part, ranked = ranked[: row["n"]], ranked[row["n"] :]
        assert row["ceiling"] == pytest.approx(np.mean([a for a, _ in part]))
        assert row["accuracy"] == pytest.approx(np.mean([b for _, b in part]))
        assert row["low"] <= row["accuracy"] <= row["high"]


def test_errors_below_the_median():
    d, correct = np.array([0.4, 0.1, 0.3, 0.2]), np.array([1.0, 0.0, 0.5, 0.0])
    assert pixels.errors_below_median(d, correct) == pytest.approx(2 / 2.5)
    assert np.isnan(pixels.errors_below_median(d, np.ones(4)))
    both = pixels.errors_below_median(np.stack([d, 1 + d]), np.stack([correct, [0.0, 1, 1, 1]]))
    assert both == pytest.approx(2 / 3.5), "each encoder has its own half"


def test_results_are_read_as_they_were_written(tmp_path):
    rows = [{"a": 1, "b": 0.123456, "c": "bindlib train; x 1.2.3"}, {"a": 2, "b": 3e-7, "c": 'quo"ted, comma'}]
    pixels.write_results(rows, tmp_path / "x.csv")
    assert pixels.results(tmp_path / "x.csv") == rows


def test_the_committed_results_are_five_rates_three_seeds_and_both_kinds_of_batches():
    rows = pixels.results()
    cells = Counter((row["batches"], row["swap_rate"], row["seed"]) for row in rows)
    assert set(cells) == {(b, rate, seed) for b in ("disjoint", "ordinary") for rate in RATES for seed in range(3)}
    assert set(cells.values()) == {1} and len({row["steps"] for row in rows}) == 1
    assert len({row["revision"] for row in rows}) == len(rows)
    for row in rows:
        words = row["command"].split()
        told = dict(zip(words[2::2], words[3::2], strict=True))
        assert words[:2] == ["bindlib", "train"] and "torch" in row["versions"]
        assert (float(told["--swap-rate"]), told["--batches"]) == (row["swap_rate"], row["batches"])
        assert (int(told["--seed"]), int(told["--steps"])) == (row["seed"], row["steps"])
        assert row["sliver"] == pytest.approx(row["swap_rate"] * np.log(2) / 2, rel=1e-5, abs=1e-9)


def test_every_shipped_checkpoint_has_a_row():
    assert set(SHIPPED) <= {row["revision"] for row in pixels.results()}


@pytest.mark.parametrize("name", SHIPPED.values())
def test_the_rows_of_the_shipped_checkpoints_are_what_comes_out_here(name):
    torch.set_num_threads(1)
    stem, _ = shipped.CHECKPOINTS[name]
    path = shipped.weights("", name)
    committed = next(row for row in pixels.results() if row["revision"] == revision(path))
    found = pixels.result(path, path.with_name(f"{stem}.csv"))
    assert list(found) == list(committed)
    for key, value in committed.items():
        if isinstance(value, str):
            assert found[key] == value
        else:  # another processor may round a margin near 0 to the other side
            assert found[key] == pytest.approx(value, rel=2e-3, abs=3e-3), key


def test_the_committed_file_is_plain():
    with open(pixels.RESULTS, newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    assert len({len(row) for row in table}) == 1 and pixels.RESULTS.stat().st_size < 50_000
