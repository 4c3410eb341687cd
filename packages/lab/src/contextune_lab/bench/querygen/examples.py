"""The paper's example requests (Kachuee et al., Table 6) with what a model writes for them, as Markdown.

    python -m contextune_lab.bench.querygen.examples [--write docs/querygen.md]

The model is the local one with the bundled adapter; decoding is greedy.
"""

from pathlib import Path
from typing import Annotated

import typer

from contextune.errors import InvalidDataError
from contextune.tools import QueryGenerator

REQUESTS = (
    "Give me a good advice for making coffee",
    "I'm bored and tired of staying home. Literally watched tv all day. Give me some ideas what to do",
    (
        "I'm planning for a small party and need to invite guests, clean the house, and order food. "
        "Can you help me?"
    ),
    "I want to get more healthy, where should I start?",
)
BEGIN, END = "<!-- begin: querygen_examples -->", "<!-- end: querygen_examples -->"


def examples_table(generator: QueryGenerator) -> str:
    """A Markdown table of the requests and their generated queries."""
    rows = [
        f"| {_cell(request)} | {'<br>'.join(map(_cell, generator.queries(request).generated)) or '(none)'} |"
        for request in REQUESTS
    ]
    return "\n".join(["| request | queries |", "|---|---|", *rows])


def replace_table(page: str, table: str) -> str:
    """The page with the table between its two markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidDataError(f"the page has no {BEGIN} and {END}: add them where the table belongs")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(
    write: Annotated[
        Path | None, typer.Option(help="Page to write the table to, between its markers.")
    ] = None,
) -> None:
    """Print the table, or write it into a page."""
    from contextune.llm import LocalChat

    table = examples_table(QueryGenerator(LocalChat()))
    if write:
        write.write_text(replace_table(write.read_text(encoding="utf-8"), table), encoding="utf-8")
    else:
        typer.echo(table)


if __name__ == "__main__":
    typer.run(main)
