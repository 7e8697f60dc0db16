"""What breaks the collapse of bags of words, and the blindness of a transformer without positions."""

import numpy as np

from bindlib.certificates import Ablation, Outcome, smallest
from bindlib.theory.bag_of_words import (
    COLLAPSE,
    POSITION_BLIND,
    RUNNING_PAIR,
    attention_rows,
    best_image,
    ceiling,
    margin,
    position_weighted,
    superposition,
    unit,
)

SCENE = (("red car", "blue dog"),)
MAPS = {"sum of word vectors": superposition, "words weighted by position": position_weighted}
POOLINGS = {"mean": lambda n: np.ones(n) / n, "words weighted by position": lambda n: np.arange(1, n + 1) / n}


def best_margin(map_of: str, dim: int, seed: int) -> Outcome:
    """The margin that the best image has, for the text map of that name and seed; 0 when the captions coincide."""
    texts = np.stack([MAPS[map_of](dim, seed)(text) for text in RUNNING_PAIR])
    image = best_image(*texts) if ceiling(*texts) > 0 else texts[0]
    return Outcome(
        SCENE,
        RUNNING_PAIR,
        f"2 objects, dimension {dim}; {map_of}",
        "margin of the best image",
        "=",
        0.0,
        float(margin(image, *texts)),
        {"map_of": map_of, "dim": dim, "seed": seed},
    )


def _draw(kind: str):
    return lambda dim, rng: {"map_of": kind, "dim": dim, "seed": int(rng.integers(2**31))}


def position_counts(rng: np.random.Generator) -> Outcome:
    """The lowest dimension in which words weighted by their position tell the caption from its swap."""
    return smallest(range(1, 5), _draw("words weighted by position"), best_margin, rng)


def bag(rng: np.random.Generator) -> Outcome:
    """A sum of word vectors in four dimensions."""
    return best_margin(**_draw("sum of word vectors")(4, rng))


def tower_distance(dim: int, seed: int, positions: bool, causal: bool, pooling: str) -> Outcome:
    """How far apart a random one-layer tower puts the caption and its swap."""
    rows = [attention_rows(c, dim, seed, layers=1, positions=positions, causal=causal) for c in RUNNING_PAIR]
    texts = [unit(POOLINGS[pooling](len(row)) @ row) for row in rows]
    parts = ["position embeddings"] * positions + ["a causal mask"] * causal + [f"pooling by {pooling}"]
    return Outcome(
        SCENE,
        RUNNING_PAIR,
        f"2 objects, dimension {dim}, one layer; {', '.join(parts)}",
        "distance of the two captions",
        "=",
        0.0,
        float(ceiling(*texts)),
        {"dim": dim, "seed": seed, "positions": positions, "causal": causal, "pooling": pooling},
    )


def _tower(**switches):
    blind = {"positions": False, "causal": False, "pooling": "mean"}

    def draw(dim, rng):
        return blind | switches | {"dim": dim, "seed": int(rng.integers(2**31))}

    return draw


def _lowest(**switches):
    return lambda rng: smallest(range(1, 5), _tower(**switches), tower_distance, rng)


NO_POSITIONS, NO_MASK, NO_ORDER = POSITION_BLIND.hypotheses
ABLATIONS = (
    Ablation(COLLAPSE, bag, {COLLAPSE.hypotheses[0]: position_counts}),
    Ablation(
        POSITION_BLIND,
        lambda rng: tower_distance(**_tower()(4, rng)),
        {
            NO_POSITIONS: _lowest(positions=True),
            NO_MASK: _lowest(causal=True),
            NO_ORDER: _lowest(pooling="words weighted by position"),
        },
    ),
)
