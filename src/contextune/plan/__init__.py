"""From context and tools to a checked API call."""

from contextune.plan.schema import check, faults, parameters

__all__ = ["check", "faults", "parameters"]
