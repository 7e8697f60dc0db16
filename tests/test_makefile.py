"""What a machine lacks is said in one line, before anything is installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def install(folder: Path, python, path: str | None = None) -> subprocess.CompletedProcess:
    line = [shutil.which("make"), "-C", ROOT, f"{folder}/none/.installed", f"VENV={folder}/none", f"PYTHON={python}"]
    # Not the variables of the `make test` that may have started this.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(line, capture_output=True, text=True, env=env | ({"PATH": path} if path else {}))


REAL = Path(sys.executable)


def of_version(minor: int) -> str:
    """A Python that says it is of another minor version."""
    pretend = f"import sys; sys.version_info = (3, {minor}, 0)"
    return f"""case "$1" in -V) echo Python 3.{minor}.0;; *) exec '{REAL}' -c "{pretend}; $2";; esac"""


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "not found, and Python 3.11 to 3.13 is needed: "),
        ("echo 'no such version' >&2; exit 127", "does not run, and Python 3.11 to 3.13 is needed: "),
        (of_version(9), "is Python 3.9.0, and Python 3.11 to 3.13 is needed: "),
        (of_version(10), "is Python 3.10.0, and Python 3.11 to 3.13 is needed: "),
        (of_version(14), "is Python 3.14.0, and Python 3.11 to 3.13 is needed: "),
        ('case "$*" in *ensurepip*) exit 1;; esac; ' + of_version(12), "apt-get install python3.12-venv"),
    ],
)
def test_a_python_that_will_not_do_is_named(tmp_path, script, says):
    python = program(tmp_path / "python", script) if script else tmp_path / "missing"
    done = install(tmp_path, python)
    assert done.returncode != 0
    (line,) = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    assert says in line and str(python) in line
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_a_python_that_will_do_is_taken_without_a_word(tmp_path, minor):
    python = program(tmp_path / "python", of_version(minor))
    done = subprocess.run(["sh", ROOT / ".ci/python", python], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_python_on_the_path_that_would_do_is_offered(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "sed", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool))
    program(tools / "python3", of_version(14))
    assert "install one, or say where it is (make PYTHON=...)" in install(tmp_path, "python3", str(tools)).stdout
    program(tools / "python3.11", "exit 127")  # a name that leads nowhere
    program(tools / "python3.12", of_version(12))
    assert "needed: make PYTHON=python3.12\n" in install(tmp_path, "python3", str(tools)).stdout


def chromium(path: str, **env) -> subprocess.CompletedProcess:
    line = [shutil.which("sh"), ROOT / ".ci/chromium"]
    return subprocess.run(line, capture_output=True, text=True, env={"PATH": path, **env})


def test_a_browser_is_found_by_name_or_by_variable(tmp_path):
    browser = program(tmp_path / "chromium", "")
    assert chromium(str(tmp_path)).stdout.strip() == str(browser)
    other = program(tmp_path / "other browser", "")
    assert chromium(str(tmp_path), CHROMIUM=str(other)).stdout.strip() == str(other)


def test_without_a_browser_and_without_packages_the_fix_is_named(tmp_path):
    done = chromium(str(tmp_path))
    assert done.returncode == 1 and done.stdout == ""
    assert "apt-get install chromium" in done.stderr and "CHROMIUM=" in done.stderr


def test_a_browser_is_installed_where_that_is_possible(tmp_path):
    program(tmp_path / "id", "echo 0")
    program(tmp_path / "true", "")
    browser = tmp_path / "chromium"
    write = f"printf '#!/bin/sh' > '{browser}' && {shutil.which('chmod')} +x '{browser}'"
    program(tmp_path / "apt-get", f'case "$*" in *install*chromium*) {write};; esac')
    assert chromium(str(tmp_path)).stdout.strip() == str(browser)


def test_the_tests_begin_with_the_sources_and_the_numbers_of_the_book():
    recipe = re.search(r"^test: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe and recipe[1].split() == ["check", "verify"]
    assert re.search(r"^verify: book\n\t@\$\(BIN\)/bindlib verify ", (ROOT / "Makefile").read_text(), re.MULTILINE)
