"""Captions to measure with: the built-in quartets, and files of them."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from bindlib.errors import BindlibError
from bindlib.scenes import WORLD, Quartet, swap

BUILT_IN = "quartets"
N_BUILT_IN = {"ci": 120, "full": 1200}  # by profile
KEYS = tuple(field.name for field in fields(Quartet))


def built_in_quartets(wording: int = 0, n: int = N_BUILT_IN["ci"]) -> list[Quartet]:
    """``n`` quartets over two-object scenes of ``WORLD``, always the same; ``wording`` selects the anchor.

    No scene appears twice, and none together with its own swap, which would be the same pair of captions again.
    Raises ``ValueError`` when ``WORLD`` has fewer than ``n`` such pairs.
    """
    if n > WORLD.n_scenes(2) // 2:
        raise ValueError(f"there are {WORLD.n_scenes(2) // 2} pairs of a scene and its swap, fewer than {n}")
    rng, chosen = np.random.default_rng(0), {}
    while len(chosen) < n:
        scene = WORLD.draw(2, rng)
        if swap(scene) not in chosen:
            chosen[scene] = None
    return [Quartet.of(scene, wording) for scene in chosen]


def load_quartets(data: str) -> list[Quartet]:
    """The quartets named ``data``: ``"quartets"`` or the path of a JSON file ``{"quartets": [{caption, swap, ...}]}``.

    Raises ``BindlibError`` saying which item and key is at fault.
    """
    if data == BUILT_IN:
        return built_in_quartets()
    path = Path(data)
    shape = f'{{"quartets": [{{{", ".join(KEYS)}}}, ...]}}'
    try:
        if not data or not path.exists():
            raise BindlibError(f"no data named {data!r}: give 'quartets' or the path of a JSON file {shape}")
        if not path.is_file():  # reading a pipe may wait for ever
            raise BindlibError(f"{data} cannot be read as it is no regular file: give a JSON file {shape}")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise BindlibError(f"{data} cannot be read as UTF-8 text ({error}): give a JSON file {shape}") from None
    except (ValueError, RecursionError) as error:  # no JSON, or a number too long for Python
        raise BindlibError(f"{data} is not valid JSON ({error}): mend it, or give a file {shape}") from None
    items = content.get("quartets") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise BindlibError(f"{data} has no list under the key 'quartets': it should read {shape}")
    if not items:
        raise BindlibError(f"{data} holds no quartets: its list 'quartets' is empty, add at least one")
    return [_quartet(item, f"{data}, quartet {i} (counted from 0)") for i, item in enumerate(items)]


def _quartet(item: Any, where: str) -> Quartet:
    if not isinstance(item, dict):
        raise BindlibError(f"{where}: should be an object with the keys {', '.join(KEYS)}, not {type(item).__name__}")
    for key in KEYS:
        if key not in item:
            raise BindlibError(f"{where}: the key {key!r} is missing")
        if not isinstance(item[key], str) or not item[key].strip():
            raise BindlibError(f"{where}: {key!r} should be a caption, a string with words in it")
        try:
            item[key].encode()
        except UnicodeEncodeError:
            raise BindlibError(f"{where}: {key!r} holds half a character (a lone surrogate): replace it") from None
    quartet = Quartet(**{key: item[key] for key in KEYS})
    if quartet.caption == quartet.swap:
        raise BindlibError(f"{where}: 'caption' and 'swap' are the same text: give two captions that differ")
    return quartet
