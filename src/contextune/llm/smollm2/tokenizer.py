"""The tokenizer of SmolLM2, with its chat template (ChatML)."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from contextune.errors import MissingExtraError
from contextune.llm.chat import Message

TOKENIZER_FILE = "tokenizer.json"
_CONTROL_TYPE = 3
_DEFAULT_SYSTEM = Message("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")
"""The default system message of the model's chat template."""


def write_tokenizer(metadata: Mapping[str, Any], folder: Path) -> None:
    """Write the tokenizer in a GGUF file's metadata as a file of the `tokenizers` library."""
    library = _library()
    pieces: list[str] = metadata["tokenizer.ggml.tokens"]
    pairs = [tuple(pair.split(" ", 1)) for pair in metadata["tokenizer.ggml.merges"]]
    model = library.models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=pairs)
    tokenizer = library.Tokenizer(model)
    split = library.pre_tokenizers
    steps = [split.Digits(individual_digits=True), split.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = split.Sequence(steps)
    tokenizer.decoder = library.decoders.ByteLevel()
    kinds = zip(pieces, metadata["tokenizer.ggml.token_type"], strict=True)
    control = [
        library.AddedToken(piece, special=True, normalized=False)
        for piece, kind in kinds
        if kind == _CONTROL_TYPE
    ]
    tokenizer.add_special_tokens(control)
    tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)


def _library() -> Any:
    try:
        return import_module("tokenizers")
    except ModuleNotFoundError as error:
        raise MissingExtraError("the local language model", "llm") from error


class ChatTokenizer:
    """A tokenizer for models with the ChatML template."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _library().Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        self._start, self.end = map(self._tokenizer.token_to_id, ("<|im_start|>", "<|im_end|>"))
        added = self._tokenizer.get_added_tokens_decoder()
        self.control = frozenset(cast("Mapping[int, object]", added))
        """Ids of control tokens; any of them ends an answer."""
        # control tokens in a message are encoded as plain text, so that nobody can fake a turn
        self._tokenizer.encode_special_tokens = True

    def encode_chat(self, messages: Sequence[Message]) -> tuple[tuple[int, ...], list[int]]:
        """Token ids of the system message, which many prompts share, and of the rest up to the answer."""
        if messages[0].role != "system":
            messages = [_DEFAULT_SYSTEM, *messages]
        system, *rest = messages
        turns = [token for message in rest for token in self._turn(message)]
        return tuple(self._turn(system)), [*turns, self._start, *self._encode("assistant\n")]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids."""
        return self._tokenizer.decode(ids)

    def to_json(self) -> str:
        """The tokenizer in the format of its file."""
        return self._tokenizer.to_str()

    def _turn(self, message: Message) -> list[int]:
        content = self._encode(f"{message.role}\n{message.content}")
        return [self._start, *content, self.end, *self._encode("\n")]

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids
