"""LangChain: a retriever over tools, and an agent with tool selection, on a scripted model."""
# ruff: noqa: T201

from typing import Any, cast

from desk import FUNCTIONS
from langchain import agents
from scripted_chat import ScriptedChat

from contextune.integrations.langchain import ToolDocuments
from contextune.integrations.langchain_agents import ToolSelectionMiddleware
from contextune.tools import ToolRetriever, bundled_toolbox

documents = ToolDocuments(tools=ToolRetriever(bundled_toolbox()), k=2)
for document in documents.invoke("Play something by Chopin"):
    print(document.id)

model = ScriptedChat(query="", tool_name="order_lunch", arguments={"dish": "Soup"})
agent = cast("Any", agents).create_agent(model, FUNCTIONS, middleware=[ToolSelectionMiddleware(k=3)])
state = agent.invoke({"messages": [("user", "I would like soup for lunch.")]})
print(state["messages"][-1].content)
