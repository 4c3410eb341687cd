"""Personas, toolboxes, implicit queries and chains of thought by a language model: the paper's appendix."""

from contextune.generate.asking import Scribe, UselessError
from contextune.generate.check import Checked, Found, check_files, persona_faults
from contextune.generate.costs import Meter, MeteredChat, MeteredEndpoint, Price, Spent
from contextune.generate.faults import Fault

__all__ = [
    "Checked", "Fault", "Found", "Meter", "MeteredChat", "MeteredEndpoint", "Price", "Scribe", "Spent",
    "UselessError", "check_files", "persona_faults",
]  # fmt: skip
