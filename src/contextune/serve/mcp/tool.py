"""A tool of our MCP server: input and output models, handler, errors as results, MCP's format of tools."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contextune._internal.phrases import unknown_words_note
from contextune.errors import ContextuneError, MissingExtraError
from contextune.serve.mcp.permissions import EVERYTHING, ToolPermissions, request_permissions
from contextune.serve.validation_errors import validation_messages
from contextune.types import Annotations, Tool

try:
    import mcp_types as types
    from mcp import MCPError
except ModuleNotFoundError as error:
    raise MissingExtraError("the MCP server", "mcp") from error

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from contextune.tools import ToolMatches

ProgressCallback = Callable[[float, float | None, str | None], Awaitable[None]]
"""Reports the progress of a call: progress, total and message."""
READ_ONLY = Annotations(read_only=True, destructive=False, idempotent=True, open_world=False)
ADDS_DATA = Annotations(read_only=False, destructive=False, idempotent=False, open_world=False)
MAY_DO_ANYTHING = Annotations(read_only=False, destructive=True, open_world=True)
"""For a tool with unknown effects, so that clients ask for confirmation."""
_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
_log = logging.getLogger(__name__)
# Without a handler Python prints the SDK's warnings to stderr, and they contain arguments of calls.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class InputRequiredError(ContextuneError):
    """The client has to ask the user, and to send the request again with the answer."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("the user has to answer first")
        self.result = result


