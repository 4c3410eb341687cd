"""A console that shows what others wrote and lets none of it speak to the terminal.

The subject of a mail or the description of a tool may hold what moves the cursor, renames the window or turns
the direction of writing: characters that show nothing themselves, and make the rest look like something else.
"""

import unicodedata
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_KEPT = "\n\u200c\u200d"
"""Lines are ours, and many words and emoji are not spelled without joiners."""
_MUTE = ("Cc", "Cf", "Cs")


class Terminal(Console):
    """As rich's, whose own styles and cursor pass; of texts, all that can be seen."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is shown, piece by piece."""
        for piece in super().render(renderable, options):
            if piece.control or piece.text.isprintable():
                yield piece
            else:
                yield Segment(_shown(piece.text), piece.style)


def _shown(text: str) -> str:
    return "".join(one for one in text if one in _KEPT or unicodedata.category(one) not in _MUTE)
