"""Holds persona files against every rule of their format, and says where in the file one is broken."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.generate.faults import Fault, Lines
from contextune.generate.files import bundled_tools
from contextune.generate.person_rules import item_faults, user_faults
from contextune.generate.query_rules import query_faults
from contextune.search import words
from contextune.sources import Persona, persona_files, read_persona
from contextune.types import Progress, Tool

_PARTS = "id|profile|places|contacts|items|queries"
_SEVERAL = re.compile(rf"; (?=(?:{_PARTS})[^:\s]*: |and \d+ more$)")
_PLACED = re.compile(rf"((?:{_PARTS})[^:\s]*): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """A fault, and where in which file it is."""

    file: Path
    line: int
    fault: Fault

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.fault}"


@dataclass(frozen=True)
class Checked:
    """What came of checking: the personas that can be read, and all faults."""

    personas: tuple[Persona, ...]
    faults: tuple[Found, ...]
    files: int


def persona_faults(persona: Persona, tools: Mapping[str, Tool]) -> list[Fault]:
    """Everything that is wrong with a persona; `tools` are the toolbox, by name."""
    return [*user_faults(persona.user), *item_faults(persona), *query_faults(persona, tools)]


def check_files(
    paths: Sequence[Path], toolbox: Sequence[Tool] | None = None, *, progress: Progress | None = None
) -> Checked:
    """Check persona files, and folders of them, against the bundled toolbox or another."""
    tools = {tool.name: tool for tool in (bundled_tools() if toolbox is None else toolbox)}
    files = list(dict.fromkeys(chain.from_iterable(persona_files(p) if p.is_dir() else [p] for p in paths)))
    personas: list[Persona] = []
    faults: list[Found] = []
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
    return Checked(tuple(personas), tuple(faults), len(files))


def _refusals(message: str, file: Path) -> list[Fault]:
    """What the reader found, one by one; it tells of the first few."""
    message = message.removeprefix(f"{file}: ").removeprefix("is no valid persona: ")
    found = [(_PLACED.fullmatch(part), part) for part in _SEVERAL.split(message)]
    return [Fault(placed[1], placed[2]) if placed else Fault("", part) for placed, part in found]


def _repeated(persona: Persona, file: Path, known: dict[str, Path], asked: dict[str, str]) -> Iterator[Fault]:
    """What stands in an earlier file already; `known` and `asked` are added to."""
    if persona.id != file.stem:
        yield Fault("id", f"{persona.id!r} is in a file of another name: call it {persona.id}.json")
    if (other := known.setdefault(persona.id, file)) != file:
        yield Fault("id", f"{persona.id!r} is also the id in {other}")
    for number, query in enumerate(persona.queries):
        text, name = " ".join(words(query.text)), persona.name(query)
        if (first := asked.setdefault(text, name)).rpartition("/")[0] != persona.id:
            yield Fault(f"queries[{number}].query", f"is asked in {first} in the same words: leave one out")


def _located(file: Path, faults: Sequence[Fault]) -> list[Found]:
    if not faults:
        return []
    try:
        lines = Lines(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return [Found(file, 1, fault) for fault in faults]
    return [Found(file, lines.of(fault.where), fault) for fault in faults]
