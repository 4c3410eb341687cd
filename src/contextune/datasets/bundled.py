"""The bundled personas, training pairs and requests. Every person in them is invented.

The demo personas are in every installation. All other data is part of the distribution `contextune-lab`;
without it these functions raise `MissingLabDataError`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from contextune._internal.assets import asset, lab_asset, read_decompressed
from contextune.datasets.persona import (
    ADDITIONAL,
    Persona,
    Query,
    parse_query,
    persona_files,
    read_persona,
    read_personas,
)
from contextune.errors import InvalidDataError

_Text = Annotated[str, StringConstraints(min_length=1)]


class _FrozenModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class PairItem(_FrozenModel):
    """An item as text, which includes its usage and state."""

    app: _Text
    text: _Text


class Pair(_FrozenModel):
    """A labelled request without a persona."""

    id: _Text
    query: _Text
    kind: _Text
    cot: str
    items: tuple[PairItem, ...] = Field(min_length=1)
    distractor: PairItem
    api: _Text
    tool_query: str
    args: dict[str, Any]

    @property
    def batch(self) -> str:
        """The first part of the id; pairs of a batch have the same author."""
        return self.id.partition("-")[0]


def read_pairs(file: Path) -> Iterator[Pair]:
    """Read a JSONL file, plain or .gz; `InvalidDataError` names the line, the field and the reason."""
    try:
        lines = read_decompressed(file).splitlines()
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot read the file: {error.strerror or error}") from None
    for number, line in enumerate(lines, 1):
        try:
            yield Pair.model_validate(json.loads(line.decode()))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = "".join(f"{step}." for step in first["loc"]).removesuffix(".") or "the line"
            raise InvalidDataError(f"{file}:{number}: {field}: {first['msg']}") from None
        except ValueError as error:
            raise InvalidDataError(f"{file}:{number}: not valid JSON in UTF-8: {error}") from None


def demo_personas() -> list[Persona]:
    """The few personas of `contextune demo` and of the examples; always installed."""
    return list(read_personas(asset("personas")))


def bundled_personas() -> list[Persona]:
    """The 109 personas of the benchmark, including the demo personas, by id."""
    return [_read_once(file) for file in bundled_persona_files()]


@lru_cache(maxsize=256)
def _read_once(file: Path) -> Persona:
    return read_persona(file)


def bundled_persona_files() -> list[Path]:
    """The files of `bundled_personas`, in the same order."""
    benchmark = lab_asset("personas", "the benchmark personas")
    files = [*persona_files(asset("personas")), *persona_files(benchmark)]
    return sorted(files, key=lambda file: file.name)


def bundled_persona_file(name: str) -> Path:
    """The file of one of `bundled_personas`, such as "a01"."""
    demo = asset(f"personas/{name}.json")
    return demo if demo.exists() else lab_asset(f"personas/{name}.json", f"the persona {name!r}")


def training_personas() -> list[Persona]:
    """72 more personas, by other authors: for training only, never for evaluation."""
    return list(read_personas(lab_asset("training", "the training personas")))


def training_requests() -> dict[str, list[Query]]:
    """30 more requests of each persona, benchmark and training ones alike, by persona id.

    For training only. Of the kind "explicit" are those that say all that is needed; half of these need no
    item, so their `relevant` is empty.
    """
    file = lab_asset("training/requests.jsonl.gz", "the training requests")
    return {name: [*requests] for name, requests in _requests_by_persona(file).items()}


def everyday_requests() -> dict[str, list[Query]]:
    """15 plain requests of each of 160 personas, by persona id: facts, lists, references, orders.

    For training only. They name what they mean; three of 15 are served by no bundled tool (`api` is None).
    """
    file = lab_asset("training/everyday.jsonl.gz", "the everyday requests")
    return {name: [*requests] for name, requests in _requests_by_persona(file).items()}


@lru_cache(maxsize=4)
def _requests_by_persona(file: Path) -> Mapping[str, Sequence[Query]]:
    requests: dict[str, list[Query]] = {}
    for line in read_decompressed(file).decode().splitlines():
        row = json.loads(line)
        name = row.pop("persona")
        row.pop("set", None)
        requests.setdefault(name, []).append(parse_query({**row, ADDITIONAL: True}))
    return requests


def bundled_pairs() -> list[Pair]:
    """2,820 training pairs."""
    return list(read_pairs(lab_asset("pairs.jsonl.gz", "the training pairs")))


def training_pairs() -> list[Pair]:
    """2,400 more training pairs, by other authors."""
    return list(read_pairs(lab_asset("training/pairs.jsonl.gz", "the training pairs")))


class PlainRequest(NamedTuple):
    """A request, the bundled API that serves it (if any), and whether it needs context (is implicit)."""

    text: str
    api: str | None
    implicit: bool


def plain_requests() -> list[PlainRequest]:
    """1,352 requests that are explicit, served by no tool, or both: they train when to abstain."""
    file = lab_asset("training/plain.jsonl", "the plain requests")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [PlainRequest(row["query"], row["api"], row["context"]) for row in rows]
