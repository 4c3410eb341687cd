"""Rankers that have not seen a world: `contextune_lab.train.reading.rankers` writes a folder for each world.

It has `reading_ranker`, `reading_tools` and `reading_calls`, as `contextune/assets` has. They replace the
bundled ones for the whole process, like the switches of rules.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from contextune.context import methods
from contextune.context.reading import ReadingRankers
from contextune.errors import InvalidDataError
from contextune.plan.arguments import reader
from contextune.plan.arguments.value_features import VALUE_FEATURES
from contextune.plan.reading_planner import CALL_FEATURES, ReadingPlanner
from contextune.rank import Ranker
from contextune.tools import reading as tools_reading
from contextune.tools.reading import ToolReadingRankers
from contextune_lab.worlds.switches import replace_name

RANKERS, TOOLS, CALLS = "reading_ranker", "reading_tools", "reading_calls"
"""Folders of the rankers after the reading model."""


def held_out_folder(root: Path, world: str) -> Path:
    """The folder with the rankers that have not seen a world."""
    folder = root / world
    if missing := [name for name in (RANKERS, TOOLS, CALLS) if not (folder / name).is_dir()]:
        raise InvalidDataError(
            f"{folder}: no rankers that leave out world {world!r} ({missing[0]} is missing); make them with "
            "python -m contextune_lab.train.reading.rankers"
        )
    return folder


@contextmanager
def rankers_of(folder: Path) -> Generator[None]:
    """Read items, tools and calls with the rankers of a folder while the context lasts."""
    items = ReadingRankers.load(folder / RANKERS)
    tools = ToolReadingRankers.load(folder / TOOLS)
    values = Ranker.load(folder / CALLS / "values.json.gz", VALUE_FEATURES)
    calls = Ranker.load(folder / CALLS / "right.json.gz", CALL_FEATURES)
    with ExitStack() as stack:
        replace_name(stack, methods, "default_rankers", lambda: items)
        replace_name(stack, tools_reading, "default_tool_reading_rankers", lambda: tools)
        replace_name(stack, reader, "default_value_ranker", lambda: values)
        replace_name(stack, ReadingPlanner, "_ranker", calls)
        yield
