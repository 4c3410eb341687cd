"""Commands as real people say them, with the bundled tools that would be acceptable: SLURP and SMCalFlow."""

from contextune_lab.commands.command import Command
from contextune_lab.commands.measure import CommandResult, ask_commands, command_table, sample
from contextune_lab.commands.slurp import read_slurp
from contextune_lab.commands.smcalflow import read_smcalflow

__all__ = [
    "Command",
    "CommandResult",
    "ask_commands",
    "command_table",
    "read_slurp",
    "read_smcalflow",
    "sample",
]
