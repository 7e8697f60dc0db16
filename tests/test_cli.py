"""The command line: what goes where, and with which exit code."""

import importlib
import json
import os
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from bindlib import __version__, cli, device
from bindlib.book.claims import sound
from bindlib.errors import BindlibError

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
ROW = {"encoder": "a [red]car[/red]\x1b[31m\u202e", "n": 2, "ceiling": float("nan"), "intervals": {"delta": [0.0, 0.5]}}


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
    [({}, 0), ({"mutant": None}, 0), ({"holds": False}, 1), ({"mutant": {"holds": True, "fails": False}}, 1)],
)
def test_claims_exit_with_1_when_one_fails_or_a_mutant_holds(command, monkeypatch, change, expected):
    provide(monkeypatch, "bindlib.book.claims", run=lambda mutants, seed: [CLAIM | change], sound=sound)
    code, out, err = command("claims", "--json", "--mutants")
    assert code == expected
    assert json.loads(out) == [CLAIM | change]
    assert ("thm-x" in err) == bool(expected)


def test_json_is_all_that_standard_output_gets(command, monkeypatch):
    def measure(encoders, data, device, seed, tell):
        print("loading", encoders, data, device, seed)
        return [ROW]

    provide(monkeypatch, "bindlib.measurements.diagnostic", measure=measure)
    code, out, err = command("measure", "a", "b", "--json", "--device", "cpu", "--seed", "4")
    assert code == 0 and err == "loading ['a', 'b'] quartets cpu 4\n"
    assert json.loads(out) == [ROW | {"ceiling": None}]


def test_a_table_shows_names_as_text_whatever_they_hold(command, monkeypatch):
    provide(monkeypatch, "bindlib.measurements.diagnostic", measure=lambda *_: [ROW])
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
    provide(monkeypatch, "bindlib.measurements.diagnostic", measure=lambda e, d, device, *_: [{"encoder": device}])
    code, out, err = command("measure", "a", "--device", "cuda", "--json")
    assert code == 0 and json.loads(out) == [{"encoder": "cpu"}]
    assert err == "--device cuda: torch finds no CUDA device here, so the CPU is used\n"
    assert command("measure", "a", "--device", "auto", "--json")[2] == ""


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
    provide(monkeypatch, "bindlib.measurements.diagnostic", measure=lambda *_: [{"encoder": "x" * 40}])
    monkeypatch.setenv("COLUMNS", "20")
    _, out, _ = command("measure", "a", "--device", "cpu")
    assert "x" * 40 in out


def test_half_a_character_in_a_row_is_spelled_out(command, monkeypatch):
    provide(monkeypatch, "bindlib.measurements.diagnostic", measure=lambda *_: [{"data": "a\udcff"}])
    _, out, _ = command("measure", "a", "--device", "cpu", "--json")
    assert json.loads(out) == [{"data": r"a\udcff"}]
