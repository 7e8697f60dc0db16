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


def save_dual(folder: Path, kind: str) -> Path:
    """A tiny CLIP or SigLIP as transformers saves them, whose tokenizer does not say how much the text tower reads."""
    import transformers as hf

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    text = small | ends | {"vocab_size": len(VOCABULARY), "max_position_embeddings": CONTEXT}
    config = getattr(hf, f"{kind}Config")(text_config=text, vision_config=small | {"image_size": 16, "patch_size": 8})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(hf, f"{kind}Model")(config)
        for weights in model.parameters():
            if weights.ndim > 1:
                torch.nn.init.normal_(weights, std=0.5)
    model.save_pretrained(folder)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[CLS]", "eos_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer(), **special).save_pretrained(folder)
    size = {"height": 16, "width": 16}
    getattr(hf, f"{kind}ImageProcessor")(size=size, crop_size=size).save_pretrained(folder)
    return folder
