"""Planning prompts answered on a CPU: which are open, and what is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune.llm import ChatReply, Draft, Message, Sampling
from contextune.plan.language_model.planner import call_json
from contextune_lab.bench.quality.plan.written_plans import RecordedAnswer, read_written_plans
from contextune_lab.train.llm.plan_answers import (
    answer_questions,
    fold_adapters,
    open_questions,
    write_answers,
)

KNOWN = ("send_email", "skip_track")


@dataclass
class FoldChat:
    """Answers with its fold and the last message."""

    fold: int
    name: str = "fold"

    def ask(
        self,
        messages: Sequence[Message],
        sampling: Sampling = Sampling(),  # noqa: ARG002, B008  # frozen
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatReply:
        assert schema is None  # raw answers: nothing may keep the model from inventing
        return ChatReply((Draft(f"{self.fold}: {messages[-1].content}"),))


def question(name: str, fold: int = 0, tools: Sequence[str] = ("send_email",)) -> dict[str, Any]:
    asked = [["system", "Plan."], ["user", name]]
    return {"fold": fold, "name": name, "row": "tuned", "tools": list(tools), "asked": asked}


def test_missing_and_stale_answers_are_open() -> None:
    recorded = {
        ("current", "tuned"): RecordedAnswer(call_json("send_email", {})),
        ("stale", "tuned"): RecordedAnswer(call_json("skip_track", {})),
        ("no tools", "tuned"): RecordedAnswer(call_json("skip_track", {})),
    }
    questions = [question("current"), question("stale"), question("missing"), question("no tools", tools=())]
    assert [row["name"] for row in open_questions(questions, recorded, KNOWN)] == ["stale", "missing"]


def test_each_question_is_answered_by_the_model_of_its_fold(tmp_path: Path) -> None:
    asked: list[int] = []

    def chat(fold: int) -> FoldChat:
        asked.append(fold)
        return FoldChat(fold)

    answers = answer_questions([question("b", 1), question("a", 0), question("c", 1)], chat)
    assert asked == [0, 1, 1]
    assert answers["b", "tuned"] == RecordedAnswer("1: b", ("send_email",))
    for file in (tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.gz"):
        write_answers({("old", "tuned"): RecordedAnswer("x"), **answers}, file)
        assert read_written_plans(file) == {("old", "tuned"): RecordedAnswer("x"), **answers}
    first = json.loads((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "tools" not in first


def test_missing_adapter_says_how_to_train_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="plan_writer --fold 3"):
        fold_adapters(tmp_path)(3)
