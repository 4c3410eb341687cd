"""What MCP servers say of their tools' effects, as frameworks pass it on."""

from collections.abc import Mapping
from typing import Any, cast

from contextune.types import Annotations


def annotations(hints: object) -> Annotations:
    """MCP's hints by name; None where one is not given, or is not a yes or no."""
    said: Mapping[str, Any] = cast("Mapping[str, Any]", hints) if isinstance(hints, Mapping) else {}

    def hint(name: str) -> bool | None:
        value = said.get(name)
        return value if isinstance(value, bool) else None

    return Annotations(
        hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
    )
