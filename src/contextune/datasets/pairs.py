"""Implicit requests with the items they need, a near miss, and the call that serves them: training pairs."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from contextune.errors import InvalidDataError

_Text = Annotated[str, StringConstraints(min_length=1)]


class _Frozen(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class PairItem(_Frozen):
    """An item in words; usage and state stand in its text."""

    app: _Text
    text: _Text


class Pair(_Frozen):
    """One request that is not tied to a persona."""

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
        """The first part of the id: pairs of one batch come from one author."""
        return self.id.partition("-")[0]


def read_pairs(file: Path) -> Iterator[Pair]:
    """The pairs of a JSONL file, plain or packed; a bad line is refused with its number, field and reason."""
    try:
        data = file.read_bytes()
        lines = (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
    for number, line in enumerate(lines, 1):
        try:
            yield Pair.model_validate(json.loads(line.decode()))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = "".join(f"{step}." for step in fault["loc"]).removesuffix(".") or "the line"
            raise InvalidDataError(f"{file}:{number}: {where}: {fault['msg']}") from None
        except ValueError as error:
            raise InvalidDataError(f"{file}:{number}: is not JSON in UTF-8: {error}") from None
