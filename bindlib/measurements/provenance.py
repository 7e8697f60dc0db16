"""What a measurement was made with: a number that was made with something else is another number."""

import platform
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from bindlib import __version__

SCHEMA = 2  # of the rows that are written: raise it when a column or a metric changes its meaning
PACKAGES = (
    "numpy",
    "scipy",
    "torch",
    "open_clip_torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "onnxruntime",
)


@dataclass(frozen=True)
class Provenance:
    """Revisions of encoder and data (content hashes), the seed of the intervals, the device, and versions."""

    encoder_revision: str
    data_revision: str
    seed: int
    device: str
    versions: str
    schema: int = SCHEMA


@cache
def versions() -> str:
    """The versions that numbers may depend on, as ``"bindlib 0.1.0; python 3.11.9; numpy 2.4.0; ..."``; imports none.

    A package that is not installed is left out.
    """
    found = {"bindlib": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "; ".join(f"{name} {version}" for name, version in found.items())
