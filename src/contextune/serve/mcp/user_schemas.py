"""Input and output models of the tools over one user's data."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from contextune.serve.mcp.tool import ToolInput, ToolOutput, annotations_from_mcp
from contextune.types import Decision, Request, Tool, Turn, parse_place, parse_time
from contextune.types.state_json import state_from_json


class TurnInput(ToolInput):
    """One earlier turn of the conversation."""

    speaker: str = Field(description="user or assistant.")
    text: str


class RequestInput(ToolInput):
    """A request with its time and place."""

    text: str = Field(min_length=1, max_length=8000, description="What the user said, in their own words.")
    time: str = Field(default="", description="When, as 2024-05-16T17:40; left out: now.")
    place: str = Field(
        default="", description="Where: a place the user has a name for, such as home, or LATITUDE,LONGITUDE."
    )
    history: list[TurnInput] = Field(
        default_factory=list[TurnInput], max_length=50, description="The talk before, oldest first."
    )

    state: dict[str, Any] | None = Field(
        default=None,
        description="The `state` that the last `plan` gave, unchanged: then yes, the second one and make it 7"
        " are understood.",
    )

    def to_request(self, user: str) -> Request:
        """The request of this user."""
        return Request(
            self.text,
            user,
            parse_time(self.time) if self.time else datetime.now().astimezone(),
            parse_place(self.place) if self.place else None,
            tuple(Turn(turn.speaker, turn.text) for turn in self.history),
            None if self.state is None else state_from_json(self.state),
        )


class ContextInput(RequestInput):
    """Input of `find_context`."""

    k: int = Field(default=5, ge=1, le=50, description="How many items to show.")
    tokens: int = Field(
        default=1500, ge=50, le=20_000, description="How many tokens the texts may have together."
    )


class ToolsInput(RequestInput):
    """Input of `find_tools`."""

    k: int = Field(default=5, ge=1, le=20, description="How many tools to show.")


class ClientTool(ToolInput):
    """A tool of the client, as MCP lists it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(min_length=1, max_length=1000)
    description: str = Field(default="", max_length=100_000)
    input_schema: dict[str, Any] = Field(default_factory=dict[str, Any], alias="inputSchema")
    annotations: dict[str, Any] = Field(default_factory=dict[str, Any])

    def to_tool(self) -> Tool:
        """The tool to plan with."""
        hints = annotations_from_mcp(self.annotations)
        return Tool(self.name, self.description, parameters=self.input_schema, annotations=hints)


class PlanInput(RequestInput):
    """Input of `plan` where the server knows no tools."""

    tools: list[ClientTool] = Field(
        min_length=1, max_length=500, description="The tools you can call, as their servers list them."
    )


class FeedbackInput(RequestInput):
    """Input of `feedback`; text, time and place must be those of the original request."""

    used: list[str] = Field(default_factory=list[str], description="Ids of items that the request needed.")
    rejected: list[str] = Field(default_factory=list[str], description="Ids of items that it did not need.")
    tool: str = Field(default="", description="The tool that was called.")
    ok: bool = Field(default=True, description="Whether that was the right tool, and it worked.")


class ContextItem(ToolOutput):
    """One item of the user's data."""

    id: str
    app: str
    title: str
    time: str | None = Field(None, description="In the user's time zone.")
    place: str | None = None
    text: str = Field(description="What it says, shortened to what matters where there is no room.")
    score: float
    probability: float | None = Field(default=None, description="That the request needs it.")
    why: list[str] = Field(description="Why it was found.")


class ContextPerson(ToolOutput):
    """Somebody in the user's address book."""

    name: str
    relation: str | None = Field(default=None, description="To the user.")
    addresses: list[str] = Field(description="Mail addresses and phone numbers.")
    about: str | None = Field(default=None, description="What else the card says.")


class ContextResult(ToolOutput):
    """The items a request refers to, best first, and the people it means.

    With `words_only` they were ranked by words, uses and times: vectors are missing, so the order is rough.
    """

    items: list[ContextItem]
    people: list[ContextPerson] = Field(default_factory=list[ContextPerson])
    words_only: bool = False


class PlannedOption(ToolOutput):
    """One reading of the request."""

    label: str
    tool: str
    arguments: dict[str, Any]
    confidence: float


class PlannedCall(ToolOutput):
    """One call of a plan."""

    tool: str
    arguments: dict[str, Any] = Field(
        description="Values; {'$step': n, 'path': […]} stands for what step n, from 0, gives back."
    )
    why: dict[str, str] = Field(description="Where each value comes from.")
    ask: dict[str, str] | None = Field(
        default=None, description="What is missing, and the question to ask the user for it."
    )
    confidence: float = Field(
        description="How probable it is that this is the call that was meant, or, if the decision is none,"
        " that no tool serves this."
    )
    decision: Decision = Field(
        description="act: call it; confirm: put the question first, and call it on a yes; ask: put the"
        " question and let the user choose or correct; none: tell the user that no tool serves this."
    )
    question: str | None = Field(default=None, description="What to say to the user, unless it is act.")
    options: list[PlannedOption] | None = Field(
        default=None, description="What the user may mean, best first."
    )


class AnswerItem(ToolOutput):
    """The item that an answer is from."""

    item: str
    kind: str
    title: str
    time: str | None = None


class AnswerCorrection(ToolOutput):
    """What a later item says about the same."""

    text: str
    source: AnswerItem


class FoundAnswer(ToolOutput):
    """What the user's items say to a question, in their own words."""

    text: str
    source: AnswerItem
    covers: str | None = Field(default=None, description="Of a list, how much of it this is.")
    correction: AnswerCorrection | None = None


class PlanOutput(ToolOutput):
    """The calls to make, in order; none has been made."""

    answer: FoundAnswer | None = Field(
        default=None, description="What the user's items say, if the call would only read them."
    )
    steps: list[PlannedCall]
    decision: Decision = Field(description="The strictest decision on a step, which holds for all of them.")
    confidence: float = Field(
        description="How probable it is that all steps are what was meant, or, if the decision is none,"
        " that no tool serves this."
    )
    fits: float | None = Field(
        default=None, description="How probable it is that any tool there is serves this."
    )
    ready: bool = Field(description="Whether to make the calls without asking: the decision is act.")
    note: str | None = None
    say: str | None = Field(default=None, description="All there is to say to a reply that asks for nothing.")
    state: dict[str, Any] = Field(description="Pass it back with what the user says next.")


class FeedbackSaved(ToolOutput):
    """Confirmation of `feedback`."""

    kept: bool = True
