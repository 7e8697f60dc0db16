"""The same sweep on a Dask cluster: two worker processes on this machine."""

import os
import signal
import socket
import time
from contextlib import suppress
from threading import Event, Thread

import pytest

from bindlib.encoders import zoo
from bindlib.errors import BindlibError
from bindlib.measurements import cluster
from bindlib.measurements.results import read
from bindlib.measurements.sweep import Settings, sweep

distributed = pytest.importorskip("distributed", reason="the Python package distributed is not installed")
HERE = os.path.dirname(__file__)
TOYS = ["python:toys:one", "python:toys:two", "python:toys:three"]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a cluster of ``n`` single-threaded workers that find toys.py, and write to ``$TOYS``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        patch.setenv("TOYS", str(tmp_path_factory.mktemp("toys")))
        patch.setenv("PYTHONPATH", os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]))
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        started = []

        def start(n):
            made = distributed.LocalCluster(
                n_workers=n, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1", silence_logs=50
            )
            started.append(made)
            return made

        yield start
        for made in started:
            with suppress(TimeoutError):
                made.close(timeout=2)


@pytest.fixture(scope="module")
def two(start):
    return start(2)


def address(made) -> str:
    return made.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A file that a worker, which runs in another folder, doesn't find."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("caption,negative\na red car,a blue car\na man bites a dog,a dog bites a man\n")
    return ["pairs.csv", "quartets"]


@pytest.fixture
def toys(tmp_path):
    """Where the workers say what they do."""
    folder = os.environ["TOYS"]
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    return folder


def test_the_rows_are_those_of_this_machine(two, data, tmp_path):
    here = sweep(TOYS, data, out=tmp_path / "here.csv")
    there = sweep(TOYS, data, out=tmp_path / "there.csv", cluster=address(two))
    assert there.rows == here.rows and there.measured == 6 and not there.failures
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    assert sweep(TOYS, data, out=tmp_path / "here.csv", cluster=address(two)).measured == 0


def test_a_worker_that_is_killed_costs_nothing(two, data, toys, tmp_path):
    """Every worker that starts on the slow encoder is killed, twice; then it may finish."""
    here = sweep([*TOYS, "python:toys:slow"], data, out=tmp_path / "here.csv") if _let_go(toys) else None
    os.remove(os.path.join(toys, "go"))
    killed = []

    def kill_twice():
        while len(killed) < 2:
            time.sleep(0.05)
            started = {int(name.partition("-")[2]) for name in os.listdir(toys) if name.startswith("started-")}
            for pid in started - {os.getpid(), *killed}:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)
        _let_go(toys)

    killer = Thread(target=kill_twice)
    killer.start()
    there = sweep([*TOYS, "python:toys:slow"], data, out=tmp_path / "there.csv", cluster=address(two))
    killer.join()
    assert len(killed) >= 2 and there.failures == []
    assert there.rows == here.rows and len(read(tmp_path / "there.csv")) == 8
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


def _let_go(toys: str) -> bool:
    open(os.path.join(toys, "go"), "w").close()
    return True


def test_a_failure_on_the_cluster_is_a_line_and_the_rest_goes_on(two, data):
    found = sweep(["python:toys:broken", "python:toys:one"], data, cluster=address(two))
    assert len(found.failures) == 1 and "out of luck" in found.failures[0] and found.measured == 2


def test_a_cell_that_kills_every_worker_is_given_up_and_the_rest_goes_on(two, monkeypatch):
    monkeypatch.setattr(two.scheduler, "allowed_failures", 0)
    found = sweep(["python:toys:dies", *TOYS], ["quartets"], cluster=address(two))
    assert found.failures == ["python:toys:dies: each process that measured it died, perhaps for want of memory"]
    assert found.measured == 3


