"""Chapters run in processes of their own: what a failure says, and what is tried again."""

import json
import os
import sys
from types import SimpleNamespace

import pytest
from tiny_books import PARAMETERS, alive, code, make_book, md, wait_until, write

from bindlib.book import cache, kernel, process
from bindlib.book.cache import Parameters
from bindlib.book.execute import Runner, running_cell
from bindlib.book.notebook import source, tags
from bindlib.errors import CheckFailed

# The kernel's folder is chapters/, so this leaves a line in the book's root for every run.
COUNT = code("with open('../runs', 'a') as file:\n    print('ran', file=file)")


def run(book, **parameters) -> dict:
    done = {}
    runner = Runner(book, Parameters(**parameters), jobs=2, timeout=60.0)
    runner.run_all(book.chapters, lambda page, executed: done.update({page.name: executed}))
    return done


def runs(book) -> int:
    return (book.root / "runs").read_text().count("ran")


def test_a_chapter_runs_with_its_parameters_and_keeps_nothing_of_the_machine(tiny, monkeypatch):
    monkeypatch.setenv("BINDLIB_DATA", "data")
    cells = [
        md("# One"),
        PARAMETERS,
        code("print(profile, device, seed)"),
        code("import os\nos.environ['BINDLIB_DATA']"),
    ]
    book = make_book(tiny, one=cells)
    executed = run(book, profile="full", seed=5)["chapters/one"]
    notebook = executed.notebook
    assert [source(cell) for cell in notebook["cells"]] == [source(cell) for cell in cells]
    printed, shown = (cell["outputs"][0] for cell in notebook["cells"][2:])
    assert "".join(printed["text"]) == "full cpu 5\n"
    assert os.path.abspath("data") in "".join(shown["data"]["text/plain"])
    assert not any("injected-parameters" in tags(cell) for cell in notebook["cells"])
    assert str(tiny) not in str(notebook) and "papermill" not in str(notebook) and "iopub" not in str(notebook)
    assert cache.load(book, book.chapters[0], Parameters("full", "cpu", 5)).notebook == notebook
    assert not (book.build / "run").exists()


def test_a_failing_cell_is_reported_with_its_place_and_not_run_again(tiny):
    failing = code("def f(x):\n    return 1 / x\n\nf(0)")
    book = make_book(tiny, one=[md("# One, {eval}`1`"), PARAMETERS, COUNT, failing, COUNT])
    with pytest.raises(CheckFailed) as raised:
        run(book)
    report = str(raised.value)
    assert report.startswith("chapters/one, cell 4, line 4: f(0)\n")
    assert "ZeroDivisionError: division by zero" in report and "return 1 / x" in report
    assert "\x1b" not in report
    assert runs(book) == 1
    assert cache.load(book, book.chapters[0], Parameters()) is None


def test_an_expression_that_fails_is_reported_at_its_line_of_markdown(tiny):
    text = "Some prose, {eval}`seed`,\n\n:::{note}\nand {eval}`cap` more\n:::"
    book = make_book(tiny, one=[md("# One"), PARAMETERS, md(text)])
    with pytest.raises(CheckFailed) as raised:
        run(book)
    assert str(raised.value).startswith("chapters/one, cell 3, line 4: and {eval}`cap` more\n")
    assert "{eval}`cap` cannot be evaluated: NameError" in str(raised.value)


@pytest.mark.parametrize("check", ["assert seed == 1", "import warnings; warnings.warn('mind the gap')"])
def test_no_setting_of_the_users_switches_a_check_off(tiny, monkeypatch, check):
    user = tiny / "user"
    write(user / "sitecustomize.py", "import warnings; warnings.simplefilter('ignore')")
    write(user / "ipython/profile_default/startup/a.py", "import warnings; warnings.simplefilter('ignore')")
    optimised = [sys.executable, "-O", "-W", "ignore", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    write(user / "kernels/python3/kernel.json", {"argv": optimised, "display_name": "mine", "language": "python"})
    for name, value in {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "ignore"}.items():
        monkeypatch.setenv(name, value)
    for name in ("PYTHONPATH", "JUPYTER_PATH", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(user))
    monkeypatch.setenv("IPYTHONDIR", str(user / "ipython"))
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code(check)])
    with pytest.raises(CheckFailed, match=r"AssertionError|mind the gap"):
        run(book)


