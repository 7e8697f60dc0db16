"""What is modelled is a function of the scene, and the committed rows are those that the code makes."""

import numpy as np
import pytest

from bindlib.encoders import drawn
from bindlib.encoders.base import DualTower
from bindlib.encoders.zoo import load_encoder
from bindlib.errors import BindlibError
from bindlib.remedies import binding_runs as runs
from bindlib.scenes import WORLD
from bindlib.theory.binding_functions import all_scenes
from bindlib.theory.factored_codes import draw_code

SCENES = all_scenes(20, 20)[np.random.default_rng(0).permutation(72200)[:12]]


def toy(name="shipped:toy"):
    """Captions to their letters by place, images to their mean colour by half."""

    def vectors(captions):
        return np.array([np.bincount([ord(c) % 7 for c in x[:9]], minlength=7) + len(x) for x in captions], float)

    def image_vectors(images):
        pixels = np.stack([np.asarray(image, float) for image in images])
        return np.concatenate([half.mean(axis=(1, 2)) for half in np.split(pixels, 2, axis=2)], axis=1)

    return DualTower(name, "toy", None, vectors, image_vectors=image_vectors)


def test_the_vocabulary_is_twenty_by_twenty_and_holds_that_of_the_book():
    assert len(set(runs.NOUNS)) == len(set(runs.ATTRIBUTES)) == runs.SIDE
    assert set(WORLD.objects) < set(runs.NOUNS) and set(WORLD.attributes) < set(runs.ATTRIBUTES)


@pytest.mark.parametrize("source", [runs.text_source(toy()), runs.text_source(toy("toy")), runs.image_source(toy())])
def test_a_source_is_a_function_of_the_scene(source):
    np.testing.assert_allclose(source.embed(SCENES), source.embed(SCENES[:, ::-1]), atol=1e-12)
    np.testing.assert_allclose(source.embed(SCENES)[3:5], source.embed(SCENES[3:5]), atol=1e-12)


def test_captions_are_those_of_both_orders():
    asked = []
    tower = toy("toy")
    spy = DualTower(
        "toy", "toy", None, lambda c: asked.extend(c) or tower.vectors(c), image_vectors=tower.image_vectors
    )
    runs.text_source(spy).embed(np.array([[[3, 6], [8, 1]]]))
    assert sorted(asked) == ["a blue dog and a red car", "a red car and a blue dog"]
    runs.text_source(DualTower("shipped:x", "", None, lambda c: asked.extend(c) or tower.vectors(c),
                               image_vectors=tower.image_vectors)).embed(np.array([[[10, 1], [0, 2]]]))  # fmt: skip
    assert "a blue A and a brown 0" in asked


def test_pictures_show_the_scene_on_either_side():
    shown = []
    tower = toy()
    spy = DualTower("x", "", None, tower.vectors, image_vectors=lambda p: shown.extend(p) or tower.image_vectors(p))
    runs.image_source(spy, renders=1).embed(np.array([[[10, 1], [0, 2]]]))
    wanted = [drawn.pictures(np.array([row]), np.random.default_rng(row))[0] for row in ([10, 0, 1, 2], [0, 10, 2, 1])]
    assert [p.tobytes() for p in shown] == [p.tobytes() for p in wanted]


def test_untrained_towers_read_drawn_scenes_and_depend_on_their_seed():
    first, again, other = (runs.untrained(f"untrained:{seed}") for seed in (0, 0, 1))
    captions, picture = ["a red A and a blue K"], drawn.pictures(np.array([[10, 1, 0, 2]]), np.random.default_rng(0))
    for rows in ([t.encode_text(captions) for t in (first, again, other)],
                 [t.encode_image(picture) for t in (first, again, other)]):  # fmt: skip
        assert np.array_equal(rows[0], rows[1]) and not np.allclose(rows[0], rows[2])
    assert first.count_truncated(captions) == 0
    assert (
        runs.text_source(first).name == "untrained:0, text" and runs.image_source(first).name == "untrained:0, images"
    )


