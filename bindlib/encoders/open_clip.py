"""Contrastive dual encoders through open_clip: pretrained tags, local checkpoints, and a random text tower as null."""

import _codecs as codecs
import hashlib
import logging
import re
from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from pickle import UnpicklingError
from zipfile import BadZipFile

import numpy as np

from bindlib.encoders.base import DualTower, TextTower
from bindlib.encoders.config_beside import brief, config_beside
from bindlib.encoders.hub import no_retries_offline
from bindlib.encoders.weights import revision
from bindlib.errors import BindlibError

log = logging.getLogger(__name__)

RANDOM_ARCH = "ViT-B-32"
# Families trained with QuickGELU: a checkpoint does not record its activation, but its name often does.
QUICK_GELU_NAME = re.compile(r"quick_?gelu|openai|metaclip|dfn", re.IGNORECASE)

# Raised on cut or foreign files, with a bare key, no words at all, or (UnpicklingError) torch's advice to load code.
CRYPTIC = (UnpicklingError, EOFError, LookupError, StopIteration, AttributeError, TypeError, BadZipFile)


def random_text_tower(name: str, seed: int, device: str) -> TextTower:
    """The text tower of CLIP ViT-B/32 with open_clip's own random initial weights: the null of the diagnostic.

    ``(n, 512)``. The weights depend on ``seed`` alone, and the global random state of torch is left as it was.
    """
    import open_clip
    import torch
    from open_clip.transformer import TextTransformer

    config = open_clip.get_model_config(RANDOM_ARCH)
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would reseed the accelerators too.
        torch.default_generator.manual_seed(seed)
        tower = TextTransformer(**config["text_cfg"], output_dim=config["embed_dim"])
    tower.to(device).eval()
    tokenizer = open_clip.get_tokenizer(RANDOM_ARCH)
    return TextTower(
        name,
        f"open_clip {open_clip.__version__}, seed {seed}",
        tokenizer.context_length,
        _text_vectors(_without_padding(tower), tokenizer, device),
        lambda captions: token_lengths(tokenizer, captions),
    )


def check(arch: str, source: str) -> None:
    """Raise ``BindlibError`` unless ``arch`` is known and ``source`` is one of its tags or a readable file."""
    import open_clip

    _config(arch)
    if not open_clip.get_pretrained_cfg(arch, source):
        _local_file(arch, source)


def pretrained(name: str, arch: str, source: str, device: str, tokenizer=None) -> DualTower:
    """A dual encoder of the architecture ``arch`` with the weights ``source``: an open_clip tag or a local file.

    A local file is ``.safetensors``, or a torch file that holds tensors only; a file with pickled code is refused.
    The activation is part of the revision. A tag says which one its weights need. For a file it is read from an
    ``open_clip_config.json`` beside it, else from its name, else taken from ``arch`` with a warning.

    Raises ``BindlibError`` on an unknown architecture, no such tag or file, no network, or weights that don't fit.
    """
    import open_clip

    config = _config(arch)
    tag = open_clip.get_pretrained_cfg(arch, source)
    online = bool(tag) or bool(config["text_cfg"].get("hf_tokenizer_name"))
    with no_retries_offline() if online else nullcontext():
        path = _download(arch, source, tag) if tag else _local_file(arch, source)
        quick_gelu = _tag_activation(arch, source, tag) if tag else _file_activation(arch, path)
        try:
            with _numpy_scalars():
                model = open_clip.create_model(
                    arch,
                    pretrained=source if tag else str(path),
                    device=device,
                    force_quick_gelu=quick_gelu,
                    force_custom_text=True,  # the text tower as a module of its own; the same numbers
                    force_preprocess_cfg=None if tag else _preprocessing(arch, path),
                )
            words = "" if tokenizer else _words(tokenizer := open_clip.get_tokenizer(arch))
        except Exception as error:
            raise BindlibError(_load_failure(error, arch, path)) from error
    if not tag:
        _check_positions(model, arch, path)
    model.eval()
    encode = _without_padding(model.text) if _skips_padding(model) else model.encode_text
    return DualTower(
        name,
        f"{revision(path)}, {'QuickGELU' if quick_gelu else 'GELU'}{words}",
        tokenizer.context_length,
        _text_vectors(encode, tokenizer, device),
        lambda captions: token_lengths(tokenizer, captions),
        image_vectors=_image_vectors(model, device),
    )