def test_a_kernel_in_which_asserts_do_not_run_is_not_used(tiny, monkeypatch):
    specify = kernel.specify

    def optimised(folder):
        specify(folder)
        (path,) = folder.glob("kernels/*/kernel.json")
        content = json.loads(path.read_text())
        content["argv"].insert(1, "-O")
        write(path, content)

    monkeypatch.setattr(kernel, "specify", optimised)
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("1")])
    with pytest.raises(CheckFailed) as raised:
        run(book)
    assert str(raised.value) == (
        "chapters/one, its kernel cannot be used: asserts do not run in it: start Python without -O (PYTHONOPTIMIZE)"
    )
    assert cache.load(book, book.chapters[0], Parameters()) is None


def test_a_cell_that_is_skipped_is_not_passed(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("assert False", "skip-execution")])
    with pytest.raises(CheckFailed, match="chapters/one, cell 3 was not executed"):
        run(book)


def test_endless_output_stops_its_cell_which_is_named_with_its_line(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("line = 'x' * 1_000_000\nwhile True: print(line)")])
    with pytest.raises(CheckFailed) as raised:
        run(book)
    place, why = str(raised.value).splitlines()
    assert place.startswith("chapters/one, cell 3, line 2: while True: print(line)")
    assert why.startswith("more than 100,000 characters of text")


def test_long_output_fails_its_chapter_also_when_the_cell_came_to_its_end(tiny):
    hide = "\ntry:\n    print('x' * 1_000_000)\n    time.sleep(60)\nexcept BaseException:\n    pass"
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("import time" + hide)])
    with pytest.raises(CheckFailed, match=r"^chapters/one, cell 3 left more than 100,000 characters of text"):
        run(book)


def test_a_warning_is_not_left_on_the_page(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("import warnings\nwarnings.warn('mind the gap')")])
    with pytest.raises(CheckFailed, match=r"chapters/one, cell 3 wrote to stderr.*\n.*mind the gap"):
        run(book)


def test_a_kernel_that_dies_once_is_given_a_second_chance(tiny):
    die = code("import os\nif open('../runs').read().count('ran') == 1:\n    os._exit(9)")
    book = make_book(tiny, one=[md("# One"), PARAMETERS, COUNT, die, code("'alive'")])
    assert "alive" in str(run(book)["chapters/one"].notebook)
    assert runs(book) == 2


def test_a_chapter_that_hangs_is_killed_with_its_kernel_and_tried_twice(tiny, monkeypatch):
    hang = code(
        "import os\nwith open('../runs', 'a') as file:\n    print('ran', os.getpid(), file=file)\nwhile True: pass"
    )
    book = make_book(tiny, one=[md("# One"), PARAMETERS, hang])
    write(tiny / "runs", "")
    # A clock that jumps once the cell runs, so that neither a slow machine nor a fast one changes the outcome.
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: 1000.0 * runs(book)))
    with pytest.raises(CheckFailed, match="chapters/one ran longer than 60 s, 2 times, at cell 3, line 1: import os"):
        run(book)
    assert runs(book) == 2
    kernels = [int(word) for word in (tiny / "runs").read_text().split() if word.isdigit()]
    assert len(kernels) == 2 and wait_until(lambda: not any(map(alive, kernels)))


def test_a_run_that_never_started_says_so():
    assert running_cell({"cells": []}) == "its start"


def test_an_exception_group_is_reported_at_its_cell(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("raise ExceptionGroup('two', [ValueError('inner')])")])
    with pytest.raises(CheckFailed, match=r"^chapters/one, cell 3, line 1: raise ExceptionGroup(?s:.)*inner"):
        run(book)


def test_a_cell_that_ends_its_kernel_is_named(tiny):
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code("import os"), code("os._exit(0)")])
    with pytest.raises(CheckFailed, match=r"lost its kernel.*, 2 times, at cell 4, line 1: os\._exit\(0\)"):
        run(book)


def test_an_expression_may_display_and_clear_output_and_only_its_value_is_kept(tiny):
    text = "so {eval}`seed` {eval}`shows(1)` {eval}`shows(2)`"
    define = (
        "from IPython.display import clear_output, display\n"
        "def shows(x):\n    display({'application/vnd.bindlib.prose+json': {'value': 'no'}}, raw=True)\n"
        "    clear_output()\n    return x"
    )
    book = make_book(tiny, one=[md("# One"), PARAMETERS, code(define), md(text)])
    assert source(run(book)["chapters/one"].notebook["cells"][3]) == "so 0 1 2"
