import numpy as np
import pytest
import torch

from bindlib.remedies import trained_throttle as tt
from bindlib.theory.throttle import logistic_loss

SMALL = tt.Setup(
    n_objects=6,
    n_attributes=6,
    dim=16,
    batch_size=32,
    learning_rate=0.02,
    product=0.2,
    check_every=10,
    check_scenes=200,
)
NEGATIVES = ("all", "no swaps", "disjoint")


def draws(n, setup=SMALL, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tt.draw_scenes(n, setup, generator), torch.randn(n, setup.dim, generator=generator)


def test_scenes_are_uniform_over_two_object_scenes():
    scenes = draws(40_000)[0].numpy()
    assert np.all(scenes[:, 0] != scenes[:, 1]) and np.all(scenes[:, 2] != scenes[:, 3])
    counts = np.unique(scenes, axis=0, return_counts=True)[1]
    assert len(counts) == 30 * 30 and counts.min() > 15


def test_atoms_are_a_bag_plus_a_product():
    towers = tt.Towers(SMALL, torch.Generator().manual_seed(0), "cpu")
    for tower in (0, 1):
        a, b, u, v = towers.factors[tower].split([6, 6, 6, 6])
        expected = a[2] + b[5] + 0.2 * 4 * u[2] * v[5]
        assert torch.allclose(towers.atoms()[tower, 2 * 6 + 5], expected)


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_excluded_one_by_one(negatives):
    scenes = draws(200)[0]
    out = tt.excluded(scenes, SMALL, negatives).numpy()
    for i, (o1, o2, a1, a2) in enumerate(scenes.tolist()):
        for j, (p1, p2, b1, b2) in enumerate(scenes.tolist()):
            swap = {(o1, a2), (o2, a1)} == {(p1, b1), (p2, b2)}
            shared = bool({o1, o2} & {p1, p2} or {a1, a2} & {b1, b2}) and i != j
            assert out[i, j] == {"all": False, "no swaps": swap, "disjoint": shared}[negatives]
    assert negatives == "all" or out.any()


def test_training_is_deterministic_and_keeps_the_threads():
    before = torch.get_num_threads()
    runs = [tt.time_to_bind(0.5, 3, "no swaps", 40, SMALL) for _ in range(2)]
    assert runs[0] == runs[1]
    assert torch.equal(runs[0].towers.factors, runs[1].towers.factors)
    assert torch.get_num_threads() == before
    assert runs[0].row["last_step"] <= 40


def test_own_swaps_make_it_bind_and_without_shared_words_nothing_does():
    bound = tt.time_to_bind(1, 0, "disjoint", 300, SMALL)
    assert bound.steps is not None and bound.row["accuracy"] > tt.BOUND_AT
    blind = tt.time_to_bind(0, 0, "disjoint", 300, SMALL)
    assert blind.steps is None and blind.row["accuracy"] < 0.65


def test_a_last_step_that_is_no_multiple_is_still_checked():
    assert tt.time_to_bind(0, 0, "all", 7, SMALL).curve[-1][0] == 7


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_incentive_keeps_to_the_theorem(negatives):
    towers = tt.time_to_bind(1, 1, "all", 200, SMALL).towers
    found = tt.incentive(towers, negatives, seed=0, batches=40)
    assert abs(found["held"] - found["matched"]) < 0.01
    assert found["free"] <= 2 * found["rho"] * 1.01
    assert negatives == "all" or found["rival"] < 0 < found["free"]  # the rival of prop-blind-rival loses nothing


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_incentive_by_explicit_loops(negatives):
    towers = tt.time_to_bind(1, 1, "all", 60, SMALL).towers
    found = tt.incentive(towers, negatives, seed=5, batches=1)
    generator = torch.Generator().manual_seed(5)
    scenes = tt.draw_scenes(SMALL.batch_size, SMALL, generator)
    noise = torch.randn(SMALL.batch_size, SMALL.dim, generator=generator)
    with torch.no_grad():
        image, text, swap = (x.double().numpy() for x in towers.encode(scenes, noise))
    out, bags = tt.excluded(scenes, SMALL, negatives).numpy(), [(set(x[:2]), set(x[2:])) for x in scenes.tolist()]
    free, matched, rival = [], [], []
    for i in range(len(image)):
        a, b = image[i] @ text[i], image[i] @ swap[i]
        rest = [(image[i] @ text[j], image[i] @ swap[j]) for j in range(len(image)) if j != i and not out[i, j]]
        z, blind = sum(np.exp(x) for x, _ in rest), sum((np.exp(x) + np.exp(y)) / 2 for x, y in rest)
        pair = np.exp(a) + np.exp(b)
        free.append(np.log((pair / 2 + blind) / (pair / 2)) - np.log((np.exp(a) + z) / np.exp(a)))
        matched.append(np.log(2) - logistic_loss(a - b))
        others = [j for j in range(len(image)) if j != i and not out[i, j]]
        own = max(np.exp(a), pair / 2)
        means = [own if bags[j] == bags[i] else np.exp((image[i] @ text[j] + image[i] @ swap[j]) / 2) for j in others]
        rival.append(np.log((own + sum(means)) / own) - np.log((np.exp(a) + z) / np.exp(a)))
    assert found["rival"] == pytest.approx(np.mean(rival), rel=1e-6)
    assert found["free"] == pytest.approx(np.mean(free), rel=1e-6)
    assert found["matched"] == pytest.approx(np.mean(matched), rel=1e-6)


def test_incentive_rows():
    rows = tt.incentive_rows(tt.time_to_bind(1, 1, "all", 30, SMALL).towers, seed=0)
    assert [row["negatives"] for row in rows] == list(NEGATIVES)
    assert all(row["over the rival at rate 0"] < row["over S̃ at rate 0"] <= row["its bound"] for row in rows)


def test_plans_name_what_the_chapter_compares():
    for plan in tt.PLANS.values():
        assert {trial.negatives for trial in plan} == set(NEGATIVES)
        assert all(0 <= trial.swap_rate <= 1 for trial in plan)
    with pytest.raises(ValueError, match="profile"):
        tt.experiment("slow", 0)


def test_bad_input():
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        tt.time_to_bind(1.5, 0)
    with pytest.raises(ValueError, match="negatives are"):
        tt.time_to_bind(0.5, 0, "some")
    with pytest.raises(ValueError, match="one step"):
        tt.time_to_bind(0.5, 0, max_steps=0)
