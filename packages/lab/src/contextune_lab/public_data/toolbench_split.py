"""Rebuild the ToolBench subset of the published tables: 1,643 training, 171 in-domain and 203 other tests.

`paper_filter` applies the paper's rules to whatever ToolBench data there is, so its split depends on that
data. The tables are measured on one fixed split. Its request and tool ids are in
`lab/assets/toolbench_split.json.gz`; the texts, which may not be redistributed, come from the data itself.

    python -m contextune_lab.public_data.toolbench_split DATA/toolbench DATA/toolbench/filter
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from contextune._internal.assets import find_compressed, lab_asset, read_decompressed
from contextune.errors import InvalidDataError

SPLIT_FILE = "toolbench_split.json.gz"


@dataclass(frozen=True, slots=True)
class RecordedSplit:
    """The ids of a catalogue's tools, and of its requests by split."""

    tools: tuple[str, ...]
    requests: Mapping[str, tuple[str, ...]]


def recorded_split() -> RecordedSplit:
    """The split of the published tables."""
    ids = json.loads(read_decompressed(lab_asset(SPLIT_FILE)))
    return RecordedSplit(
        tuple(ids["tools"]), {split: tuple(requests) for split, requests in ids["requests"].items()}
    )


def write_split(toolbench: Path, out: Path, split: RecordedSplit) -> None:
    """Copy the tools and requests of a split from a toolset's folder to another one."""
    tools = _rows_by_id(toolbench / "tools.jsonl")
    requests = _rows_by_id(toolbench / "queries.jsonl")
    split_of = {key: name for name, keys in split.requests.items() for key in keys}
    _require(toolbench, split.tools, tools)
    _require(toolbench, list(split_of), requests)
    out.mkdir(parents=True, exist_ok=True)
    _write_rows(out / "tools.jsonl", [tools[key] for key in split.tools])
    # in the order of the data: which examples a model reads first depends on it
    chosen = [row | {"split": split_of[key]} for key, row in requests.items() if key in split_of]
    _write_rows(out / "queries.jsonl", chosen)


def _rows_by_id(file: Path) -> dict[str, dict[str, Any]]:
    try:
        lines = read_decompressed(find_compressed(file)).decode().splitlines()
        return {str(row["id"]): row for row in map(json.loads, lines)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of the uniform format: {error}") from None


def _require(folder: Path, keys: Sequence[str], rows: Mapping[str, Any]) -> None:
    missing = [key for key in keys if key not in rows]
    if missing:
        raise InvalidDataError(
            f"{folder}: {len(missing)} ids of the recorded split are missing, such as {missing[0]!r}: "
            "use the same version of the data"
        )


def _write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main(
    toolbench: Annotated[Path, typer.Argument(help="Folder with tools.jsonl and queries.jsonl.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the filtered toolset to.")],
) -> None:
    """Write the ToolBench subset of the published tables."""
    split = recorded_split()
    write_split(toolbench, out, split)
    counts = ", ".join(f"{len(requests):,} {name}" for name, requests in split.requests.items())
    typer.echo(f"{len(split.tools):,} tools; requests: {counts}")


if __name__ == "__main__":
    typer.run(main)
