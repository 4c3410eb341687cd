"""A tiny random language model with a vocabulary of a few dozen words."""

from pathlib import Path
from typing import Any, cast

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = "tools find places call a friend the weather play music book table tonight at six for two and in rain"
TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m.role }} {{ m.content }} <|im_end|> {% endfor %}"
    "{% if add_generation_prompt %}<|im_start|> assistant {% endif %}"
)


def make(folder: Path) -> Path:
    """Save a model and its tokenizer."""
    specials = ["<unk>", "<|im_start|>", "<|im_end|>", "system", "user", "assistant"]
    vocab = {word: number for number, word in enumerate([*specials, *dict.fromkeys(WORDS.split())])}
    plain = cast("Any", Tokenizer(cast("Any", models.WordLevel)(vocab, unk_token="<unk>")))
    plain.pre_tokenizer = cast("Any", pre_tokenizers.WhitespaceSplit)()
    library = cast("Any", transformers)
    tokenizer = library.PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|im_end|>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    cast("Any", torch).manual_seed(0)
    shape = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6}
    config = library.LlamaConfig(
        vocab_size=len(vocab), num_key_value_heads=2, initializer_range=0.3, eos_token_id=2, **shape
    )
    library.LlamaForCausalLM(config).save_pretrained(folder)
    return folder
