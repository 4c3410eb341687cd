"""A tiny BERT with random weights and a few words, quick to create, run and export."""

from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

TOKENS = 64
WORDS = "call mum about the dinner on friday a note to buy tea and milk ##s ##ing . , ?"
TEXTS = [
    "call mum",
    "a note to buy tea and milk, about the dinner on friday.",
    "",
    "unknown Words",
    "tea " * 200,
    "dinners?",
]


def tokenizer_file(folder: Path) -> Path:
    """A WordPiece tokenizer over a handful of words, saved as `tokenizer.json`."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {word: number for number, word in enumerate([*specials, *WORDS.split()])}
    tokenizer = cast("Any", Tokenizer(cast("Any", models.WordPiece)(vocab, unk_token="[UNK]")))
    tokenizer.normalizer = cast("Any", normalizers.BertNormalizer)(lowercase=True)
    tokenizer.pre_tokenizer = cast("Any", pre_tokenizers.BertPreTokenizer)()
    ends = [(end, vocab[end]) for end in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = cast("Any", processors.TemplateProcessing)(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    tokenizer.add_special_tokens(specials)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def make(folder: Path, *, seed: int = 0, **config: Any) -> Path:
    """Save a random sentence encoder in the sentence-transformers format; the seed fixes the weights.

    Imports the libraries, which takes seconds, only in the process that runs such a test.
    """
    import sentence_transformers
    import torch
    import transformers
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder.mkdir(parents=True, exist_ok=True)
    file = tokenizer_file(folder)
    library = cast("Any", transformers)
    tokenizer = library.BertTokenizerFast(tokenizer_file=str(file))
    cast("Any", torch).manual_seed(seed)
    shape = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": TOKENS,
        # wider than usual, so that attention and every bias affect the result
        "initializer_range": 0.3,
    }
    model = library.BertModel(library.BertConfig(vocab_size=len(tokenizer), **{**shape, **config}))
    for parameter in model.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter.data, mean=float(parameter.data.mean()), std=0.1)
    plain = folder / "plain"
    model.save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    encoder = cast("Any", Transformer)(str(plain), max_seq_length=TOKENS)
    pooling = cast("Any", Pooling)(32, pooling_mode="mean")
    cast("Any", sentence_transformers).SentenceTransformer(modules=[encoder, pooling]).save(str(folder))
    return folder
