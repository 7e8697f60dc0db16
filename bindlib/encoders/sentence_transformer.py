"""Sentence encoders through sentence-transformers: a folder of your own, or a model of the Hugging Face hub."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bindlib.encoders import hub
from bindlib.encoders.base import TextTower
from bindlib.encoders.config_beside import brief
from bindlib.encoders.folder import READ, content, files, refuse_pickles
from bindlib.encoders.onednn import use_onednn
from bindlib.errors import BindlibError

ORGANISATION = "sentence-transformers"  # of a model of the hub that is named without one
POOLINGS = {"mean": "their mean", "cls": "the first of them", "lasttoken": "the last of them"}
HUB_NAME = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?")
LOG = logging.getLogger("bindlib")
ENDLESS = 1_000_000  # tokens: tokenizers write such numbers for "no limit"


def check(name: str, source: str) -> None:
    """Raise ``BindlibError`` unless ``source`` is a folder with a model or could be a model of the hub."""
    folder = _folder(name, source)
    if folder is not None:
        files(folder)
    elif not HUB_NAME.fullmatch(source):
        raise BindlibError(
            f"{name[:300]!r} names no folder that is there, and no model of the hub: "
            "write sentence-transformers:FOLDER or sentence-transformers:ORGANISATION/MODEL"
        )


def pretrained(name: str, source: str, device: str) -> TextTower:
    """The model in the folder ``source``, else the one that the hub calls so: in float32, with its own pooling.

    The text is given the model's default prompt, if it has one. No code of the model runs: one that needs its own is
    refused, and so are weights in a pickle. The revision is the content of the files, and the commit on the hub.

    Raises ``BindlibError`` on a model that can't be found, downloaded or loaded, or that lacks weights.
    """
    folder, commit = _folder(name, source), ""
    if folder is None:
        folder = hub.snapshot(name, source if "/" in source else f"{ORGANISATION}/{source}", READ)
        commit = f", commit {folder.name[:12]}"
    refuse_pickles(folder)
    version = content(folder) + commit
    try:
        with _missing_weights() as missing:
            model = load(folder, device)
    except Exception as error:
        raise BindlibError(f"sentence-transformers could not load {folder} ({_reason(error)}): check it") from error
    if missing:
        raise BindlibError(
            f"{folder} lacks weights of its model, which would be drawn at random "
            f"({len(missing)}, the first is {missing[0]}): get the model again"
        )
    if not (folder / "modules.json").is_file() and len(model) > 1:
        LOG.warning("%s does not say how its token vectors are pooled: sentence-transformers takes %s, and so do we",
                    folder, POOLINGS.get(mode := model[1].pooling_mode, mode))  # fmt: skip
    return tower(name, model, version)


def load(folder: Path, device: str):
    """The ``SentenceTransformer`` in ``folder``, in float32, without the network, foreign code or pickles."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    model = SentenceTransformer(
        str(folder),
        device=device,
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"use_safetensors": True, "dtype": torch.float32},
    ).eval()
    _read_as_trained(model)
    return model


def _read_as_trained(model) -> None:
    """The context and the padding of the text tower in a dual encoder, which sentence-transformers does not look for.

    SigLIP is read at its last position, which is padding for all but the longest texts.
    """
    config = getattr(model[0], "config", None)
    padded = str(getattr(config, "model_type", "")).startswith("siglip")
    text = getattr(config, "text_config", config if padded else None)
    if not (positions := getattr(text, "max_position_embeddings", None)):
        return
    model.max_seq_length = min(model.max_seq_length or positions, positions)
    if padded:
        told = model[0].processing_kwargs
        fixed = {"padding": "max_length", "max_length": model.max_seq_length}
        model[0].processing_kwargs = {**told, "text": fixed | told.get("text", {})}
        model.tokenizer.model_input_names = ["input_ids"]  # it was trained without a mask


def tower(name: str, model, version: str) -> TextTower:
    """A loaded ``SentenceTransformer`` as a ``TextTower`` of the revision ``version``."""
    use_onednn(model)
    context = model.max_seq_length
    if context is None or context > ENDLESS:
        context = None
    prompt = model.prompts.get(model.default_prompt_name) or ""

    def vectors(captions: list[str]) -> np.ndarray:
        return model.encode(captions, batch_size=len(captions), show_progress_bar=False)

    def lengths(captions: list[str]) -> list[int]:
        tokens = model.tokenizer([prompt + caption for caption in captions], verbose=False)
        return [len(ids) for ids in tokens["input_ids"]]

    def unknown(captions: list[str]) -> list[int]:
        tokens = model.tokenizer([prompt + caption for caption in captions], verbose=False)
        return [ids.count(model.tokenizer.unk_token_id) for ids in tokens["input_ids"]]

    return TextTower(name, version, context, vectors, None if context is None else lengths, unknown=unknown)


def _folder(name: str, source: str) -> Path | None:
    """``source`` as a folder; ``None`` if there is none and it may be a name of the hub."""
    try:
        path = Path(source).expanduser()
        if source and path.is_dir():
            return path.absolute()
        if not (source and path.exists()):
            return None
    except (OSError, RuntimeError, ValueError):  # too long, no such home, a zero byte
        return None
    raise BindlibError(f"{name[:300]!r}: {path} is a file: give the folder of the model")


@contextmanager
def _missing_weights() -> Iterator[list[str]]:
    """The names of the weights that transformers reports as missing while it loads; it would draw them and go on."""
    from transformers.utils import logging as transformers_logging

    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.extend(_missing(record.getMessage()))
    logger = transformers_logging.get_logger("transformers")
    before = logger.handlers, logger.level, logger.propagate
    # Where the variable CI is set, transformers propagates its records to the root's handlers, which would print them.
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.WARNING)
    try:
        yield found
    finally:
        logger.handlers, level, logger.propagate = before
        logger.setLevel(level)


def _missing(report: str) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", report).splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    # Of BERT's pooler many checkpoints hold nothing, and sentence-transformers does not read it.
    return [row[0] for row in rows if row[1:2] == ["MISSING"] and not row[0].startswith("pooler.")]


def _reason(error: Exception) -> str:
    reason = str(error)
    if "trust_remote_code" in reason:
        return "it needs code of its own, which is not run"
    return brief(reason) or type(error).__name__
