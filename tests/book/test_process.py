"""Nothing that was started stays behind, however it ends."""

import json
import os
import sys
from pathlib import Path
from threading import Event, Timer

import pytest
from tiny_books import alive, wait_until, write

import bindlib
from bindlib.book.process import INHERITED, VARIABLE, Cancelled, environment, run, words

# A child in a session of its own, as a Jupyter kernel is, whose process id goes to a file.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
open("child", "w").write(str(child.pid))
time.sleep(60)
"""


def call(folder, code, timeout=30.0, cancel=None):
    command = [sys.executable, "-c", code]
    return run(command, folder, folder / "log", dict(os.environ), timeout, cancel or Event())


def gone(folder) -> bool:
    pid = int((folder / "child").read_text())
    return wait_until(lambda: not alive(pid))


def test_the_status_and_the_output_are_kept(tmp_path):
    assert call(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)") == 3
    assert set((tmp_path / "log").read_text().split()) == {"out", "err"}


def test_a_time_out_ends_the_whole_family(tmp_path):
    assert call(tmp_path, PARENT, timeout=1.0) is None
    assert gone(tmp_path)


def test_cancelling_ends_the_whole_family(tmp_path):
    cancel = Event()
    Timer(1.0, cancel.set).start()
    with pytest.raises(Cancelled):
        call(tmp_path, PARENT, cancel=cancel)
    assert gone(tmp_path)


def test_a_child_inherits_nothing_that_changes_what_it_checks_and_imports_the_same_package(tmp_path, monkeypatch):
    write(tmp_path / "elsewhere/bindlib/__init__.py", "")
    write(tmp_path / "elsewhere/sitecustomize.py", "import warnings; warnings.simplefilter('ignore')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    for name in ("PYTHONOPTIMIZE", "PYTHONINSPECT", "OMP_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES", "ANYTHING"):
        monkeypatch.setenv(name, "1")
    for name in ("PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "LD_PRELOAD", "JUPYTER_PATH", "IPYTHONDIR"):
        monkeypatch.setenv(name, "ignore")
    tell = "import json, os, bindlib; print(json.dumps([bindlib.__file__, *os.environ]))"
    assert child(tmp_path, tell) == 0 and child(tmp_path, "assert False") == 1
    child(tmp_path, tell)
    where, *names = json.loads((tmp_path / "log").read_text())
    assert Path(where).samefile(bindlib.__file__)
    assert set(names) <= {*INHERITED, "PYTHONPATH", "PYTHONUTF8", VARIABLE, "LC_CTYPE"}  # Python may set the last


def child(folder, code) -> int:
    return run([sys.executable, "-c", code], folder, folder / "log", environment(), 30.0, Event())


def test_words_have_no_colour():
    assert words("\x1b[31;1mERROR\x1b[0m: \x1b[2Kx\x1b[?25l") == "ERROR: x"
