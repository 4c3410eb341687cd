"""Our WordPiece tokenizer, compared with that of the `tokenizers` library."""

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.embed.test_onnx import LONG, ODD
from tokenizers import Tokenizer

from contextune._internal.assets import asset
from contextune._internal.wordpiece import WordPieceTokenizer, open_tokenizer
from contextune.embed.protocol import replace_surrogates
from contextune.errors import MissingExtraError

FILE = asset("embedder/tokenizer.json")
MAX_TOKENS = 128
CHARACTERS = [
    char
    for char in map(chr, range(0x1_0000))
    if unicodedata.ucd_3_2_0.category(char) == unicodedata.category(char) not in ("Cn", "Cs")
]
"""Characters that have been in Unicode for decades, and mean the same to every library."""


@pytest.fixture(scope="module")
def reference() -> Any:
    tokenizer = cast("Any", Tokenizer.from_file(str(FILE)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@pytest.fixture(scope="module")
def ours() -> WordPieceTokenizer:
    tokenizer = open_tokenizer(FILE, MAX_TOKENS)
    assert isinstance(tokenizer, WordPieceTokenizer)
    return tokenizer


@pytest.mark.parametrize("text", [LONG, *replace_surrogates(list(ODD.values()))], ids=["long text", *ODD])
def test_odd_texts(reference: Any, ours: WordPieceTokenizer, text: str) -> None:
    assert ours.encode(text) == reference.encode(text).ids


@settings(max_examples=300)
@given(text=st.text(st.sampled_from(CHARACTERS), max_size=60))
def test_random_texts(reference: Any, ours: WordPieceTokenizer, text: str) -> None:
    assert ours.encode(text) == reference.encode(text).ids


def test_every_character_is_treated_the_same(reference: Any, ours: WordPieceTokenizer) -> None:
    texts = [f"tea{char}cup" for char in CHARACTERS]
    encodings = reference.encode_batch(texts)
    differing = [text for text, other in zip(texts, encodings, strict=True) if ours.encode(text) != other.ids]
    assert differing == []


def test_vocabulary_is_that_of_the_library(reference: Any, ours: WordPieceTokenizer) -> None:
    assert ours.vocabulary == reference.get_vocab()


def test_another_kind_of_tokenizer_needs_the_library(
    tmp_path: Path, reference: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of_file = json.loads(FILE.read_text(encoding="utf-8"))
    settings_of_file["pre_tokenizer"] = {"type": "Whitespace"}
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(settings_of_file), encoding="utf-8")
    other = open_tokenizer(file, MAX_TOKENS)
    assert other.encode("a green cup") == reference.encode("a green cup").ids
    assert other.vocabulary == reference.get_vocab()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"contextune\[llm\]"):
        open_tokenizer(file, MAX_TOKENS)
