"""Text encoders as ONNX graphs, on the CPU: tokens in, pooled vectors or token vectors out."""

import json
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bindlib.encoders.base import TextTower, failing
from bindlib.encoders.config_beside import brief
from bindlib.encoders.folder import read_json
from bindlib.encoders.weights import revision
from bindlib.errors import BindlibError

TOKENIZER = "tokenizer.json"
IDS, MASK = "input_ids", "attention_mask"
INPUTS = {IDS: ("tokens", "token_ids", "ids"), MASK: ("mask",), "token_type_ids": ("segment_ids",)}  # and other names
INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
KINDS = INTEGERS | {"tensor(float)": "float32", "tensor(bool)": "bool"}  # masks may be numbers, or truths
PADDING = ("pad_id", "pad_token", "pad_type_id", "direction")
SEEN = 1e-4  # of the largest component: above what float32 rounds away
POOLED = ("sentence_embedding", "text_embeds")  # what exporters call the vector of a text, the surest first
NOT_POOLED = "pooler_output"  # of BERT: made for another task
ENDLESS = 1_000_000  # tokens: tokenizers write such numbers for "no limit"
OLD_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}  # of sentence-transformers
PROBES = ["a red car", "a blue dog on a very long and winding road"]

Pooling = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of token vectors (n, tokens, dim) and mask (n, tokens)
POOLINGS: dict[str, Pooling] = {
    "mean": lambda rows, mask: (rows * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True),
    "cls": lambda rows, mask: rows[:, 0],
}


def check(name: str, source: str) -> tuple[Path, Path]:
    """The graph that ``source`` names and its tokenizer.

    ``source`` is a ``.onnx`` file or a folder with one; ``tokenizer.json`` lies beside the file or in the folder above.
    Raises ``BindlibError`` if there is none of either.
    """
    try:
        graph = Path(source).expanduser().absolute()
        if graph.is_dir():
            graphs = sorted([*graph.glob("*.onnx"), *graph.glob("onnx/*.onnx")])
            if len(graphs) != 1:
                raise BindlibError(f"{name}: {graph} holds {len(graphs)} .onnx files: write onnx:FOLDER/FILE.onnx")
            graph = graphs[0]
        if graph.suffix != ".onnx" or not graph.is_file():
            raise BindlibError(f"{name[:300]!r} names no .onnx file that is there: write onnx:FOLDER/FILE.onnx")
        for folder in graph.parents[:2]:
            if (folder / TOKENIZER).is_file():
                return graph, folder / TOKENIZER
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such home, a zero byte
        reason = getattr(error, "strerror", None) or error
        raise BindlibError(f"{name[:300]!r} is no path that can be read ({reason}): give a .onnx file") from error
    raise BindlibError(f"{graph} has no {TOKENIZER} beside it or one folder up: put its tokenizer there")


def from_file(name: str, source: str) -> TextTower:
    """The encoder whose graph and tokenizer ``source`` names, see ``check``.

    An output of rank 2 is the vector; of rank 3 it is pooled: over the tokens of the mask, or as ``1_Pooling`` of
    sentence-transformers beside the tokenizer says. The revision says which. The context is, of what lies beside the
    tokenizer, the first of: sentence-transformers' setting, the tokenizer's own truncation or greatest length, the
    model's number of positions.
    """
    graph, tokenizer = check(name, source)
    return tower(name, graph, tokenizer, _context(tokenizer), revision(graph, *_data(graph), tokenizer))


def _data(graph: Path) -> list[Path]:
    """The files beside or below a graph that it may read: large ones keep their weights there, and name the file."""
    content = graph.read_bytes()
    folders = [graph.parent, *(path for path in sorted(graph.parent.iterdir()) if path.is_dir())]
    return [
        path for folder in folders for path in sorted(folder.iterdir())
        if path != graph and path.relative_to(graph.parent).as_posix().encode() in content and path.is_file()
    ]  # fmt: skip


