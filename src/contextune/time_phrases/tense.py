"""Whether a sentence is about the past or the future: decides between the last and the next Friday."""

import re

_PAST = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|sent|came|went|wrote|told|rang|called|heard|played|listened|gave|met|took|received"
    r"|asked|happened|mailed|emailed|texted|visited|missed|arrived|bought|scribbled|behind us|is over)\b"
)
_FUTURE = re.compile(
    r"\b(?:will|won't|remind|schedule|book|plan|wake|alarm|set|going to|upcoming|tomorrow|cancel|move|push"
    r"|postpone|invite|reserve|nudge|shall|add|create|must|can|may|should)\b|'ll\b"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def tense_at(low: str, position: int) -> int:
    """-1 for the past, 1 for the future, 0 if neither or both are expressed in the sentence at a position."""
    start = 0
    for match in _SENTENCE_END.finditer(low):
        if match.start() >= position:
            low = low[: match.start()]
            break
        start = match.end()
    return bool(_FUTURE.search(low, start)) - bool(_PAST.search(low, start))
