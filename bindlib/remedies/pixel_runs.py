"""Runs of the throttle on pixels: a log against the sliver, a state to go on from, and a checkpoint at the end."""

import csv
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from safetensors import SafetensorError
from safetensors.torch import save_file

from bindlib import __version__
from bindlib.decisions import SINGLE, decided
from bindlib.device import Device, resolve
from bindlib.encoders import drawn, shipped
from bindlib.encoders.shipped import CONFIG
from bindlib.encoders.weights import file_hash
from bindlib.errors import BindlibError
from bindlib.remedies.pixel_throttle import Setting, Trainer
from bindlib.remedies.trained_throttle import one_thread
from bindlib.theory import frontier
from bindlib.theory.bag_of_words import ceiling, margin

CHECKPOINT, LOG, STATE = "model.safetensors", "log.csv", "state.safetensors"
CHECK_SCENES, CHECK_SEED = 400, 1_000_003
Row = dict[str, float]


def train(setting: Setting, folder: Path, device: Device = "cpu") -> Path:
    """Train into ``folder``, going on where an earlier call with the same setting stopped; the checkpoint.

    The checkpoint holds half-precision weights, with the command, device, versions and hashes in its metadata;
    ``log.csv`` and the ``open_clip_config.json`` that open_clip needs lie beside it.  Deterministic on one machine and
    device.
    Raises ``BindlibError`` if the folder holds another training or a state that cannot be read, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise BindlibError(f"--out {folder} is no folder: give another name")
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint, state = folder / CHECKPOINT, folder / STATE
    for found in filter(Path.is_file, (checkpoint, state)):
        if (theirs := _setting_of(found)) != asdict(setting):
            raise BindlibError(f"{found} is of another training ({theirs}): give another folder")
    if checkpoint.is_file():
        return checkpoint
    with one_thread():
        trainer, log = Trainer(setting, resolve(device)), []
        if state.is_file():
            try:
                log = _restore(trainer, state)
            except (ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
                raise _damaged(state) from error
        losses: list[float] = []
        for _ in _progress(trainer):
            losses.append(trainer.advance())
            if trainer.step % setting.log_every == 0 or trainer.step == setting.steps:
                log.append(checked(trainer, float(np.mean(losses))))
                losses = []
                _save_state(trainer, log, state)
        _write(folder / LOG, lambda path: _write_log(log, path))
        _write(folder / CONFIG, lambda path: path.write_bytes((shipped.FOLDER / CONFIG).read_bytes()))
        weights = {key: value.half() for key, value in trainer.model.state_dict().items()}
        _save(weights, {"setting": asdict(setting), **provenance(setting, trainer.device)}, checkpoint)
    state.unlink()
    return checkpoint


def first_check(setting: Setting) -> Row:
    """The first row of the log of a training on the CPU, without the rest."""
    with one_thread():
        trainer = Trainer(setting, "cpu")
        return checked(trainer, float(np.mean([trainer.advance() for _ in range(setting.log_every)])))


def _setting_of(found: Path) -> dict:
    try:
        theirs = shipped.metadata(found)["setting"]
        shipped.checked(found)
        return theirs
    except (BindlibError, KeyError) as error:
        raise _damaged(found) from error


def _damaged(found: Path) -> BindlibError:
    return BindlibError(f"{found} is damaged, or not of a training: remove it to train anew, or give another folder")


def provenance(setting: Setting, device: str) -> dict:
    """What else made the weights: command, device, versions, and the hashes of what the package adds."""
    packages = ("torch", "open_clip_torch", "transformers", "numpy", "pillow")
    return {
        "architecture": shipped.ARCH,
        "command": setting.command,
        "device": device,
        "versions": {"bindlib": __version__} | {name: version(name) for name in packages},
        "sha256": {part: file_hash(shipped.FOLDER / part) for part in shipped.PARTS},
    }


@torch.inference_mode()
def checked(trainer: Trainer, loss: float) -> Row:
    """A row of the log: the loss against its sliver, and what the model does with fixed scenes it never learnt from.

    Accuracy is the share of images that lie nearer to their caption than to its swap, a tie counting one half; ``d``,
    ``order_distance`` and ``usage`` are the text tower's on the scenes whose pairs are not held out.
    """
    row = {"step": trainer.step, "loss": loss, "sliver": trainer.setting.swap_rate * math.log(2) / 2}
    for held_out in (True, False):
        rng = np.random.default_rng([CHECK_SEED, held_out])
        scenes = drawn.draw_scenes(CHECK_SCENES, rng, held_out)
        quartets = [drawn.quartet(scene) for scene in scenes]
        image = _encode(trainer.model.encode_image, trainer.pixels(drawn.render(scenes, rng)))
        text, swap, reordered, anchor = (
            _encode(trainer.model.encode_text, trainer.tokens([getattr(quartet, key) for quartet in quartets]))
            for key in ("caption", "swap", "caption_reordered", "anchor")
        )
        where, margins = "held_out" if held_out else "held_in", margin(image, text, swap)
        row |= {f"accuracy_{where}": float(decided(margins, SINGLE).mean()), f"margin_{where}": float(margins.mean())}
    d, order = ceiling(text, swap), ceiling(text, reordered)
    cap = frontier.paper_cap(np.maximum(frontier.smoothness(text, swap, anchor), 0))
    row |= {"d": d.mean(), "order_distance": order.mean(), "binding_to_order": d.mean() / order.mean()}
    return row | {"usage": float(frontier.usage(d, cap).mean())}


def _encode(encode: Callable, batch: torch.Tensor) -> np.ndarray:
    return encode(batch, normalize=True).double().cpu().numpy()


def _progress(trainer: Trainer):
    console, steps = Console(stderr=True), trainer.setting.steps
    remaining = range(trainer.step, steps)
    return track(remaining, "training", steps, trainer.step, console=console, disable=not console.is_terminal)


def _restore(trainer: Trainer, state: Path) -> list[Row]:
    told = shipped.metadata(state)
    tensors = {key: torch.from_numpy(value.copy()) for key, value in shipped.checked(state).items()}
    moments: dict[int, dict] = {}
    for key in [key for key in tensors if key.startswith("optimiser ")]:
        _, index, name = key.split(" ")
        moments.setdefault(int(index), {})[name] = tensors.pop(key)
    trainer.model.load_state_dict(tensors)
    trainer.optimiser.load_state_dict(trainer.optimiser.state_dict() | {"state": moments})
    trainer.step = told["step"]
    return told["log"]


def _save_state(trainer: Trainer, log: list[Row], path: Path) -> None:
    moments = trainer.optimiser.state_dict()["state"]
    tensors = {f"optimiser {i} {name}": value for i, all_ in moments.items() for name, value in all_.items()}
    told = {"setting": asdict(trainer.setting), "step": trainer.step, "log": log}
    _save(trainer.model.state_dict() | tensors, told, path)


def _save(tensors: dict[str, torch.Tensor], told: dict, path: Path) -> None:
    tensors = {key: value.cpu().contiguous() for key, value in tensors.items()}
    told["check"] = shipped.check({key: value.numpy() for key, value in tensors.items()}, told)
    try:
        _write(path, lambda part: save_file(tensors, part, {"bindlib": json.dumps(told)}))
    except SafetensorError as error:
        raise BindlibError(f"{path} cannot be written ({error}): make room; the same command then goes on") from error


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file appear whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _write_log(log: list[Row], path: Path) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(log[0]))
        writer.writeheader()
        writer.writerows({k: v if isinstance(v, int) else f"{v:.6g}" for k, v in row.items()} for row in log)