def tower(
    name: str, graph: Path, tokenizer: Path, context: int | None, version: str, follow_padding: bool = True
) -> TextTower:
    """The encoder of a graph; its revision is ``version`` with the pooling, the context and the padding.

    Captions are padded to one length where the graph's shape asks for it, or where the tokenizer does
    (``follow_padding``) and the vectors depend on it.

    Raises ``BindlibError`` for a file that is no graph or tokenizer, and for inputs or outputs that aren't a text's.
    """
    session = _session(graph)
    inputs = _inputs(graph, session)
    batch, width = _fixed(graph, session)
    if width:
        context = min(context or width, width)
    tokens = _Tokens.load(tokenizer, context, width)
    with failing(f"{tokenizer} makes no tokens", BindlibError):
        tokens(PROBES)

    def run(captions: list[str], tokens: _Tokens) -> tuple[dict[str, np.ndarray], np.ndarray]:
        feed = tokens(captions)
        try:
            outputs = session.run(None, {key: feed[of].astype(kind) for key, (of, kind) in inputs.items()})
        except Exception as error:
            raise BindlibError(f"{graph} does not run ({brief(str(error))}): check the graph") from error
        return dict(zip((output.name for output in session.get_outputs()), outputs, strict=True)), feed[MASK]

    output, pooling = _choice(graph, tokenizer.parent, *run((PROBES * (batch or 1))[: batch or 99], tokens))

    def rows(captions: list[str], tokens: _Tokens) -> np.ndarray:
        outputs, mask = run(captions, tokens)
        return POOLINGS[pooling](outputs[output], mask) if pooling else outputs[output]

    if not width and follow_padding and (padded := tokens.as_told()):
        short = sorted(PROBES, key=len)[0]
        plain, full = (rows([short], some) for some in (tokens, padded))
        if np.abs(plain - full).max() > SEEN * np.abs(full).max():  # else it would cost time, and nothing more
            tokens = padded

    def vectors(captions: list[str]) -> np.ndarray:
        if batch is None:
            return rows(captions, tokens)
        starts = range(0, len(captions), batch)
        filled = [(captions[i : i + batch] + captions[-1:] * batch)[:batch] for i in starts]
        return np.concatenate([rows(some, tokens) for some in filled])[: len(captions)]

    made = f"{pooling} of tokens" if pooling else "pooled in the graph"
    length = f", padded to {tokens.width}" if tokens.width else ""
    return TextTower(
        name, f"{version}, {made}, context {context}{length}", context, vectors, tokens.count, unknown=tokens.unknown
    )


def _inputs(graph: Path, session) -> dict[str, tuple[str, str]]:
    """What each input of the graph is fed, and as which type of NumPy."""
    found = {}
    for given in session.get_inputs():
        of = next((key for key, names in INPUTS.items() if given.name in (key, *names)), None)
        kind = KINDS.get(given.type)
        if of is None or kind is None or (of == IDS and given.type not in INTEGERS):
            expected = ", ".join(f"{key} (or {', '.join(names)})" for key, names in INPUTS.items())
            raise BindlibError(
                f"{graph} needs the input {given.name}, {given.type}, which is not made from text: "
                f"give a text encoder whose inputs are among {expected}, of integers"
            )
        found[given.name] = of, kind
    return found


def _fixed(graph: Path, session) -> tuple[int | None, int | None]:
    """The numbers of texts and of tokens that the graph's shape asks for, if it does."""
    shapes = [given.shape for given in session.get_inputs()]
    if any(len(shape) != 2 for shape in shapes):
        raise BindlibError(f"{graph} has inputs of the shapes {shapes}: give a graph of (texts, tokens)")
    texts, tokens = ({n for n in dims if isinstance(n, int)} for dims in zip(*shapes, strict=True))
    if len(texts) > 1 or len(tokens) > 1:
        raise BindlibError(f"{graph} has inputs of the shapes {shapes}, which do not agree: export it again")
    return next(iter(texts), None), next(iter(tokens), None)


