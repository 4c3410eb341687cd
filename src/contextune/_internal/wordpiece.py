"""The tokenizer of BERT models: text to the ids of word pieces, as the `tokenizers` library does it.

That library brings a dozen packages along that search does not need. It is still used for models with another
kind of tokenizer.
"""

import json
import re
import string
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from contextune._internal.caches import CachedFunction
from contextune.errors import MissingExtraError

_PARTS = re.compile(rf"[{re.escape(string.punctuation)}]|[^\s{re.escape(string.punctuation)}]+")
"""Words and single punctuation marks of ASCII text."""
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_REMOVED = ("Cc", "Cf", "Cn", "Co", "Cs")
_CHINESE = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)),
)
"""Blocks whose characters are words of their own."""
_CACHED_WORDS = 50_000


class TextTokenizer(Protocol):
    """Turns texts into the ids of tokens."""

    @property
    def vocabulary(self) -> Mapping[str, int]:
        """Each token with its id."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with those that begin and end it, cut to the length of the model."""
        ...


def open_tokenizer(file: Path, max_tokens: int) -> TextTokenizer:
    """The tokenizer of a `tokenizer.json`; `max_tokens` is the length of the model."""
    settings = cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))
    if _is_wordpiece(settings):
        return WordPieceTokenizer(settings, max_tokens)
    return _LibraryTokenizer(file, max_tokens)


def _is_wordpiece(settings: Mapping[str, Any]) -> bool:
    parts = ("normalizer", "pre_tokenizer", "model", "post_processor")
    kinds = [cast("dict[str, Any]", settings.get(part) or {}).get("type") for part in parts]
    return kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece", "TemplateProcessing"]


class WordPieceTokenizer:
    """BERT's normalization, words and pieces of words."""

    def __init__(self, settings: Mapping[str, Any], max_tokens: int) -> None:
        model, normalizer = settings["model"], settings["normalizer"]
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self._unknown = self.vocabulary[model["unk_token"]]
        self._prefix: str = model["continuing_subword_prefix"]
        self._longest: int = model["max_input_chars_per_word"]
        self._lowercase: bool = normalizer["lowercase"]
        strips = normalizer["strip_accents"]
        self._strips_accents: bool = self._lowercase if strips is None else strips
        self._splits_chinese: bool = normalizer["handle_chinese_chars"]
        self._cleans: bool = normalizer["clean_text"]
        special = settings["post_processor"]["special_tokens"]
        parts = settings["post_processor"]["single"]
        ids = [special[part["SpecialToken"]["id"]]["ids"] for part in parts if "SpecialToken" in part]
        text_at = next(place for place, part in enumerate(parts) if "Sequence" in part)
        self._before = [number for part in ids[:text_at] for number in part]
        self._after = [number for part in ids[text_at:] for number in part]
        self._room = max_tokens - len(self._before) - len(self._after)
        added: dict[str, int] = {token["content"]: token["id"] for token in settings["added_tokens"]}
        self._added = added
        self._split_added = re.compile(f"({'|'.join(map(re.escape, added))})") if added else None
        # words may be those of a user
        self._pieces = CachedFunction(self._split_word, _CACHED_WORDS)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with those that begin and end it, cut to the length of the model."""
        ids: list[int] = []
        for word in self._words(text):
            ids += (word,) if isinstance(word, int) else self._pieces(word)
            if len(ids) >= self._room:
                break
        return [*self._before, *ids[: self._room], *self._after]

    def pieces(self, text: str) -> list[int]:
        """The ids of a text alone; nothing is cut and no special token is read."""
        return [piece for word in self._plain_words(text) for piece in self._pieces(word)]

    def located(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """`pieces`, and for each of them the characters of its word."""
        folded, origins = self._folded(text)
        ids: list[int] = []
        places: list[tuple[int, int]] = []
        position = 0
        for word in self._plain_words(text):
            start = folded.find(word, position)
            if start < 0:  # a letter that is folded otherwise together with its neighbours
                start = position
            position = min(start + len(word), len(folded))
            span = (origins[min(start, len(folded) - 1)], origins[max(position - 1, 0)] + 1)
            pieces = self._pieces(word)
            ids += pieces
            places += [span] * len(pieces)
        return ids, places

    def _folded(self, text: str) -> tuple[str, list[int]]:
        """The text normalized letter by letter, and where each letter comes from."""
        letters: list[str] = []
        origins: list[int] = []
        for place, char in enumerate(text):
            form = char.lower() if char.isascii() else self._normalize(char).strip()
            letters.append(form)
            origins += [place] * len(form)
        return "".join(letters), origins

    def _words(self, text: str) -> Iterator[str | int]:
        """The words of a text, and the ids of special tokens that it spells out."""
        if self._split_added is None or "[" not in text:
            yield from self._plain_words(text)
            return
        for part in self._split_added.split(text):
            if part in self._added:
                yield self._added[part]
            else:
                yield from self._plain_words(part)

    def _plain_words(self, text: str) -> Iterator[str]:
        if text.isascii():
            text = text.translate(_CONTROL) if self._cleans and not text.isprintable() else text
            found = _PARTS.finditer(text.lower() if self._lowercase else text)
            return (match[0] for match in found)
        return _split_at_punctuation(self._normalize(text))

    def _normalize(self, text: str) -> str:
        if self._cleans:
            text = "".join(map(_clean, text))
        if self._splits_chinese:
            text = "".join(f" {char} " if _is_chinese(char) else char for char in text)
        if self._strips_accents:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        if self._lowercase:
            text = text.replace("Σ", "σ").lower()  # `lower` makes another letter of it at the end of a word
        return text

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The longest piece of the vocabulary first; a word with a part that is in no piece is unknown."""
        if len(word) > self._longest:
            return (self._unknown,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else ""
            for end in range(len(word), start, -1):
                piece = self.vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return (self._unknown,)
            ids.append(piece)
            start = end
        return tuple(ids)


class _LibraryTokenizer:
    """A tokenizer of the `tokenizers` library."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        try:
            from tokenizers import Tokenizer
        except ModuleNotFoundError:
            raise MissingExtraError("a model whose tokenizer is not BERT's", "llm") from None
        self._tokenizer = cast("Any", Tokenizer.from_file(str(file)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    @property
    def vocabulary(self) -> Mapping[str, int]:
        return self._tokenizer.get_vocab()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids


@lru_cache(100_000)
def _clean(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _REMOVED:
        return ""
    return " " if char.isspace() else char


@lru_cache(100_000)
def _is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _CHINESE)


@lru_cache(100_000)
def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def _split_at_punctuation(text: str) -> Iterator[str]:
    """Words and single punctuation marks."""
    for word in text.split():
        start = 0
        for place, char in enumerate(word):
            if _is_punctuation(char):
                if place > start:
                    yield word[start:place]
                yield char
                start = place + 1
        if start < len(word):
            yield word[start:]
