"""`contextune lab`: the research commands as a group."""

from typing import ClassVar

from contextune.cli import COMMANDS
from contextune.cli.groups import LazyCommand, LazyGroup, ResearchCommand, command_group


class ResearchGroup(LazyGroup):
    """The commands that `contextune-lab` adds to `contextune`."""

    lazy_commands: ClassVar[dict[str, LazyCommand | ResearchCommand]] = {
        name: command
        for name, command in COMMANDS.items()
        if isinstance(command, ResearchCommand) and name != "lab"
    }


app = command_group(cls=ResearchGroup)


@app.callback()
def research() -> None:
    """Run a research command, as in 'contextune lab bench'."""