@dataclass(frozen=True)
class _Tokens:
    """Captions as the inputs of a graph, cut to the context and padded."""

    cut: object
    whole: object
    told: dict  # how the tokenizer's file pads
    unk: int | None
    width: int | None  # what all are padded to; else the longest of a batch

    @classmethod
    def load(cls, path: Path, context: int | None, width: int | None) -> "_Tokens":
        from tokenizers import Tokenizer

        try:
            cut, whole = (Tokenizer.from_file(str(path)) for _ in range(2))
        except Exception as error:
            raise BindlibError(f"{path} is no tokenizer ({brief(str(error))}): get it again") from error
        told = cut.padding or {}
        if context:
            cut.enable_truncation(context, direction=(cut.truncation or {}).get("direction", "right"))
        else:
            cut.no_truncation()
        whole.no_padding()
        whole.no_truncation()
        model = json.loads(whole.to_str())["model"]
        unk = whole.token_to_id(model["unk_token"]) if model.get("unk_token") else model.get("unk_id")
        return cls(cut, whole, told, unk, None)._padding_to(width)

    def _padding_to(self, width: int | None) -> "_Tokens":
        cut = copy(self.cut)
        cut.enable_padding(**{key: value for key, value in self.told.items() if key in PADDING}, length=width)
        return replace(self, cut=cut, width=width)

    def as_told(self) -> "_Tokens | None":
        """The same, padded to the length that the tokenizer's file names, if it names one."""
        length = self.told.get("length")
        return self._padding_to(length) if length else None

    def __call__(self, captions: list[str]) -> dict[str, np.ndarray]:
        rows = self.cut.encode_batch(captions)
        columns = {IDS: "ids", MASK: "attention_mask", "token_type_ids": "type_ids"}
        return {key: np.array([getattr(row, of) for row in rows], dtype=np.int64) for key, of in columns.items()}

    def count(self, captions: list[str]) -> list[int]:
        return [len(row.ids) for row in self.whole.encode_batch(captions)]

    def unknown(self, captions: list[str]) -> list[int]:
        return [row.ids.count(self.unk) for row in self.whole.encode_batch(captions)]


def _session(graph: Path):
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.log_severity_level = 3  # errors only
    try:
        return InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise BindlibError(f"{graph} is no ONNX graph that runs here ({brief(str(error))}): export it again") from error


def _choice(graph: Path, folder: Path, outputs: dict[str, np.ndarray], mask: np.ndarray) -> tuple[str, str]:
    """The output to read, and how its tokens are pooled: ``""`` if it is pooled already."""
    floats = {name: array for name, array in outputs.items() if array.dtype.kind == "f"}
    pooled = [name for name, array in floats.items() if array.ndim == 2 and len(array) == len(mask)]
    tokens = [name for name, array in floats.items() if array.ndim == 3 and array.shape[:2] == mask.shape]
    named = [name for name in POOLED if name in pooled] or [name for name in pooled if name != NOT_POOLED]
    if len(named) == 1 or (named and named[0] in POOLED):
        return named[0], ""
    if len(tokens) == 1 and not named:
        return tokens[0], _pooling(folder)
    raise BindlibError(f"{graph} has no output that is clearly a text's ({', '.join(outputs)}): export it with one")


def _pooling(folder: Path) -> str:
    """The pooling that sentence-transformers' files beside the tokenizer ask for; without them the mean."""
    modules = [module for module in read_json(folder / "modules.json", list) if isinstance(module, dict)]
    others = {str(module.get("type")).rpartition(".")[2] for module in modules} - {
        "Transformer",
        "Pooling",
        "Normalize",
    }
    told = read_json(folder / "1_Pooling" / "config.json")
    old = [OLD_POOLINGS.get(key, key) for key, on in told.items() if key.startswith("pooling_mode_") and on]
    modes = told.get("pooling_mode", old) or "mean"
    mode = modes if isinstance(modes, str) else " and ".join(map(str, modes))
    if mode not in POOLINGS or others:
        raise BindlibError(
            f"{folder} makes more of the token vectors than their mean or the first of them "
            f"({', '.join([mode, *sorted(others)])}): export a graph that does it"
        )
    return mode


def _context(tokenizer: Path) -> int | None:
    from tokenizers import Tokenizer

    def told(file: str, key: str):
        return read_json(tokenizer.with_name(file)).get(key)

    try:
        own = (Tokenizer.from_file(str(tokenizer)).truncation or {}).get("max_length")
    except Exception:  # told better by ``tower``
        return None
    lengths = (
        told("sentence_bert_config.json", "max_seq_length"),
        own,
        told("tokenizer_config.json", "model_max_length"),
        told("config.json", "max_position_embeddings"),
    )
    return next((n for n in lengths if isinstance(n, int) and 0 < n < ENDLESS), None)
