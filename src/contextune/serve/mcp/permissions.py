"""Which tools the holder of a token may use, as a filter of tools; any other tool is not found."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from contextune.errors import InvalidDataError

SCOPE_KEY = "contextune.permissions"
"""Key of an ASGI scope under which the transport keeps the permissions of the request's token."""


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """The tools that a caller may use, by patterns of their names such as `github/*` or `find_context`."""

    patterns: tuple[str, ...]

    def __call__(self, name: str) -> bool:
        """Whether the caller may use the tool of this name or id."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def of_server(self, server: str) -> bool:
        """Whether the caller may use any tool of a server."""
        return any(fnmatchcase(server, pattern.partition("/")[0]) for pattern in self.patterns)


EVERYTHING = ToolPermissions(("*",))
NOTHING = ToolPermissions(())


def request_permissions(request: object, default: ToolPermissions) -> ToolPermissions:
    """The permissions of the HTTP request that a message came with; `default` without one.

    They are those of the request, not of the session, which another token may have opened.
    """
    scope: Mapping[str, Any] = getattr(request, "scope", None) or {}
    permissions = scope.get(SCOPE_KEY)
    return permissions if isinstance(permissions, ToolPermissions) else default


def read_permissions(path: Path) -> dict[str, ToolPermissions]:
    """The permissions of tokens by the SHA-256 of the token, in hexadecimal digits, from a JSON file."""
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidDataError(f"cannot read the tokens in {str(path)!r}: {error}") from None
    entries = cast("dict[str, Any]", data).get("tokens") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise InvalidDataError(
            f'{str(path)!r} has no tokens: write {{"tokens": [{{"sha256": …, "tools": […]}}]}}'
        )
    return dict(_entry(entry, path) for entry in cast("list[object]", entries))


def _entry(entry: object, path: Path) -> tuple[str, ToolPermissions]:
    values = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    digest, tools = values.get("sha256"), values.get("tools")
    is_digest = isinstance(digest, str) and len(digest) == 64 and all(c in "0123456789abcdef" for c in digest)
    names = cast("list[object]", tools) if isinstance(tools, list) else [None]
    if values.keys() != {"sha256", "tools"} or not is_digest or not all(isinstance(n, str) for n in names):
        raise InvalidDataError(
            f"{str(path)!r}: a token needs `sha256`, 64 hexadecimal digits, and `tools`, a list of patterns"
        )
    return cast("str", digest), ToolPermissions(tuple(map(str, names)))
