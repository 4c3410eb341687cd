"""LangGraph: an assistant with context, tools and feedback, on a scripted model."""
# ruff: noqa: T201

from typing import Any, cast

from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import tools_condition
from scripted_chat import ScriptedChat

from contextune.integrations.langgraph import model_node, tool_node

context = user_context()
graph = cast("Any", StateGraph(MessagesState))
graph.add_node("model", model_node(ScriptedChat(), FUNCTIONS, context))
graph.add_node("tools", tool_node(FUNCTIONS, context))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")

state = graph.compile().invoke({"messages": [("user", REQUEST)]})
print(state["messages"][-1].content)
print("learned:", learned(context))

context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
print("learned:", learned(context))
