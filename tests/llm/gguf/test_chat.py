"""`GgufChat` with a scripted runtime: schemas, errors, drafts."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import LanguageModelError
from contextune.llm import GgufChat, Message, Sampling
from contextune.llm.gguf import files
from contextune.llm.gguf.chat import simplified_schema

PROMPT = [Message("system", "Be brief."), Message("user", "Secret words")]
SCHEMA = {
    "type": "object",
    "properties": {"when": {"type": "string", "pattern": "^2"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["when"],
    "additionalProperties": False,
}


@dataclass
class ScriptedRuntime:
    """Answers with what a function returns, and keeps the requests."""

    answer: Callable[[Mapping[str, Any]], Any]
    asked: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def handle_chat_completions(self, body: Mapping[str, Any]) -> Any:
        self.asked.append(body)
        return self.answer(body)


def reply(text: str, finish: str = "stop") -> dict[str, Any]:
    choice = {"message": {"content": text}, "finish_reason": finish}
    return {"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 3}}


def chat(answer: Callable[[Mapping[str, Any]], Any]) -> tuple[GgufChat, ScriptedRuntime]:
    runtime = ScriptedRuntime(answer)
    return GgufChat(Path("tiny.gguf"), runtime=runtime), runtime


def test_request_has_messages_and_sampling_and_reuses_the_prefix() -> None:
    model, runtime = chat(lambda _: reply("tea"))
    answer = model.ask(PROMPT, Sampling(max_tokens=9))
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ("tea", 20, 3)
    body = runtime.asked[0]
    assert body["messages"][1] == {"role": "user", "content": "Secret words"}
    assert (body["max_tokens"], body["temperature"], body["cache_prompt"]) == (9, 0.0, True)
    assert "response_format" not in body
    assert model.name == "local#tiny"


def test_drafts_differ_by_seed_only_if_sampled() -> None:
    model, runtime = chat(lambda body: reply(str(body["seed"])))
    sampled = model.ask(PROMPT, Sampling(temperature=0.7, drafts=3, seed=5))
    assert [draft.text for draft in sampled.drafts] == ["5", "6", "7"]
    greedy = model.ask(PROMPT, Sampling(drafts=2))
    assert [draft.text for draft in greedy.drafts] == ["0", "0"]
    assert len(runtime.asked) == 4


def test_schema_constrains_and_is_checked() -> None:
    model, runtime = chat(lambda _: reply('{"when": "2024"}'))
    assert json.loads(model.ask(PROMPT, schema=SCHEMA).text) == {"when": "2024"}
    assert runtime.asked[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    wrong, _ = chat(lambda _: reply('{"when": "today"}'))
    with pytest.raises(LanguageModelError, match="no draft"):
        wrong.ask(PROMPT, schema=SCHEMA)


def test_schema_that_the_runtime_refuses_is_simplified() -> None:
    def answer(body: Mapping[str, Any]) -> Any:
        schema = body["response_format"]["json_schema"]["schema"]
        if "pattern" in json.dumps(schema):
            raise RuntimeError("unsupported keyword: pattern")
        return reply('{"when": "2024"}')

    model, runtime = chat(answer)
    assert model.ask(PROMPT, schema=SCHEMA).text == '{"when": "2024"}'
    assert len(runtime.asked) == 2
    assert simplified_schema(SCHEMA)["properties"] == {
        "when": {"type": "string"},
        "count": {"type": "integer"},
    }


@pytest.mark.parametrize(
    "answer",
    [  # pyright: ignore[reportUnknownArgumentType]
        {"error": {"message": "context is full\nSecret words"}},
        {"choices": []},
        {"choices": [{"message": {}}]},
    ],
)
def test_errors_name_the_model_and_never_quote_the_prompt(answer: Any) -> None:
    model, _ = chat(lambda _: answer)
    with pytest.raises(LanguageModelError, match="local#tiny did not answer") as error:
        model.ask(PROMPT)
    assert "Secret" not in str(error.value)


def test_without_a_chosen_file_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path)
    with pytest.raises(LanguageModelError, match="contextune llm use FILE"):
        GgufChat()
