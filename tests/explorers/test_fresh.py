"""A live figure that computes in a thread: the newest values win, and what is drawn is what was measured."""

import threading

import altair as alt
import pytest

from bindlib.book.controls import slider
from bindlib.book.figure import Figure, Readout
from bindlib.explorers.fresh import Fresh, Measured
from bindlib.explorers.live import Latest

BASE = alt.Chart(alt.Data(values=[{}])).mark_text()


def shown(text):
    return Figure(BASE.encode(text=alt.value(text)), alt="a word")


class Counted:
    """Doubles its input, but waits at 1 until it may go on."""

    def __init__(self):
        self.asked, self.may_go = [], threading.Event()

    def __call__(self, x):
        self.asked.append(x)
        if x == 1:
            self.may_go.wait(20)
        if x == 9:
            raise ValueError("nine")
        return {"double": 2 * x}


@pytest.fixture
def counted():
    return Counted()


@pytest.fixture
def widget(counted):
    chart = BASE.add_params(slider("x", "x", 0, 9, 1, 0), alt.param(name="double", value=0))
    figure = Measured(chart, alt="twice", readouts=(Readout("double", "double", ".0f"),), computed=counted,
                      drawn=lambda x: shown(f"drawn at {x}"))  # fmt: skip
    found = Fresh(figure)
    assert found.settle()
    return found


def test_the_newest_values_win_and_others_are_dropped(widget, counted):
    for x in (1, 2, 3, 4, 5):
        widget.inputs["x"].value = x
        if x == 1:
            while counted.asked[-1] != 1:
                pass
            assert "Computing" in widget.busy.value
    assert not widget.settle(0.05)
    counted.may_go.set()
    assert widget.settle()
    assert widget.said == {"double": 10}
    assert set(counted.asked) <= {0, 1, 5} and widget.busy.value == ""
    assert ">10</td>" in widget._readouts.value


def test_the_picture_is_of_what_was_measured(widget):
    widget.inputs["x"].value = 7
    assert widget.settle()
    assert "drawn at 7" in widget.figure.svg(**widget.values)
    assert widget._picture.value.count("<img") == 1


def test_after_an_error_it_answers_again(monkeypatch, widget):
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # the failure is meant
    widget.inputs["x"].value = 9
    assert widget.settle()
    assert "error: nine" in widget.busy.value and "td" not in widget._readouts.value
    widget.inputs["x"].value = 3
    assert widget.settle() and widget.said == {"double": 6}
    assert widget.busy.value == "" and ">6</td>" in widget._readouts.value


def test_what_was_asked_for_during_a_failure_is_still_done(monkeypatch):
    begun, may_fail, failed, done = threading.Event(), threading.Event(), threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", lambda _: failed.set())

    def action(x):
        if x == 0:
            begun.set()
            may_fail.wait(20)
            raise ValueError("none")
        done.append(x)

    latest = Latest(action)
    latest.ask(x=0)
    assert begun.wait(20)
    latest.ask(x=1)
    may_fail.set()
    assert latest.settle() and done == [1]
    assert failed.wait(20)


def test_a_measured_figure_without_a_drawing_is_drawn_as_it_is():
    assert Measured(BASE.encode(text=alt.value("plain")), alt="a word").svg().count("plain") == 1
