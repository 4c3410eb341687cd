"""Text into the numbers of tokens, and back; a conversation as the model was taught to read it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from contextune.llm.chat import Message

FILE = "tokenizer.json"
_CONTROL = 3
_NOBODY = Message("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")
"""What the model was taught to read first where nobody says who it is."""


def write_tokenizer(about: Mapping[str, Any], folder: Path) -> None:
    """The tokenizer that a GGUF file describes, as a file of `tokenizers`."""
    pieces: list[str] = about["tokenizer.ggml.tokens"]
    pairs = [tuple(pair.split(" ", 1)) for pair in about["tokenizer.ggml.merges"]]
    model = cast("Any", models.BPE)(
        vocab={piece: number for number, piece in enumerate(pieces)}, merges=pairs
    )
    tokenizer = cast("Any", Tokenizer)(model)
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(pieces, about["tokenizer.ggml.token_type"], strict=True)
    control = [AddedToken(piece, special=True, normalized=False) for piece, kind in kinds if kind == _CONTROL]
    tokenizer.add_special_tokens(control)
    tokenizer.save(str(folder / FILE), pretty=False)


class ChatTokenizer:
    """A tokenizer of a model that reads ChatML."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = cast("Any", Tokenizer.from_file(str(folder / FILE)))
        self._start, self.end = map(self._tokenizer.token_to_id, ("<|im_start|>", "<|im_end|>"))
        added = self._tokenizer.get_added_tokens_decoder()
        self.control = frozenset(cast("Mapping[int, object]", added))
        """What stands for no text; an answer ends at any of them."""
        # what somebody writes can then hold no token that ends a turn and begins another
        self._tokenizer.encode_special_tokens = True

    def conversation(self, messages: Sequence[Message]) -> tuple[tuple[int, ...], list[int]]:
        """The instructions, which many conversations share, and the talk up to where an answer begins."""
        if messages[0].role != "system":
            messages = [_NOBODY, *messages]
        first, *talk = messages
        turns = [token for message in talk for token in self._turn(message)]
        return tuple(self._turn(first)), [*turns, self._start, *self._numbers("assistant\n")]

    def text(self, numbers: Sequence[int]) -> str:
        """What tokens say."""
        return self._tokenizer.decode(numbers)

    def as_json(self) -> str:
        """The tokenizer as its file holds it."""
        return self._tokenizer.to_str()

    def _turn(self, message: Message) -> list[int]:
        said = self._numbers(f"{message.role}\n{message.content}")
        return [self._start, *said, self.end, *self._numbers("\n")]

    def _numbers(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids
