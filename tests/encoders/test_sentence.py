import numpy as np
import pytest
import torch

from bindlib.encoders import sentence
from bindlib.encoders.zoo import CARDS
from bindlib.errors import BindlibError

CAPTIONS = ["a red car and a blue dog", "a blue car and a red dog", "nothing", "two zebras graze near a very old tree"]


def _paths(name):
    return [file.locate() for file in next(card for card in CARDS if card.name == name).files]


def test_minilm_is_its_transformer_with_mean_pooling(encoder):
    """The plain transformers model, one caption at a time, pooled by hand."""
    from transformers import AutoModel, AutoTokenizer

    folder = _paths("minilm")[0].parent
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        rows = [model(**tokenizer(c, return_tensors="pt")).last_hidden_state[0].mean(0).numpy() for c in CAPTIONS]
    rows = np.array([row / np.linalg.norm(row) for row in rows])
    np.testing.assert_allclose(encoder("minilm").encode_text(CAPTIONS), rows, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["minilm", "paraphrase-l3", "use-multilingual", "minilm-no-positions", "random-clip:0"]
)
def test_a_caption_does_not_feel_its_batch(name, encoder):
    captions = CAPTIONS + [f"{caption} {n}" for caption in CAPTIONS for n in range(5)]
    together = encoder(name).encode_text(captions)[: len(CAPTIONS)]
    alone = np.concatenate([encoder(name).encode_text([caption]) for caption in CAPTIONS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize(
    "name, context", [("minilm", 256), ("minilm-no-positions", 256), ("paraphrase-l3", 128), ("use-multilingual", None)]
)
def test_context_lengths(name, context, encoder):
    assert encoder(name).context_length == context


def test_zeroing_positions_leaves_the_shared_model_alone(encoder):
    """Two loads of one file: the control has no order, the original keeps it."""
    pair = ["a red car and a blue dog", "a blue car and a red dog"]
    blind, seeing = (encoder(name).encode_text(pair) for name in ("minilm-no-positions", "minilm"))
    assert np.linalg.norm(blind[0] - blind[1]) < 1e-6
    assert np.linalg.norm(seeing[0] - seeing[1]) > 0.01
    assert encoder("minilm-no-positions").revision != encoder("minilm").revision


@pytest.mark.parametrize("damaged", [0, 1])
def test_the_universal_encoder_reads_the_files_it_is_given(damaged, tmp_path):
    """Not those beside its module, which nobody has checked."""
    paths = _paths("use-multilingual")
    paths[damaged] = tmp_path / "damaged"
    paths[damaged].write_bytes(b"no weights")
    with pytest.raises(Exception):  # noqa: B017 - whatever the package makes of them
        sentence.universal("use-multilingual", *paths).encode_text(CAPTIONS)


def test_nan_weights_are_an_error(monkeypatch):
    from sentence_transformers import SentenceTransformer

    load = SentenceTransformer.__init__

    def broken(self, *args, **kwargs):
        load(self, *args, **kwargs)
        with torch.no_grad():
            self[0].auto_model.embeddings.word_embeddings.weight.fill_(float("nan"))

    monkeypatch.setattr(SentenceTransformer, "__init__", broken)
    tower = sentence.minilm("minilm", _paths("minilm")[0], "cpu")
    with pytest.raises(BindlibError, match="minilm gave a vector that is not finite for 'a red car'"):
        tower.encode_text(["a red car"])