def _numpy_scalars():
    """A context in which torch reads NumPy's numbers too: open_clip's training writes them beside the weights."""
    import torch
    from numpy._core.multiarray import scalar

    kinds = [kind for kind in vars(np.dtypes).values() if isinstance(kind, type) and issubclass(kind, np.dtype)]
    of_numpy = [(scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")]
    return torch.serialization.safe_globals([*of_numpy, np.dtype, *kinds, codecs.encode])


def token_lengths(tokenizer, captions: list[str]) -> list[int]:
    """How many tokens an open_clip tokenizer makes of each caption, special tokens included, nothing cut."""
    if hasattr(tokenizer, "encode"):  # CLIP's own byte pairs: start and end are added
        return [len(tokenizer.encode(caption)) + 2 for caption in captions]
    clean = getattr(tokenizer, "clean_fn", str)
    special = 3 if getattr(tokenizer, "tokenizer_mode", "") == "clips" else 0  # start, end and class, added by hand
    tokens = tokenizer.tokenizer([clean(caption) for caption in captions], add_special_tokens=not special)
    return [len(ids) + special for ids in tokens["input_ids"]]


def _words(tokenizer) -> str:
    """What tells a tokenizer of the hub from another, for a revision; empty for open_clip's own."""
    backend = getattr(getattr(tokenizer, "tokenizer", None), "backend_tokenizer", None)
    return f", tokenizer {hashlib.sha256(backend.to_str().encode()).hexdigest()[:16]}" if backend else ""


def _skips_padding(model) -> bool:
    """Whether the text tower of ``model`` looks back only and is read at its end token."""
    from open_clip import CustomTextCLIP
    from open_clip.transformer import TextTransformer

    text = getattr(model, "text", None)
    if not (isinstance(model, CustomTextCLIP) and isinstance(text, TextTransformer)):
        return False
    return text.attn_mask is not None and text.cls_emb is None and text.pool_type == "argmax" and not text.output_tokens


def _without_padding(tower):
    """``tower`` on tokens cut after the last end token (the largest id): a causal tower reads nothing behind it."""
    from bindlib.encoders.onednn import use_onednn

    use_onednn(tower)
    causal = tower.attn_mask

    def encode(tokens):
        length = int(tokens.argmax(dim=-1).max()) + 1
        tower.attn_mask = causal[:length, :length]
        return tower(tokens[:, :length])

    return encode


def _text_vectors(encode, tokenizer, device: str):
    import torch

    @torch.inference_mode()
    def vectors(captions: list[str]) -> np.ndarray:
        return encode(tokenizer(captions).to(device)).float().cpu().numpy()

    return vectors


def _image_vectors(model, device: str):
    import open_clip
    import torch
    from open_clip.transform import PreprocessCfg, image_transform_v2

    transform = image_transform_v2(PreprocessCfg(**open_clip.get_model_preprocess_cfg(model)), is_train=False)

    @torch.inference_mode()
    def vectors(images: list) -> np.ndarray:
        pixels = torch.stack([transform(image) for image in images])
        return model.encode_image(pixels.to(device)).float().cpu().numpy()

    return vectors


def _config(arch: str) -> dict:
    import open_clip

    known = open_clip.list_models()
    if arch in known:
        return open_clip.get_model_config(arch)
    close = get_close_matches(arch, known, n=3) or ["one of open_clip.list_models()"]
    raise BindlibError(f"open_clip has no architecture {arch!r}: did you mean {', '.join(close)}?")


def _local_file(arch: str, source: str) -> Path:
    import open_clip

    try:
        path = Path(source).expanduser().absolute()
        if path.is_file():
            path.open("rb").close()
            return path
        reason = f"{path} is not a regular file" if path.exists() else f"there is no file {path}"
    except (OSError, RuntimeError, ValueError) as error:  # a home directory that isn't, a zero byte
        reason = f"the path cannot be read: {getattr(error, 'strerror', None) or error}"
    tags = open_clip.list_pretrained_tags_by_model(arch)
    close = ", ".join(get_close_matches(source, tags, n=3, cutoff=0.3) or tags[:3]) or "it has none"
    raise BindlibError(
        f"no weights {source[:300]!r} for {arch} ({reason}): give one of its tags ({close}) or a readable file"
    )


def _download(arch: str, source: str, tag: dict) -> Path:
    import open_clip

    try:
        return Path(open_clip.download_pretrained(tag))
    except Exception as error:
        place = tag.get("hf_hub") or tag.get("url")
        raise BindlibError(
            f"could not download open_clip:{arch}/{source} (tried the local cache, then {place} on the network: "
            f"{brief(str(error))}): connect to the network, or give a local file, open_clip:{arch}/FILE.safetensors"
        ) from error


def _tag_activation(arch: str, source: str, tag: dict) -> bool:
    quick_gelu, ours = bool(tag.get("quick_gelu")), _has_quick_gelu(arch)
    if quick_gelu and not ours:
        log.warning("open_clip:%s/%s was trained with QuickGELU: using it in place of GELU", arch, source)
    return quick_gelu or ours


def _file_activation(arch: str, path: Path) -> bool:
    ours, told = _has_quick_gelu(arch), config_beside(path)["model_cfg"].get("quick_gelu")
    if told is None and QUICK_GELU_NAME.search(path.name):
        told = True
    if told is None:
        log.warning(
            "%s does not say its activation: using %s's, %s%s",
            *(path, arch, "QuickGELU" if ours else "GELU"),
            f". Weights of the other kind need open_clip:{twin}/FILE" if (twin := _twin(arch)) else "",
        )
    elif told and not ours:
        log.warning("%s was trained with QuickGELU: using it in place of %s's GELU", path, arch)
    elif ours and not told:
        raise BindlibError(
            f"{path} was trained with GELU, but {arch} has QuickGELU: use {_twin(arch) or 'an architecture with GELU'}"
        )
    return ours if told is None else bool(told)


def _has_quick_gelu(arch: str) -> bool:
    return bool(_config(arch).get("quick_gelu"))


def _twin(arch: str) -> str:
    """The architecture with the other activation, or "" if open_clip has none."""
    import open_clip

    twin = arch.removesuffix("-quickgelu") if arch.endswith("-quickgelu") else f"{arch}-quickgelu"
    return twin if twin in open_clip.list_models() and _has_quick_gelu(twin) != _has_quick_gelu(arch) else ""


def _preprocessing(arch: str, path: Path) -> dict:
    """How images are made ready: as the config beside the file says, else as all tags of the architecture agree."""
    import open_clip

    tags = open_clip.list_pretrained_tags_by_model(arch)
    keys = ("mean", "std", "interpolation", "resize_mode")
    known = [{key: open_clip.get_pretrained_cfg(arch, tag).get(key) for key in keys} for tag in tags]
    agreed = known[0] if known and all(cfg == known[0] for cfg in known) else {}
    told = config_beside(path)["preprocess_cfg"] or agreed
    return {key: value for key, value in told.items() if key != "size"}  # the model knows its own


def _check_positions(model, arch: str, path: Path) -> None:
    """Refuse a file made for another context length or image size: open_clip would stretch its positions silently."""
    from open_clip.factory import load_state_dict
    from open_clip.model import convert_to_custom_text_state_dict

    if path.suffix in {".npz", ".npy"}:  # not a state dict
        return
    with _numpy_scalars():
        theirs = convert_to_custom_text_state_dict(load_state_dict(str(path)))
    for key, ours in model.state_dict().items():
        if key.endswith("positional_embedding") and key in theirs and theirs[key].shape != ours.shape:
            raise BindlibError(_misfit(arch, path, f"{key} is {tuple(theirs[key].shape)}, not {tuple(ours.shape)}"))


def _misfit(arch: str, path: Path, reason: str) -> str:
    return f"the weights in {path} do not fit {arch} ({reason}): name the architecture they were made for"


def _load_failure(error: Exception, arch: str, path: Path) -> str:
    reason = str(error)
    if re.search(r"unsupported (global|class)|TorchScript|pickled \(object\)", reason, re.IGNORECASE):
        return f"{path} holds pickled code, so it is refused: save its weights as .safetensors"
    if "loading state_dict" in reason:
        return _misfit(arch, path, brief(reason))
    if "connect to" in reason:
        return f"{arch} needs files that are not in the local cache ({brief(reason)}): connect to the network once"
    if isinstance(error, CRYPTIC):
        reason = "the file ends early or is no checkpoint"
    return f"open_clip could not load {path} into {arch} ({brief(reason) or type(error).__name__}): check both"
