"""Writes the figures of a results file into Markdown pages.

A table stands between `<!-- table: ID -->` and `<!-- /table -->`. With `table?`, it may be missing in the
results, for measurements that need what not everyone has; the page then says so. A number in a text is
followed by its path in the results: `84.8<!-- = context/LambdaMART-RRF/Recall@3 -->`. It keeps the decimals
it is written with.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.evaluate.report import MARK
from contextune_lab.bench.results_file import BenchResults, BenchTable, Cell, Row

_TABLE = re.compile(
    r"(<!-- table(?P<optional>\??): (?P<id>[^\n]+?) -->\n).*?(?P<end><!-- /table -->)", re.DOTALL
)
_ENVIRONMENT = re.compile(r"(<!-- environment -->\n).*?(<!-- /environment -->)", re.DOTALL)
_VALUE = re.compile(r"(?P<sign>[+-]?)(?P<number>\d[\d,]*(?:\.\d+)?)(?P<source><!-- = (?P<path>[^\n]+?) -->)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|<!--.*?-->|\]\([^)\n]*\)", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,§-])(?:\d+\.\d+(?!\w|\.\d)|\d+(?= (?:%|ms\b|MB/s))|(?<=±)\d+)", re.MULTILINE)
_SETTINGS = re.compile(r"\bp < 0\.\d+|\b95 %\s(?:bootstrap |confidence )?intervals?|intervals are 95 %")
"""Numbers that are conventions, not results."""


NOT_MEASURED = "Not in the present results file: the command measures it.\n"


def to_markdown(table: BenchTable) -> str:
    """The table as Markdown lines, each ending with a line break, and what it was measured with."""
    heading, rule = [table.corner, *table.columns], ["---"] * (len(table.columns) + 1)
    rows = table_texts(table)
    texts = [f"| {' | '.join(heading)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(row)} |" for row in rows)]
    if table.made_with:
        texts += ["", f"*Measured with {table.made_with}.*"]
    return "".join(re.sub(r" {2,}", " ", line) + "\n" for line in texts)


def table_texts(table: BenchTable) -> list[list[str]]:
    """Name and cells of every row, as shown."""
    return [_row(table, row) for row in table.rows]


def _row(table: BenchTable, row: Row) -> list[str]:
    if not row.cells:
        return [f"**{row.name}**", *[""] * len(table.columns)]
    cells = [_cell(cell, table.decimals(number)) for number, cell in enumerate(row.cells)]
    return [f"**{row.name}**" if row.emphasis else row.name, *cells]


def _cell(cell: Cell | None, digits: int) -> str:
    if cell is None:
        return ""
    parts: list[str] = []
    if cell.value is not None:
        parts.append(f"{cell.value:,.{0 if isinstance(cell.value, int) else digits}f}")
    if cell.half is not None:
        parts.append(f"±{cell.half:.{digits}f}")
    if cell.significant:
        parts.append(MARK)
    if cell.published is not None:
        parts.append(f"({cell.published:,.{digits}f})")
    return " ".join(parts)


def update_page(text: str, results: BenchResults) -> str:
    """The page with every table and every marked number taken from the results."""
    values = results.values()

    def table(match: re.Match[str]) -> str:
        missing = match["optional"] and not any(match["id"] in part for part in results.tables.values())
        return (
            f"{match[1]}{NOT_MEASURED if missing else to_markdown(results.table(match['id']))}{match['end']}"
        )

    def value(match: re.Match[str]) -> str:
        digits = len(match["number"].partition(".")[2])
        return f"{_format(_look_up(values, match['path']), digits, match['sign'])}{match['source']}"

    def origin(match: re.Match[str]) -> str:
        return f"{match[1]}{describe_environment(results.environment)}\n{match[2]}"

    return _VALUE.sub(value, _TABLE.sub(table, _ENVIRONMENT.sub(origin, text)))


def describe_environment(environment: Mapping[str, Any]) -> str:
    """Machine and versions in one line; a note about the origin of the figures comes first."""
    values = [f"{name} {value}" for name, value in environment.items() if name != "note"]
    return ". ".join(filter(None, [str(environment.get("note", "")), ", ".join(values)])) + "."


def _look_up(values: Mapping[str, float], path: str) -> float:
    if path in values:
        return values[path]
    table = path.partition("/")[0]
    near = [name for name in values if name.startswith(f"{table}/")]
    raise InvalidDataError(
        f"there is no value {path!r} in the results; "
        + (f"table {table!r} has {', '.join(near)}" if near else f"and no table {table!r}")
    )


def _format(value: float, digits: int, sign: str) -> str:
    """A sign is written if the page had a plus or the value is negative."""
    return f"{value:{'+' if sign == '+' else ''},.{digits}f}"


def unmarked_numbers(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every result-like number (decimal, percentage, milliseconds, MB/s) without a source.

    Generated tables, code and links are skipped, and so are conventions such as `p < 0.05`: settings are
    written as code.
    """
    for pattern in (_TABLE, _ENVIRONMENT, _VALUE, _CODE, _SETTINGS):
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        for match in _NUMBER.finditer(line):
            yield number, match[0]


def write_pages(results: BenchResults, pages: Sequence[Path]) -> list[Path]:
    """Update pages in place; returns those that changed. Nothing is written if a value is missing."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    updated = {page: update_page(text, results) for page, text in texts.items()}
    changed = [page for page in pages if updated[page] != texts[page]]
    for page in changed:
        page.write_text(updated[page], encoding="utf-8")
    return changed
