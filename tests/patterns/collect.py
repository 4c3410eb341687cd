"""Every regular expression of the package, with the methods by which it is used."""

# pyright: basic, reportArgumentType=false, reportDeprecated=false, reportUnnecessaryCast=false

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import contextune

_ROOT = Path(contextune.__file__).parent
_METHODS = frozenset(["match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"])
_WHOLE = frozenset(["sub", "subn", "split", "findall", "finditer"])
"""Methods that go on behind a match."""
_NOT_INSTALLED = frozenset(["contextune.integrations.claude_agent"])
_USED_BY_LIBRARIES = {"_YamlLoader": {"match"}}

AnyPattern = re.Pattern[Any]


@dataclass
class CollectedPattern:
    """A pattern, where it is used, and how."""

    pattern: AnyPattern
    places: list[str] = field(default_factory=list[str])
    methods: set[str] = field(default_factory=set[str])


def collect_patterns() -> list[CollectedPattern]:
    """Patterns in modules, classes and tables, and those that functions make of constants."""
    patterns: dict[tuple[object, int], CollectedPattern] = {}

    def add(pattern: AnyPattern, place: str, methods: set[str]) -> None:
        known = patterns.setdefault((pattern.pattern, pattern.flags), CollectedPattern(pattern))
        known.places.append(place)
        known.methods |= {"finditer" if name in _WHOLE else name for name in methods}

    elsewhere = _imported_uses() | _USED_BY_LIBRARIES
    for path in sorted(_ROOT.rglob("*.py")):
        name = ".".join(["contextune", *path.relative_to(_ROOT).with_suffix("").parts])
        source = path.read_text(encoding="utf-8")
        if name in _NOT_INSTALLED or not re.search(r"^\s*import re$", source, re.M):
            continue
        name = name.removesuffix(".__init__")
        module = importlib.import_module(name)
        for key, value in list(vars(module).items()):
            if not key.startswith("__"):
                # a table's patterns, and those that a function is given, are used through a variable
                variable = r"(?!re\b)[a-z]\w*(?:\[\w+\])?"
                uses = _uses(re.escape(key), source) or _uses(variable, source)
                for pattern in _patterns_in(value, module):
                    add(pattern, f"{name}:{key}", uses or elsewhere.get(key, {"finditer"}))
        for line, pattern, method in _made_in_functions(source, module):
            add(pattern, f"{name}:{line}", {method})
    return list(patterns.values())


def _uses(name: str, source: str) -> set[str]:
    return set(re.findall(rf"\b{name}\.({'|'.join(_METHODS)})\b", source))


def _imported_uses() -> dict[str, set[str]]:
    """The methods by which names in capitals are used in any module, for those that others import."""
    uses: dict[str, set[str]] = {}
    for path in _ROOT.rglob("*.py"):
        for name, method in re.findall(
            rf"\b(_?[A-Z][A-Z_]+)\.({'|'.join(_METHODS)})\b", path.read_text(encoding="utf-8")
        ):
            uses.setdefault(name, set()).add(method)
    return uses


def _patterns_in(value: object, module: ModuleType, depth: int = 0) -> Iterator[AnyPattern]:
    """The patterns in a value of a module, its containers, and the objects and classes of the package."""
    if isinstance(value, re.Pattern):
        yield cast("AnyPattern", value)
    elif depth > 3:
        return
    elif isinstance(value, list | tuple | set | frozenset):
        for part in cast("list[object]", value):
            yield from _patterns_in(part, module, depth + 1)
    elif isinstance(value, dict):
        for key, part in cast("dict[object, object]", value).items():
            yield from _patterns_in(key, module, depth + 1)
            yield from _patterns_in(part, module, depth + 1)
    elif isinstance(value, type) and value.__module__ == module.__name__:
        for part in list(vars(value).values()):
            yield from _patterns_in(part, module, depth + 1)
    elif is_dataclass(value) and not isinstance(value, type):
        kind: type = type(value)
        if kind.__module__ != module.__name__:
            return
        names = [key for key, part in vars(kind).items() if isinstance(part, cached_property)]
        for key in names:
            pattern = getattr(value, key)
            if isinstance(pattern, re.Pattern):
                yield cast("AnyPattern", pattern)


def _made_in_functions(source: str, module: ModuleType) -> Iterator[tuple[int, AnyPattern, str]]:
    """Patterns in calls of `re` within functions, where they are made of constants of the module."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
                continue
            where, method = call.func.value, call.func.attr
            if not (isinstance(where, ast.Name) and where.id == "re" and method in _METHODS):
                continue
            flags = next((keyword.value for keyword in call.keywords if keyword.arg == "flags"), None)
            positional = {"sub": 4, "subn": 4, "split": 3}.get(method, 2)
            if flags is None and len(call.args) > positional:
                flags = call.args[positional]
            try:
                text = eval(ast.unparse(call.args[0]), dict(vars(module)))
                pattern = re.compile(text, eval(ast.unparse(flags), dict(vars(module))) if flags else 0)
            except (NameError, AttributeError, TypeError):
                continue  # made of what the function is called with
            yield call.lineno, cast("AnyPattern", pattern), method
