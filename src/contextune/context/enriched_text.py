"""Old path of `contextune.context.enriched.text`, for `contextune.lab.train.embedder.data`."""

from contextune.context.enriched.text import Relations, content_text, moment_text

__all__ = ["Relations", "content_text", "moment_text"]
