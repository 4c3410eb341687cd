"""Synthetic personas, toolboxes and implicit queries by a language model (appendix of paper A)."""

from contextune_lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune_lab.generate.check import CheckReport, FaultAt, check_files, persona_faults
from contextune_lab.generate.costs import CostMeter, MeteredChat, MeteredEndpoint, Price, TokensSpent
from contextune_lab.generate.diversity import Diversity, diversity
from contextune_lab.generate.faults import RuleFault
from contextune_lab.generate.run import GenerationRun, make_personas, make_queries
from contextune_lab.generate.toolbox import make_toolbox

__all__ = [
    "CheckReport",
    "CostMeter",
    "Diversity",
    "FaultAt",
    "GenerationRun",
    "MeteredChat",
    "MeteredEndpoint",
    "NoValidAnswerError",
    "Price",
    "RuleFault",
    "TokensSpent",
    "ValidJsonWriter",
    "check_files",
    "diversity",
    "make_personas",
    "make_queries",
    "make_toolbox",
    "persona_faults",
]  # fmt: skip
