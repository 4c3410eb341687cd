"""Lists of words and phrases in a text, separated by commas and line ends."""

from collections.abc import Sequence


def phrases(text: str) -> tuple[str, ...]:
    """The words and phrases of a list, in its order."""
    parts = (part.strip() for line in text.splitlines() for part in line.split(","))
    return tuple(part for part in parts if part)


def unknown_words_note(words: Sequence[str]) -> str:
    """A sentence with the words of the request that no tool's text has, after a space; empty without any."""
    return f" No tool mentions: {', '.join(words)}." if words else ""
