"""The command line: what goes where, and with which exit code."""

import importlib
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

from bindlib import __version__, cli, device, terminal
from bindlib.book import claims, ledger
from bindlib.errors import BindlibError, Interrupted, interruptible
from bindlib.measurements.sweep import Settings, Sweep

CLAIM = {
    "label": "thm-x",
    "chapter": "one",
    "statement": "s",
    "hypotheses": [],
    "instances": 3,
    "worst_slack": 0.0,
    "tolerance": 0.1,
    "seed": 0,
    "holds": True,
    "mutant": {"holds": False, "fails": True},
}
ROW = {
    "encoder": "a [red]car[/red]\x1b[31m\u202e", "data": "d", "subset": "all", "n": 2, "truncated": 0, "left_out": 0,
    "ceiling": float("nan"), "cap": 1.0, "usage": 0.5, "binding_to_order": None,
    "intervals": {"usage": [0.25, 0.75], "binding_to_order": None},
}  # fmt: skip


@pytest.fixture
def command(monkeypatch, capsys):
    """Run ``bindlib`` in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bindlib", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code, *capsys.readouterr()

    return run


def provide(monkeypatch, module: str, **functions) -> None:
    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**functions))
    package, _, name = module.rpartition(".")
    monkeypatch.setattr(importlib.import_module(package), name, sys.modules[module], raising=False)


def fail(*_, **__):
    raise BindlibError("no such thing: choose another")


@pytest.mark.parametrize("arguments", [["--debug", "encoders"], ["encoders", "--debug"], ["encoders"]])
def test_an_expected_failure_is_one_line_and_its_traceback_is_for_debugging(command, monkeypatch, arguments):
    provide(monkeypatch, "bindlib.encoders.zoo", listing=fail)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.endswith("bindlib: no such thing: choose another\n")
    assert ("Traceback" in err) == ("--debug" in arguments)
    assert "--debug" in arguments or err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["book", "--profile", "fast"],
        ["book", "--jobs", "0"],
        ["book", "--device", "tpu"],
        ["measure"],
        ["--x"],
    ],
)
def test_wrong_usage_exits_with_2(command, arguments):
    code, out, err = command(*arguments)
    assert code == 2 and out == "" and err


def test_outside_a_book_the_error_says_so(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("book", "check"):
        code, _, err = command(name)
        assert code == 2 and "_toc.yml" in err and err.count("\n") == 1


def test_help_answers_without_what_commands_import():
    code = "import sys, bindlib.cli\nprint({'torch', 'altair', 'numpy', 'nbformat', 'yaml'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, 0), ({"mutant": None}, 1), ({"holds": False}, 1), ({"mutant": {"holds": True, "fails": False}}, 1)],
)
def test_claims_exit_with_1_when_one_fails_or_a_mutant_holds_or_did_not_run(command, monkeypatch, change, expected):
    monkeypatch.setattr(claims, "CLAIMS", {"thm-x": None})
    monkeypatch.setattr(claims, "run", lambda mutants, seed: [CLAIM | change])
    code, out, err = command("claims", "--json", "--mutants")
    assert code == expected
    assert json.loads(out) == [CLAIM | change]
    assert ("thm-x" in err) == bool(expected)


def test_claims_without_mutants_ask_for_none_and_one_that_is_not_listed_has_failed(command, monkeypatch):
    monkeypatch.setattr(claims, "CLAIMS", {"thm-x": None})
    monkeypatch.setattr(claims, "run", lambda mutants, seed: [CLAIM | {"mutant": None}])
    assert command("claims")[0] == 0
    code, out, err = command("claims", "--mutants")
    assert code == 1 and "DID NOT RUN" in out and "thm-x" in err
    monkeypatch.setattr(claims, "run", lambda mutants, seed: [])
    assert command("claims")[0] == 1


@pytest.mark.parametrize("asked", ["claims", "reproduce"])
def test_the_verdict_has_room_on_a_narrow_terminal(command, monkeypatch, asked):
    row = {"figure": "Figure 2(a)", "status": "not reproduced", "quantity": "the product of depth and margin " * 3}
    monkeypatch.setattr(claims, "CLAIMS", {"thm-x": None})
    monkeypatch.setattr(claims, "run", lambda mutants, seed: [CLAIM | {"holds": False}])
    monkeypatch.setattr(
        ledger, "run", lambda profile, seed: [row | dict.fromkeys(("reports", "ours", "why"), "long " * 30)]
    )
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = command(asked)
    assert code == 1 and {"claims": "no", "reproduce": "not reproduced"}[asked] in out


def measuring(monkeypatch, rows, failures=()) -> list:
    """Let ``measure`` find these; what it asked for is put into the list."""
    asked = []

    def sweep(encoders, data, settings, **how):
        print("loading", *encoders)
        asked.append((encoders, data, settings, how))
        return Sweep(rows, list(failures), len(rows))

    provide(monkeypatch, "bindlib.measurements.sweep", sweep=sweep, Settings=Settings)
    return asked


def test_json_is_all_that_standard_output_gets(command, monkeypatch):
    asked = measuring(monkeypatch, [ROW])
    code, out, err = command("measure", "a", "b", "--json", "--device", "cpu", "--seed", "4", "--no-cache")
    assert code == 0 and err == "loading a b\n"
    assert json.loads(out) == [ROW | {"ceiling": None}]
    how = {"jobs": 1, "out": None, "cluster": None, "tell": terminal.say}
    assert asked == [(["a", "b"], ["quartets"], Settings("cpu", 4, cache=False), how)]


def test_a_sweep_is_asked_for_as_it_was_given(command, monkeypatch):
    asked = measuring(monkeypatch, [])
    command(
        "measure", "a", "--data", "x.csv", "--data", "sugarcrepe", "--out", "rows.csv", "--jobs", "3", "--device", "cpu"
    )
    command("measure", "a", "--cluster", "dask://h:1", "--json")
    (_, data, settings, how), (_, _, there, elsewhere) = asked
    assert (data, settings.cache, how["out"], how["jobs"]) == (["x.csv", "sugarcrepe"], True, Path("rows.csv"), 3)
    assert elsewhere["cluster"] == "dask://h:1" and there.device == "auto", "the device is the workers' to find"
    code, _, err = command("measure", "a", "--cluster", "dask://h:1", "--jobs", "2")
    assert code == 2 and "one of the two" in err and len(asked) == 2


def test_what_failed_is_said_after_what_was_measured(command, monkeypatch):
    measuring(monkeypatch, [ROW], ["b: out of luck", "c: weights are missing"])
    code, out, err = command("measure", "a", "b", "c", "--device", "cpu", "--json")
    assert code == 1 and len(json.loads(out)) == 1
    assert err.endswith("bindlib: not everything could be measured:\nb: out of luck\nc: weights are missing\n")


def test_a_table_for_each_kind_of_data(command, monkeypatch):
    pair = ROW | {"encoder": "b", "data": "p", "ceiling": 0.25, "zero_share": 0.5, "permutations": 1, "truncated": 7,
                  "permutation_ceiling": None, "intervals": {"ceiling": [0.125, 0.5]}}  # fmt: skip
    del pair["usage"]
    measuring(monkeypatch, [ROW, pair])
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = command("measure", "a", "--device", "cpu")
    assert "0.250..0.750" in out and "0.125..0.500" in out
    assert out.count("data") == 2, "they differ in their data"
    assert out.count("truncated") == 1 and "subset" not in out


def test_a_report_goes_to_the_file_and_its_text_to_standard_output(command, monkeypatch):
    def report(*asked):
        print("loading")
        return " ".join(map(str, asked))

    provide(monkeypatch, "bindlib.measurements.report", report=report)
    code, out, err = command("report", "glove", "--out", "c.html", "--data", "x.csv", "--device", "cpu", "--seed", "2")
    settings = "Settings(device='cpu', seed=2, cache=True, strict=False)"
    assert (code, out, err) == (0, f"glove ['x.csv'] {settings} c.html\n", "loading\nthe card is in c.html\n")


def test_a_table_shows_names_as_text_whatever_they_hold(command, monkeypatch):
    measuring(monkeypatch, [ROW])
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = command("measure", "a", "--device", "cpu")
    assert r"a [red]car[/red]\x1b[31m\u202e" in out and "\x1b" not in out


def test_an_error_cannot_steer_the_terminal(command, monkeypatch):
    def listing():
        raise BindlibError("bad caption '\x1b[2J\r\u202e'")

    provide(monkeypatch, "bindlib.encoders.zoo", listing=listing)
    _, _, err = command("encoders")
    assert err == "bindlib: bad caption '\\x1b[2J\\r\\u202e'\n"


def test_cuda_that_is_missing_is_said_and_the_cpu_used(command, monkeypatch):
    monkeypatch.setattr(device, "_cuda_works", lambda: False)
    asked = measuring(monkeypatch, [])
    code, _, err = command("measure", "a", "--device", "cuda", "--json")
    assert code == 0 and asked[0][2].device == "cpu"
    assert err == "--device cuda: torch finds no CUDA device here, so the CPU is used\nloading a\n"
    assert command("measure", "a", "--device", "auto", "--json")[2] == "loading a\n"


def test_the_device_is_cuda_only_where_it_works(monkeypatch):
    for works in (True, False):
        monkeypatch.setattr(device, "_cuda_works", lambda works=works: works)
        assert [device.resolve(asked) for asked in ("cpu", "auto", "cuda")] == [
            "cpu",
            *["cuda" if works else "cpu"] * 2,
        ]


def test_version(command):
    assert command("--version")[:2] == (0, f"{__version__}\n")


@pytest.mark.parametrize("arguments", [["encoders"], ["encoders", "--debug"]])
def test_a_fault_of_the_system_is_one_line_that_names_the_file(command, monkeypatch, arguments):
    def listing():
        raise PermissionError(13, "Permission denied", "some/fi\x1ble")

    provide(monkeypatch, "bindlib.encoders.zoo", listing=listing)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "") and err.endswith("bindlib: some/fi\\x1ble: Permission denied\n")
    assert ("Traceback" in err) == ("--debug" in arguments)


def shell(line: str) -> subprocess.CompletedProcess:
    line = f"exec {shlex.quote(sys.executable)} -m bindlib.cli {line}"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=buffered)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", ["--version", "encoders", "encoders --json"])
def test_standard_output_that_is_full_is_one_line(arguments):
    done = shell(f"{arguments} > /dev/full")
    assert (done.returncode, done.stderr) == (2, "bindlib: standard output: No space left on device\n")


def test_with_standard_error_closed_nothing_of_it_goes_to_standard_output():
    done = shell("measure no-such-encoder 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_table_is_never_narrower_than_can_be_read(command, monkeypatch):
    measuring(monkeypatch, [ROW | {"encoder": "x" * 40}])
    monkeypatch.setenv("COLUMNS", "20")
    _, out, _ = command("measure", "a", "--device", "cpu")
    assert "x" * 40 in out


NAMES = ("minilm", "random-clip:0")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_its_terminal_with_the_telling_numbers_first(command, monkeypatch, width):
    rows = [ROW | {"encoder": name, "n": 120, "ceiling": 0.125, "binding_to_order": 0.875, "intervals": {"usage":
            [0.25, 0.75], "binding_to_order": [0.5, 1.5]}} for name in NAMES]  # fmt: skip
    measuring(monkeypatch, rows)
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, err = command("measure", *NAMES, "--device", "cpu")
    assert max(map(len, out.splitlines())) <= width
    assert "0.875" in out and "0.500..1.500" in out and all(name in out for name in NAMES)
    assert "random-clip:0* " in out and "minilm*" not in out and "null (*)" in err
    assert ("no room for" in err) == ("0.250..0.750" not in out) == (width < 80)


@pytest.mark.parametrize(("encoder", "says"), [("a", "measure random-clip:0 too"), ("random-clip:7", "uses 0.50 here")])
def test_below_the_table_stands_what_to_look_at_and_where_the_null_is(command, monkeypatch, encoder, says):
    measuring(monkeypatch, [ROW | {"encoder": encoder}])
    _, _, err = command("measure", encoder, "--device", "cpu")
    assert "binding_to_order is the number to look at" in err and "usage alone shows no binding" in err and says in err
    assert "look at" not in command("measure", encoder, "--device", "cpu", "--json")[2]


@pytest.mark.parametrize("name", ["two words", "two\u00a0words", "a\u00a0file of\u00a0words.csv", "車\u00a0車"])
def test_a_name_with_spaces_takes_no_room_from_the_numbers(command, monkeypatch, name):
    numbers = {"binding_to_order": 0.875, "intervals": {"usage": [0.25, 0.75], "binding_to_order": [0.5, 1.5]}}
    for column in ("encoder", "subset"):
        measuring(monkeypatch, [ROW | numbers | {column: name, "n": 12345}, ROW | numbers | {"encoder": "b", "n": 120}])
        for width in range(20, 100, 7):
            monkeypatch.setenv("COLUMNS", str(width))
            _, out, _ = command("measure", "a", "--device", "cpu")
            assert out.count("0.500..1") == out.count("0.500..1.500"), out
            assert "12345" in out or width < 60


def test_what_was_left_out_stands_beside_the_number_of_items(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for left_out in (0, 7):
        measuring(monkeypatch, [ROW | {"left_out": left_out}])
        _, out, _ = command("measure", "a", "--device", "cpu")
        assert ("left" in out) == (left_out > 0)


def test_names_stand_whole_in_a_narrow_table_and_what_is_missing_is_told(command, monkeypatch):
    rows = [{"name": "open_clip:ARCH/PRETRAINED", "loadable": False, "licence": "that of the weights", "why_not":
             "no torch: install it", "description": "a dual encoder with the tag or checkpoint " * 3}]  # fmt: skip
    provide(monkeypatch, "bindlib.encoders.zoo", listing=lambda: rows)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, err = command("encoders")
    assert "open_clip:ARCH/PRETRAINED" in out and max(map(len, out.splitlines())) <= 80
    assert err == "open_clip:ARCH/PRETRAINED cannot be loaded: no torch: install it\n"


def test_a_warning_is_told_once(command, monkeypatch):
    def report(*_):
        for word in ("one", "one", "two", "one"):
            logging.getLogger("bindlib.x").warning("a word: %s", word)
        return ""

    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    provide(monkeypatch, "bindlib.measurements.report", report=report)
    _, _, err = command("report", "glove", "--out", "c.html", "--device", "cpu")
    assert err == "bindlib: a word: one\nbindlib: a word: two\nthe card is in c.html\n"


@pytest.mark.parametrize("arguments", ["measure a", "report a --out c.html", "train --out x", "claims"])
def test_a_seed_that_a_file_or_torch_cannot_hold_is_refused(command, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = command(*arguments.split(), "--seed", str(2**32))
    assert code == 2 and "--seed" in err and "4294967295" in err


def test_half_a_character_in_a_row_is_spelled_out(command, monkeypatch):
    measuring(monkeypatch, [{"data": "a\udcff"}])
    _, out, _ = command("measure", "a", "--device", "cpu", "--json")
    assert json.loads(out) == [{"data": r"a\udcff"}]


def program(*arguments, code="", **environment) -> subprocess.Popen:
    how = ["-c", code] if code else ["-m", "bindlib"]
    return subprocess.Popen(
        [sys.executable, *how, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | environment,
    )  # fmt: skip


def test_what_a_library_writes_to_the_descriptor_of_standard_output_goes_to_standard_error():
    code = """
