"""The tools of each turn of a conversation, in a stable order."""
# ruff: noqa: T201

from contextune.integrations import ToolsForTurn
from contextune.tools import ToolRetriever, bundled_toolbox

turns = ToolsForTurn(ToolRetriever(bundled_toolbox()), k=3, always=["Google/search_web"], keep=8)
for message in ["Play something by Chopin", "Not this song, skip it", "What will the weather be tomorrow?"]:
    print(message)
    for tool in turns.tools(message):
        print("   ", tool.id)
