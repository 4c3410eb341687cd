"""Show how a long text has changed: every changed part, with what stands around it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\S+\s*|\s+")
_CONTEXT = 60
"""Characters that are shown on both sides of a change."""
_SHORT = 400
"""Texts up to this length are shown in full."""
_MAX_TOKENS = 1500
"""Words that are compared one by one, which takes time by their product; more are shown as one change."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """One changed part of a text; None where the text is absent."""

    before: str
    old: str | None
    new: str | None
    after: str


def text_changes(old: str | None, new: str | None) -> list[TextChange]:
    """The changed parts of a text, in order; nothing that has changed is left out."""
    if old is None or new is None or max(len(old), len(new)) <= _SHORT:
        return [TextChange("", old, new, "")]
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    start = _common(before, after)
    end = min(_common(before[::-1], after[::-1]), len(before) - start, len(after) - start)
    changed, put = before[start : len(before) - end], after[start : len(after) - end]
    prefix, suffix = "".join(before[:start]), "".join(before[len(before) - end :])
    if max(len(changed), len(put)) > _MAX_TOKENS:
        return [TextChange(_tail(prefix), "".join(changed), "".join(put), _head(suffix))]
    return [
        TextChange(
            _tail(prefix + "".join(changed[:a])),
            "".join(changed[a:b]),
            "".join(put[c:d]),
            _head("".join(changed[b:]) + suffix),
        )
        for a, b, c, d in _ranges(changed, put)
    ]


def _ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of tokens that differ; those with little between them are one."""
    last: tuple[int, int, int, int] | None = None
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if last is not None and len("".join(old[last[1] : a])) <= _CONTEXT:
            last = (last[0], b, last[2], d)
            continue
        if last is not None:
            yield last
        last = (a, b, c, d)
    if last is not None:
        yield last


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of tokens with which both begin."""
    same = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(same, min(len(first), len(second)))


def _tail(text: str) -> str:
    return text if len(text) <= _CONTEXT else f"…{text[-_CONTEXT:]}"


def _head(text: str) -> str:
    return text if len(text) <= _CONTEXT else f"{text[:_CONTEXT]}…"
