"""Personas, toolboxes, implicit queries and chains of thought by a language model: the paper's appendix."""

from contextune.generate.check import Checked, Found, check_files, persona_faults
from contextune.generate.faults import Fault

__all__ = ["Checked", "Fault", "Found", "check_files", "persona_faults"]
