"""The tables of docs/benchmarks.md that the page shows, as it reads them.

Run `python -m contextune.lab.docs.inspector_tables docs/benchmarks.md` after changing that page.
"""

import json
import sys
from pathlib import Path
from typing import Any

_CHOSEN: dict[tuple[str, int], dict[str, Any]] = {
    ("Context retrieval", 0): {"kind": "bars", "columns": [1], "most": 100},
    ("Context retrieval", 1): {"kind": "none"},
    ("Tools, with and without context", 0): {"kind": "lines", "columns": [1, 2, 3, 4]},
    ("Plans", 0): {"kind": "bars", "columns": [1], "most": 100},
    ("Does any tool fit?", 0): {"kind": "bars", "columns": [2], "most": 1},
    ("Speed", 0): {"kind": "bars", "columns": [1], "most": 25},
}
"""Which tables, by section and place in it, and how to draw each."""
_TITLES = {("Context retrieval", 1): "Context retrieval, Recall@3 by kind of query"}
WRITTEN = Path(__file__).with_name("benchmarks.json")


def tables(document: str) -> dict[str, Any]:
    """Those chosen out of the document, in its words."""
    found: list[dict[str, Any]] = []
    for section in document.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        for place, lines in enumerate(_tables(text)):
            if plot := _CHOSEN.get((title, place)):
                head, _, *rows = lines
                named = _TITLES.get((title, place), title)
                found.append(
                    {
                        "title": named,
                        "plot": plot,
                        "head": _cells(head),
                        "rows": [_row(line) for line in rows],
                    }
                )
    return {"tables": found}


def _tables(text: str) -> list[list[str]]:
    blocks = [block.splitlines() for block in text.split("\n\n")]
    kept = [[line for line in block if line.startswith("|")] for block in blocks]
    return [lines for lines in kept if lines]


def _row(line: str) -> dict[str, Any]:
    name = line.strip("| ")
    kind = "best" if name.startswith("**") else "paper" if name.startswith("*") else ""
    return {"cells": _cells(line), "kind": kind}


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("*", "") for cell in line.strip().strip("|").split("|")]


if __name__ == "__main__":
    said = tables(Path(sys.argv[1]).read_text(encoding="utf-8"))
    WRITTEN.write_text(json.dumps(said, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
