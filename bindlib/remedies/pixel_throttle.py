"""The throttle on pixels: a small CLIP model learns drawn scenes with a share of swaps among its negatives.

Image to text, each caption is given its own swap as one more negative with probability π; text to image is plain; the
loss is the mean of the two.  A pairing-blind model that is perfect otherwise then pays ``π log(2) / 2``: the sliver.
"""

import math
import shlex
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from bindlib.encoders import drawn, shipped
from bindlib.theory.throttle import checked_rate

Batches = Literal["disjoint", "ordinary"]
GROUPS, ORDINARY = 10, 128  # word-disjoint groups of 12 in a batch; scenes in an ordinary one
LEARNING_RATE, WEIGHT_DECAY, MAX_NORM, WARM_UP = 1e-3, 0.05, 1.0, 100
MAX_SCALE = 100.0  # of the logits, as in CLIP


@dataclass(frozen=True)
class Setting:
    """One training.  Raises ``ValueError`` for a rate outside [0, 1], unknown batches, or counts below 1."""

    swap_rate: float
    batches: Batches = "disjoint"
    seed: int = 0
    steps: int = 1000
    log_every: int = 100

    def __post_init__(self):
        checked_rate(self.swap_rate)
        if self.batches not in ("disjoint", "ordinary"):
            raise ValueError(f"batches are 'disjoint' or 'ordinary', got {self.batches!r}")
        if min(self.steps, self.log_every) < 1:
            raise ValueError(f"steps and log_every are at least 1, got {self.steps} and {self.log_every}")

    @property
    def command(self) -> str:
        """What trains this, up to the folder."""
        words = ["bindlib", "train", "--swap-rate", str(self.swap_rate).removesuffix(".0"), "--batches", self.batches]
        return shlex.join([*words, "--seed", str(self.seed), "--steps", str(self.steps)])


@dataclass(frozen=True)
class Batch:
    """Scenes ``(groups, n, 4)``, their images, their captions, and the swaps of the captions that are ``given`` one."""

    scenes: np.ndarray
    images: np.ndarray
    captions: list[str]
    given: np.ndarray
    swaps: list[str]


def draw_batch(setting: Setting, step: int) -> Batch:
    """The batch of a step: the same for every rate, but for which captions are given their swap."""
    rng = np.random.default_rng([setting.seed, step])
    if setting.batches == "disjoint":
        scenes = drawn.disjoint_groups(GROUPS, rng)
    else:
        scenes = drawn.draw_scenes(ORDINARY, rng)[None]
    flat = scenes.reshape(-1, 4)
    right_first, given = rng.random(len(flat)) < 0.5, rng.random(len(flat)) < setting.swap_rate
    swaps = drawn.captions(drawn.swapped(flat[given]), right_first[given])
    return Batch(scenes, drawn.render(flat, rng), drawn.captions(flat, right_first), given, swaps)


def same_words(scenes: np.ndarray) -> np.ndarray:
    """Which scenes of a group share all four words, ``(groups, n, n)``: swaps and repetitions, never a scene itself."""
    words = np.sort(scenes.reshape(*scenes.shape[:2], 2, 2), axis=-1)
    return (words[:, :, None] == words[:, None]).all(axis=(-1, -2)) & ~np.eye(scenes.shape[1], dtype=bool)


def contrastive_loss(image, text, swap, given, excluded, scale) -> torch.Tensor:
    """Mean of both directions of InfoNCE inside each group, with the swaps given among the captions.

    ``image`` and ``text`` are ``(groups, n, dim)``, ``swap`` ``(given.sum(), dim)``, ``given`` ``(groups, n)``, and
    ``excluded`` ``(groups, n, n)`` says what is no candidate.
    """
    n = image.shape[1]
    logits = (scale * image @ text.mT).masked_fill(excluded, -torch.inf)
    own = torch.full_like(logits[..., 0], -torch.inf)
    own[given] = scale * (image[given] * swap).sum(dim=-1)
    target = torch.arange(n, device=image.device).repeat(len(image))
    to_text = cross_entropy(torch.cat([logits, own[..., None]], dim=-1).flatten(0, 1), target)
    return (to_text + cross_entropy(logits.mT.flatten(0, 1), target)) / 2


