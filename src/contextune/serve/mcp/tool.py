"""A tool that our MCP server offers: what it takes and gives, what it does, and how its errors are told."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from contextune.errors import ContextuneError, MissingExtraError
from contextune.types import Annotations

try:
    import mcp_types as types
    from mcp import MCPError
except ModuleNotFoundError as error:
    raise MissingExtraError("the MCP server", "mcp") from error

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

Told = Callable[[float, float | None, str | None], Awaitable[None]]
"""Is told how far a call has come, of how much, and in words."""
READS = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False)
KEEPS = Annotations(read_only=False, destructive=False, idempotent=False, open_world=False)
ACTS = Annotations(read_only=False, destructive=True, open_world=True)
"""Of a tool that may do anything, so that clients ask first."""
_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
_log = logging.getLogger(__name__)
# Where nobody set up logging, Python prints the SDK's warnings, and with them what was asked.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class ToolInput(BaseModel):
    """What a tool is called with. What it does not know is an error: a model that misspells is told so."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolOutput(BaseModel):
    """What a tool gives back, as structured content."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of the server."""

    name: str
    title: str
    description: str
    takes: type[ToolInput]
    run: Callable[[Any, Told], Awaitable[ToolOutput | types.CallToolResult]]
    """Is called with what was taken; a `ContextuneError` it raises is told to the model."""
    gives: type[ToolOutput] | None = None
    """None for a result whose form somebody else decides."""
    annotations: Annotations = READS

    def listed(self) -> types.Tool:
        """As `tools/list` has it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_untitled(self.takes.model_json_schema()),
            output_schema=_untitled(self.gives.model_json_schema(mode="serialization"))
            if self.gives
            else None,
            annotations=types.ToolAnnotations.model_validate(hints(self.annotations)),
        )

    async def called(self, arguments: dict[str, Any], told: Told) -> types.CallToolResult:
        """What comes of a call; whatever goes wrong is told in words that say what to do."""
        try:
            given = await self.run(self.takes.model_validate(arguments), told)
        except ValidationError as error:
            return refusal(f"{self.name} cannot be called so: {_faults(error)}")
        except ContextuneError as error:
            return refusal(str(error))
        except Exception as error:
            # neither what was asked nor what was found belongs into a log, and an error may hold both
            _log.error("%s fails with %s", self.name, type(error).__name__)
            return refusal(f"{self.name} fails with {type(error).__name__}: try again, or go on without it")
        return given if isinstance(given, types.CallToolResult) else _result(given)


class McpToolSet:
    """What the server offers: the handlers for `tools/list` and `tools/call`."""

    def __init__(self, offered: Sequence[McpTool]) -> None:
        self._offered = {one.name: one for one in offered}
        self._listed = [one.listed() for one in offered]

    async def list(
        self, context: "ServerRequestContext[Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Always the same few."""
        del context, params
        return types.ListToolsResult(tools=self._listed)

    async def call(
        self, context: "ServerRequestContext[Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call one of them."""
        if params.name not in self._offered:
            there = ", ".join(self._offered)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}: there are {there}")
        return await self._offered[params.name].called(
            params.arguments or {}, context.session.report_progress
        )


def hints(said: Annotations) -> dict[str, bool]:
    """What a tool says of its effects, in MCP's words."""
    found = {name: getattr(said, ours) for ours, name in _HINTS.items()}
    return {name: hint for name, hint in found.items() if hint is not None}


def refusal(message: str) -> types.CallToolResult:
    """An error for the model to read, and to do better."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


def _result(given: ToolOutput) -> types.CallToolResult:
    """As structured content, and as text for clients that do not know it."""
    text = given.model_dump_json(by_alias=True, exclude_none=True)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=given.model_dump(mode="json", by_alias=True, exclude_none=True),
    )


def _faults(error: ValidationError) -> str:
    """What is wrong with arguments, without repeating what was given."""
    found = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return "; ".join(found)


def _untitled(schema: Any, *, names: bool = False) -> Any:
    """A schema without the titles pydantic makes of names: they say nothing, and cost room in a prompt."""
    if isinstance(schema, list):
        return [_untitled(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    # under `properties` a key is the name of an argument, which may well be `title`
    return {
        key: _untitled(part, names=not names and key in ("properties", "$defs"))
        for key, part in parts.items()
        if names or key != "title"
    }
