"""`contextune bench commands`: what real people say to an assistant, judged by the tool alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune_lab.cli.bench.options import Out
from contextune_lab.cli.bench.recording import record


def commands(
    data: Annotated[Path, typer.Option(help="Folder with slurp and smcalflow, which are not bundled.")],
    limit: Annotated[int, typer.Option(min=1, help="Commands of each data set.")] = 600,
    renamed: Annotated[bool, typer.Option(help="Also with the bundled tools under other names.")] = False,
    log: Annotated[Path | None, typer.Option(help="File to write the tool of each command to.")] = None,
    out: Out = None,
) -> None:
    """Measure tools and refusals on real commands: SLURP, and SMCalFlow with the turns before.

    Nothing is stored about the user, so only the tool is judged. Many commands have several acceptable
    tools, and what a bundled tool serves in part may be refused.
    """
    from contextune.errors import InvalidDataError
    from contextune_lab.bench.environment import measured_with
    from contextune_lab.commands import (
        ask_commands,
        command_table,
        read_slurp,
        read_smcalflow,
        sample,
    )
    from contextune_lab.docs.benchmark_tables import to_markdown
    from contextune_lab.renamed_toolbox import renamed_toolboxes
    from contextune_lab.worlds.seen import seen_data

    readers = {"slurp": read_slurp, "smcalflow": read_smcalflow}
    present = {name: read for name, read in readers.items() if (data / name).is_dir()}
    if not present:
        raise InvalidDataError(f"{data}: no folder slurp or smcalflow")
    lines: list[str] = []
    for name, read in present.items():
        chosen = sample(read(data / name), limit)
        with output.progress(name) as update:
            results = ask_commands(chosen, progress=update)
        others = ask_commands(chosen, renamed_toolboxes()) if renamed else []
        table = command_table(f"commands-{name}", results, others)
        output.out.rule(table.id, align="left")
        seen = f"{name}: seen by {', '.join(models)}" if (models := seen_data(name)) else f"{name}: unseen"
        table = replace(table, made_with=f"{measured_with()}; {seen}")
        output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)
        record(out, table)
        lines += [
            json.dumps(
                {
                    "id": result.command.id, "text": result.command.text, "label": result.command.label,
                    "chosen": result.chosen, "right": result.right, "made": result.made,
                },
                ensure_ascii=False,
            )
            for result in results
        ]  # fmt: skip
    if log:
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
