"""Synthetic personas, toolboxes and implicit queries by a language model (appendix of paper A)."""

from contextune.lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune.lab.generate.check import CheckReport, FaultAt, check_files, persona_faults
from contextune.lab.generate.costs import CostMeter, MeteredChat, MeteredEndpoint, Price, TokensSpent
from contextune.lab.generate.diversity import Diversity, diversity
from contextune.lab.generate.faults import RuleFault
from contextune.lab.generate.run import GenerationRun, make_personas, make_queries
from contextune.lab.generate.toolbox import make_toolbox

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
