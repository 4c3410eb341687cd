"""Show a call to whoever confirms it: every argument, short values first, long values cut.

What is cut is the middle of a value, never the list of arguments: a long text must not hide a recipient. The
addresses and links in what is cut are named, or counted where there are many.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from contextune.tools.definitions.validation import escape_invisible

_HEAD, _TAIL = 160, 40
"""Characters that are shown of the beginning and of the end of a long text."""
_MAX_NAME = 80
_MAX_ENTRIES, _LAST_ENTRIES = 100, 10
"""Entries that are shown of the beginning and of the end of a list within a value."""
_MAX_REACHED = 10
"""Addresses and links that are named of what is cut; more are counted."""
_AROUND = str.maketrans(dict.fromkeys(",;<>()[]{}\"'`|", " "))
"""What stands around an address or a link."""
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
            return f"{{… {len(fields):,} fields{_reached(fields)}}}"
        shown = sorted((f"{_name(str(k))!r}: {_value(v, depth - 1)}" for k, v in fields.items()), key=len)
        return f"{{{', '.join(shown)}}}"
    if isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        if not depth:
            return f"[… {len(entries):,} entries{_reached(entries)}]"
        hidden = entries[_MAX_ENTRIES:-_LAST_ENTRIES]
        last = entries[max(_MAX_ENTRIES, len(entries) - _LAST_ENTRIES) :]
        shown = [_value(entry, depth - 1) for entry in entries[:_MAX_ENTRIES]]
        if hidden:
            shown.append(f"… {len(hidden):,} of {len(entries):,} entries{_reached(hidden)} …")
        return f"[{', '.join([*shown, *(_value(entry, depth - 1) for entry in last)])}]"
    return _text_of(repr(value))


def _text(text: str) -> str:
    if len(text) <= _HEAD + _TAIL:
        return repr(text)
    head, tail = text[:_HEAD], text[-_TAIL:]
    reached = _reached(text, {*_ways(head), *_ways(tail)})
    return f"{head!r} … {tail!r} ({len(text):,} characters{reached})"


def _reached(value: Any, shown: Collection[str] = ()) -> str:
    """The addresses and links in what is cut, but for those that are shown."""
    ways = list(dict.fromkeys(way for text in _texts(value) for way in _ways(text) if way not in shown))
    if not ways:
        return ""
    named = [repr(way if len(way) <= _MAX_NAME else f"{way[:_MAX_NAME]}…") for way in ways[:_MAX_REACHED]]
    more = f" and {len(ways) - _MAX_REACHED:,} more addresses or links" if len(ways) > _MAX_REACHED else ""
    return f" with {', '.join(named)}{more}"


def _ways(text: str) -> list[str]:
    """The words of a text that are an address or a link."""
    words = text.translate(_AROUND).split()
    return [word for word in words if "@" in word.strip("@") or "://" in word or word.startswith("www.")]


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value of any depth."""
    rest: list[Any] = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            fields = cast("Mapping[Any, Any]", part)
            rest += [*fields.values(), *fields.keys()]
        elif isinstance(part, list | tuple):
            rest += reversed(cast("Sequence[Any]", part))


def _text_of(shown: str) -> str:
    """A number or the like, which may have any number of digits."""
    if len(shown) <= _HEAD + _TAIL:
        return shown
    return f"{shown[:_HEAD]} … {shown[-_TAIL:]} ({len(shown):,} characters)"