def test_shuffled_gives_every_object_the_name_of_another():
    source = runs.code_source("code: product", 0)
    mixed = runs.shuffled(source, np.random.default_rng(0))
    pairs = np.indices((20, 20)).reshape(2, -1).T
    singles = np.repeat(pairs[:, None], 2, axis=1)  # twice the same object: twice its code
    one, other = (s.embed(singles) for s in (source, mixed))
    assert not np.allclose(one, other)
    assert sorted(map(tuple, one.round(6))) == sorted(map(tuple, other.round(6)))


@pytest.mark.parametrize("name", runs.CODES)
def test_codes_are_the_same_every_time_and_of_their_kind(name):
    first, again, other = (runs.code_source(name, s).embed(SCENES) for s in (0, 0, 1))
    assert np.array_equal(first, again) and not np.allclose(first, other)


def test_the_product_code_is_that_of_factored_codes():
    rng = np.random.default_rng([0, 1])
    code = draw_code("hadamard", 20, 20, 64, rng)
    np.testing.assert_allclose(
        runs.code_source("code: product", 0).embed(SCENES), code.atoms(SCENES[..., 0], SCENES[..., 1]).sum(axis=1)
    )


def test_one_source_may_be_judged_on_another():
    source, other = runs.code_source("code: product", 0), runs.code_source("code: product", 1)
    own, cross = (
        {row["part"]: row for row in runs.fitted_rows(source, 0.5, 0, 300, 40, ["product"], judged)}
        for judged in (None, other)
    )
    assert own["held_out"]["recognition"] == 1 and cross["held_out"]["recognition"] < 0.3
    assert cross["held_out"]["source"] == "code: product → code: product"


def committed(source, **wanted):
    rows = [row for row in runs.results("binding_functions") if row["source"] == source]
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize(
    ("source", "coverage"),
    [
        ("code: product", 0.2),
        ("code: hashed", 0.5),
        ("glove", 0.5),
        ("shipped:1, text", 0.9),
        ("untrained:1, text", 0.2),
    ],
)
def test_the_committed_rows_are_made_again(source, coverage):
    if source.startswith("code"):
        made = runs.code_source(source, 1)
    else:
        load = runs.untrained if source.startswith("untrained") else load_encoder
        made = runs.text_source(load(source.split(",")[0]))
    models = ["additive", "product", "free objects"]
    rows = runs.fitted_rows(made, coverage, 1, 1000, 100, models)
    wanted = [row for row in committed(source, coverage=coverage, seed=1) if row["model"] in models]
    assert len(rows) == len(wanted) == 5
    for row, known in zip(rows, wanted, strict=True):
        assert {k: row[k] for k in ("source", "model", "part", "n_train", "parameters")} == {
            k: known[k] for k in ("source", "model", "part", "n_train", "parameters")
        }
        for key in ("r2", "swap_r2", "recognition", "swap", "blind_r2", "reachable"):
            assert row[key] == pytest.approx(known[key], abs=0.02, rel=1e-2, nan_ok=True), (source, row["model"], key)


def test_the_files_say_how_they_were_made():
    for name, what in (("binding_functions", "functions"), ("binding_transformer", "transformer")):
        first = (runs.RESULTS / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith(f"# bindlib remake {what}; bindlib ") and "numpy" in first


def test_writing_and_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RESULTS", tmp_path / "results")
    runs.write(tmp_path / "results/x.csv", [{"source": "a, b", "seed": 3, "r2": -1 / 3}], "a command")
    assert runs.results("x") == [{"source": "a, b", "seed": 3, "r2": -0.3333}]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: runs.code_source("code: sum", 0), "no code is called 'code: sum'; there are code: bag"),
        (lambda: runs.results("elsewhere"), "elsewhere.csv is not there: make it with bindlib remake"),
        (lambda: runs.fitted_rows(runs.code_source("code: bag", 0), 0.05, 0, 300, 40), "below 0.1 a concept is never"),
        (lambda: runs.fitted_rows(runs.Source("nan", lambda s: np.full((len(s), 2), np.nan)), 0.5, 0, 300, 40),
         "embedding 0 is not finite: drop the scene, or check the encoder"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises((ValueError, BindlibError), match=words):
        call()
