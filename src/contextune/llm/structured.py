"""Answers that are to be JSON: what a model is told, and which of its drafts fit."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from contextune._internal.json_schema import checker
from contextune.errors import LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message

Schema = Mapping[str, Any]


class SchemaMismatchError(LanguageModelError):
    """No draft is JSON that fits the schema."""


class SchemaCheck:
    """Holds drafts against a JSON Schema."""

    def __init__(self, schema: Schema) -> None:
        import jsonschema  # slow to import, and most answers are plain text
        from jsonschema.validators import validator_for

        try:
            cast("Any", validator_for(schema, default=jsonschema.Draft202012Validator)).check_schema(schema)
        except jsonschema.SchemaError as error:
            raise LanguageModelError(
                f"answers cannot be held against this JSON Schema: {error.message}"
            ) from None
        self._checker = checker(schema)

    def fitting(self, reply: ChatReply, who: str) -> ChatReply:
        """The reply with those drafts alone that fit; `who` gave it."""
        fitting: list[Draft] = []
        why = ""
        for draft in reply.drafts:
            text = _bare(draft.text)
            unfit = self._unfit(text)
            if unfit:
                why = unfit if draft.whole else "it was cut off: allow more tokens with `most`"
            else:
                fitting.append(replace(draft, text=text, whole=True))
        if not fitting:
            raise SchemaMismatchError(f"no draft of {who} fits the schema: {why}")
        return replace(reply, drafts=tuple(fitting))

    def _unfit(self, text: str) -> str:
        """Why a text does not fit, in the words of the schema alone: an answer may be personal."""
        try:
            error = next(self._checker.iter_errors(json.loads(text)), None)
        except (ValueError, RecursionError):
            return "it is not JSON"
        except (
            Exception
        ) as error:  # a $ref that leads nowhere is found only now, and raised by another library
            raise LanguageModelError(
                f"answers cannot be held against this JSON Schema: {type(error).__name__}"
            ) from None
        return f"it breaks {'/'.join(map(str, error.absolute_schema_path))}" if error else ""


def in_words(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The messages with the schema at the end, for a server that takes none beside them."""
    *before, last = messages
    words = (
        "Answer with JSON alone, without any other text, that fits this JSON Schema: "
        f"{json.dumps(schema, ensure_ascii=False)}"
    )
    return [*before, replace(last, content=f"{last.content}\n\n{words}")]


def is_closed(schema: object) -> bool:
    """Whether every object in it has all its properties and no others, which OpenAI calls strict."""
    if isinstance(schema, list | tuple):
        return all(map(is_closed, cast("Sequence[object]", schema)))
    if not isinstance(schema, Mapping):
        return True
    parts = cast("Schema", schema)
    if parts.get("type") == "object" or "properties" in parts:
        names = set(cast("Schema", parts.get("properties", {})))
        if parts.get("additionalProperties") is not False or names != set(parts.get("required", ())):
            return False
    return all(map(is_closed, parts.values()))


def _bare(text: str) -> str:
    """Without what models put around JSON: thoughts aloud, and a fence of backticks."""
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).strip()
    fence = re.fullmatch(r"```(?:json)?\s*\n(.*?)\n?```", text, flags=re.DOTALL)
    return fence[1].strip() if fence else text
