"""The workflows do nothing but call make, so that every job can be rehearsed on any machine."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_is_an_action_or_a_make_target(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        match = re.fullmatch(r"make ([\w-]+)", command)
        assert match and match[1] in TARGETS, command


def test_the_gpu_workflow_builds_at_full_size_verifies_and_keeps_the_results():
    recipe = (ROOT / "Makefile").read_text().split("book-gpu:")[1].split("\n\n")[0]
    for part in ("--device cuda --profile full", "bindlib verify", "bindlib reproduce"):
        assert part in recipe
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "gpu.yml").read_text())["jobs"]["full"]
    kept = next(step["with"]["path"] for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    assert {"_build/executed", "_build/timings.json", "_build/ledger.json"} <= set(kept.split())
    assert "vars.GPU_RUNNER" in job["runs-on"]


def test_ci_runs_what_the_readme_says():
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in script if line.startswith("make")] == ["make book", "make test"]
