"""Batch work over the users of a store, in one process or on a Ray cluster."""

from contextune.fleet.checkpoint import Checkpoint
from contextune.fleet.parts import Execute, Handler, Part, PartResult, RunReport, Work, run_locally, run_parts

__all__ = [
    "Checkpoint",
    "Execute",
    "Handler",
    "Part",
    "PartResult",
    "RunReport",
    "Work",
    "run_locally",
    "run_parts",
]
