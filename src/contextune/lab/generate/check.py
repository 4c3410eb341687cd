"""Holds persona files against every rule of their format, and says where in the file one is broken."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from contextune.datasets import Persona, persona_files, read_persona
from contextune.errors import InvalidDataError
from contextune.lab.generate.faults import JsonLines, RuleFault
from contextune.lab.generate.files import bundled_tools
from contextune.lab.generate.persona_rules import item_faults, user_faults
from contextune.lab.generate.query_rules import query_faults
from contextune.search import tokenize
from contextune.types import Progress, Tool

_PARTS = "id|profile|places|contacts|items|queries"
_SEVERAL = re.compile(rf"; (?=(?:{_PARTS})[^:\s]*: |and \d+ more$)")
_PLACED = re.compile(rf"((?:{_PARTS})[^:\s]*): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault, and where in which file it is."""

    file: Path
    line: int
    fault: RuleFault

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.fault}"


@dataclass(frozen=True)
class CheckReport:
    """What came of checking: the personas that can be read, and all faults."""

    personas: tuple[Persona, ...]
    faults: tuple[FaultAt, ...]
    files: int


def persona_faults(persona: Persona, tools: Mapping[str, Tool]) -> list[RuleFault]:
    """Everything that is wrong with a persona; `tools` are the toolbox, by name."""
    return [*user_faults(persona.user), *item_faults(persona), *query_faults(persona, tools)]


def check_files(
    paths: Sequence[Path], toolbox: Sequence[Tool] | None = None, *, progress: Progress | None = None
) -> CheckReport:
    """Check persona files, and folders of them, against the bundled toolbox or another."""
    tools = {tool.name: tool for tool in (bundled_tools() if toolbox is None else toolbox)}
    files = list(dict.fromkeys(chain.from_iterable(persona_files(p) if p.is_dir() else [p] for p in paths)))
    personas: list[Persona] = []
    faults: list[FaultAt] = []
    known: dict[str, Path] = {}
    asked: dict[str, str] = {}
    for number, file in enumerate(files, 1):
        try:
            persona = read_persona(file)
        except InvalidDataError as error:
            faults += _located(file, _refusals(str(error), file))
        else:
            personas.append(persona)
            own = [*persona_faults(persona, tools), *_repeated(persona, file, known, asked)]
            faults += _located(file, own)
        if progress:
            progress(number, len(files))
    return CheckReport(tuple(personas), tuple(faults), len(files))


def _refusals(message: str, file: Path) -> list[RuleFault]:
    """What the reader found, one by one; it tells of the first few."""
    message = message.removeprefix(f"{file}: ").removeprefix("is no valid persona: ")
    found = [(_PLACED.fullmatch(part), part) for part in _SEVERAL.split(message)]
    return [RuleFault(placed[1], placed[2]) if placed else RuleFault("", part) for placed, part in found]


def _repeated(
    persona: Persona, file: Path, known: dict[str, Path], asked: dict[str, str]
) -> Iterator[RuleFault]:
    """What stands in an earlier file already; `known` and `asked` are added to."""
    if persona.id != file.stem:
        yield RuleFault("id", f"{persona.id!r} is in a file of another name: call it {persona.id}.json")
    if (other := known.setdefault(persona.id, file)) != file:
        yield RuleFault("id", f"{persona.id!r} is also the id in {other}")
    for number, query in enumerate(persona.queries):
        text, name = " ".join(tokenize(query.text)), persona.name(query)
        if (first := asked.setdefault(text, name)).rpartition("/")[0] != persona.id:
            yield RuleFault(
                f"queries[{number}].query", f"is asked in {first} in the same words: leave one out"
            )


def _located(file: Path, faults: Sequence[RuleFault]) -> list[FaultAt]:
    if not faults:
        return []
    try:
        lines = JsonLines(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return [FaultAt(file, 1, fault) for fault in faults]
    return [FaultAt(file, lines.of(fault.where), fault) for fault in faults]
