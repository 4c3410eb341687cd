"""Old path of `contextune.context.enriched.habits`, for `contextune.lab.train.embedder.data`."""

from contextune.context.enriched.habits import habit_phrases

__all__ = ["habit_phrases"]
