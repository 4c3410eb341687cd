"""Tool and its annotations."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from contextune.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class Annotations:
    """MCP annotations: what a tool claims about its effects; None where it makes no claim.

    Claims of a server are only as good as the trust in that server.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A callable tool. `parameters` is a JSON Schema object.

    `app` is the application or server it belongs to, `about` a description of that server; `examples` are
    requests that the tool serves.
    """

    name: str
    description: str
    app: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    title: str = ""
    about: str = ""
    annotations: Annotations = Annotations()
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidDataError("a tool needs a non-empty name")

    @property
    def id(self) -> str:
        """The id within a catalogue, `app/name`: two servers may have tools of the same name."""
        return f"{self.app}/{self.name}" if self.app else self.name

    @property
    def identity(self) -> str:
        """A digest of name, description and parameters; equal for the same tool on several servers."""
        content = [self.name, self.description, self.parameters]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
