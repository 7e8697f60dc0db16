"""The house has six floors and a door, and imports only go down."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bindlib

PACKAGE = Path(bindlib.__file__).parent
FLOORS = {
    **dict.fromkeys(
        ["__init__", "errors", "terminal", "device", "intervals", "decisions", "storage", "scenes", "certificates"], 1
    ),
    "theory": 2,
    **dict.fromkeys(["encoders", "book"], 3),
    **dict.fromkeys(["remedies", "explorers", "measurements"], 4),
    "remake": 5,
    "cli": 6,
    "__main__": 7,
}


def part(dotted: str) -> str:
    """The part of the house that a module belongs to: ``bindlib.theory.frontier`` is in ``theory``."""
    return [*dotted.split("."), "__init__"][1]


def imports(path: Path):
    """The bindlib modules that a file imports, inside functions too."""
    package = ["bindlib", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bindlib")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "bindlib":
                yield from (f"bindlib.{alias.name}" for alias in node.names if alias.name in FLOORS)
            elif module.startswith("bindlib."):
                yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_a_floor():
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in SOURCES} <= FLOORS.keys()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_only_go_down(path):
    name = path.relative_to(PACKAGE).as_posix()
    here = name.split("/")[0].removesuffix(".py")
    for module in imports(path):
        there = part(module)
        assert below(there, here), f"{name} imports {module}, which is not below it"


def below(there: str, here: str) -> bool:
    """Whether a part may import another: one on a lower floor, its own, or on the ground its neighbour."""
    return FLOORS[there] < FLOORS[here] or there == here or FLOORS[there] == FLOORS[here] == 1


def test_the_ground_carries_nothing():
    assert below("errors", "cli") and below("errors", "storage") and below("theory", "theory")
    assert not any(below(there, "errors") for there in FLOORS if FLOORS[there] > 1)
    assert not below("remedies", "explorers") and not below("cli", "theory")


def modules() -> dict[str, set[str]]:
    """Every module of the package, and those that it imports; importing a folder imports its ``__init__``."""
    names = {dotted(path): path for path in SOURCES}
    return {name: {module for module in imports(path) if module in names} - {name} for name, path in names.items()}


def dotted(path: Path) -> str:
    return ".".join(["bindlib", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


def circles(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is left when whatever imports nothing that is left is taken away, again and again."""
    while free := {name for name, needs in graph.items() if not needs}:
        graph = {name: needs - free for name, needs in graph.items() if name not in free}
    return graph


def test_no_module_imports_itself_by_way_of_others_below_the_fourth_floor():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}).keys() == {"a", "b", "c"}
    graph = modules()
    assert graph["bindlib.book.claims"] >= {"bindlib.certificates", "bindlib.errors"}
    assert circles({name: needs for name, needs in graph.items() if FLOORS[part(name)] < 4}) == {}


def loaded_by(*modules: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after importing these."""
    code = f"import {', '.join(['sys', *modules])}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_theory_needs_numpy_and_scipy_only():
    names = sorted(name for name in map(dotted, SOURCES) if name.startswith("bindlib.theory."))
    assert "bindlib.theory.counterexamples.throttle" in names
    # SciPy's compiled parts and what it tries to import bring top-level modules of their own.
    allowed = loaded_by("numpy", *(f"scipy.{part}" for part in ("optimize", "sparse.csgraph", "special", "stats")))
    assert loaded_by(*names) - allowed - sys.stdlib_module_names == {"bindlib"}
