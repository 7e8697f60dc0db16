"""The ``open_clip_config.json`` that may lie beside a checkpoint."""

import json
from pathlib import Path

from bindlib.errors import BindlibError


def config_beside(path: Path) -> dict[str, dict]:
    """What an ``open_clip_config.json`` in the folder of a checkpoint says: its ``model_cfg`` and ``preprocess_cfg``.

    Raises ``BindlibError`` naming that file if it can't be read, is no JSON object, or has values that can't be used.
    """
    beside = path.with_name("open_clip_config.json")
    try:
        told = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        told = {}
    except OSError as error:
        raise _bad_config(beside, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise _bad_config(beside, f"is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise _bad_config(beside, "is not a JSON object")
    told = {key: {} if told.get(key) is None else told[key] for key in ("model_cfg", "preprocess_cfg")}
    for key, value in told.items():
        if not isinstance(value, dict):
            raise _bad_config(beside, f"{key} must be an object")
    if not isinstance(told["model_cfg"].get("quick_gelu"), bool | None):
        raise _bad_config(beside, "quick_gelu must be true or false")
    _check_preprocessing(beside, told["preprocess_cfg"])
    return told


def _check_preprocessing(beside: Path, told: dict) -> None:
    """A trial on a small image: open_clip meets bad values only when it builds or runs the transform."""
    from open_clip.transform import PreprocessCfg, image_transform_v2, merge_preprocess_dict
    from PIL import Image

    try:
        config = PreprocessCfg(**merge_preprocess_dict(PreprocessCfg(), {**told, "size": 8}))
        image_transform_v2(config, is_train=False)(Image.new("RGB", (9, 12)))
    except Exception as error:
        raise _bad_config(beside, f"open_clip refuses its preprocess_cfg: {str(error) or told}") from error


def _bad_config(beside: Path, reason: str) -> BindlibError:
    return BindlibError(f"{beside}: {brief(reason)}: mend it or move it away")


def brief(reason: str) -> str:
    """The first sentence of the last in a chain of reasons, on one line."""
    return " ".join(reason.rpartition("Last error: ")[2].split()).split(". ")[0][:160]