def test_a_cluster_of_one_worker_does_the_work(start, data, toys):
    one = start(1)
    _let_go(toys)
    assert sweep(["python:toys:slow"], data, cluster=address(one)).measured == 2
    started = [int(name.partition("-")[2]) for name in os.listdir(toys) if name.startswith("started-")]
    assert started and os.getpid() not in started


def test_a_worker_with_another_version_is_refused(two, data, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "99.0")
    with pytest.raises(
        BindlibError, match=r"the worker tcp://\S+ has bindlib \S+: install bindlib 99.0 there, as here"
    ):
        sweep(TOYS, data, cluster=address(two))


def test_a_cluster_that_is_lost_is_said_and_what_was_finished_is_kept(start, data, toys, tmp_path):
    made, said = start(2), []

    def close_once_finished():
        while len(said) < 2:
            time.sleep(0.05)
        distributed.utils.sync(made.loop, made.scheduler.close)

    closer = Thread(target=close_once_finished)
    closer.start()
    with pytest.raises(BindlibError, match=r"the connection to dask://\S+ was lost; .*run it again"):
        names = ["python:toys:one", "python:toys:slow"]
        sweep(names, data, out=tmp_path / "out.csv", cluster=address(made), tell=said.append)
    _let_go(toys)
    closer.join()
    assert {encoder for encoder, _ in read(tmp_path / "out.csv")} == {"python:toys:one"}


def test_a_scheduler_that_ends_while_it_hands_over_the_last_result_is_not_waited_for():
    class Client:
        status = "running"

    def never():
        yield 1
        Client.status = "connecting"
        Event().wait(60)

    results = cluster._while_connected(Client, "dask://x:1", never())
    assert next(results) == 1
    with pytest.raises(BindlibError, match="was lost"):
        next(results)


def test_an_error_of_our_own_is_not_taken_for_a_lost_cluster():
    class Client:
        status = "running"

    def fails():
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(cluster._while_connected(Client, "dask://x:1", fails()))


@pytest.mark.parametrize("asked", ["127.0.0.1:8786", "dask://", "dask://host", "tcp://host:1", "dask://host:123456"])
def test_what_is_no_address(asked):
    with pytest.raises(BindlibError, match="write dask://HOST:PORT"), cluster.running_on(asked, 1, None):
        pass


@pytest.mark.parametrize("says", [None, b"", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_nobody_and_somebody_else_at_the_address_are_one_line(monkeypatch, says):
    """``None``: nobody listens. Empty: somebody who waits to be spoken to, as a web server does."""
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if says is None:
            listener.close()
        else:
            Thread(target=lambda: listener.accept()[0].sendall(says), daemon=True).start()
        with pytest.raises(BindlibError, match=f"no Dask scheduler answers at dask://127.0.0.1:{port}"):
            sweep(["glove"], ["quartets"], Settings(), cluster=f"dask://127.0.0.1:{port}")


def test_a_cluster_without_workers_is_one_line(start, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1)
    with pytest.raises(BindlibError, match="has no workers"):
        sweep(["glove"], ["quartets"], cluster=address(start(0)))


def test_nothing_is_asked_of_a_cluster_for_an_unknown_encoder():
    with pytest.raises(BindlibError, match="unknown encoder"):
        sweep(["nobody"], ["quartets"], cluster="dask://127.0.0.1:1")
    assert zoo.CARDS


def test_a_cluster_that_stays_without_workers_is_given_up(monkeypatch):
    class Client:
        status = "running"
        workers = iter([{"w": 1}])  # and then it dies

        @classmethod
        def scheduler_info(cls):
            return {"workers": next(cls.workers, {})}

    def never():
        yield 1
        Event().wait(60)

    monkeypatch.setattr(cluster, "NO_WORKER_SECONDS", 0.5)
    results = cluster._while_connected(Client, "dask://x:1", never())
    assert next(results) == 1
    with pytest.raises(BindlibError, match=r"dask://x:1 has had no worker for 0.5 s; what was finished is kept"):
        next(results)
