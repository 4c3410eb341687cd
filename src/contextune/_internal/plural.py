"""Plurals of nouns, and counts with their noun."""

_SIBILANTS = ("s", "x", "ch", "sh")


def plural(noun: str) -> str:
    """The noun with an s, or with es: "notes", "web searches"."""
    return f"{noun}es" if noun.endswith(_SIBILANTS) else f"{noun}s"


def pluralize(number: float, noun: str) -> str:
    """Such as "1 minute" or "1,200 items"."""
    formatted = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{formatted} {noun if number == 1 else plural(noun)}"
