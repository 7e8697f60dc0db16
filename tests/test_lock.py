"""The lock holds on every Python of the range, from the first patch on, and nothing says another range."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from uv import find_uv_bin

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RANGE = SpecifierSet(PROJECT["project"]["requires-python"])
MINORS = [f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in RANGE]
PATCHES = [f"{minor}.0" for minor in MINORS]  # the first of each is what a stable distribution may stay with
LOCK = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
LOCKED = {canonicalize_name(name): version for name, version in LOCK.items()}


def test_the_range_is_said_once_and_all_else_lies_within():
    assert str(RANGE) and len(MINORS) > 1
    assert f"Python {', '.join(MINORS[:-1])} or {MINORS[-1]}" in (ROOT / "README.md").read_text()
    assert not re.search(r"\b3\.\d", (ROOT / "Makefile").read_text())
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + MINORS[0].replace(".", "")
    steps = [
        step
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for job in yaml.safe_load(path.read_text())["jobs"].values()
        for step in job["steps"]
    ]
    set_up = [step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", "")]
    assert set_up and set(set_up) <= set(MINORS)


def test_what_is_installed_runs_on_every_first_patch():
    """Without a registry: what the installed packages of the lock say of themselves."""
    asked = {
        found.name: SpecifierSet(wants)
        for found in distributions()
        if canonicalize_name(found.name) in LOCKED and (wants := found.metadata.get("Requires-Python"))
    }
    assert len(asked) > 100
    assert not {(name, patch) for name, wants in asked.items() for patch in PATCHES if patch not in wants}


@pytest.fixture(scope="session")
def requirements(tmp_path_factory) -> Path:
    """What `make` installs: the package's own requirements, and what builds it."""
    path = tmp_path_factory.mktemp("lock") / "requirements.in"
    path.write_text("\n".join([(ROOT / "requirements.txt").read_text(), *PROJECT["build-system"]["requires"]]))
    return path


def resolve(requirements: Path, lock: Path, python: str, system: str) -> subprocess.CompletedProcess:
    """The lock resolved for another Python and system, from the packages' metadata alone; nothing is installed."""
    line = [find_uv_bin(), "pip", "compile", requirements, "--constraint", lock, "--python-version", python]
    line += ["--python-platform", system, "--only-binary", ":all:", "--no-header", "--no-annotate", "--no-config"]
    line += ["--no-python-downloads", "--python", sys.executable]  # the Python that would build, if anything were built
    env = os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}
    return subprocess.run(line, capture_output=True, text=True, env=env)


NO_REGISTRY = re.compile(r"dns|connect|timed? out|lookup address|error sending request|offline", re.IGNORECASE)


def resolved(*asked) -> dict[str, str]:
    """The packages of a resolution; skips where no registry answers, and fails there when ``CI`` is set."""
    done = resolve(*asked)
    if done.returncode and NO_REGISTRY.search(done.stderr) and "No solution" not in done.stderr:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no package registry answers: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    assert "yanked" not in done.stderr, done.stderr
    found = [Requirement(line) for line in done.stdout.splitlines()]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


@pytest.mark.parametrize("system", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "macos"])
@pytest.mark.parametrize("python", PATCHES)
def test_the_lock_resolves_to_itself(requirements, python, system):
    """Wheels for every package, none yanked, and no package that is not in the lock."""
    found = resolved(requirements, ROOT / "constraints.txt", python, system)
    assert len(found) > 200
    assert found.items() <= LOCKED.items(), found.items() - LOCKED.items()


@pytest.mark.parametrize("line", ["soupsieve==4.1.3", "soupsieve==3.0.1"])
def test_a_lock_that_does_not_hold_is_found(requirements, tmp_path, line):
    """One that needs Python 3.11.5, and one that was yanked since it is wrong before."""
    lock = tmp_path / "constraints.txt"
    lock.write_text(re.sub(r"^soupsieve==.*", line, (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
    with pytest.raises(AssertionError, match=r"3\.11\.5"):
        resolved(requirements, lock, "3.11.0", "x86_64-manylinux_2_28")
