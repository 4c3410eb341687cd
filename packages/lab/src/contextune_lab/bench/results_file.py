"""The results file: every table and value of the docs, as numbers, in one JSON file.

Quality and speed are separate parts: two runs on one machine give the same bytes of quality; timings vary.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from contextune.errors import InvalidDataError

FILE_NAME = "results.json"
QUALITY, SPEED = "quality", "speed"
Part = Literal["quality", "speed"]
HALF = "±"
"""Last part of a path that means half the width of the interval."""
PUBLISHED = "published"
"""Last part of a path that means the value that a paper published."""
_FORMAT = 1
_DECIMALS = 4
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Cell:
    """A measured value; `half` is half the width of its 95 % interval, `published` a paper's value."""

    value: float | None
    half: float | None = None
    significant: bool = False
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A named row. A row without cells is a section title; `emphasis` is for the default method."""

    name: str
    cells: Sequence[Cell | None] = ()
    emphasis: bool = False


@dataclass(frozen=True, slots=True)
class BenchTable:
    """One table of the docs: what `command` measured."""

    id: str
    command: str
    columns: Sequence[str]
    rows: Sequence[Row]
    digits: int | Sequence[int] = 1
    """Decimals shown, for all columns or for each."""
    corner: str = ""
    """Heading of the column of row names."""
    made_with: str = ""
    """The code, the models and the machine that it was measured with."""

    def __post_init__(self) -> None:
        for name in (self.id, *self.columns, *(row.name for row in self.rows)):
            if "/" in name or "|" in name or "--" in name:
                raise ValueError(f"table {self.id!r}: {name!r} may not contain '/', '|' or '--'")
        for row in self.rows:
            if row.cells and len(row.cells) != len(self.columns):
                raise ValueError(
                    f"table {self.id!r}: row {row.name!r} has {len(row.cells)} cells, not {len(self.columns)}"
                )

    def decimals(self, column: int) -> int:
        """The decimals shown in a column."""
        return self.digits if isinstance(self.digits, int) else self.digits[column]

    def values(self) -> Iterator[tuple[str, float]]:
        """Every number with its path: `table/row/column`, for repeated rows `table/section/row/column`."""
        section = ""
        for row in self.rows:
            if not row.cells:
                section = row.name.rsplit(" (", 1)[0]  # without the number of requests
            prefix = "/".join(filter(None, (self.id, section, row.name)))
            for column, cell in zip(self.columns, row.cells, strict=False):
                if cell is None:
                    continue
                for suffix, value in (("", cell.value), (HALF, cell.half), (PUBLISHED, cell.published)):
                    if value is not None:
                        yield "/".join(filter(None, (prefix, column, suffix))), value


@dataclass
class BenchResults:
    """The content of a results file."""

    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    tables: dict[Part, dict[str, BenchTable]] = field(default_factory=lambda: {QUALITY: {}, SPEED: {}})
    facts: dict[Part, dict[str, float]] = field(default_factory=lambda: {QUALITY: {}, SPEED: {}})
    """Single values that the text of the docs uses, by path."""

    @classmethod
    def read(cls, file: Path) -> "BenchResults":
        """Read a results file."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise InvalidDataError(
                    f"{file}: format {content['format']!r}, but this version reads {_FORMAT}: run bench again"
                )
            results = cls(content["environment"])
            for part in (QUALITY, SPEED):
                results.tables[part] = {
                    name: _table(name, table) for name, table in content[part]["tables"].items()
                }
                results.facts[part] = dict(content[part]["facts"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidDataError(f"{file}: not a file of benchmark results: {error}") from None
        return results

    def write(self, file: Path) -> None:
        """Write the file; entries are sorted, so that the order of the benchmarks does not matter."""
        content: dict[str, Any] = {"format": _FORMAT, "environment": self.environment}
        for part in (QUALITY, SPEED):
            content[part] = {
                "facts": {name: _rounded(value) for name, value in sorted(self.facts[part].items())},
                "tables": {name: table_json(table) for name, table in sorted(self.tables[part].items())},
            }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_dump(content) + "\n", encoding="utf-8")

    def add(self, part: Part, tables: Sequence[BenchTable], facts: Mapping[str, float] | None = None) -> None:
        """Add tables and facts; those of the same name are replaced."""
        self.tables[part] |= {table.id: table for table in tables}
        self.facts[part] |= facts or {}

    def table(self, name: str) -> BenchTable:
        """The table with this id."""
        for tables in self.tables.values():
            if name in tables:
                return tables[name]
        known = ", ".join(sorted(name for tables in self.tables.values() for name in tables))
        raise InvalidDataError(f"there is no table {name!r} in the results; there are {known}")

    def values(self) -> dict[str, float]:
        """Every number of the file by its path."""
        values = {name: value for facts in self.facts.values() for name, value in facts.items()}
        for tables in self.tables.values():
            for table in tables.values():
                values |= table.values()
        return values


def _table(name: str, content: Mapping[str, Any]) -> BenchTable:
    rows = [
        Row(row["name"], [_cell(cell) for cell in row.get("cells", ())], row.get("emphasis", False))
        for row in content["rows"]
    ]
    return BenchTable(
        name,
        content["command"],
        content["columns"],
        rows,
        content["digits"],
        content.get("corner", ""),
        content.get("made_with", ""),
    )


def _cell(content: Any) -> Cell | None:
    if content is None:
        return None
    return Cell(**content) if isinstance(content, dict) else Cell(content)  # pyright: ignore[reportUnknownArgumentType]


def table_json(table: BenchTable) -> dict[str, Any]:
    """A table in the form of the results file."""
    return {
        "command": table.command,
        **({"made_with": table.made_with} if table.made_with else {}),
        **({"corner": table.corner} if table.corner else {}),
        "columns": list(table.columns),
        "digits": table.digits if isinstance(table.digits, int) else list(table.digits),
        "rows": [
            {
                "name": row.name,
                **({"emphasis": True} if row.emphasis else {}),
                **({"cells": [_cell_to_json(cell) for cell in row.cells]} if row.cells else {}),
            }
            for row in table.rows
        ],
    }


def _cell_to_json(cell: Cell | None) -> Any:
    if cell is None:
        return None
    more = {
        **({"half": _rounded(cell.half)} if cell.half is not None else {}),
        **({"significant": True} if cell.significant else {}),
        **({"published": _rounded(cell.published)} if cell.published is not None else {}),
    }
    value = None if cell.value is None else _rounded(cell.value)
    return {"value": value, **more} if more else value


def _rounded(value: float) -> float:
    """Four decimals: more than the docs show, and free of the last bits of a float."""
    if not math.isfinite(value):
        raise ValueError(f"a result must be a finite number, not {value!r}")
    return value if isinstance(value, int) else round(float(value), _DECIMALS)


def _dump(value: Any, indent: int = 0) -> str:
    """JSON with everything on one line that fits there, so that a diff shows rows of tables."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if indent + len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        pairs: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_dump(part, indent + 1)}" for key, part in pairs.items()
        ]
    else:
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        parts = [_dump(part, indent + 1) for part in items]
    start, end = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{inner}".join(parts)
    return f"{start}\n{inner}{lines}\n{' ' * indent}{end}"
