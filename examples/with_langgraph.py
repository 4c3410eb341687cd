"""LangGraph: an agent that retrieves its tools, on a scripted model."""
# ruff: noqa: T201

from typing import Any, cast

from desk import FUNCTIONS
from scripted_chat import ScriptedChat

from contextune.integrations.langgraph import create_agent

model = ScriptedChat(
    query="free the meeting room again", tool_name="cancel_booking", arguments={"room": "blue"}
)
registry = {function.__name__: function for function in FUNCTIONS}
agent = cast("Any", create_agent(model, registry, k=2)).compile()
state = agent.invoke({"messages": [("user", "We do not need the blue room after all.")]})
print(state["messages"][-1].content)