import os, subprocess, sys
from bindlib import terminal
terminal.take_streams()
os.write(1, b"native\\n")
subprocess.run(["echo", "child"])
terminal.show([{"a": 1}], True, ())
os.write(1, b"late\\n")
"""
    out, err = program(code=code).communicate(timeout=60)
    assert json.loads(out) == [{"a": 1}]
    assert err == "native\nchild\nlate\n"


@pytest.mark.parametrize("arguments", [["train", "--help"], ["report", "--help"], ["--help"]])
def test_where_standard_output_is_ascii_a_character_is_spelled_out(arguments):
    process = program(*arguments, PYTHONIOENCODING="ascii", LC_ALL="C")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == "" and out.isascii() and "--help" in out


@pytest.mark.parametrize("at", ["typing", "rich.console", "numpy"])
def test_ctrl_c_while_python_imports_is_one_line(at):
    code = "from bindlib.__main__ import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", code, "encoders"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = []
    for line in process.stderr:
        if not line.startswith("import time:"):
            said.append(line)
        elif line.rpartition("|")[2].strip() == at:
            process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(60) == 130 and said == ["bindlib: stopped\n"]


def test_an_interruption_that_a_library_turns_into_something_else_still_stops_the_command():
    for swallowed in (True, False):
        with pytest.raises(Interrupted, match="stopped"), interruptible("stopped"):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                if not swallowed:
                    raise ImportError("half a library") from None


def test_a_line_feed_in_what_is_told_begins_no_line(command, monkeypatch):
    measuring(monkeypatch, [ROW], ["b: out\nbindlib: all is well"])
    _, _, err = command("measure", "a", "--device", "cpu", "--json")
    assert "out\\nbindlib" in err
    record = logging.makeLogRecord({"msg": "a caption %s", "args": ("x\nbindlib: y",), "levelno": logging.WARNING})
    assert terminal._first_time()(record) and record.getMessage() == "a caption x\\nbindlib: y"


def test_a_reader_that_goes_away_is_no_failure_to_tell_of():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "bindlib", "--version"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (terminal.BROKEN_PIPE, "")
