"""Sweeps: what is measured, what is kept, and what goes on when something fails or is killed."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from bindlib.encoders.base import TextTower
from bindlib.errors import BindlibError
from bindlib.measurements import provenance, sweep
from bindlib.measurements.datasets import load
from bindlib.measurements.diagnostic import measure_encoder
from bindlib.measurements.results import read
from bindlib.measurements.sweep import Settings, Task, measure_cell

HERE = Path(__file__).parent


class Zoo:
    """Stands for ``bindlib.encoders.zoo``: towers by name, and what was asked of it."""

    def __init__(self):
        self.towers, self.loaded, self.encoded = {}, [], []

    def add(self, name, function=None, revision="0"):
        def vectors(captions):
            self.encoded.append(name)
            return function(captions) if function else rows(name, captions)

        self.towers[name] = TextTower(name, revision, None, vectors)

    def require(self, name):
        if name not in self.towers:
            raise BindlibError(f"unknown encoder {name!r}")

    def device_of(self, name, device):
        return "cpu" if name == "one" else device

    def load_encoder(self, name, device, cache):
        self.loaded.append((name, device, cache))
        if isinstance(self.towers[name], BaseException):
            raise self.towers[name]
        return self.towers[name]


def rows(name, captions):
    return np.stack([np.random.default_rng(list((name + text).encode())).standard_normal(6) + 1 for text in captions])


@pytest.fixture
def zoo(monkeypatch):
    zoo = Zoo()
    zoo.add("one")
    zoo.add("two")
    monkeypatch.setattr(sweep, "zoo", zoo)
    return zoo


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("caption,negative,subset\na red car,a blue car,x\na dog bites a man,a man bites a dog,y\n")
    return str(path)


def test_the_rows_are_those_of_the_diagnostic(zoo, pairs, tmp_path):
    plain = [
        row
        for name in ("two", "one")
        for data in (pairs, "quartets")
        for row in measure_encoder(zoo.towers[name], load(data), 3)
    ]
    for out in (None, tmp_path / "out.csv", tmp_path / "out.csv"):  # measured, measured and kept, read again
        found = sweep.sweep(["two", "one"], [pairs, "quartets"], Settings(seed=3), out=out)
        assert found.rows == plain and found.failures == []
    assert found.measured == 0


def test_a_name_given_twice_is_measured_once(zoo, pairs):
    assert sweep.sweep(["one", "one"], [pairs, pairs]).measured == 1
    assert sweep.sweep(["one"], ["quartets", "quartets:0"]).measured == 1


def test_only_what_is_missing_or_changed_is_measured(zoo, pairs, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"

    def measured(**how):
        settings = Settings(seed=how.pop("seed", 0))
        zoo.encoded.clear()
        found = sweep.sweep(["one", "two"], ["quartets", pairs], settings, out=out)
        assert (found.measured == 0) == (zoo.encoded == [])
        assert len(read(out)) == 4, "none twice"
        return found.measured

    sweep.sweep(["one"], ["quartets"], out=out)
    assert measured() == 3
    assert measured() == 0
    zoo.add("two", revision="1")
    assert measured() == 2
    Path(pairs).write_text("caption,negative\na red cat,a blue cat\n")
    assert measured() == 2
    assert measured(seed=1) == 4
    assert measured(seed=1) == 0
    monkeypatch.setattr(sweep, "versions", lambda: "bindlib 99")
    assert measured(seed=1) == 4
    monkeypatch.setattr(sweep, "resolve", lambda device: "cuda")
    assert measured(seed=1) == 2, "one encoder runs on the CPU wherever it is"
    made_with = {(c.encoder, c.provenance.versions, c.provenance.device) for c in read(out).values()}
    assert made_with == {("one", "bindlib 99", "cpu"), ("two", "bindlib 99", "cuda")}


def test_other_cells_of_the_file_stay(zoo, pairs, tmp_path):
    out = tmp_path / "out.jsonl"
    sweep.sweep(["one"], [pairs], Settings(seed=7), out=out)
    found = sweep.sweep(["two"], [pairs], out=out)
    assert {row["encoder"] for row in found.rows} == {"two"}
    assert {encoder for encoder, _ in read(out)} == {"one", "two"}


def test_the_order_asked_for_does_not_show_in_the_file(zoo, pairs, tmp_path):
    for name, encoders, data in (
        ("a", ["one", "two"], ["quartets", pairs]),
        ("b", ["two", "one"], [pairs, "quartets"]),
    ):
        sweep.sweep(encoders, data, out=tmp_path / f"{name}.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_an_encoder_is_loaded_once_a_sweep_and_anew_in_the_next(zoo, pairs):
    for encoders in (["one", "two"], ["two"], ["two"]):
        sweep.sweep(encoders, ["quartets", pairs], Settings("cpu", cache=False))
    assert zoo.loaded == [(name, "cpu", False) for name in ("one", "two", "two", "two")]


def test_an_encoder_that_fails_does_not_stop_the_others(zoo, pairs, tmp_path):
    def out_of_luck(captions):
        raise RuntimeError("out of\nluck")

    def only_captions(captions):
        if "a red car" in captions:
            raise BindlibError("only captions: no cars")
        return rows("only", captions)

    zoo.add("broken", out_of_luck)
    zoo.add("only", only_captions)
    zoo.towers["absent"] = OSError(2, "No such file", "weights")
    said = []
    names = ["broken", "one", "absent", "only", "two"]
    out = tmp_path / "out.csv"
    found = sweep.sweep(names, ["quartets", pairs], out=out, tell=said.append)
    assert found.failures == [
        "broken failed: RuntimeError: out of luck (--debug shows the traceback)",
        "absent: weights: No such file",
        f"on {pairs}, only captions: no cars",
    ]
    assert found.measured == 5 and len(read(out)) == 5
    assert [row["encoder"] for row in found.rows if row["subset"] == "all"] == ["one", "one", "only", "two", "two"]
    assert zoo.loaded.count(("absent", "cpu", True)) == 1
    assert len(said) == 10 and sum("failed" in line for line in said) == 5 and said[-1].endswith("(10 of 10)")


class Panic(BaseException):
    """As of a library in Rust; what it says cannot be said."""

    def __str__(self):
        raise Panic


@pytest.mark.parametrize("error", [Panic(), SystemExit(3), RecursionError(), MemoryError()])
@pytest.mark.parametrize("when", ["loaded", "asked"])
def test_nothing_that_an_encoder_raises_stops_a_sweep(zoo, pairs, tmp_path, error, when):
    def fails(captions):
        raise error

    zoo.add("broken", fails)
    if when == "loaded":
        zoo.towers["broken"] = error
    found = sweep.sweep(["broken", "one"], [pairs], out=tmp_path / "out.csv")
    assert len(found.failures) == 1 and type(error).__name__ in found.failures[0]
    assert found.measured == 1 and {encoder for encoder, _ in read(tmp_path / "out.csv")} == {"one"}


@pytest.mark.parametrize("when", ["loaded", "asked"])
def test_the_user_stops_a_sweep_whatever_is_being_done(zoo, pairs, when):
    def stops(captions):
        raise KeyboardInterrupt

    zoo.add("stops", stops)
    if when == "loaded":
        zoo.towers["stops"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(["stops", "one"], [pairs])
    assert "one" not in zoo.encoded


def test_what_cannot_be_identified_is_measured_anew_and_that_is_said_once(zoo, pairs, tmp_path, caplog):
    out = tmp_path / "out.csv"
    zoo.towers["one"] = replace(zoo.towers["one"], identified=False)
    for expected in (4, 2):
        assert sweep.sweep(["one", "two"], ["quartets", pairs], out=out).measured == expected
    assert caplog.text.count("one: measured anew") == 1


def test_an_encoder_that_is_no_function_is_told_with_the_size(zoo, pairs, caplog):
    rng = np.random.default_rng(0)
    zoo.add("noise", lambda captions: 1 + rng.random((len(captions), 4)))
    sweep.sweep(["noise", "one"], [pairs])
    assert caplog.text.count("is no function of the caption") == 1 and "noise is no function" in caplog.text


def test_pairs_that_are_one_point_for_unknown_words_are_counted(zoo, tmp_path, caplog):
    data = tmp_path / "emoji.csv"
    data.write_text("caption,negative\na \U0001f600,a \U0001f680\na dog,a cat\na man bites a dog,a dog bites a man\n")

    def unknown(captions):
        return [sum(not word.isascii() for word in caption.split()) for caption in captions]

    def vectors(captions):
        return rows("x", [" ".join(sorted(word if word.isascii() else "?" for word in c.split())) for c in captions])

    zoo.add("blind", vectors)
    zoo.towers["blind"] = replace(zoo.towers["blind"], unknown=unknown)
    sweep.sweep(["blind"], [str(data)])
    assert "blind does not know every word of 1 of 3 items" in caplog.text
    zoo.towers["blind"] = replace(zoo.towers["blind"], unknown=lambda captions: 1 / 0)
    failures = sweep.sweep(["blind"], [str(data)]).failures
    assert "blind failed while it looked for unknown words: ZeroDivisionError" in str(failures)


def test_the_traceback_of_a_failure_is_there_for_debugging(zoo, pairs, caplog):
    zoo.add("broken", lambda captions: 1 / 0)
    with caplog.at_level("DEBUG", logger="bindlib"):
        sweep.sweep(["broken"], [pairs])
    assert "Traceback" in caplog.text and "lambda captions: 1 / 0" in caplog.text


def test_rows_that_cannot_be_confirmed_stay_in_the_file_but_are_not_shown(zoo, pairs, tmp_path):
    out = tmp_path / "out.csv"
    sweep.sweep(["one"], [pairs], out=out)
    zoo.towers["one"] = BindlibError("one is gone")
    found = sweep.sweep(["one"], [pairs], out=out)
    assert found.rows == [] and found.failures == ["one is gone"] and len(read(out)) == 1


def test_warnings_arrive_and_nothing_is_printed_to_standard_output(zoo, pairs, caplog, capsys):
    def talks(captions):
        print("hello")
        return rows("talks", captions)

    zoo.add("talks", talks)
    zoo.towers["talks"] = replace(zoo.towers["talks"], context_length=2, lengths=lambda texts: [3] * len(texts))
    sweep.sweep(["talks"], [pairs])
    assert caplog.text.count("lose their end") == 1
    out, err = capsys.readouterr()
    assert out == "" and "hello" in err


@pytest.mark.parametrize(
    ("encoders", "data", "out", "says"),
    [
        (["one", "nobody"], ["quartets"], "out.csv", "unknown encoder"),
        (["one"], ["no.csv"], "out.csv", "no data named"),
        (["one"], ["quartets"], "out.xlsx", "unknown ending"),
        (["one\udcff"], ["quartets"], "out.csv", "cannot hold"),
    ],
)
def test_what_is_wrong_at_the_start_is_said_before_anything_is_measured(zoo, tmp_path, encoders, data, out, says):
    zoo.add("one\udcff")
    with pytest.raises(BindlibError, match=says):
        sweep.sweep(encoders, data, out=tmp_path / out)
    assert zoo.encoded == zoo.loaded == list(tmp_path.iterdir()) == []


def test_one_cell_at_a_time_in_a_process(zoo):
    """A Dask worker has threads; a tokenizer does not serve two."""
    busy, most = [], []

    def watched(captions):
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.01)
        busy.pop()
        return rows("watched", captions)

    zoo.add("watched", watched)
    tasks = [Task("watched", load("quartets"), Settings(seed=seed), "sweep") for seed in range(3)]
    threads = [Thread(target=measure_cell, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most and max(most) == 1


def test_versions_name_what_numbers_depend_on():
    found = dict(part.split(" ") for part in provenance.versions().split("; "))
    assert found["numpy"] == np.__version__ and found["bindlib"] == provenance.__version__ and "torch" in found


# From here on in processes of their own, with the encoders of toys.py.


def start(*arguments, **environment) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "bindlib.cli", "measure", *map(str, arguments)],
        cwd=HERE, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


TOYS = ["python:toys:one", "python:toys:three", "python:toys:two"]


@pytest.fixture
def data(tmp_path) -> list[str]:
    """Two small files, as arguments."""
    arguments = []
    for name in "ab":
        path = tmp_path / "data" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"caption,negative\n{name} bites a man,a man bites {name}\n{name} runs,{name} sits\n")
        arguments += ["--data", path]
    return arguments


def test_the_rows_do_not_depend_on_the_number_of_jobs_and_a_death_costs_its_cell_alone(tmp_path, data):
    alone, together = tmp_path / "alone.csv", tmp_path / "together.csv"
    processes = [
        start(*TOYS, *data, "--json", "--out", alone),
        start("python:toys:dies", *TOYS, *data, "--json", "--out", together, "--jobs", 2),
    ]
    (first, _), (second, told) = (process.communicate(timeout=120) for process in processes)
    assert [process.returncode for process in processes] == [0, 1]
    assert alone.read_bytes() == together.read_bytes()
    assert first == second and first.startswith("["), "and nothing else on standard output"
    assert told.endswith("python:toys:dies: each process that measured it died, perhaps for want of memory\n")


@pytest.mark.parametrize(("jobs", "kills"), [(1, 3), (2, 1)])
def test_killed_at_any_moment_and_run_again_the_rows_are_the_same(tmp_path, data, jobs, kills):
    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    process = start(*TOYS, *data, "--out", whole)
    assert process.wait(120) == 0
    rng = random.Random(jobs)
    for _ in range(kills):
        process = start(*TOYS, *data, "--out", out, "--jobs", jobs, TOYS_SECONDS="0.1")
        cells = tmp_path / "out.csv.cells"
        finished = len(list(cells.glob("*.jsonl"))) if cells.exists() else 0
        while process.poll() is None and len(list(cells.glob("*.jsonl"))) <= finished:
            time.sleep(0.01)  # until a cell more is there, so that every kill is at another one
        time.sleep(rng.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
    process = start(*TOYS, *data, "--out", out, "--jobs", jobs)
    assert process.wait(120) == 0
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out.csv", "whole.csv"]


def test_stopped_politely_what_is_finished_is_in_the_file(tmp_path):
    out = tmp_path / "out.csv"
    process = start("python:toys:one", "python:toys:slow", "--out", out, TOYS=str(tmp_path))
    while not list(tmp_path.glob("started-*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and told.endswith("stopped; the same command goes on from here\n")
    assert {encoder for encoder, _ in read(out)} == {"python:toys:one"}


def test_processes_end_with_the_one_that_started_them(tmp_path, data):
    process = start("python:toys:slow", *data, "--jobs", 2, TOYS=str(tmp_path))
    while len(list(tmp_path.glob("started-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("started-*")]
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_lives, workers))


def _lives(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
