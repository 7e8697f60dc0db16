"""The kernel of a chapter: nothing in it is switched off, and no cell says more than a page can hold."""

import ast
import subprocess
import sys
import threading
import time
import warnings
from io import StringIO
from pathlib import Path

import pytest
from tiny_books import code, md, notebook

from bindlib.book import kernel
from bindlib.book.kernel import FAULT, MAX_OUTPUT, MAX_TEXT, MAX_TRACEBACK, Meter, guarded, shortened

OURS = (kernel._package(), sys.version)


def refusal(*options: str, package=OURS[0], version=OURS[1]) -> str:
    """What ``start`` raises in an interpreter with these options."""
    call = f"from bindlib.book.kernel import start; start({package!r}, {version!r})"
    done = subprocess.run([sys.executable, *options, "-c", call], capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-O"], "RuntimeError: asserts do not run in it"),
        (["-OO"], "RuntimeError: asserts do not run in it"),
        (["-W", "ignore"], "RuntimeError: warnings are not shown in it"),
        (["-W", "ignore::UserWarning"], "RuntimeError: warnings are not shown in it"),
        # What comes after the checks needs a kernel: nothing was refused.
        ([], "AttributeError: 'NoneType' object has no attribute 'kernel'"),
        (["-W", "error::UserWarning"], "AttributeError: 'NoneType' object has no attribute 'kernel'"),
    ],
)
def test_what_is_switched_off_is_found_out_by_trying(options, why):
    assert refusal(*options).startswith(why)


@pytest.mark.parametrize("other", [{"package": "/elsewhere/bindlib/__init__.py"}, {"version": "4.0 (other)"}])
def test_another_package_or_python_than_the_builds_is_refused(other):
    assert "install bindlib once" in refusal(**other)


