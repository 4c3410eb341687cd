"""Readers of public tool-retrieval benchmarks in their published formats.

The data is not part of the package. Every reader returns a toolset and the requests it skipped.
"""

from contextune_lab.public_data.collect import PublicBenchmark, SkippedRequest
from contextune_lab.public_data.metatool import (
    Shortlists,
    read_metatool,
    read_metatool_awareness,
    read_metatool_scenario,
    read_metatool_shortlists,
)
from contextune_lab.public_data.retrieval_corpora import read_retrieval
from contextune_lab.public_data.toolbench import read_toolbench, read_toolenv
from contextune_lab.public_data.toolbench_filter import paper_filter
from contextune_lab.public_data.toollens import read_toollens

__all__ = [
    "PublicBenchmark",
    "Shortlists",
    "SkippedRequest",
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
