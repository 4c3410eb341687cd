"""Holds values against a JSON Schema that somebody else wrote, in a time that is bounded.

A schema comes from whatever server a user connects. Left to itself the library would fetch what it refers
to, and run its patterns by an engine that tries every way to match: `^(a+)+$` keeps that busy for years.
Here nothing is fetched, and patterns are run by pydantic's engine, which reads a text once. What that engine
does not know (looking around, referring back) or would take long to make ready is not checked: a schema says
what a tool takes, and its server looks again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

LONGEST_TEXT = 10_000
"""Characters of a value that a pattern is held against."""
_LARGEST = 2000
"""What a pattern may come to once its counted repeats are written out, which the engine does."""
_CLASS, _LETTERS = 10, 30
"""What stands for many characters, or for all letters there are, counts as so many."""
_PIECE = re.compile(
    r"(?P<wide>\\[pP]\{[^}]*\}|\\[pPdDwWsS]|\.|\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<open>\()|(?P<close>\))|\{(?P<least>\d*)(?:,(?P<most>\d*))?\}|(?P<again>[?*+\]])|\\.|.",
    re.DOTALL,
)
_SPREAD = re.compile(r"\(\?[a-zA-Z-]*x")
"""Patterns with blanks and comments, which JSON Schema does not know, would not be measured right."""


def checker(schema: Mapping[str, Any], *, formats: Any = None) -> Any:
    """What checks values by a schema, as `jsonschema` makes it, less what could fetch or hang."""
    import jsonschema  # slow to import, and many requests need none
    from jsonschema.validators import validator_for
    from referencing import Registry

    made = cast("Any", validator_for(schema, default=jsonschema.Draft202012Validator))
    bounded = _bounded(made, _holds(schema, "patternProperties"))
    # without a registry of its own it would fetch whatever address a server writes as a reference
    return bounded(_without_dialects(schema), format_checker=formats, registry=cast("Any", Registry)())


def matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None where that is not told."""
    if len(text) > LONGEST_TEXT:
        return None
    found = _engine(pattern)
    return found(text) if found else None


@lru_cache(maxsize=1024)
def _engine(pattern: str) -> Callable[[str], bool] | None:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > _LARGEST or _size(pattern) > _LARGEST or _SPREAD.search(pattern):
        return None
    try:
        read = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(read).isinstance_python
    except SchemaError:
        return None


def _size(pattern: str) -> int:
    """How large a pattern is with its repeats written out, a little too large rather than too small."""
    groups, last = [0], 0  # of each group that is open, and of what a repeat would be of
    for piece in _PIECE.finditer(pattern):
        if piece["open"]:
            groups.append(0)
        if piece["open"] or piece["again"]:
            continue
        if piece["close"]:
            last = groups.pop()
            groups = groups or [0]
        elif piece["least"] is not None:
            counts = [int(count[:6]) for count in (piece["least"], piece["most"]) if count]
            groups[-1] -= last
            last *= max([1, *counts])
        else:
            last = _width(piece["wide"] or "")
        groups[-1] += last
    return sum(groups)


def _width(piece: str) -> int:
    return 1 if not piece else _LETTERS if re.search(r"\\[pPwW]", piece) else _CLASS


@lru_cache(maxsize=32)
def _bounded(made: Any, patterned: bool) -> Any:
    """A dialect of JSON Schema with our way to run patterns wherever it has any."""
    from jsonschema import validators

    known = cast("Mapping[str, Any]", made.VALIDATORS)
    ours: dict[str, Any] = {"pattern": _pattern, "patternProperties": _pattern_properties}
    if "additionalProperties" in known:
        ours["additionalProperties"] = _additional(known["additionalProperties"])
    if patterned and "unevaluatedProperties" in known:
        ours["unevaluatedProperties"] = _unchecked  # it runs patterns in a way that cannot be replaced
    return cast("Any", validators).extend(made, ours)


def _pattern(_: Any, pattern: Any, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and matches(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in patterns.items():
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional(own: Any) -> Any:
    def additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
        patterns = schema.get("patternProperties")
        if not patterns or not validator.is_type(instance, "object"):
            yield from own(validator, allowed, instance, schema)
            return
        named = schema.get("properties", {})
        others = {
            name: value
            for name, value in instance.items()
            if name not in named and all(matches(pattern, name) is False for pattern in patterns)
        }
        yield from own(validator, allowed, others, {})

    return additional


def _unchecked(*_: Any) -> Iterator[Any]:
    return iter(())


def _holds(schema: Any, keyword: str) -> bool:
    if isinstance(schema, Mapping):
        parts = cast("Mapping[str, Any]", schema)
        return keyword in parts or any(_holds(part, keyword) for part in parts.values())
    return isinstance(schema, list) and any(_holds(part, keyword) for part in cast("list[Any]", schema))


def _without_dialects(schema: Any) -> Any:
    """Without `$schema`: a part that names a dialect of its own would be checked by that, unbounded."""
    if isinstance(schema, Mapping):
        parts = cast("Mapping[str, Any]", schema)
        return {
            name: _without_dialects(part)
            for name, part in parts.items()
            if not (name == "$schema" and isinstance(part, str))
        }
    if isinstance(schema, list):
        return [_without_dialects(part) for part in cast("list[Any]", schema)]
    return schema
