"""Worlds: one person's exports, tools and requests each, to learn from and to be measured by.

`read_world` reads the requests, `load_world` imports the files as a user would, `ask_world` asks the
requests, and `outcomes` judges the answers.
"""

from contextune.evaluate.outcomes import Judge, Outcome
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.load import LoadedWorld, load_world
from contextune_lab.worlds.splits import CHOOSE_ON, is_reported, leave_one_out
from contextune_lab.worlds.world import World, WorldCall, WorldRequest, find_worlds, read_world

__all__ = [
    "CHOOSE_ON",
    "AskOptions",
    "Judge",
    "LoadedWorld",
    "Outcome",
    "RequestResult",
    "World",
    "WorldCall",
    "WorldRequest",
    "ask_world",
    "find_worlds",
    "is_reported",
    "leave_one_out",
    "load_world",
    "read_world",
]
