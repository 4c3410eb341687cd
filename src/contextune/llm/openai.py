"""Answers from any server that speaks OpenAI's `/chat/completions`: messages leave this machine for it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, cast

from contextune._internal.openai_client import open_endpoint
from contextune.errors import LanguageModelError
from contextune.llm.chat import ChatReply, Draft, Message, Sampling, sendable
from contextune.llm.structured import Schema, SchemaCheck, SchemaMismatchError, in_words, is_closed

_NOT_UNDERSTOOD = (400, 422)
"""What servers say to a field they do not know."""


class EndpointChat:
    """Asks an OpenAI-compatible server, with retries and a timeout. Safe to share between threads."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        options: Mapping[str, Any] = MappingProxyType({}),
        heard: Callable[[ChatReply], None] | None = None,
    ) -> None:
        """`base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY.

        `timeout` is in seconds, for each try. `options` are sent along, and take the place of what
        `Sampling` says under the same name; None leaves a name out. `heard` is told every answer as it comes
        in, also those that are thrown away because they do not fit.
        """
        self._client, self._server, self._errors = open_endpoint(
            "chat", LanguageModelError, base_url=base_url, api_key=api_key, timeout=timeout, retries=retries
        )
        self._model = model
        self._options = dict(options)
        self._heard = heard
        self._without_schema: set[str] = set()

    @property
    def name(self) -> str:
        """The server and the model, since servers differ in what they serve under one name."""
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
        """Answer the last message; a server that knows nothing of schemas is told of it in words."""
        messages = sendable(messages)
        if schema is None:
            return self._draw(messages, sampling)
        fit, known = SchemaCheck(schema), json.dumps(schema, sort_keys=True)
        if known not in self._without_schema:
            wanted = {"name": "answer", "schema": dict(schema), "strict": is_closed(schema)}
            form = {"response_format": {"type": "json_schema", "json_schema": wanted}}
            try:
                return fit.fitting(self._draw(messages, sampling, form), self.name)
            except _UnsupportedOptionError:
                self._without_schema.add(known)
            except SchemaMismatchError:
                pass  # some servers pass over what they do not know
        return fit.fitting(self._draw(in_words(messages, schema), sampling), self.name)

    def _draw(
        self, messages: Sequence[Message], sampling: Sampling, form: Mapping[str, Any] = MappingProxyType({})
    ) -> ChatReply:
        """All drafts, in as few requests as the server allows: some give one, however many are asked for."""
        drafts: list[Draft] = []
        read = written = 0
        at_once = sampling.drafts
        while missing := sampling.drafts - len(drafts):
            now = replace(sampling, drafts=min(at_once, missing), seed=sampling.seed + len(drafts))
            try:
                reply = self._send(messages, now, form)
            except _UnsupportedOptionError:
                if at_once == 1:
                    raise
                at_once = 1
                continue
            if self._heard:
                self._heard(reply)
            drafts += reply.drafts[:missing]
            read, written = read + reply.read, written + reply.written
        return ChatReply(tuple(drafts), read, written)

    def _send(self, messages: Sequence[Message], sampling: Sampling, form: Mapping[str, Any]) -> ChatReply:
        fields = {**_fields(sampling), **form, **self._options}
        try:
            reply = cast("Any", self._client.chat.completions).create(
                model=self._model,
                messages=[{"role": message.role, "content": message.content} for message in messages],
                **{name: value for name, value in fields.items() if value is not None},
            )
            choices = [(choice.message.content, choice.finish_reason) for choice in reply.choices]
            usage = reply.usage
        except self._errors as error:
            # a server may echo what it refuses, so its own words are left out
            status = getattr(error, "status_code", None)
            reason = f"HTTP {status}" if status else str(error).rstrip(".")
            kind = _UnsupportedOptionError if status in _NOT_UNDERSTOOD else LanguageModelError
            raise kind(
                f"{self._server} did not answer: {reason}; "
                f"check the address, the key, the model {self._model!r} and the options"
            ) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise self._useless("is no chat completion") from None
        if not choices:
            raise self._useless("is no chat completion")
        drafts = [Draft(text, finish != "length") for text, finish in choices if isinstance(text, str)]
        if not drafts:
            raise self._useless("has no text")
        return ChatReply(tuple(drafts), _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))

    def _useless(self, why: str) -> LanguageModelError:
        return LanguageModelError(
            f"the answer of {self._server} {why}; try another model than {self._model!r}, or other options"
        )


class _UnsupportedOptionError(LanguageModelError):
    """The server refuses the request as it stands."""


def _fields(sampling: Sampling) -> dict[str, Any]:
    """What is asked for, where it is not what servers do anyway: some refuse any name they do not know."""
    fields: dict[str, Any] = {"temperature": sampling.temperature, "max_tokens": sampling.most}
    if sampling.temperature > 0:
        fields["seed"] = sampling.seed
    if sampling.top_p < 1:
        fields["top_p"] = sampling.top_p
    if sampling.top_k > 0:
        fields["extra_body"] = {"top_k": sampling.top_k}  # not OpenAI's, but that of most other servers
    if sampling.drafts > 1:
        fields["n"] = sampling.drafts
    return fields


def _count(usage: object, name: str) -> int:
    count = getattr(usage, name, None)
    return count if isinstance(count, int) else 0
