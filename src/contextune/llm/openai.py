"""`EndpointChat`: any server with OpenAI's `/chat/completions`. Messages leave this machine."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, cast

from contextune._internal.openai_client import open_client
from contextune.errors import LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message, Sampling, sanitize_messages
from contextune.llm.structured import Schema, SchemaCheck, SchemaMismatchError, is_strict, with_schema_prompt

_REJECTED = (400, 422)
"""HTTP status codes with which servers reject an unknown field."""


class EndpointChat:
    """A model on an OpenAI-compatible server, with retries and a timeout. Thread-safe."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        options: Mapping[str, Any] = MappingProxyType({}),
        on_reply: Callable[[ChatReply], None] | None = None,
    ) -> None:
        """`base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY.

        `timeout` is in seconds, per attempt. `options` are additional request fields: they override those of
        `Sampling`, and None removes a field. `on_reply` is called with every reply, also with those that are
        discarded because they do not fit a schema.
        """
        self._client, self._server, self._errors = open_client(
            "chat", LanguageModelError, base_url=base_url, api_key=api_key, timeout=timeout, retries=retries
        )
        self._model = model
        self._options = dict(options)
        self._on_reply = on_reply
        self._without_schema: set[str] = set()

    @property
    def name(self) -> str:
        """The server and the model, as servers may use the same name for different models."""
        if not self._options:
            return f"{self._server}#{self._model}"
        options = json.dumps(self._options, sort_keys=True, default=str)
        return f"{self._server}#{self._model}+{sha256(options.encode()).hexdigest()[:8]}"

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: B008  # frozen
        *,
        schema: Schema | None = None,
    ) -> ChatReply:
        """Answer the last message; if the server does not support schemas, put the schema in the prompt."""
        messages = sanitize_messages(messages)
        if schema is None:
            return self._sample(messages, sampling)
        check, key = SchemaCheck(schema), json.dumps(schema, sort_keys=True)
        if key not in self._without_schema:
            json_schema = {"name": "answer", "schema": dict(schema), "strict": is_strict(schema)}
            fields = {"response_format": {"type": "json_schema", "json_schema": json_schema}}
            try:
                return check.filter_drafts(self._sample(messages, sampling, fields), self.name)
            except _UnsupportedOptionError:
                self._without_schema.add(key)
            except SchemaMismatchError:
                pass  # some servers ignore the schema
        return check.filter_drafts(self._sample(with_schema_prompt(messages, schema), sampling), self.name)

    def _sample(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> ChatReply:
        """Request all drafts; some servers return only one per request."""
        drafts: list[Draft] = []
        prompt_tokens = completion_tokens = 0
        at_once = sampling.drafts
        while missing := sampling.drafts - len(drafts):
            batch = replace(sampling, drafts=min(at_once, missing), seed=sampling.seed + len(drafts))
            try:
                reply = self._send(messages, batch, fields)
            except _UnsupportedOptionError:
                if at_once == 1:
                    raise
                at_once = 1
                continue
            if self._on_reply:
                self._on_reply(reply)
            drafts += reply.drafts[:missing]
            prompt_tokens += reply.prompt_tokens
            completion_tokens += reply.completion_tokens
        return ChatReply(tuple(drafts), prompt_tokens, completion_tokens)

    def _send(self, messages: Sequence[Message], sampling: Sampling, extra: Mapping[str, Any]) -> ChatReply:
        fields = {**_fields(sampling), **extra, **self._options}
        try:
            reply = cast("Any", self._client.chat.completions).create(
                model=self._model,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                **{name: value for name, value in fields.items() if value is not None},
            )
            choices = [(choice.message.content, choice.finish_reason) for choice in reply.choices]
            usage = reply.usage
        except self._errors as error:
            # the server's message is omitted, as it may quote the prompt
            status = getattr(error, "status_code", None)
            reason = f"HTTP {status}" if status else str(error).rstrip(".")
            kind = _UnsupportedOptionError if status in _REJECTED else LanguageModelError
            raise kind(
                f"{self._server} did not answer: {reason}; "
                f"check the address, the key, the model {self._model!r} and the options"
            ) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise self._invalid("is not a chat completion") from None
        if not choices:
            raise self._invalid("is not a chat completion")
        drafts = [Draft(text, finish != "length") for text, finish in choices if isinstance(text, str)]
        if not drafts:
            raise self._invalid("has no text")
        return ChatReply(tuple(drafts), _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))

    def _invalid(self, reason: str) -> LanguageModelError:
        return LanguageModelError(
            f"the answer of {self._server} {reason}; try another model than {self._model!r}, or other options"
        )


class _UnsupportedOptionError(LanguageModelError):
    """The server rejected a field of the request."""


def _fields(sampling: Sampling) -> dict[str, Any]:
    """Request fields; defaults are left out, as some servers reject fields they do not know."""
    fields: dict[str, Any] = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
    if sampling.temperature > 0:
        fields["seed"] = sampling.seed
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if sampling.top_k > 0:
        fields["extra_body"] = {
            "top_k": sampling.top_k
        }  # not in OpenAI's API, but in that of most other servers
    if sampling.drafts > 1:
        fields["n"] = sampling.drafts
    return fields


def _count(usage: object, name: str) -> int:
    count = getattr(usage, name, None)
    return count if isinstance(count, int) else 0
