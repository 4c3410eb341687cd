"""Training pairs: an implicit request, the items it needs, a hard negative and the API call."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

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
        data = file.read_bytes()
        lines = (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()
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
