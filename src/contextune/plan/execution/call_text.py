"""Show a call to whoever confirms it: every argument, short values first, long values cut.

What is cut is the middle of a value, never the list of arguments: a long text must not hide a recipient.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from contextune.tools.definitions.validation import escape_invisible

_HEAD, _TAIL = 160, 40
"""Characters that are shown of the beginning and of the end of a long text."""
_MAX_NAME = 80
_MAX_ENTRIES = 100
"""Entries that are shown of a list within a value."""
_DEPTH = 16


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call on one line, escaped so that no value can fake other text."""
    shown = sorted((f"{_name(name)}={_value(value)}" for name, value in arguments.items()), key=len)
    return f"{_name(tool)}({', '.join(shown)})"


def _name(name: str) -> str:
    return escape_invisible(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…")


def _value(value: Any, depth: int = _DEPTH) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        if not depth:
            return f"{{… {len(fields):,} fields}}"
        shown = sorted((f"{_name(str(k))!r}: {_value(v, depth - 1)}" for k, v in fields.items()), key=len)
        return f"{{{', '.join(shown)}}}"
    if isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        if not depth:
            return f"[… {len(entries):,} entries]"
        shown = [_value(entry, depth - 1) for entry in entries[:_MAX_ENTRIES]]
        if len(entries) > _MAX_ENTRIES:
            shown.append(f"… {len(entries):,} entries")
        return f"[{', '.join(shown)}]"
    return _text_of(repr(value))


def _text(text: str) -> str:
    if len(text) <= _HEAD + _TAIL:
        return repr(text)
    return f"{text[:_HEAD]!r} … {text[-_TAIL:]!r} ({len(text):,} characters)"


def _text_of(shown: str) -> str:
    """A number or the like, which may have any number of digits."""
    if len(shown) <= _HEAD + _TAIL:
        return shown
    return f"{shown[:_HEAD]} … {shown[-_TAIL:]} ({len(shown):,} characters)"