def schedule(step: int, steps: int) -> float:
    """The share of the learning rate at a step, counted from 1: a linear warm-up, then half a cosine down to 0."""
    if step <= WARM_UP:
        return step / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / (steps - WARM_UP)))


def encode_images(model, images: torch.Tensor) -> torch.Tensor:
    """``model.encode_image`` of ``(n, 3, 48, 48)``, without computing in the last layer what nobody reads."""
    visual = model.visual
    x = visual.conv1(images).flatten(2).mT
    x = torch.cat([visual.class_embedding.expand(len(x), 1, -1), x], dim=1) + visual.positional_embedding
    x = visual.ln_pre(x)
    *blocks, last = visual.transformer.resblocks
    for block in blocks:
        x = block(x)
    return visual.ln_post(_read_at(last, x, 0)) @ visual.proj


def encode_texts(model, tokens: torch.Tensor) -> torch.Tensor:
    """``model.encode_text`` of captions of one length ``(n, 10)``, without what nobody reads."""
    end = int(tokens[0].argmax())
    x = model.token_embedding(tokens[:, : end + 1]) + model.positional_embedding[: end + 1]
    *blocks, last = model.transformer.resblocks
    for block in blocks:
        x = block(x, attn_mask=model.attn_mask[: end + 1, : end + 1])
    return model.ln_final(_read_at(last, x, end)) @ model.text_projection


def _read_at(block, x: torch.Tensor, row: int) -> torch.Tensor:
    """One row of what a block of a transformer makes of ``x`` ``(n, rows, width)``, reading all rows."""
    seen = block.ln_1(x)
    read = x[:, row] + block.attn(seen[:, row : row + 1], seen, seen, need_weights=False)[0][:, 0]
    return read + block.mlp(block.ln_2(read))


class Trainer:
    """A model, its optimiser, and how many steps they have taken."""

    def __init__(self, setting: Setting, device: str = "cpu"):
        self.setting, self.device, self.step = setting, device, 0
        self.tokenizer, self.model = shipped.tokenizer(), shipped.new_model(setting.seed).to(device)
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]  # gains, biases, the scale: as in CLIP
        groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=LEARNING_RATE, fused=True)

    def pixels(self, images: np.ndarray) -> torch.Tensor:
        """``(n, 48, 48, 3)`` uint8 as the model reads it."""
        scaled = torch.from_numpy(images).to(self.device).permute(0, 3, 1, 2) / 255
        return (scaled - shipped.MEAN) / shipped.STD

    def tokens(self, captions: list[str]) -> torch.Tensor:
        """``(n, 10)`` token numbers."""
        return self.tokenizer(captions).to(self.device)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The objective on a batch."""
        shape = batch.scenes.shape[:2]
        image = normalize(encode_images(self.model, self.pixels(batch.images)), dim=-1).unflatten(0, shape)
        texts = normalize(encode_texts(self.model, self.tokens(batch.captions + batch.swaps)), dim=-1)
        text, swap = texts.tensor_split([len(batch.captions)])
        given = torch.from_numpy(batch.given.reshape(shape)).to(self.device)
        excluded = torch.from_numpy(same_words(batch.scenes)).to(self.device)
        scale = self.model.logit_scale.exp()
        return contrastive_loss(image, text.unflatten(0, shape), swap, given, excluded, scale)

    def advance(self) -> float:
        """Take one step; the loss before it."""
        self.step += 1
        for group in self.optimiser.param_groups:
            group["lr"] = LEARNING_RATE * schedule(self.step, self.setting.steps)
        loss = self.loss(draw_batch(self.setting, self.step))
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.optimiser.step()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, math.log(MAX_SCALE))
        return loss.item()
