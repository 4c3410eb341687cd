"""What an assistant can call."""

from contextune.tools.catalog import Catalog, Loaded, Refused
from contextune.tools.only import Only
from contextune.tools.querygen import Queries, QueryGenerator, search_all
from contextune.tools.ranker import ToolRanker, default_tool_ranker
from contextune.tools.retriever import Found, ToolRetriever
from contextune.tools.toolbox import bundled_toolbox, read_toolbox

__all__ = [
    "Catalog",
    "Found",
    "Loaded",
    "Only",
    "Queries",
    "QueryGenerator",
    "Refused",
    "ToolRanker",
    "ToolRetriever",
    "bundled_toolbox",
    "default_tool_ranker",
    "read_toolbox",
    "search_all",
]
