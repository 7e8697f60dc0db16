"""Captions encoded by our towers, cold and from the cache, against the loops that one writes without them.

The captions are all of SugarCrepe's, in their order, from ``sugarcrepe`` in the folder that ``BINDLIB_DATA`` names;
without it those of the built-in quartets.  Two peers: ``SentenceTransformer.encode`` in its default settings, against
``minilm``, and the text tower of a random CLIP ViT-B/32 fed by open_clip's tokenizer in order, 64 captions at a time
and padded to the full context, against ``random-clip:0``.  Their work grows with the number of captions alone, so each
does a part of it and the time is multiplied.  On that part the vectors must agree to a cosine of 1 - 1e-3.

Cold, our encoder encodes every distinct caption; cached, it reads what a run before has kept.  All use torch's default
number of threads, in float32.  Seconds are medians, the contestants taking turns in one process; megabytes are the
peak of what Python and NumPy allocate (torch allocates apart, on both sides).

How much is gained cold depends on the processor: torch's own matrix products leave AVX-512 idle on those of AMD, where
ours use it.

Run: ``BINDLIB_DATA=FOLDER python benchmarks/encoders.py``.
"""

import json
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from timing import compare_all

from bindlib.encoders.zoo import load_encoder, require
from bindlib.measurements.datasets import built_in_quartets

SEED, SIMILAR = 0, 1 - 1e-3
PEER_BATCH = 64

Encode = Callable[[list[str]], np.ndarray]


def captions() -> tuple[str, list[str]]:
    """What is encoded, in words, and the captions."""
    folder = Path(os.environ.get("BINDLIB_DATA") or "", "sugarcrepe")
    if os.environ.get("BINDLIB_DATA") and folder.is_dir():
        items = [item for file in sorted(folder.glob("*.json")) for item in json.loads(file.read_text()).values()]
        return "SugarCrepe", [item[key] for item in items for key in ("caption", "negative_caption")]
    print("BINDLIB_DATA names no folder with sugarcrepe in it: the built-in quartets stand in", file=sys.stderr)
    return "quartets", [text for q in built_in_quartets(n=1200) for text in vars(q).values()]


def sentence_transformer() -> Encode:
    """``SentenceTransformer.encode`` as it comes."""
    from sentence_transformers import SentenceTransformer

    weights = require("minilm")[0].files[0].locate()
    return SentenceTransformer(str(weights.parent), device="cpu", local_files_only=True).encode


def open_clip_loop() -> Encode:
    """The plain loop over the tower of ``random-clip:0``."""
    import open_clip
    import torch

    config = open_clip.get_model_config("ViT-B-32")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(SEED)
        tower = open_clip.transformer.TextTransformer(**config["text_cfg"], output_dim=config["embed_dim"]).eval()
    tokenizer = open_clip.get_tokenizer("ViT-B-32")

    @torch.no_grad()
    def encode(texts: list[str]) -> np.ndarray:
        batches = [texts[start : start + PEER_BATCH] for start in range(0, len(texts), PEER_BATCH)]
        return np.concatenate([tower(tokenizer(batch)).numpy() for batch in batches])

    return encode


def contest(name: str, peer: Encode, peer_share: int, repeats: int, what: str, texts: list[str]) -> list[dict]:
    """The rows of one encoder, cold and cached; raises ``RuntimeError`` if the contestants' vectors differ."""
    cold, kept = load_encoder(name), load_encoder(name, cache=True)
    part = [texts[i] for i in sorted(np.random.default_rng(SEED).permutation(len(texts))[: len(texts) // peer_share])]
    expected, ours, again = peer(part), kept.encode_text(part), kept.encode_text(part)  # also the warm-up
    cosines = (ours * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    if cosines.min() < SIMILAR or not np.array_equal(ours, again):
        raise RuntimeError(f"{name}: the contestants' vectors differ, the least cosine is {cosines.min()}")
    kept.encode_text(texts)
    numbers = f"{len(texts):,} captions of {what} ({len(set(texts)):,} distinct)"
    contestants = {f"{name} cold, {numbers}": partial(cold.encode_text, texts)}
    contestants[f"{name} cached, {numbers}"] = lambda: load_kept(kept).encode_text(texts)
    rows = compare_all(contestants, partial(peer, part), repeats, peer_share)
    for row in rows:
        row["benchmark"] += f", {len(texts) / row['ours_s']:,.0f} a second"
    return rows


def load_kept(tower):
    """The tower with nothing of its cache in memory, as a new process would find it."""
    from bindlib.encoders.cache import cached

    return cached(tower, "cpu")


def main() -> list[dict]:
    """Four rows: ``benchmark, ours_s, peer_s, ratio, ours_MB, peer_MB, repeats``; printed and returned."""
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    what, texts = captions()
    with TemporaryDirectory() as folder:
        os.environ["BINDLIB_CACHE"] = folder
        rows = contest("minilm", sentence_transformer(), 4, 3, what, texts)
        rows += contest(f"random-clip:{SEED}", open_clip_loop(), 32, 1, what, texts)
    return rows


if __name__ == "__main__":
    main()
