"""Check persona files against all rules of the format, with file and line of every fault."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from contextune.datasets import Persona, persona_files, read_persona
from contextune.errors import InvalidDataError
from contextune.search import tokenize
from contextune.types import Progress, Tool
from contextune_lab.generate.faults import JsonLines, RuleFault
from contextune_lab.generate.files import bundled_tools
from contextune_lab.generate.persona_rules import item_faults, user_faults
from contextune_lab.generate.query_rules import query_faults

_PARTS = "id|profile|places|contacts|items|queries"
_FAULT_SEPARATOR = re.compile(rf"; (?=(?:{_PARTS})[^:\s]*: |and \d+ more$)")
_FAULT_WITH_PATH = re.compile(rf"((?:{_PARTS})[^:\s]*): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FaultAt:
    """A fault with its file and line."""

    file: Path
    line: int
    fault: RuleFault

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.fault}"


@dataclass(frozen=True)
class CheckReport:
    """The readable personas and all faults."""

    personas: tuple[Persona, ...]
    faults: tuple[FaultAt, ...]
    files: int


def persona_faults(persona: Persona, tools: Mapping[str, Tool]) -> list[RuleFault]:
    """All faults of a persona; `tools` is the toolbox by name."""
    return [*user_faults(persona.user), *item_faults(persona), *query_faults(persona, tools)]


def check_files(
    paths: Sequence[Path], toolbox: Sequence[Tool] | None = None, *, progress: Progress | None = None
) -> CheckReport:
    """Check persona files, and folders of them, against the bundled or another toolbox."""
    tools = {tool.name: tool for tool in (bundled_tools() if toolbox is None else toolbox)}
    files = list(dict.fromkeys(chain.from_iterable(persona_files(p) if p.is_dir() else [p] for p in paths)))
    personas: list[Persona] = []
    faults: list[FaultAt] = []
    files_by_id: dict[str, Path] = {}
    queries_by_text: dict[str, str] = {}
    for number, file in enumerate(files, 1):
        try:
            persona = read_persona(file)
        except InvalidDataError as error:
            faults += _located(file, _refusals(str(error), file))
        else:
            personas.append(persona)
            own_faults = [
                *persona_faults(persona, tools),
                *_repeated(persona, file, files_by_id, queries_by_text),
            ]
            faults += _located(file, own_faults)
        if progress:
            progress(number, len(files))
    return CheckReport(tuple(personas), tuple(faults), len(files))


def _refusals(message: str, file: Path) -> list[RuleFault]:
    """Split the reader's error message into faults."""
    message = message.removeprefix(f"{file}: ").removeprefix("not a valid persona: ")
    parts = [(_FAULT_WITH_PATH.fullmatch(part), part) for part in _FAULT_SEPARATOR.split(message)]
    return [RuleFault(match[1], match[2]) if match else RuleFault("", part) for match, part in parts]


def _repeated(
    persona: Persona, file: Path, files_by_id: dict[str, Path], queries_by_text: dict[str, str]
) -> Iterator[RuleFault]:
    """Faults across files: duplicate ids and queries; `files_by_id` and `queries_by_text` are updated."""
    if persona.id != file.stem:
        yield RuleFault(
            "id", f"{persona.id!r} does not match the file name: rename the file to {persona.id}.json"
        )
    if (other := files_by_id.setdefault(persona.id, file)) != file:
        yield RuleFault("id", f"duplicate persona id {persona.id!r}, also in {other}")
    for number, query in enumerate(persona.queries):
        text, name = " ".join(tokenize(query.text)), persona.name(query)
        if (first := queries_by_text.setdefault(text, name)).rpartition("/")[0] != persona.id:
            yield RuleFault(f"queries[{number}].query", f"duplicate of {first}: remove one")


def _located(file: Path, faults: Sequence[RuleFault]) -> list[FaultAt]:
    if not faults:
        return []
    try:
        lines = JsonLines(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return [FaultAt(file, 1, fault) for fault in faults]
    return [FaultAt(file, lines.line_of(fault.where), fault) for fault in faults]
