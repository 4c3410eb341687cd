"""Format a count with its noun."""


def pluralize(number: float, noun: str) -> str:
    """Such as "1 minute" or "1,200 items"; the plural is the noun with an s."""
    formatted = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{formatted} {noun}" if number == 1 else f"{formatted} {noun}s"
