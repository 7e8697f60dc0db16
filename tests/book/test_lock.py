"""One build at a time, and none that is gone keeps the others out."""

import fcntl
import json
import os
import subprocess
import sys
import time

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_books import alive, wait_until

from bindlib.book import lock
from bindlib.book.lock import Owner, alone
from bindlib.book.process import VARIABLE
from bindlib.errors import BindlibError

# A build that takes the lock, starts a child in a session of its own, and waits to be killed.
BUILD = """
import os, subprocess, sys, time
from pathlib import Path
from bindlib.book.lock import alone
from bindlib.book.process import environment
with alone(Path(sys.argv[1]), print):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=environment(),
                             start_new_session=True, close_fds=False)
    print(child.pid, flush=True)
    time.sleep(60)
"""


def killed_build(folder) -> tuple[int, int]:
    """A build that was ended by SIGKILL, and the child that it left: their process ids."""
    build = subprocess.Popen([sys.executable, "-c", BUILD, str(folder)], stdout=subprocess.PIPE, text=True)
    child = int(build.stdout.readline())
    build.kill()
    build.wait()
    build.stdout.close()
    assert alive(child)
    return build.pid, child


def test_what_a_killed_build_left_is_named_and_ended_and_a_stranger_is_not(tmp_path):
    build, child = killed_build(tmp_path)
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], env=os.environ | {VARIABLE: "another build's"}
    )
    told = []
    try:
        with alone(tmp_path, told.append):
            assert wait_until(lambda: not alive(child)) and alive(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()
    (line,) = told
    assert f"process {build} " in line and str(child) in line and "\n" not in line
    with alone(tmp_path, told.append):
        assert len(told) == 1


def test_a_build_at_work_is_named_and_keeps_its_lock(tmp_path):
    with alone(tmp_path, pytest.fail):
        for _ in range(2):  # the first refusal does not wipe the name
            with pytest.raises(BindlibError, match=f"process {os.getpid()} on .*: wait for it, or stop it"):
                alone(tmp_path, pytest.fail).__enter__()
    assert (tmp_path / ".lock").read_text() == ""


def test_a_lock_without_a_name_is_refused_with_the_process_that_holds_it(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.0)
    hold = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path / ".lock")], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        with pytest.raises(BindlibError, match=rf"\(process {holder.pid}\): wait for it"):
            alone(tmp_path, pytest.fail).__enter__()
    finally:
        holder.kill()
        holder.communicate()


def owner(**change) -> Owner:
    return Owner(**({**vars(Owner.here())} | change))


def test_only_a_process_that_surely_ended_is_gone():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    assert wait_until(lambda: psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE)
    assert owner(pid=ended.pid, started=psutil.Process(ended.pid).create_time()).is_gone()
    ended.wait()
    assert owner(pid=ended.pid).is_gone() and owner(pid=-1).is_gone() and owner(pid=10**30).is_gone()
    assert owner(started=time.time() - 1e6).is_gone()  # its number was given to another
    assert not owner().is_gone()
    assert not owner(pid=ended.pid, machine="another").is_gone()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
RECORDS = st.fixed_dictionaries(dict.fromkeys(vars(Owner.here()), JSON))


@settings(max_examples=40)
@given((JSON | RECORDS).map(json.dumps) | st.text(st.characters(exclude_categories=["Cs"])) | st.just("[" * 100_000))
def test_whatever_stands_in_the_lock_file_the_lock_can_be_taken(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("build")
    (folder / ".lock").write_text(text, encoding="utf-8")
    with alone(folder, pytest.fail), (folder / ".lock").open() as file:
        assert Owner.read(file) == Owner.here()
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
