"""`GgufChat`: a GGUF model in this process, run by llama.cpp; nothing leaves the machine."""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

from contextune.errors import LanguageModelError, MissingExtraError
from contextune.llm.chat import ChatReply, Draft, Message, Sampling, sanitize_messages
from contextune.llm.gguf.files import ModelFile, model_in_use
from contextune.llm.structured import Schema, SchemaCheck

CONTEXT = 4096
"""Tokens of a prompt and its answer."""
_SCHEMA_KEYWORDS = frozenset(
    [
        *("type", "enum", "const", "properties", "required", "items", "anyOf", "oneOf"),
        *("additionalProperties", "maxItems"),
    ]
)
"""Keywords that every version of the runtime can decode by."""


class Runtime(Protocol):
    """The part of the runtime that is used."""

    def handle_chat_completions(self, body: Mapping[str, Any]) -> Any:
        """Answer a chat completions request as a dictionary."""
        ...


class GgufChat:
    """A local model of any size. Thread-safe; threads take turns.

    With a schema, decoding is constrained. The key-value cache of the longest prefix that a prompt shares
    with the one before it is reused, so the system message is read once.
    """

    def __init__(
        self, file: ModelFile | Path | None = None, *, threads: int = 0, runtime: Runtime | None = None
    ) -> None:
        """`file` is by default the one chosen with `contextune llm use`; a path is not verified.

        `threads` 0 means one per core, at most eight.
        """
        chosen = file or model_in_use()
        if chosen is None:
            raise LanguageModelError(
                "no local model is chosen: download one, and run `contextune llm use FILE`"
            )
        if isinstance(chosen, Path):
            path, self.name = chosen, f"local#{chosen.stem}"
        else:
            path, self.name = chosen.check(), f"local#{chosen.name}@{chosen.sha256[:8]}"
        self._runtime = runtime or open_runtime(path, threads or min(os.cpu_count() or 1, 8))
        self._lock = Lock()

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Answer the last message; with a schema, decoding is constrained to valid answers."""
        check = SchemaCheck(schema) if schema is not None else None
        different = sampling.drafts if sampling.temperature > 0 else 1
        body = {
            "messages": [
                {"role": message.role, "content": message.content} for message in sanitize_messages(messages)
            ],
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "cache_prompt": True,
        }
        with self._lock:
            replies = [self._send({**body, "seed": sampling.seed + n}, schema) for n in range(different)]
        drafts = tuple(draft for reply in replies for draft in reply.drafts) * (sampling.drafts // different)
        written = sum(reply.completion_tokens for reply in replies)
        reply = replace(replies[0], drafts=drafts, completion_tokens=written)
        return check.filter_drafts(reply, self.name) if check else reply

    def _send(self, body: Mapping[str, Any], schema: Schema | None) -> ChatReply:
        if schema is None:
            return self._complete(body)
        try:
            return self._complete({**body, "response_format": _format(schema)})
        except LanguageModelError:
            simple = simplified_schema(schema)
            if simple == schema:
                raise
            return self._complete({**body, "response_format": _format(simple)})

    def _complete(self, body: Mapping[str, Any]) -> ChatReply:
        try:
            reply = self._runtime.handle_chat_completions(body)
        except Exception as error:  # the runtime raises whatever llama.cpp does
            raise self._failed(str(error)) from None
        error: Any = reply.get("error")
        if error:
            raise self._failed(str(error.get("message") if isinstance(error, dict) else error))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        try:
            choice, usage = reply["choices"][0], reply["usage"]
            draft = Draft(str(choice["message"]["content"]), choice["finish_reason"] != "length")
            return ChatReply((draft,), int(usage["prompt_tokens"]), int(usage["completion_tokens"]))
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._failed("its reply is no chat completion") from None

    def _failed(self, reason: str) -> LanguageModelError:
        # a reason of several lines may quote the prompt
        first = reason.strip().splitlines()[0][:160] if reason.strip() else "no reason given"
        return LanguageModelError(f"{self.name} did not answer: {first}")


def open_runtime(path: Path, threads: int) -> Runtime:
    """Load a model; the server of the runtime is bound to this machine and locked with a random key."""
    try:
        import xllamacpp  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ModuleNotFoundError as error:
        raise MissingExtraError("a local model file", "local-llm") from error
    library = cast("Any", xllamacpp)
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    params.warmup = False
    params.api_keys = [secrets.token_hex(16)]
    try:
        return library.Server(params)
    except Exception as error:
        raise LanguageModelError(
            f"cannot load {str(path)!r}: {error}; verify it with `contextune llm use FILE`"
        ) from None


def _format(schema: Schema) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def simplified_schema(schema: Any) -> Any:
    """The schema without keywords that the runtime may not support; answers are checked by the whole."""
    if not isinstance(schema, Mapping):
        return schema
    simple: dict[str, Any] = {}
    for keyword, value in cast("Mapping[str, Any]", schema).items():
        if keyword not in _SCHEMA_KEYWORDS:
            continue
        if keyword == "properties":
            parts = cast("Mapping[str, Any]", value)
            simple[keyword] = {name: simplified_schema(part) for name, part in parts.items()}
        elif keyword in ("anyOf", "oneOf"):
            simple[keyword] = [simplified_schema(part) for part in cast("Sequence[Any]", value)]
        elif keyword == "items":
            simple[keyword] = simplified_schema(value)
        else:
            simple[keyword] = value
    return simple
