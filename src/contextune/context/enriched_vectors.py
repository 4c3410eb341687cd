"""Old path of `contextune.context.enriched.vectors`, for `contextune.lab.train.embedder.data`."""

from contextune.context.enriched.vectors import add_habits

__all__ = ["add_habits"]
