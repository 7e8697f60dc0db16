"""Small models with random weights, built where a test runs."""

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

WORDS = ["a", "red", "blue", "car", "dog", "cat", "horse", "and", "one", "two"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
CONTEXT = 12


def tokenizer() -> Tokenizer:
    """A token a word, with a start and an end."""
    ids = {word: i for i, word in enumerate(VOCABULARY)}
    tokens = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokens.pre_tokenizer = BertPreTokenizer()
    ends = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokens.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return tokens


def save_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT of two layers and its tokenizer, as transformers saves them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertModel(
            BertConfig(
                vocab_size=len(VOCABULARY),
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=64,
                max_position_embeddings=40,
                initializer_range=0.5,
            )
        )
    model.save_pretrained(folder)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer(), model_max_length=CONTEXT, **special).save_pretrained(folder)
    return folder


def save_sentence_transformer(folder: Path, pooling: str = "mean", **changes) -> Path:
    """The same as a sentence transformer."""
    bert = Transformer(str(save_bert(folder / "bert")), max_seq_length=CONTEXT)
    model = SentenceTransformer(
        modules=[bert, Pooling(bert.get_embedding_dimension(), pooling)], device="cpu", **changes
    )
    model.save(str(folder / "model"))
    return folder / "model"