def test_no_check_of_the_package_is_one_that_optimisation_takes_away():
    files = Path(kernel._package()).parent.rglob("*.py")
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    asserts = [path for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert len(trees) > 100 and asserts == []


def test_the_trials_leave_no_trace():
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        assert kernel._asserts_run() and kernel._warnings_show()
    assert list(warnings.filters) == before


def test_the_guard_comes_first_and_the_notebook_given_is_left_alone():
    given = notebook(md("# One"), code("1"))
    cells = guarded(given)["cells"]
    assert cells[1:] == given["cells"] and len(given["cells"]) == 2
    assert cells[0]["source"].endswith(f".start({OURS[0]!r}, {OURS[1]!r})") and cells[0]["id"]
    assert "id" not in guarded(given | {"nbformat_minor": 4})["cells"][0]


class Sent(list):
    """What a kernel would send: pairs of type and content."""

    def __call__(self, stream, message, content=None, *args, **options):
        self.append((message["header"]["msg_type"], message["content"]) if isinstance(message, dict) else
                    (message, content))  # fmt: skip

    def faults(self):
        return [content["data"][FAULT] for kind, content in self if FAULT in content.get("data", {})]


def printed(meter, text):
    meter("iopub", "stream", {"name": "stdout", "text": text}, parent={}, ident=b"topic")


def shown(meter, kind="display_data", metadata=(), **data):
    message = {"header": {"msg_type": kind}, "parent_header": {}}
    meter("iopub", message | {"content": {"data": data, "metadata": dict(metadata)}}, ident=b"topic")


def test_what_fits_passes_untouched_and_each_cell_has_its_own_measure():
    sent = Sent()
    meter = Meter(sent)
    for _ in range(3):
        meter.begin()
        printed(meter, "x" * MAX_TEXT)
        shown(meter, **{"image/png": "x" * (MAX_OUTPUT - MAX_TEXT - 100)})
        meter.end()
    assert [kind for kind, _ in sent] == ["stream", "display_data"] * 3 and not sent.faults()


@pytest.mark.parametrize(
    ("kind", "data", "what"),
    [
        ("display_data", {"text/html": "<p>" * MAX_TEXT}, "text"),
        ("execute_result", {"text/plain": "x" * (MAX_TEXT + 1)}, "text"),
        ("update_display_data", {"text/plain": "x" * (MAX_TEXT + 1)}, "text"),
        ("display_data", {"application/vnd.bindlib.prose+json": {"value": "x" * MAX_TEXT}}, "text"),
        ("display_data", {"image/png": "x" * (MAX_OUTPUT + 1)}, "output"),
        ("display_data", {"application/json": {"a": [1] * MAX_OUTPUT}}, "output"),
        ("display_data", {"metadata": "x" * MAX_OUTPUT}, "output"),
    ],
)
def test_what_is_too_much_is_not_sent_and_ends_the_cell(kind, data, what):
    meter = Meter(sent := Sent())
    meter.begin()
    for _ in range(2):  # a cell that catches the interrupt is interrupted again
        with pytest.raises(KeyboardInterrupt):
            shown(meter, kind, metadata=data if "metadata" in data else (), **({} if "metadata" in data else data))
    (fault,) = sent.faults()
    limit = MAX_TEXT if what == "text" else MAX_OUTPUT
    assert fault.startswith(f"more than {limit:,} characters of {what} in one cell")
    assert [content["data"] for _, content in sent] == [{FAULT: fault}]
    meter.begin()
    printed(meter, "the next cell")
    assert sent[-1] == ("stream", {"name": "stdout", "text": "the next cell"})


@pytest.mark.parametrize("text", ["x", "x\n" * 1000, "x" * (3 * MAX_TEXT)])
def test_a_loop_that_writes_is_stopped_before_anything_was_sent(text):
    stream = StringIO()
    meter = Meter(sent := Sent(), [stream])
    for _ in range(2):  # two cells
        meter.begin()
        with pytest.raises(KeyboardInterrupt):
            while True:
                assert stream.write(text) == len(text)
        printed(meter, stream.getvalue())
        assert len(stream.getvalue()) == MAX_TEXT + 1 and len(sent.faults()) == len(sent)
        stream.truncate(stream.seek(0))
    assert len(sent) == 2


def test_a_stream_that_another_has_taken_back_is_bounded_again_and_no_other_twice():
    stream = StringIO()
    before = stream.write
    meter = Meter(Sent(), [stream])
    ours = stream.write
    meter.begin()
    assert stream.write is ours
    stream.write = before
    meter.begin()
    assert stream.write is not before
    with pytest.raises(TypeError):
        stream.write(1)


def test_another_thread_ends_the_cell_once_and_not_what_comes_after_its_code():
    stream = StringIO()
    meter = Meter(Sent(), [stream])

    def write():
        for _ in range(3):
            stream.write("x" * (MAX_TEXT + 1))

    meter.begin()
    writer = threading.Thread(target=write)
    with pytest.raises(KeyboardInterrupt):
        writer.start()
        time.sleep(60)
    writer.join()
    meter.begin()
    meter.end()
    after = threading.Thread(target=write)
    after.start()
    after.join()
    write()


def test_an_error_is_cut_to_what_can_be_read_on_both_channels():
    meter = Meter(sent := Sent())
    meter.begin()
    error = {"ename": "E", "evalue": "v" * 10**6, "traceback": ["first", "x" * 10**6, "last"]}
    meter("iopub", "error", error, ident=b"topic")
    meter("shell", "execute_reply", error | {"status": "error"}, {}, metadata={}, ident=b"topic")
    meter("shell", "execute_reply", {"status": "ok"}, {}, metadata={}, ident=b"topic")
    for _, content in sent[:2]:
        (traceback,) = content["traceback"]
        assert traceback.startswith("first\n") and traceback.endswith("\nlast") and "left out" in traceback
        assert max(len(content["evalue"]), len(traceback)) < MAX_TRACEBACK + 100
    assert sent[2] == ("execute_reply", {"status": "ok"})


def test_short_text_stays_and_long_text_keeps_its_ends():
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefghij", 6) == "abc\n... 4 characters left out ...\nhij"
