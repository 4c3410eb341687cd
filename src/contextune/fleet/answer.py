"""Answer a file of requests: JSON lines in, JSON lines out, in the same order."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, cast

from contextune.errors import (
    ContextuneError,
    InvalidDataError,
    InvalidRequestError,
    PlanError,
    UnknownUserError,
)
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.parts import Handler, Part
from contextune.plan.plan_json import answer_to_json
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.large.open import open_tools
from contextune.tuner import Tuner
from contextune.types import Request, Turn, parse_place, parse_time

PART_REQUESTS = 8
_FIELDS = {"id", "user", "text", "time", "place", "history"}


def request_parts(file: Path) -> Iterator[Part]:
    """A few lines of the file each; empty lines are left out."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidDataError(f"{file}: cannot be read as UTF-8 text: {error}") from None
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for start in range(0, len(rows), PART_REQUESTS):
        yield Part(f"lines/{start}", rows[start : start + PART_REQUESTS])


def parse_request(row: object, now: datetime) -> Request:
    """The request of a JSON object with `user` and `text`, and optionally `time`, `place` and `history`."""
    if not isinstance(row, Mapping):
        raise InvalidRequestError('not a JSON object: write {"user": …, "text": …}')
    fields = cast("Mapping[str, Any]", row)
    if unknown := fields.keys() - _FIELDS:
        raise InvalidRequestError(f"unknown field {min(unknown)!r}: use {', '.join(sorted(_FIELDS))}")
    for name in ("user", "text"):
        if not isinstance(fields.get(name), str):
            raise InvalidRequestError(f"{name!r} is missing or not a string")
    place, history = fields.get("place"), fields.get("history") or ()
    try:
        turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in history)
    except (TypeError, KeyError):
        raise InvalidRequestError(
            'history is not a list of turns: write [{"speaker": "user", "text": …}]'
        ) from None
    return Request(
        fields["text"],
        user=fields["user"],
        time=parse_time(str(fields["time"])) if fields.get("time") else now,
        place=parse_place(place) if isinstance(place, str) else place,
        history=turns,
    )


@dataclass(frozen=True)
class AnswerRequests:
    """Answers some lines of a file; a request that cannot be answered gets an `error` instead."""

    settings: WorkerSettings
    now: datetime
    """The time of requests without one."""
    catalog: str | None = None
    k: int = 10

    def open(self) -> Handler:
        """Open the store, load the models and index the tools."""
        store, embedder = self.settings.open_store(), self.settings.embedder()
        if self.catalog:  # open as long as the worker is
            tools = open_tools(ExitStack(), self.catalog, embedder)
        else:
            tools = ToolRetriever(bundled_toolbox(), embedder)
        tuner = Tuner(store, embedder=embedder, ranker=self.settings.ranker, tools=tools)

        def handle(payload: Any) -> bytes:
            answers = [self._answer(tuner, number, line) for number, line in payload]
            return "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers).encode()

        return handle

    def _answer(self, tuner: Tuner, number: int, line: str) -> dict[str, Any]:
        head: dict[str, Any] = {"line": number}
        try:
            row = cast("object", json.loads(line))
            if isinstance(row, Mapping) and "id" in row:
                head["id"] = cast("Mapping[str, Any]", row)["id"]
            request = parse_request(cast("object", row), self.now)
            answer = tuner.answer(request, self.k)
            steps = tuner.steps(request, self.k, answer=answer)
            return head | answer_to_json(answer, steps, tuner.store.user(request.user).zone)
        except ValueError:
            return head | {"error": "not JSON"}
        except ContextuneError as error:
            if _is_of_the_service(error):
                raise
            return head | {"error": str(error)}


def _is_of_the_service(error: ContextuneError) -> bool:
    """Whether the request is not to blame: a store that cannot be reached, a model that cannot be loaded."""
    return not isinstance(error, InvalidRequestError | InvalidDataError | UnknownUserError | PlanError)


class WrittenAnswers(NamedTuple):
    """What a file of answers contains."""

    lines: int
    failed: int
    """Lines with an `error` instead of an answer."""


def write_lines(contents: Iterable[bytes], out: Path) -> WrittenAnswers:
    """Write the answers of all parts to a file, which appears when it is complete."""
    count = failed = 0
    temporary: Path | None = None
    try:
        with NamedTemporaryFile(dir=out.resolve().parent, prefix=f".{out.name}.", delete=False) as file:
            temporary = Path(file.name)
            for content in contents:
                file.write(content)
                lines = content.splitlines()
                count += len(lines)
                failed += sum("error" in json.loads(line) for line in lines)
        temporary.replace(out)
    except OSError as error:
        raise ContextuneError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)
    return WrittenAnswers(count, failed)
