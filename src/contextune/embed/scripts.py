"""Tell whether an embedder can read a text, from the vocabulary of its tokenizer.

The bundled model knows English. It spells a Russian word letter by letter and takes most Chinese characters
for the unknown token, so vectors of such texts say nothing about their meaning; words have to carry them.

An embedder reads a script if its vocabulary has pieces of several letters in it: those come from texts it was
trained on. The script is a property of each character, so no tokenizer runs for a text. A language in a
script that the model reads counts as readable: accented Latin letters are split into pieces, but known ones.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

from contextune.embed.protocol import Embedder

_MIN_PIECES = 100
"""Pieces of several letters that make a script readable. The bundled model has 27,533 in Latin letters, 8 in
Cyrillic and 4 in Greek; multilingual ones have hundreds and more for every script they were trained on."""
_MIN_SHARE = 0.01
"""The same as a share of the vocabulary, for small ones."""
_MIN_IDEOGRAPHS = 2_000
"""Han characters that make Chinese readable: some tokenizers never join them."""
_HAN = "CJK"
_NO_LETTER = ""
_BYTE_LEVEL_SPACE = "\u0120"
"""How a vocabulary of bytes, as of GPT-2, writes the space before a word."""


def readability(embedder: Embedder, text: str) -> float:
    """The share of the letters of a text that the embedder can read, from 0 to 1; 1 for no letters at all.

    Embedders that do not tell their `scripts`, such as a server's, are taken to read everything.
    """
    scripts: frozenset[str] | None = getattr(embedder, "scripts", None)
    return 1.0 if scripts is None else script_share(text, scripts)


def script_share(text: str, scripts: frozenset[str]) -> float:
    """The share of the letters of a text that are of these scripts; 1 if it has no letters."""
    if text.isascii():  # nearly always, and quick
        return 1.0 if "LATIN" in scripts or not any(map(str.isalpha, text)) else 0.0
    letters = [script for character in text if (script := script_of(character))]
    return sum(script in scripts for script in letters) / len(letters) if letters else 1.0


@lru_cache(maxsize=4096)
def script_of(character: str) -> str:
    """The script of a letter as Unicode's character names begin: LATIN, CYRILLIC, CJK; else ""."""
    if not character.isalpha():
        return _NO_LETTER
    words = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split()
    return words[0] if words else _NO_LETTER


def readable_scripts(vocabulary: Collection[str]) -> frozenset[str] | None:
    """The scripts that a vocabulary has enough pieces of; None for byte-level ones, which do not tell."""
    if any(piece.startswith(_BYTE_LEVEL_SPACE) for piece in vocabulary):
        return None
    several: Counter[str] = Counter()
    ideographs = 0
    for entry in vocabulary:
        piece = entry.removeprefix("##").removeprefix("\u2581")  # WordPiece, SentencePiece
        if piece.isascii():
            several["LATIN"] += len(piece) > 1 and piece.isalpha()
            continue
        scripts = {script_of(character) for character in piece} - {_NO_LETTER}
        if len(scripts) == 1:
            (script,) = scripts
            several[script] += len(piece) > 1
            ideographs += script == _HAN and len(piece) == 1
    enough = min(_MIN_PIECES, _MIN_SHARE * len(vocabulary))
    readable = {script for script, count in several.items() if count >= enough}
    return frozenset({*readable, _HAN} if ideographs >= _MIN_IDEOGRAPHS else readable)
