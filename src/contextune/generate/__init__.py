"""Personas, toolboxes, implicit queries and chains of thought by a language model: the paper's appendix."""

from contextune.generate.asking import Scribe, UselessError
from contextune.generate.check import Checked, Found, check_files, persona_faults
from contextune.generate.costs import Meter, MeteredChat, MeteredEndpoint, Price, Spent
from contextune.generate.diversity import Diversity, diversity
from contextune.generate.faults import Fault
from contextune.generate.making import Made, make_personas, make_queries
from contextune.generate.toolbox import make_toolbox

__all__ = [
    "Checked", "Diversity", "Fault", "Found", "Made", "Meter", "MeteredChat", "MeteredEndpoint",
    "Price", "Scribe", "Spent", "UselessError", "check_files", "diversity", "make_personas",
    "make_queries", "make_toolbox", "persona_faults",
]  # fmt: skip
