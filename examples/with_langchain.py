"""LangChain: an assistant with context, tools and feedback, on a scripted model."""
# ruff: noqa: T201

from typing import Any, cast

from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from langchain import agents
from scripted_chat import ScriptedChat

from contextune.integrations.langchain_agents import UserContextMiddleware

context = user_context()
agent = cast("Any", agents).create_agent(
    ScriptedChat(), FUNCTIONS, middleware=[UserContextMiddleware(context)]
)
state = agent.invoke({"messages": [("user", REQUEST)]})
print(state["messages"][-1].content)
print("learned:", learned(context))

context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
print("learned:", learned(context))
