import sys
import traceback

import numpy as np
import pytest

from bindlib.encoders import zoo
from bindlib.encoders.base import BATCH, DualEncoder, TextEncoder
from bindlib.errors import BindlibError

CAPTIONS = ["a red car", "a blue dog and a cat", "a red car", "one"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder of one's own; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _write(here, code: str, module: str = "my_encoder") -> str:
    (here / f"{module}.py").write_text("import numpy as np\n\n" + code)
    return f"python:{module}:encode"


def _error(name: str, captions=None) -> str:
    with pytest.raises(BindlibError) as caught:
        tower = zoo.load_encoder(name)
        tower.encode_text(captions or CAPTIONS)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


LETTERS = "def encode(captions):\n    return [[len(c), c.count('a'), 1] for c in captions]\n"


def test_a_function_of_the_current_folder_is_an_encoder(here):
    name = _write(here, LETTERS)
    tower = zoo.load_encoder(name)
    raw = np.array([[len(c), c.count("a"), 1] for c in CAPTIONS])
    np.testing.assert_allclose(tower.encode_text(CAPTIONS), raw / np.linalg.norm(raw, axis=1, keepdims=True), rtol=1e-6)
    assert isinstance(tower, TextEncoder) and not isinstance(tower, DualEncoder)
    assert tower.name == name and tower.context_length is None and tower.count_truncated(CAPTIONS) == 0


def test_the_revision_is_the_content_of_the_module(here):
    revisions = [
        zoo.load_encoder(_write(here, code, module)).revision
        for code, module in ((LETTERS, "one_encoder"), (LETTERS, "same_encoder"), (LETTERS + "#", "other_encoder"))
    ]
    assert revisions[0] == revisions[1] != revisions[2]
    assert revisions[0].startswith("sha256:")


def test_a_module_that_was_edited_is_run_again_and_an_unchanged_one_is_not(here):
    """A worker, or a notebook, lives longer than an edit: revision and vectors must be those of the same code."""
    first = zoo.load_encoder(
        _write(here, "runs = [0]\ndef encode(captions):\n    return [[1.0, 0.0] for _ in captions]\n")
    )
    runs = sys.modules["my_encoder"].runs
    zoo.load_encoder(first.name)
    assert sys.modules["my_encoder"].runs is runs
    second = zoo.load_encoder(_write(here, "def encode(captions):\n    return [[0.0, 1.0, 0.0] for _ in captions]\n"))
    assert first.revision != second.revision
    assert second.encode_text(["one"]).tolist() == [[0, 1, 0]]


def test_the_current_folder_comes_first_and_neighbours_can_be_imported(here, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("installed")
    (elsewhere / "my_encoder.py").write_text("raise RuntimeError('the wrong one')\n")
    monkeypatch.syspath_prepend(elsewhere)
    (here / "neighbour.py").write_text("WIDTH = 7\n")
    name = _write(
        here, "def encode(captions):\n    from neighbour import WIDTH\n    return np.ones((len(captions), WIDTH))\n"
    )
    assert zoo.load_encoder(name).encode_text(CAPTIONS).shape == (4, 7)


def test_a_function_is_given_few_distinct_captions_at_a_time_and_may_spoil_its_list(here):
    name = _write(
        here,
        "sizes, seen = [], []\n"
        "def encode(captions):\n    sizes.append(len(captions)); seen.extend(captions)\n"
        "    captions.clear()\n    return np.ones((sizes[-1], 2))\n",
    )
    captions = [f"caption {i}" for i in range(2 * BATCH + 5)]
    assert len(zoo.load_encoder(name).encode_text(captions * 2)) == 2 * len(captions)
    module = sys.modules["my_encoder"]
    assert sorted(module.seen) == sorted(captions) and max(module.sizes) <= BATCH


OBJECT = """
class Mine:
    name, revision, context_length = "mine", "weights 7", 3

    def encode_text(self, captions):
        return np.array([[len(c.split()[:3]), 1.0] for c in captions])

    def count_truncated(self, captions):
        return sum(len(c.split()) > 3 for c in captions)

class Dual(Mine):
    def encode_image(self, images):
        return np.eye(2)[: len(images)]

encode, dual = Mine(), Dual()
"""


def test_an_object_with_the_methods_of_an_encoder_keeps_its_own_numbers(here):
    name = _write(here, OBJECT)
    tower = zoo.load_encoder(name)
    assert (tower.name, tower.context_length, tower.count_truncated(CAPTIONS)) == (name, 3, 1)
    assert tower.revision.startswith("weights 7, sha256:")
    np.testing.assert_allclose(np.linalg.norm(tower.encode_text(CAPTIONS), axis=1), 1, atol=1e-6)
    assert not isinstance(tower, DualEncoder)
    dual = zoo.load_encoder("python:my_encoder:dual")
    assert isinstance(dual, DualEncoder) and dual.encode_image([object(), object()]).shape == (2, 2)
    assert dual.count_truncated(CAPTIONS) == 1


def test_a_crash_is_one_line_that_names_the_error_and_its_place(here):
    name = _write(here, "def helper(c):\n    return 1 / 0\n\ndef encode(captions):\n    return helper(captions)\n")
    message = _error(name)
    assert message.startswith(f"{name} failed: ZeroDivisionError: division by zero (my_encoder.py, line 4)")
    assert "--debug" in message


def test_the_traceback_is_kept_for_debugging(here):
    name = _write(here, "def encode(captions):\n    raise ValueError('a\\nb')\n")
    with pytest.raises(BindlibError, match=r"ValueError: a b \(my_encoder\.py, line 4\)") as caught:
        zoo.load_encoder(name).encode_text(CAPTIONS)
    assert "my_encoder.py" in "".join(traceback.format_exception(caught.value))


def test_a_crash_in_a_library_is_placed_in_the_user_s_code(here):
    assert "(my_encoder.py, line 4)" in _error(
        _write(here, "def encode(captions):\n    return np.linalg.inv(captions)\n")
    )


@pytest.mark.parametrize(
    "body, hint",
    [
        ("return [[1.0, 2.0], [1.0]]", "failed: ValueError: setting an array element"),
        ("return [['x', 'y'] for _ in captions]", "could not convert string to float"),
        ("return None", "one row an item"),
        ("return np.ones((1, 3))", "3 rows expected, got 1"),
        ("return np.ones((len(captions), 2, 2))", "got an array of shape (3, 2, 2)"),
        ("return np.full((len(captions), 2), np.nan)", "not finite"),
        ("return np.zeros((len(captions), 2))", "is zero"),
        ("return np.ones((len(captions), 2)) + 1j", "failed: TypeError: the vectors are complex"),
        ("raise SystemExit(3)", "failed: SystemExit: 3"),
    ],
)
def test_what_is_no_array_of_rows_is_told(body, hint, here):
    message = _error(_write(here, f"def encode(captions):\n    {body}\n"))
    assert "python:my_encoder:encode" in message and hint in message


def test_rows_whose_length_changes_are_told(here):
    name = _write(here, "calls = []\ndef encode(c):\n    calls.append(1)\n    return np.ones((len(c), len(calls)))\n")
    assert "vectors of one length, got [1, 2]" in _error(name, [f"{i}" for i in range(BATCH + 1)])


@pytest.mark.parametrize(
    "code, told",
    [
        ("raise KeyError('x')\n", "KeyError: 'x' (my_encoder.py, line 3)"),
        ("def broken(:\n", "SyntaxError: invalid syntax (my_encoder.py, line 3) (--debug"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' (my_encoder.py, line 3)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(code, told, here):
    code += "encode = None\n"
    assert _error(_write(here, code)).startswith(f"python:my_encoder:encode cannot be imported: {told}")


@pytest.mark.parametrize(
    "name, hint",
    [
        ("python:", "write python:my_encoder:encode"),
        ("python:my_encoder", "write python:my_encoder:encode"),
        ("python::encode", "write python:my_encoder:encode"),
        ("python:no_such_module_here:encode", "there is no module no_such_module_here in"),
        ("python:no.such.module:encode", "cannot be looked for: ModuleNotFoundError"),
        ("python:..:encode", "cannot be looked for"),
        ("python:my_encoder.py:encode", "names a file: write python:my_encoder:encode"),
        ("python:src/my_encoder.py:encode", "names a file: write python:my_encoder:encode"),
    ],
)
def test_a_bad_name_is_told_before_anything_is_imported(name, hint, here):
    for find in (zoo.require, zoo.load_encoder):
        with pytest.raises(BindlibError) as caught:
            find(name)
        assert hint in str(caught.value) and "\n" not in str(caught.value)


def test_asking_for_a_module_does_not_run_it(here):
    zoo.require(_write(here, "raise RuntimeError\nencode = None\n"))


@pytest.mark.parametrize(
    "function, hint",
    [
        ("absent", "my_encoder has no absent"), ("Kind", "Kind is a class"), ("NUMBER", "NUMBER is neither a function"),
        ("half", "it has no revision, context_length, count_truncated"),
    ],
)  # fmt: skip
def test_what_cannot_encode_is_told(function, hint, here):
    _write(here, "NUMBER = 3\nclass Kind:\n    name = encode_text = ''\nhalf = Kind()\n")
    assert hint in _error(f"python:my_encoder:{function}")


def test_an_encoder_is_identified_by_what_its_module_declares(here):
    (here / "weights.txt").write_text("1")
    name = _write(here, LETTERS)
    assert not zoo.load_encoder(name).identified
    declared = zoo.load_encoder(_write(here, LETTERS + "REVISION = 'seven'\n", "told"))
    assert declared.identified and declared.revision.startswith("seven, sha256:")
    reads = "FILES = ['weights.txt']\nWIDTH = int(open('weights.txt').read())\n"
    reads += "def encode(captions):\n    return [[1.0] * WIDTH for _ in captions]\n"
    name = _write(here, reads, "reads")
    first = zoo.load_encoder(name)
    (here / "weights.txt").write_text("22")
    second = zoo.load_encoder(name)
    assert first.identified and first.revision != second.revision
    assert second.encode_text(["one"]).shape == (1, 22), "the module is run again"


@pytest.mark.parametrize("told", ["", None, "2026-12"])
def test_an_object_is_identified_by_a_revision_that_says_something(told, here):
    code = LETTERS + f"class Kind:\n    name, revision, context_length = 'kind', {told!r}, None\n"
    code += "    def encode_text(self, captions): return encode(captions)\n"
    code += "    def count_truncated(self, captions): return 0\nkind = Kind()\n"
    _write(here, code)
    assert zoo.load_encoder("python:my_encoder:kind").identified == bool(told)


@pytest.mark.parametrize("told", ["REVISION = 7", "FILES = 'weights.txt'", "FILES = ['absent']", "FILES = [3]"])
def test_a_declaration_that_cannot_be_read_is_one_line(told, here):
    assert "FILES" in _error(_write(here, LETTERS + told + "\n"))


def test_a_function_that_the_module_does_not_mention_is_told_before_it_is_run(here):
    _write(here, "raise RuntimeError\n")
    with pytest.raises(BindlibError, match="my_encoder has no absent"):
        zoo.require("python:my_encoder:absent")
    _write(here, "globals()['ab' + 'sent'] = lambda captions: np.ones((len(captions), 2))\n", "hidden")
    assert zoo.load_encoder("python:hidden:absent").encode_text(["one"]).shape == (1, 2)


@pytest.mark.parametrize("error", ["BaseException", "SystemExit", "RecursionError", "MemoryError", "Mute"])
def test_whatever_a_function_raises_is_one_line_but_a_stop(error, here):
    code = "class Mute(BaseException):\n    def __str__(self): raise Mute\n"
    code += f"def encode(captions):\n    raise {error}\n"
    assert f"failed: {error}" in _error(_write(here, code))
    stopped = _write(here, "def encode(captions):\n    raise KeyboardInterrupt\n", "stops")
    with pytest.raises(KeyboardInterrupt):
        zoo.load_encoder(stopped).encode_text(CAPTIONS)


@pytest.mark.parametrize("made", ["t", "t.bfloat16()", "t.clone().requires_grad_()", "list(t.requires_grad_())"])
def test_tensors_of_torch_are_rows(made, here):
    code = f"def encode(captions):\n    import torch\n    t = torch.ones(len(captions), 4)\n    return {made}\n"
    np.testing.assert_array_equal(zoo.load_encoder(_write(here, code)).encode_text(CAPTIONS), np.full((4, 4), 0.5))
