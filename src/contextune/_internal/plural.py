"""Numbers in sentences that people read."""


def pluralize(number: float, noun: str) -> str:
    """Such as "1 minute" or "1,200 items"; the plural is the noun with an s."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"
