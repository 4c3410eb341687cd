"""Find the few tools of a catalogue that can serve a request."""

from contextune.tools.catalog import Catalog, LoadedTools, RefusedTool
from contextune.tools.filter import ToolFilter
from contextune.tools.loaders import load_tools
from contextune.tools.matches import MIN_FIT, ToolMatches
from contextune.tools.querygen.generator import QueryGenerator, ToolQueries, search_all
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.tools.retriever import ToolRetriever
from contextune.tools.toolbox import bundled_toolbox, read_toolbox

__all__ = [
    "MIN_FIT",
    "Catalog",
    "LoadedTools",
    "QueryGenerator",
    "RefusedTool",
    "ToolFilter",
    "ToolMatches",
    "ToolQueries",
    "ToolRanker",
    "ToolRetriever",
    "bundled_toolbox",
    "default_tool_ranker",
    "load_tools",
    "read_toolbox",
    "search_all",
]
