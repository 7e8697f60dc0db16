"""Learning curves: what the figure says of stored trainings, and trainings run and stopped from a widget."""

import numpy as np
import pytest
import vl_convert
from parity import agree_everywhere

from bindlib.explorers import throttle_training as explorer
from bindlib.remedies import trained_throttle


def rows(bound_at=600, rates=(0.0, 0.1)):
    """Trainings checked every 50 steps up to 900, which bind at ``bound_at`` or not at all."""
    last = bound_at or 900
    return [
        {"swap_rate": rate, "seed": seed, "negatives": kind, "steps": bound_at, "last_step": last, "accuracy": 0.96,
         "curve": [(step, 0.5 + 0.46 * step / last - 0.01 * seed) for step in range(50, last + 1, 50)]}
        for rate in rates for kind in explorer.KINDS for seed in range(2) if (rate, kind) != (0.1, "no swaps")
    ]  # fmt: skip


MIXED = rows() + rows(None, (1.0,))
FIGURES = {
    "trained": lambda: explorer.trained(rows()),
    "never bound": lambda: explorer.trained(rows(None)),
    "learning curves": lambda: explorer.learning_curves(MIXED),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_compiles_draws_and_says_what_it_shows(name):
    figure = FIGURES[name]()
    assert len(figure.alt) > 60 and figure.table
    assert "<path" in vl_convert.vegalite_to_svg(figure.spec())


def test_the_page_says_what_the_curves_hold(signals):
    agree_everywhere(signals, explorer.learning_curves(MIXED), draws=24)


def test_a_training_that_has_ended_keeps_its_accuracy():
    figure = explorer.learning_curves(MIXED)
    at_end = figure.computed(rate=0.0, step=900)
    assert at_end["trainings"] == at_end["bound"] == 6 and at_end["accuracy_0"] == pytest.approx(0.955)
    assert figure.computed(rate=0.0, step=550)["bound"] == 0
    assert figure.computed(rate=0.1, step=900)["accuracy_1"] == "not trained"
    assert figure.computed(rate=1.0, step=900)["bound"] == 0


def test_part_of_the_way_begins_at_the_first_check():
    row = rows()[0]
    assert explorer.part_way(row, 0.5) == dict(row["curve"])[300]
    assert explorer.part_way(row, 0.01) == explorer.part_way(row | {"last_step": 50}, 0.5) == row["curve"][0][1]


@pytest.mark.parametrize("kind", explorer.KINDS)
@pytest.mark.parametrize("rate", [0, 0.1])
def test_a_single_check_is_drawn(kind, rate):
    first = {"swap_rate": rate, "seed": 0, "negatives": kind, "steps": None, "last_step": 50, "accuracy": 0.5}
    assert "<path" in explorer.learning_curves([first | {"curve": [(50, 0.5)]}]).svg()


def test_the_answer_counts_what_was_trained():
    assert "Of 2 trainings without shared words 2 had not" in explorer.learning_curves(rows(None, (0.0,))).answer
    assert explorer.learning_curves(rows(rates=(1.0,))).answer is None


def test_curves_that_are_checked_at_other_steps_are_refused():
    odd = rows()
    odd[3]["curve"] = [(60, 0.5), (120, 0.6)]
    with pytest.raises(ValueError, match="every 50 steps"):
        explorer.learning_curves(odd)


def test_the_widget_says_what_the_curves_hold():
    widget = explorer.widget(MIXED)
    widget.inputs["rate"].value, widget.inputs["step"].value = 0.1, 300
    assert widget.settle()
    reached = [dict(row["curve"])[300] for row in MIXED if (row["swap_rate"], row["negatives"]) == (0.1, "all")]
    assert widget.said["accuracy_0"] == pytest.approx(np.mean(reached), abs=1e-4)


def test_the_line_is_where_the_trainer_stops():
    assert explorer.BOUND_AT == trained_throttle.BOUND_AT


def test_a_training_runs_from_the_widget_and_is_the_trainer_s():
    small = trained_throttle.Setup(4, 4, dim=16, batch_size=32, check_every=10, check_scenes=100)

    def train(rate, seed, negatives):
        return trained_throttle.learning(rate, seed, negatives, 20, small)  # checks with the towers as third

    job = explorer.training(train, 20)
    job.inputs["rate"].value, job.inputs["seeds"].value = 1, 2
    job.run()
    assert job.settle()
    assert job.progress.value == job.progress.max == 40
    for seed in range(2):
        assert f"seed {seed}: accuracy {list(train(1, seed, 'all'))[-1][1]:.3f} after 20 steps" in job.found.value
    assert "data:image/svg+xml" in job.found.value and not job.start.disabled


def test_a_training_can_be_stopped_between_two_checks():
    job, asked = None, []

    def train(rate, seed, negatives):
        for step in range(50, 1001, 50):
            asked.append((rate, seed, negatives, step))
            if step == 150:
                job.stop.click()
            yield step, 0.5

    job = explorer.training(train, 1000)
    job.inputs["rate"].value, job.inputs["negatives"].value = 0, "disjoint"
    job.run()
    assert job.settle()
    assert asked == [(0, 0, "disjoint", step) for step in (50, 100, 150)]
    assert "accuracy 0.500 after 150 steps" in job.found.value and "Stopped." in job.found.value
