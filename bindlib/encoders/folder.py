"""The files of a model in a folder: what they say, what they hold, and that none of it is code."""

import json
from pathlib import Path

from bindlib.encoders.weights import revision
from bindlib.errors import BindlibError

READ = ("*.json", "*.txt", "*.model", "*.safetensors")  # settings, vocabularies and weights
UNREAD = ("*.md", "*.onnx", "*.onnx_data", "*.msgpack", "*.h5")  # or never by sentence-transformers
PICKLES = ("pytorch_model*.bin", "adapter_model.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")


def read_json(path: Path, kind: type = dict) -> dict | list:
    """The object, or list, in a JSON file; empty if there is no file. ``BindlibError`` if it can't be read."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise BindlibError(f"{path} cannot be read as JSON ({reason}): mend it or get the model again") from error
    if not isinstance(told, kind):
        raise BindlibError(f"{path} should hold a JSON {kind.__name__}: mend it or get the model again")
    return told


def content(folder: Path) -> str:
    """A short name for all that a folder says and weighs; ``BindlibError`` if it is empty."""
    return revision(*files(folder))


def files(folder: Path) -> list[Path]:
    """All that a model may read, also a vocabulary of an odd name; ``BindlibError`` if there is no model."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not _hidden(path.relative_to(folder)))
    if not any(path.match(pattern) for path in inside for pattern in READ):
        raise BindlibError(f"{folder} holds no model: it should have a config.json, a tokenizer and model.safetensors")
    if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
        raise BindlibError(f"{folder} holds an adapter to a model that lies elsewhere: merge the two, and give that")
    return [path for path in inside if not any(path.match(pattern) for pattern in (*PICKLES, *UNREAD))]


def _hidden(path: Path) -> bool:
    """What git and a hub's downloads write beside a model changes, and the model does not."""
    return any(part.startswith(".") for part in path.parts)


def refuse_pickles(folder: Path) -> None:
    """``BindlibError`` if weights are only there as a pickle, which may run code when it is read."""
    for pattern in PICKLES:
        for path in folder.rglob(pattern):
            if not any(path.parent.glob("*.safetensors")):
                raise BindlibError(f"{path} is a pickle, so it is refused: save its weights as model.safetensors")
