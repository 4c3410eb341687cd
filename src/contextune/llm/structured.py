"""Structured output: ask for JSON by a schema, and keep the drafts that fit."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from contextune._internal.json_schema import CompiledSchema, InvalidSchemaError, check_schema
from contextune._internal.untrusted import without_thinking
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message

Schema = Mapping[str, Any]


class SchemaMismatchError(LanguageModelError):
    """No draft is valid JSON by the schema."""


class SchemaCheck:
    """Checks drafts against a JSON Schema."""

    def __init__(self, schema: Schema) -> None:
        try:
            check_schema(schema)
            self._schema = CompiledSchema(schema)
        except InvalidSchemaError as error:
            raise LanguageModelError(f"answers cannot be checked by this JSON Schema: {error}") from None

    def filter_drafts(self, reply: ChatReply, model: str) -> ChatReply:
        """Keep the drafts that fit; raise `SchemaMismatchError` if none does."""
        valid: list[Draft] = []
        reason = ""
        for draft in reply.drafts:
            text = _extract_json(draft.text)
            error = self._error(text)
            if error:
                reason = error if draft.complete else "it was cut off: raise `max_tokens`"
            else:
                valid.append(replace(draft, text=text, complete=True))
        if not valid:
            raise SchemaMismatchError(f"no draft of {model} fits the schema: {reason}")
        return replace(reply, drafts=tuple(valid))

    def _error(self, text: str) -> str:
        """Why a text does not fit, without quoting it, as an answer may be personal; empty if it fits."""
        try:
            violations = self._schema.violations(json.loads(text))
        except (ValueError, RecursionError):
            return "it is not JSON"
        except InvalidDataError as error:
            raise LanguageModelError(f"answers cannot be checked by this JSON Schema: {error}") from None
        return f"it breaks {'/'.join(map(str, violations[0].schema_path))}" if violations else ""


def with_schema_prompt(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """Append the schema to the last message, for servers without structured output."""
    *earlier, last = messages
    instruction = (
        "Answer with JSON alone, without any other text, that fits this JSON Schema: "
        f"{json.dumps(schema, ensure_ascii=False)}"
    )
    return [*earlier, replace(last, content=f"{last.content}\n\n{instruction}")]


def is_strict(schema: object) -> bool:
    """Whether OpenAI's strict mode allows the schema: all properties required, no additional ones."""
    if isinstance(schema, list | tuple):
        return all(map(is_strict, cast("Sequence[object]", schema)))
    if not isinstance(schema, Mapping):
        return True
    parts = cast("Schema", schema)
    if parts.get("type") == "object" or "properties" in parts:
        names = set(cast("Schema", parts.get("properties", {})))
        if parts.get("additionalProperties") is not False or names != set(parts.get("required", ())):
            return False
    return all(map(is_strict, parts.values()))


def _extract_json(text: str) -> str:
    """Remove `<think>` blocks and code fences around JSON."""
    text = without_thinking(text).strip()
    fence = re.fullmatch(r"```(?:json)?\s*\n(.*?)\n?```", text, flags=re.DOTALL)
    return fence[1].strip() if fence else text
