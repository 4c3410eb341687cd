"""Public benchmarks of tool retrieval, read as their authors publish them.

None of this data is in the package. Every reader gives a toolset, and names the requests it left out.
"""

from contextune.bench.published.filtered import paper_filter
from contextune.bench.published.gathering import Published, Skipped
from contextune.bench.published.metatool import (
    Shortlists,
    read_metatool,
    read_metatool_awareness,
    read_metatool_scenario,
    read_metatool_shortlists,
)
from contextune.bench.published.retrieval import read_retrieval
from contextune.bench.published.toolbench import read_toolbench, read_toolenv
from contextune.bench.published.toollens import read_toollens

__all__ = [
    "Published",
    "Shortlists",
    "Skipped",
    "paper_filter",
    "read_metatool",
    "read_metatool_awareness",
    "read_metatool_scenario",
    "read_metatool_shortlists",
    "read_retrieval",
    "read_toolbench",
    "read_toolenv",
    "read_toollens",
]
