"""Nothing that was started stays behind, however it ends."""

import os
import sys
from threading import Event, Timer

import pytest
from tiny_books import alive, wait_until

from bindlib.book.process import Cancelled, run, words

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


def test_words_have_no_colour():
    assert words("\x1b[31;1mERROR\x1b[0m: \x1b[2Kx\x1b[?25l") == "ERROR: x"
