"""Whether the optional reader is installed."""

from contextune._internal.assets import asset


def reader_installed() -> bool:
    """Whether the files of the distribution `contextune-reader` are there; a checkout has them too."""
    return asset("reader").exists()
