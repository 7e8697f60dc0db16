"""The dual encoders that ship with the book: small CLIP models trained on drawn scenes by ``bindlib train``.

The folder holds their architecture and tokenizer, and for each training its weights and its log.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from os.path import isfile  # False, where that of pathlib raises, for a name that can't be
from pathlib import Path
from typing import Any

import numpy as np

from bindlib.encoders import open_clip as open_clip_encoders
from bindlib.encoders.base import DualTower
from bindlib.encoders.weights import file_hash
from bindlib.errors import BindlibError

FOLDER = Path(__file__).parent
ARCH = "bindlib-drawn"  # the name that open_clip knows the architecture by, from bindlib-drawn.json
CONFIG = "open_clip_config.json"  # lies beside each checkpoint, for open_clip: activation and preprocessing
PARTS = (f"{ARCH}.json", "tokenizer.json", CONFIG)  # what a checkpoint names by its hash
MEAN, STD = 0.5, 0.25  # of every channel, as CONFIG says

# What follows "shipped:", the training, and the SHA-256 of its weights.
CHECKPOINTS = {
    "0": ("disjoint-0", "c58a834817f159215b88a902ab12e5515adfe27431ecf23119b26d910d38d628"),
    "0.02": ("disjoint-0.02", "37e7c0593afff43dd8f9797d9d5a71450ab00866ecb8b96a044422158342ca54"),
    "0.1": ("disjoint-0.1", "2eba4954ae22e2c601dcf414a22bd559e37474ba668c382ae3e0ceddaf615d5a"),
    "0.3": ("disjoint-0.3", "9f27d59bd95bd6cf0b1b77e1fad038424825f4840765822ff082e25591b27a1e"),
    "1": ("disjoint-1", "2590f2273bf1d123088fa498955dbaebb8d95d43562b85d81e8078e23813a8e9"),
    "ordinary": ("ordinary-0", "ffef50bf5f18311b1c449d13581c743592adad044260dcc03de2d43bb6a267f8"),
}


def weights(name: str, which: str) -> Path:
    """The file that ``which`` means: one of ``CHECKPOINTS``, else the path of one that ``bindlib train`` wrote.

    Raises ``BindlibError`` if there is no such file, or if a shipped one is not the known one.
    """
    if which not in CHECKPOINTS:
        if which.endswith(".safetensors") and isfile(which):
            return Path(which)
        raise BindlibError(
            f"{name[:300]!r} is not there: write shipped: and one of {', '.join(CHECKPOINTS)}, "
            "or a file that bindlib train wrote, shipped:FOLDER/model.safetensors"
        )
    stem, sha256 = CHECKPOINTS[which]
    path = FOLDER / f"{stem}.safetensors"
    if not path.is_file() or file_hash(path) != sha256:
        raise BindlibError(f"{path} is missing or not the known file (SHA-256 {sha256}): install bindlib again")
    return path


def load(name: str, which: str, device: str) -> DualTower:
    """The dual encoder that ``which`` means, ``(n, 64)``; it reads captions of drawn scenes, and no other words.

    Raises ``BindlibError`` as ``weights`` does, on a file that ``bindlib train`` did not write, and where the
    architecture, the tokenizer or the ``CONFIG`` beside it are not those of its training.
    """
    path = weights(name, which)
    told = metadata(path)
    if which not in CHECKPOINTS and file_hash(path) not in dict(CHECKPOINTS.values()).values():
        checked(path)
    parts = told.get("sha256", {})
    if not isinstance(parts, dict) or not set(parts) <= set(PARTS):
        raise BindlibError(f"{path} was not written by bindlib train (its metadata is odd): give another file")
    for part, sha256 in parts.items():
        found = path.with_name(part) if part == CONFIG else FOLDER / part
        if not found.is_file() or file_hash(found) != sha256:
            raise BindlibError(
                f"{found} is missing or not the one that {path} was trained with: keep both together, or train again"
            )
    config()
    return open_clip_encoders.pretrained(name, ARCH, str(path), device, tokenizer())


def metadata(path: Path) -> dict:
    """What a file that ``bindlib train`` wrote says of itself; ``BindlibError`` if it wrote no such file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            told = json.loads((file.metadata() or {})["bindlib"])
        if not isinstance(told, dict):
            raise ValueError("its metadata is odd")
        return told
    except (SafetensorError, KeyError, ValueError, RecursionError, OSError) as error:
        reason = "it does not say so" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise BindlibError(f"{path} was not written by bindlib train ({reason}): give another file") from error


def checked(path: Path) -> dict:
    """The tensors of a file that ``bindlib train`` wrote, by name, as NumPy arrays; ``BindlibError`` on damage."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    told = metadata(path)
    try:
        tensors = load_file(path)
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise BindlibError(f"{path} is damaged ({' '.join(str(error).split())}): remove it to train anew") from error
    if told.get("check") != check(tensors, told):
        raise BindlibError(f"{path} is damaged (it fails its checksum): remove it to train anew")
    return tensors


def check(tensors: Mapping[str, np.ndarray], told: Mapping[str, Any]) -> str:
    """A digest of tensors, with names, types and shapes, and of what is told of them."""
    whole = hashlib.sha256(json.dumps({k: v for k, v in told.items() if k != "check"}, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        whole.update(f"{name} {tensor.dtype} {tensor.shape} ".encode())
        whole.update(np.ascontiguousarray(tensor).tobytes())
    return whole.hexdigest()


@cache
def config() -> dict:
    """The architecture, which open_clip knows from then on."""
    import open_clip

    open_clip.add_model_config(FOLDER / f"{ARCH}.json")
    return open_clip.get_model_config(ARCH)


def new_model(seed: int):
    """An ``open_clip.CLIP`` of the architecture with random weights that depend on ``seed`` alone, on the CPU."""
    import open_clip
    import torch

    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would reseed the accelerators too.
        torch.default_generator.manual_seed(seed)
        return open_clip.CLIP(**config())


def tokenizer():
    """The tokenizer of the architecture: open_clip's wrapper, a token a word; ``BindlibError`` on an unknown word."""
    from open_clip.tokenizer import HFTokenizer

    class Words(HFTokenizer):
        def __call__(self, texts, context_length=None):
            tokens = super().__call__(texts, context_length)
            unknown = (tokens == self.tokenizer.unk_token_id).any(dim=1).nonzero()
            if len(unknown):
                raise BindlibError(
                    f"the shipped encoders don't know every word of {texts[unknown[0]][:80]!r}: "
                    "give them captions of drawn scenes, such as 'a red A and a blue K' (--data drawn)"
                )
            return tokens

    return Words(str(FOLDER), context_length=config()["text_cfg"]["context_length"])
