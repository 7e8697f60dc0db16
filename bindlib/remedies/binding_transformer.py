"""A small transformer trained from scratch by contrast, on scenes of seen objects only.

A scene of two objects is four tokens, grouped by object, the objects in random order.  The image side is a fixed code
(a sum of products, or of hashed objects) or a second transformer with weights of its own.  What the two do with objects
that no training scene held is the question.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from bindlib.decisions import SINGLE
from bindlib.remedies.trained_throttle import one_thread
from bindlib.theory.binding_functions import (
    Split,
    all_scenes,
    bands,
    recognised,
    seen_objects,
    split,
    swap_decided,
    swapped,
)

ImageSide = Literal["product", "hashed", "learned"]
LEARNING_RATE, WEIGHT_DECAY, WARM_UP, TEMPERATURE = 2e-3, 0.01, 100, 0.1
N_TEST = 200


@dataclass(frozen=True)
class Setting:
    """One training: ``coverage`` of a ``side × side`` grid of objects is seen.

    Raises ``ValueError`` for counts below 1 and an unknown image side; the coverage is checked when the grid is drawn.
    """

    coverage: float
    image_side: ImageSide = "product"
    seed: int = 0
    side: int = 20
    steps: int = 1000
    batch: int = 128
    width: int = 64
    layers: int = 2
    check_every: int = 100

    def __post_init__(self):
        if min(self.steps, self.batch // 2, self.width // 16, self.layers, self.check_every) < 1:
            raise ValueError("steps, layers and check_every are at least 1, batch at least 2, width at least 16")
        if self.image_side not in get_args(ImageSide):
            raise ValueError(f"the image side is 'product', 'hashed' or 'learned', got {self.image_side!r}")

    @property
    def grid(self) -> tuple[np.ndarray, Split]:
        """Which objects are seen, ``(side, side)``, and the scenes to learn from and to judge on."""
        rng = np.random.default_rng([self.seed, round(10 * self.coverage)])
        seen = bands(self.side, self.side, self.coverage, rng)
        return seen, split(seen, len(all_scenes(self.side, self.side)), N_TEST, rng)


def swaps_trained(setting: Setting) -> float:
    """The share of the scenes to train on whose swap holds seen objects only, and so may be in a batch too."""
    seen, scenes = setting.grid
    return float(np.mean(seen_objects(seen, swapped(scenes.train)) == 2))


class Tower(nn.Module):
    """Scenes as tokens ``(n, 4)`` to unit rows ``(n, width)``; a fifth token gathers the scene."""

    def __init__(self, setting: Setting):
        super().__init__()
        width = setting.width
        self.words = nn.Embedding(2 * setting.side + 1, width)
        self.places = nn.Parameter(torch.randn(5, width))
        block = nn.TransformerEncoderLayer(
            width, width // 16, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, setting.layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, width, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        gather = torch.full_like(tokens[:, :1], self.words.num_embeddings - 1)
        x = self.words(torch.cat([gather, tokens], dim=1)) + self.places
        return normalize(self.head(self.blocks(x)[:, 0]), dim=-1)


class FixedCode(nn.Module):
    """The image side as a code: scenes as tokens ``(n, 4)`` to unit rows, each the sum of two object codes."""

    def __init__(self, setting: Setting, rng: np.random.Generator):
        super().__init__()
        u, v = rng.choice([-1.0, 1.0], (2, setting.side, setting.width))
        table = u[:, None] * v
        if setting.image_side == "hashed":
            table = rng.choice([-1.0, 1.0], table.shape)
        self.side = setting.side
        self.register_buffer("table", torch.from_numpy(table.astype(np.float32)).flatten(0, 1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        objects = tokens[:, 0::2] * self.side + tokens[:, 1::2] - self.side
        return normalize(self.table[objects].sum(dim=1), dim=-1)


class Trainer:
    """Both sides, their optimiser, and the scenes."""

    def __init__(self, setting: Setting, device: str = "cpu"):
        self.setting, self.device, self.step = setting, device, 0
        self.seen, self.scenes = setting.grid
        torch.manual_seed(setting.seed)
        self.rng = np.random.default_rng([setting.seed, 1])
        image = Tower(setting) if setting.image_side == "learned" else FixedCode(setting, self.rng)
        self.image, self.text = image.to(device), Tower(setting).to(device)
        weights = [*self.image.parameters(), *self.text.parameters()]
        self.optimiser = torch.optim.AdamW(weights, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
        schedule = lambda step: min(1.0, (step + 1) / WARM_UP) * (1 - step / setting.steps)  # noqa: E731
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, schedule)

    def tokens(self, scenes: np.ndarray, second_first: np.ndarray) -> torch.Tensor:
        """``(n, 4)`` token numbers of scenes ``(n, 2, 2)``; the second object stands first where the mask says."""
        ordered = np.where(second_first[:, None, None], scenes[:, ::-1], scenes)
        return torch.from_numpy(np.add(ordered, [0, self.setting.side]).reshape(-1, 4)).to(self.device)

    def draw(self) -> np.ndarray:
        """A batch of different scenes: half of it drawn, and the swaps of these that hold seen objects only."""
        drawn = self.rng.choice(len(self.scenes.train), self.setting.batch // 2, replace=False)
        scenes = self.scenes.train[drawn]
        swaps = swapped(scenes)
        both = np.concatenate([scenes, swaps[seen_objects(self.seen, swaps) == 2]])
        return np.unique(both, axis=0)

    def advance(self) -> float:
        """Take one step; the loss before it."""
        self.step += 1
        scenes = self.draw()
        image, text = (
            tower(self.tokens(scenes, self.rng.random(len(scenes)) < 0.5)) for tower in (self.image, self.text)
        )
        logits, own = image @ text.T / TEMPERATURE, torch.arange(len(scenes), device=self.device)
        loss = (cross_entropy(logits, own) + cross_entropy(logits.T, own)) / 2
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.schedule.step()
        return loss.item()

    @torch.inference_mode()
    def embed(self, tower: Tower, scenes: np.ndarray) -> np.ndarray:
        """The mean of the rows of both orders, ``(n, width)`` float64."""
        rows = [tower(self.tokens(scenes, np.full(len(scenes), second))) for second in (False, True)]
        return torch.stack(rows).mean(dim=0).double().cpu().numpy()

    def checked(self) -> dict[str, float]:
        """Recognition among 20 and swap accuracy, image to text, on new scenes of seen and of unseen objects."""
        row = {}
        for part in ("held_in", "held_out"):
            scenes = getattr(self.scenes, part)
            if not len(scenes):  # nothing is left out at coverage 1
                continue
            image, text = (normalized(self.embed(tower, scenes)) for tower in (self.image, self.text))
            row[f"recognition_{part}"] = float(recognised(image, text, SINGLE).mean())
            row[f"swap_{part}"] = float(swap_decided(image, text, SINGLE).mean())
        return row


def normalized(rows: np.ndarray) -> np.ndarray:
    """Rows ``(n, dim)`` of length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def learning(setting: Setting, device: str = "cpu") -> Iterator[tuple[Trainer, dict[str, Any]]]:
    """Train; at every check the trainer and a row with the step, the mean loss since the last one, and accuracies.

    Deterministic on one machine and device.
    """
    trainer, losses = Trainer(setting, device), []
    while trainer.step < setting.steps:
        with one_thread():
            losses.append(trainer.advance())
            due = trainer.step % setting.check_every == 0 or trainer.step == setting.steps
            row = asdict(setting) | {"step": trainer.step, "loss": float(np.mean(losses))}
            row |= trainer.checked() if due else {}
        if due:
            losses = []
            yield trainer, row


def trained(setting: Setting, device: str = "cpu") -> tuple[Trainer, dict[str, Any]]:
    """The trainer at the end of a training, and its last row."""
    *_, last = learning(setting, device)
    return last