class ToolInput(BaseModel):
    """Input of a tool; unknown arguments are errors, so that a model learns of a misspelt name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolOutput(BaseModel):
    """Structured output of a tool."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """The `tools/call` request of a client that a handler serves."""

    context: "ServerRequestContext[Any]"
    params: types.CallToolRequestParams
    permissions: ToolPermissions = EVERYTHING

    @property
    def progress(self) -> ProgressCallback:
        """Reports progress to the client."""
        return self.context.session.report_progress


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of the server, with its handler."""

    name: str
    title: str
    description: str
    input_model: type[ToolInput]
    run: Callable[[Any, ClientRequest], Awaitable[ToolOutput | types.CallToolResult]]
    """The handler, called with the validated input; a `ContextuneError` is reported to the model."""
    output_model: type[ToolOutput] | None = None
    """None if the result is passed through from another server."""
    annotations: Annotations = READ_ONLY

    def definition(self) -> types.Tool:
        """The tool's entry in `tools/list`."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_without_titles(self.input_model.model_json_schema()),
            output_schema=_without_titles(self.output_model.model_json_schema(mode="serialization"))
            if self.output_model
            else None,
            annotations=types.ToolAnnotations.model_validate(mcp_annotations(self.annotations)),
        )

    async def call(self, client: ClientRequest) -> types.CallToolResult | types.InputRequiredResult:
        """Validate the arguments and run the handler; exceptions become error results."""
        try:
            output = await self.run(self.input_model.model_validate(client.params.arguments or {}), client)
        except InputRequiredError as error:
            return error.result
        except ValidationError as error:
            return error_result(f"invalid arguments for {self.name}: {_problems(error)}")
        except ContextuneError as error:
            return error_result(str(error))
        except Exception as error:
            # the exception's message may contain personal data
            _log.error("%s failed with %s", self.name, type(error).__name__)
            return error_result(
                f"{self.name} failed with {type(error).__name__}: try again, or go on without it"
            )
        return output if isinstance(output, types.CallToolResult) else _result(output)


class McpToolSet:
    """Handlers of `tools/list` and `tools/call`."""

    def __init__(
        self,
        tools: Sequence[McpTool],
        permissions: ToolPermissions = EVERYTHING,
        always: Collection[str] = (),
    ) -> None:
        """`permissions` are those of a request without a token; tools of `always` need none."""
        self._tools = {tool.name: tool for tool in tools}
        self._definitions = [tool.definition() for tool in tools]
        self._permissions = permissions
        self._always = always

    async def list(
        self, context: "ServerRequestContext[Any]", params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Handle `tools/list`."""
        del params
        permits = self._permits(request_permissions(context.request, self._permissions))
        return types.ListToolsResult(tools=[tool for tool in self._definitions if permits(tool.name)])

    async def call(
        self, context: "ServerRequestContext[Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Handle `tools/call`."""
        permissions = request_permissions(context.request, self._permissions)
        permits = self._permits(permissions)
        tool = self._tools.get(params.name)
        if tool is None or not permits(tool.name):
            names = ", ".join(filter(permits, self._tools))
            raise MCPError(types.INVALID_PARAMS, f"no such tool: {params.name!r} (choose from {names})")
        return await tool.call(ClientRequest(context, params, permissions))

    def _permits(self, permissions: ToolPermissions) -> Callable[[str], bool]:
        return lambda name: name in self._always or permissions(name)


def mcp_annotations(annotations: Annotations) -> dict[str, bool]:
    """Annotations under MCP's names, without those that are unknown."""
    hints = {name: getattr(annotations, attribute) for attribute, name in _HINTS.items()}
    return {name: hint for name, hint in hints.items() if hint is not None}


def annotations_from_mcp(hints: Mapping[str, Any]) -> Annotations:
    """Annotations from MCP's hints; a hint that is not a boolean is unknown."""
    values = {attribute: hints.get(name) for attribute, name in _HINTS.items()}
    return Annotations(**{name: value for name, value in values.items() if isinstance(value, bool)})


def error_result(message: str) -> types.CallToolResult:
    """An error that the model can read and correct."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


def _result(output: ToolOutput) -> types.CallToolResult:
    """The output as structured content, and as text for clients that do not support that."""
    text = output.model_dump_json(by_alias=True, exclude_none=True)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=output.model_dump(mode="json", by_alias=True, exclude_none=True),
    )


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(validation_messages(errors, lambda path: ".".join(map(str, path)) or "arguments"))


def _without_titles(schema: Any, *, names: bool = False) -> Any:
    """The schema without pydantic's generated titles, which only repeat names and cost tokens."""
    if isinstance(schema, list):
        return [_without_titles(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    # under `properties` and `$defs` keys are names, and an argument may be called `title`
    return {
        key: _without_titles(part, names=not names and key in ("properties", "$defs"))
        for key, part in parts.items()
        if names or key != "title"
    }


class ToolEntry(ToolOutput):
    """A tool as its server describes it."""

    name: str = Field(description="Name to call the tool by.")
    title: str | None = None
    description: str
    input_schema: dict[str, Any] = Field(
        serialization_alias="inputSchema", description="Schema of the arguments."
    )
    annotations: dict[str, bool] | None = Field(
        default=None, description="Effects, as the server states them."
    )
    why: list[str] | None = Field(default=None, description="Why it was found.")

    @classmethod
    def from_tool(cls, tool: Tool, why: list[str] | None = None) -> "ToolEntry":
        """The entry of a catalogue's tool; `why` are the reasons for its rank."""
        return cls(
            name=tool.id,
            title=tool.title or None,
            description=tool.description,
            input_schema={"type": "object", **tool.parameters},
            annotations=mcp_annotations(tool.annotations) or None,
            why=why,
        )


class ToolSearchResult(ToolOutput):
    """The tools that fit best, best first."""

    tools: list[ToolEntry]
    fits: float | None = Field(
        default=None, description="How probable it is that any tool there is serves this."
    )
    note: str | None = Field(default=None, description="What else to know.")

    @classmethod
    def from_matches(cls, matches: "ToolMatches", *notes: str, why: bool = False) -> "ToolSearchResult":
        """The matches with a note if probably none fits; `why` adds reasons."""
        note = " ".join(filter(None, (doubt_note(matches), *notes)))
        return cls(
            tools=[ToolEntry.from_tool(hit.tool, list(hit.reasons) if why else None) for hit in matches.hits],
            fits=None if matches.fits is None else round(matches.fits, 2),
            note=note or None,
        )


def doubt_note(matches: "ToolMatches") -> str:
    """A note to the model if probably no tool fits, else an empty string."""
    if not matches.hits:
        return "There is no tool to choose from: go on without one."
    if not matches.none_fits:
        return ""
    return (
        "Probably none of the tools there are serves this; these are the nearest."
        f"{unknown_words_note(matches.unknown_words)}"
        " Search in other words, or go on without a tool."
    )
