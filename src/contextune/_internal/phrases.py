"""Lists of words and phrases in a text, separated by commas and line ends."""


def phrases(text: str) -> tuple[str, ...]:
    """The words and phrases of a list, in its order."""
    parts = (part.strip() for line in text.splitlines() for part in line.split(","))
    return tuple(part for part in parts if part)
