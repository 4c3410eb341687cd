"""What an assistant can call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from contextune.errors import InvalidDataError


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a tool says of its own effects, as MCP has it; None where it does not say.

    These are the claims of a server: as good as the trust in it.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """Something an assistant can call. `parameters` is a JSON Schema object.

    `app` is the application or server it belongs to, `about` what that says of itself; `examples`
    are requests it serves.
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
            raise InvalidDataError("a tool needs a name that is not empty")

    @property
    def id(self) -> str:
        """What it is called within a catalogue: tools of one name on two servers are two tools."""
        return f"{self.app}/{self.name}" if self.app else self.name

    @property
    def identity(self) -> str:
        """A short mark that the same tool has on every server that offers it."""
        content = [self.name, self.description, self.parameters]
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
