"""Encoders of the user's own: a function or an object in a Python module, called as it is."""

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bindlib.encoders.base import DualTower, TextEncoder, TextTower
from bindlib.encoders.weights import revision
from bindlib.errors import STOPS, BindlibError, CheckFailed, reason

DECLARED = ("REVISION", "FILES")  # of a module: what its vectors depend on besides its code
UNNAMED = ("import *", "__getattr__", "globals", "vars", "exec", "setattr", "__dict__")  # ways to a name unmentioned
PARTS = ("name", "revision", "context_length", "encode_text", "count_truncated")  # of a ``TextEncoder``


def check(name: str, source: str) -> tuple[str, str]:
    """The module and the function that ``source`` names, nothing imported but the packages that the module is in.

    The current folder is searched first. Raises ``BindlibError`` if there is no such module.
    """
    module, _, function = source.partition(":")
    if not (module and function):
        raise BindlibError(f"{name!r} needs a module and a function: write python:my_encoder:encode")
    if module.endswith(".py"):
        raise BindlibError(f"{name!r} names a file: write python:{Path(module).stem}:{function}, in the file's folder")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    spec = _guarded(name, "cannot be looked for", find_spec)(module)
    if spec is None:
        raise BindlibError(f"{name}: there is no module {module} in {here} or among the installed packages")
    if not _may_define(spec.origin, function.partition(".")[0]):
        raise BindlibError(f"{name}: {module} has no {function}: write python:MODULE:FUNCTION")
    return module, function


def _may_define(file: str | None, name: str) -> bool:
    """Whether a module's file mentions the name, or could get it without: found out without running it."""
    if not str(file).endswith(".py"):
        return True
    try:
        code = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):  # told better when it is imported
        return True
    return name in code or any(way in code for way in UNNAMED)


def load(name: str, source: str) -> TextTower:
    """The encoder that ``source`` names: a function from a list of captions to an array ``(n, dim)``, or an encoder.

    An encoder is an object with what ``TextEncoder`` has, and perhaps ``encode_image``. At most ``BATCH`` captions or
    images are given at a time. The revision is the content of the module's file with what the module or object
    declares: ``REVISION``, a text; ``FILES``, the files that it reads, from the module's folder on; the object's
    ``revision``. Without one of these nobody knows what the vectors depend on, and the encoder is not ``identified``.

    Raises ``BindlibError`` naming the error that the user's code raised, while it is imported or whenever it is called.
    """
    module, function = check(name, source)
    found = _guarded(name, "cannot be imported", _imported)(module)
    for part in function.split("."):
        if not hasattr(found, part):
            raise BindlibError(f"{name}: {module} has no {function}: write python:MODULE:FUNCTION")
        found = getattr(found, part)
    file = getattr(sys.modules[module], "__file__", None)
    call = partial(_guarded, name, "failed", file=file, failure=CheckFailed)
    version = _content(sys.modules[module])
    declared = any(getattr(sys.modules[module], part, None) for part in DECLARED)
    if isinstance(found, type):
        raise BindlibError(f"{name}: {function} is a class: name an object of it, or a function")
    if isinstance(found, TextEncoder):
        return _of_object(name, version, found, call, declared)
    if not callable(found):
        missing = [part for part in PARTS if not hasattr(found, part)]
        raise BindlibError(
            f"{name}: {function} is neither a function nor an object like TextEncoder: it has no {', '.join(missing)}"
        )
    return TextTower(name, version, None, call(_to_array(found)), identified=declared)


_CODE: dict[str, str] = {}  # what each module's file held when its code was run here


def _imported(module: str) -> ModuleType:
    """The module, run again if its file has changed: a process may outlive an edit, and would call the old code."""
    known = module in sys.modules
    found = importlib.import_module(module)
    content = _content(found)
    if known and _CODE.get(module, content) != content:
        found = importlib.reload(found)
    _CODE[module] = content
    return found


def _content(module: ModuleType) -> str:
    """What the module's file holds, and what it declares: to be called once it has run."""
    file = getattr(module, "__file__", None)
    told, files = (getattr(module, part, None) or empty for part, empty in zip(DECLARED, ("", ()), strict=True))
    if not (isinstance(told, str) and isinstance(files, list | tuple)):
        raise BindlibError(f"python:{module.__name__}: REVISION should be a text, and FILES a list of paths: mend them")
    try:
        paths = [Path(file or ".").absolute().parent / path for path in files]
        code = revision(*([Path(file)] if file else []), *paths) if file or paths else "no file"
    except (OSError, TypeError, ValueError) as error:
        raise BindlibError(f"python:{module.__name__}, FILES: {reason(error)}: name the files that are read") from error
    return ", ".join(filter(None, (told, code)))


@dataclass(frozen=True, kw_only=True)
class UserTower(TextTower):
    """A ``TextTower`` around the user's object, which counts for itself."""

    truncated: Callable[[list[str]], int]

    def count_truncated(self, captions: list[str]) -> int:
        """How many captions the object says it cuts."""
        return self.truncated(captions)


@dataclass(frozen=True, kw_only=True)
class UserDualTower(UserTower, DualTower):
    """The same with an image tower."""


def _of_object(name: str, version: str, found: TextEncoder, call: Callable, declared: bool) -> TextTower:
    parts = {
        "name": name,
        "revision": f"{found.revision}, {version}",
        "context_length": found.context_length,
        "vectors": call(_to_array(found.encode_text)),
        "truncated": call(found.count_truncated),
        "identified": declared or bool(found.revision),
    }
    if hasattr(found, "encode_image"):
        return UserDualTower(**parts, image_vectors=call(_to_array(found.encode_image)))
    return UserTower(**parts)


def _to_array(function: Callable) -> Callable[[list], np.ndarray]:
    def rows(items: list) -> np.ndarray:
        found = _plain(function(list(items)))
        if np.iscomplexobj(found):  # NumPy would drop the imaginary parts
            raise TypeError("the vectors are complex: give real ones")
        return np.asarray(found, dtype=np.float64)

    return rows


def _plain(found: Any) -> Any:
    """A tensor of torch as NumPy can hold it: without its gradient, from wherever it is, in a type that NumPy has."""
    if isinstance(found, list | tuple):
        return [_plain(row) for row in found]
    if not callable(getattr(found, "detach", None)):
        return found
    found = found.detach().cpu()
    return found.double() if found.is_floating_point() else found


def _guarded(
    name: str, what: str, function: Callable, file: str | None = None, failure: type[BindlibError] = BindlibError
) -> Callable[[Any], Any]:
    """``function``, whose failure is one line that names the error and the last place in ``file``, else anywhere."""

    def call(argument):
        try:
            return function(argument)
        except STOPS:
            raise
        except BaseException as error:
            place = _place(error, file)
            raise failure(f"{name} {what}: {reason(error)}{place} (--debug shows the traceback)") from error

    return call


def _place(error: BaseException, file: str | None) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    frames = [frame for frame in frames if frame.filename == file] or frames
    if frames and frames[-1].filename.startswith("<frozen"):  # in Python's own import: the error names the place
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
