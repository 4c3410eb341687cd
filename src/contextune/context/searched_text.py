"""The text of an item that is searched: its own, and an English gloss of its title."""

from contextune.search.glosses import gloss
from contextune.types import Item


def searched_text(item: Item) -> str:
    """The item's text, followed by the English words for what its title says in another language."""
    english = gloss(item.title)
    return f"{item.text} — {english}" if english else item.text
