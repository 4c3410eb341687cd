"""A bounded view of untrusted text, for the patterns that read it.

Patterns skip spaces and punctuation in several places, so a text of thousands of them makes each pattern try
thousands of ways to share them out. Nobody needs more than a few in a row to say what is meant.
"""

import re

MAX_RUN = 32
"""Characters in a row that are neither letters nor digits."""
_RUN = re.compile(rf"[^\w]{{{MAX_RUN + 1},}}")


def without_long_runs(text: str) -> str:
    """The text with at most `MAX_RUN` spaces and punctuation marks in a row."""
    return _RUN.sub(lambda match: match.group()[:MAX_RUN], text) if len(text) > MAX_RUN else text


def bounded_text(text: str, most: int) -> str:
    """The first `most` characters of a text, without long runs of spaces and punctuation."""
    return without_long_runs(text[:most])
