"""English words that say little about what a request is about."""

from contextune.search.stop_words import STOP_WORDS

__all__ = ["STOP_WORDS"]
