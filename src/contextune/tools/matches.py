"""`ToolMatches`: the tools that were found for a request, and whether any fits."""

from dataclasses import dataclass, field

from contextune.types import ToolHit

MIN_FIT = 0.45
"""With a lower `fits`, no tool fits, unless the caller chooses another threshold."""


@dataclass(frozen=True, slots=True)
class ToolMatches:
    """The tools for a request, best first.

    `fits` is the probability that any tool of the catalogue serves the request, `needs_context` the
    probability that its text alone does not say what is meant. Both are None with the plain methods,
    and with an embedder that the ranker was not trained with. The hits are the nearest tools even if none
    fits.
    """

    hits: tuple[ToolHit, ...]
    fits: float | None = None
    needs_context: float | None = None
    min_fit: float = field(default=MIN_FIT, compare=False)
    """With a lower `fits`, none fits."""
    named: tuple[str, ...] = field(default=(), compare=False)
    """Ids of the tools that the request names, which come first."""
    unknown_words: tuple[str, ...] = field(default=(), compare=False)
    """Words of the request that no tool's text has."""

    @property
    def none_fits(self) -> bool:
        """Whether the request names no tool, and `fits` is known and below `min_fit`."""
        return not self.named and self.fits is not None and self.fits < self.min_fit

    def first(self, count: int, keep: str | None = None) -> tuple[ToolHit, ...]:
        """The first `count` hits; the tool with id `keep` replaces the last if it comes further behind."""
        shown = self.hits[:count]
        kept = next((hit for hit in self.hits[count:] if hit.tool.id == keep), None)
        return (*shown[:-1], kept) if kept else shown
