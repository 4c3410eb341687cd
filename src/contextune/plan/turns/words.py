"""The phrases of replies as patterns; the phrases are data: `assets/reply_words.toml`."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from contextune._internal.assets import asset


@cache
def reply_words() -> Mapping[str, Any]:
    """The phrases by what they are for."""
    return tomllib.loads(asset("reply_words.toml").read_text(encoding="utf-8"))


def any_of(phrases: Iterable[str]) -> str:
    """A pattern for one of several phrases, the longest first."""
    ordered = sorted(phrases, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(phrase).replace(chr(39), '[' + chr(39) + '’]') for phrase in ordered)})"


def one_of(name: str) -> str:
    """A pattern for one of the phrases with a name."""
    return any_of(reply_words()[name])


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """A compiled pattern that ignores case; `{name}` in it is one of the phrases with that name."""
    filled = re.sub(r"\{([a-z_]+)\}", lambda match: one_of(match[1]), pattern)
    return re.compile(filled, re.IGNORECASE)
