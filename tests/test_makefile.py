"""What a machine lacks is said in one line, before anything is installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def install(folder: Path, python) -> subprocess.CompletedProcess:
    line = ["make", "-C", ROOT, f"{folder}/none/.installed", f"VENV={folder}/none", f"PYTHON={python}"]
    # Not the variables of the `make test` that may have started this.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(line, capture_output=True, text=True, env=env)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "not found: install Python 3.11 or later"),
        (
            'case "$*" in *version_info*) exit 1;; *) echo Python 3.9.6;; esac',
            "Python 3.9.6, and 3.11 or later is needed",
        ),
        ('case "$*" in *ensurepip*) exit 1;; esac', "apt-get install python3-venv"),
    ],
)
def test_a_python_that_will_not_do_is_named(tmp_path, script, says):
    python = program(tmp_path / "python", script) if script else tmp_path / "missing"
    done = install(tmp_path, python)
    assert done.returncode != 0
    assert says in done.stdout and str(python) in done.stdout
    assert not (tmp_path / "none").exists()


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
