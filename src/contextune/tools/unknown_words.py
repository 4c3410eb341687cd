"""The words of a request that no tool's text has: why nothing fits."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from contextune.search import tokenize
from contextune.search.stop_words import STOP_WORDS
from contextune.tools.index import FieldScores, ToolIndex

MAX_WORDS = 5
"""Words that are named; of more, the longest, which are the rarest ones in any language."""
_MAX_CHECKED = 40
_MIN_LENGTH = 3
_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = ("s", "es", "ed", "ing")


def unknown_words(text: str, index: ToolIndex, visible: NDArray[np.bool_] | None = None) -> tuple[str, ...]:
    """Words as the request writes them, in its order; `visible` says which tools count, all by default."""
    words = {word.casefold(): word for word in reversed(_WORD.findall(text)) if len(word) >= _MIN_LENGTH}
    telling = [
        (folded, tokens)
        for folded in reversed(words)
        if (tokens := tokenize(words[folded])) and not STOP_WORDS.issuperset(tokens)
    ]
    lexical = index.fields["all"]
    unknown = [
        words[folded]
        for folded, tokens in telling[:_MAX_CHECKED]
        if not any(_is_known(token, lexical, visible) for token in tokens)
    ]
    named = sorted(unknown, key=len, reverse=True)[:MAX_WORDS]
    return tuple(word for word in unknown if word in named)


def _is_known(token: str, lexical: FieldScores, visible: NDArray[np.bool_] | None) -> bool:
    """Whether a tool has the word, or another form of it."""
    forms = list(_forms(token))
    if visible is None and any(map(lexical.document_frequency, forms)):
        return True
    return bool(lexical.scores(forms, visible=visible).any())


def _forms(token: str) -> Iterator[str]:
    """The word without an ending, and with one: nobody is told that no tool mentions "lamps"."""
    yield token
    for ending in _ENDINGS:
        stem = token.removesuffix(ending)
        if len(stem) >= _MIN_LENGTH:
            yield stem
            yield f"{stem}e"
    for ending in _ENDINGS:
        yield f"{token.removesuffix('e')}{ending}"
