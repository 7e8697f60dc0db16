"""Where the cells of a sweep are measured: processes of this machine, or an existing Dask cluster; both by joblib."""

import logging
import os
import pydoc
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from bindlib import __version__
from bindlib.encoders.weights import INSTALL
from bindlib.errors import BindlibError
from bindlib.measurements.provenance import versions

PATIENCE_SECONDS = 5  # for a scheduler to answer, and then for its first worker
NO_WORKER_SECONDS = 60  # until a cluster whose last worker died is given up: a nanny may start another
ADDRESS = re.compile(r"dask://(\S+):(\d{1,5})")

Given, Got = TypeVar("Given"), TypeVar("Got")
Run = Callable[[Callable[[Given], Got], Sequence[Given]], Iterator[Got]]


@contextmanager
def running_on(cluster: str | None, jobs: int, lost: Callable[[Given], Got]) -> Iterator[Run]:
    """A parallel ``map`` whose results come as they are finished, in any order.

    An item whose process dies is tried again, on the cluster several times; if it goes on dying, ``lost(item)`` stands
    for its result. Raises ``BindlibError`` if the cluster at ``cluster`` (``dask://HOST:PORT``) does not answer, has no
    workers or has other versions, and while results are awaited, if it is lost.
    """
    if cluster is None:
        how = {"n_jobs": jobs, "backend": "loky", "initializer": _end_with, "initargs": (os.getpid(),)}
        yield lambda function, items: _survived(how, BrokenProcessPool, function, items, lost)
        return
    with _connected(cluster) as client:
        from distributed import KilledWorker

        _check_versions(client, cluster)
        how = {"n_jobs": -1, "backend": _dask_backend(client)}
        yield lambda function, items: _while_connected(
            client, cluster, _survived(how, KilledWorker, function, items, lost)
        )


def _survived(
    how: dict, death: type[Exception], function: Callable[[Given], Got], items: Sequence[Given], lost: Callable
) -> Iterator[Got]:
    """The results; an item that was waited for when a process died is tried again, alone, and then given up."""
    waiting = dict(enumerate(items))
    try:
        for index, result in _results(how, function, list(waiting.items())):
            del waiting[index]
            yield result
    except death:
        for index, item in waiting.items():
            try:
                yield from (result for _, result in _results(how, function, [(index, item)]))
            except death:
                yield lost(item)


def _results(
    how: dict, function: Callable[[Given], Got], items: Sequence[tuple[int, Given]]
) -> Iterator[tuple[int, Got]]:
    # One call a batch: a batch's results would all come when its last call is finished.
    run = joblib.Parallel(batch_size=1, return_as="generator_unordered", **how)
    return run(joblib.delayed(_numbered)(function, *item) for item in items)


def _numbered(function: Callable[[Given], Got], index: int, item: Given) -> tuple[int, Got]:
    return index, function(item)


def _end_with(parent: int) -> None:
    """End this process when ``parent`` is gone: killed, it could not end what it started."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _while_connected(client: Any, cluster: str, results: Iterator[Got]) -> Iterator[Got]:
    """The results, awaited in a thread: joblib waits for ever for one that the scheduler did not live to hand over."""
    arrived: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def collect() -> None:
        try:
            for result in results:
                arrived.put(("result", result))
            arrived.put(("end", None))
        except Exception as error:
            arrived.put(("error", error))

    Thread(target=collect, daemon=True).start()
    seen = time.monotonic()  # the last time that there was a worker, or a result
    while client.status == "running" or not arrived.empty():
        try:
            what, value = arrived.get(timeout=1)
        except Empty:
            if client.scheduler_info()["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > NO_WORKER_SECONDS:
                raise BindlibError(
                    f"{cluster} has had no worker for {NO_WORKER_SECONDS} s; what was finished is kept: start workers "
                    "(dask worker) and run it again"
                ) from None
            continue
        seen = time.monotonic()
        if what == "end":
            return
        if what == "result":
            yield value
        elif isinstance(value, CancelledError | OSError):
            break
        else:
            raise value
    raise BindlibError(f"the connection to {cluster} was lost; what was finished is kept: run it again")


@contextmanager
def _connected(cluster: str) -> Iterator[Any]:
    address = ADDRESS.fullmatch(cluster)
    if address is None:
        raise BindlibError(f"{cluster!r} is no address of a cluster: write dask://HOST:PORT")
    try:
        from distributed import Client
    except ImportError as error:
        raise BindlibError(f"the Python package distributed cannot be imported ({error}): {INSTALL}") from error
    for name in ("distributed", "distributed.client", "tornado.application"):  # tracebacks would bury our one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    host, port = address.groups()
    try:
        answers = _speaks_dask(host, int(port))
        client = Client(f"tcp://{host}:{port}", timeout=PATIENCE_SECONDS, set_as_default=False) if answers else None
    except (OSError, OverflowError):  # a TimeoutError is an OSError
        client = None
    if client is None:
        raise BindlibError(f"no Dask scheduler answers at {cluster}: start one (dask scheduler), or mend the address")
    try:
        yield client
    finally:
        client.close(timeout=PATIENCE_SECONDS)


def _speaks_dask(host: str, port: int) -> bool:
    """Whether a scheduler listens there: it speaks first, and says how many bytes are to follow.

    A client would wait for ever for a listener that says nothing, and believe any number.
    """
    with socket.create_connection((host, port), PATIENCE_SECONDS) as connection:
        return 0 < int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "little") < 2**20


def _dask_backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        """Joblib's backend, without two faults of joblib 1.6 that would make a sweep wait for ever, or run here."""

        def effective_n_jobs(self, n_jobs: int) -> int:
            """For a cluster with one core joblib would run everything in this process."""
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Callable, callback: Callable) -> Any:
            """Joblib calls back for a result, and not for a task that Dask gave up."""
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, Exception):
                raise out
            return super().retrieve_result_callback(out)

    return Backend(client=client)


def _check_versions(client: Any, cluster: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError:
        raise BindlibError(f"{cluster} has no workers: start some (dask worker)") from None
    # Found by name, as a worker without bindlib, or with an old one, could not unpickle a function of ours.
    for worker, version in client.run(pydoc.locate, "bindlib.__version__", on_error="return").items():
        if version != __version__:
            has = "no bindlib that can be imported" if version is None else f"bindlib {version}"
            raise BindlibError(f"the worker {worker} has {has}: install bindlib {__version__} there, as here")
    if len(found := set(client.run(versions).values())) > 1:
        raise BindlibError(f"the workers of {cluster} differ in their versions: {' | '.join(sorted(found))}")
