"""Captions to measure with, by name: the built-in quartets, SugarCrepe, and files of one's own."""

import numpy as np

from bindlib.errors import BindlibError
from bindlib.measurements import files, sugarcrepe
from bindlib.measurements.items import Dataset
from bindlib.scenes import ANCHOR_WORDINGS, WORLD, Quartet, swap

N_BUILT_IN = {"ci": 120, "full": 1200}  # by profile


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


def built_in(wording: int = 0, n: int = N_BUILT_IN["ci"]) -> Dataset:
    """``built_in_quartets`` as a ``Dataset``, named ``"quartets"`` or ``"quartets:WORDING"``."""
    return Dataset(f"quartets:{wording}" if wording else "quartets", tuple(built_in_quartets(wording, n)))


def load(data: str, strict: bool = False) -> Dataset:
    """The data named ``data``; unusable items of a file are left out with a warning, or refused if ``strict``.

    * ``"quartets"`` are the built-in quartets, ``"quartets:1"`` the same scenes with anchor wording 1 of
      ``ANCHOR_WORDINGS``.
    * ``"drawn"`` are quartets of drawn scenes, in the words that the ``shipped:`` encoders know.
    * ``"sugarcrepe"`` is SugarCrepe, see ``sugarcrepe.load``.
    * Anything else is the path of a ``.json``, ``.csv`` or ``.jsonl`` file, see ``files.read``.

    Raises ``BindlibError`` naming the fault, its place and its cure.
    """
    if data == "sugarcrepe":
        return sugarcrepe.load()
    if data == "drawn":
        from bindlib.measurements.pixels import drawn_quartets

        return drawn_quartets()
    name, colon, wording = data.partition(":")
    if name != "quartets":
        return Dataset(data, *files.read(data, strict))
    if not colon:
        return built_in()
    if wording not in map(str, range(len(ANCHOR_WORDINGS))):
        raise BindlibError(
            f"no data named {data!r}: anchor wordings go from quartets:0 to quartets:{len(ANCHOR_WORDINGS) - 1}"
        )
    return built_in(int(wording))
