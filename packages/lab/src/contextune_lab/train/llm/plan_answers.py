"""Answer planning prompts with the local model on a CPU: stale answers again, or rows that are missing.

    python -m contextune_lab.train.llm.plan_answers DATA.json ADAPTERS OUT.jsonl.gz [--recorded FILE]
        [--row ROW] [--limit N]

`DATA.json` is written by `contextune train plan-lessons`, with `--cot` also for the rows with a chain of
thought. `ADAPTERS` is the folder of `plan_writer`, with one adapter per fold: the bundled one has seen every
persona. Answers of `--recorded` are kept while the same tools are offered; the others, and those it lacks,
are written. For whole rows use a GPU: `plan_writer --fold N` trains an adapter and answers all of its rows.
"""

import argparse
import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextune.errors import InvalidDataError
from contextune.llm import Chat, LocalChat, Message, Sampling
from contextune.tools import bundled_toolbox
from contextune.types import Progress
from contextune_lab.bench.quality.plan.written_plans import RecordedAnswer, WrittenAnswers, read_written_plans

SAMPLING = Sampling(max_tokens=170)
ChatOfFold = Callable[[int], Chat]


def open_questions(
    questions: Iterable[Mapping[str, Any]], recorded: WrittenAnswers, known: Iterable[str]
) -> list[Mapping[str, Any]]:
    """The questions without a recorded answer, and those whose answer is stale."""
    names = frozenset(known)

    def is_open(question: Mapping[str, Any]) -> bool:
        answer = recorded.get((question["name"], question["row"]))
        return answer is None or bool(question["tools"] and answer.is_stale(question["tools"], names))

    return [question for question in questions if is_open(question)]


def answer_questions(
    questions: Sequence[Mapping[str, Any]], chat_of_fold: ChatOfFold, progress: Progress | None = None
) -> dict[tuple[str, str], RecordedAnswer]:
    """Ask each question once, unconstrained, as in the training runs.

    `chat_of_fold` gives a model that has not seen the fold.
    """
    answers: dict[tuple[str, str], RecordedAnswer] = {}
    # one fold after the other, so that one model is in memory
    for number, question in enumerate(sorted(questions, key=lambda question: question["fold"]), 1):
        messages = [Message(role, content) for role, content in question["asked"]]
        text = chat_of_fold(question["fold"]).ask(messages, SAMPLING).text
        answers[question["name"], question["row"]] = RecordedAnswer(text, tuple(question["tools"]))
        if progress:
            progress(number, len(questions))
    return answers


def write_answers(answers: WrittenAnswers, file: Path) -> None:
    """Write the answers in the form that `read_written_plans` reads, compressed if named so."""
    rows = [
        {"name": name, "row": row, "answer": answer.text}
        | ({"tools": list(answer.tools)} if answer.tools is not None else {})
        for (name, row), answer in answers.items()
    ]
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def fold_adapters(folder: Path) -> ChatOfFold:
    """The local model with the adapter of a fold, `fold-N.safetensors`; the last one stays loaded."""
    loaded: dict[int, Chat] = {}

    def chat(fold: int) -> Chat:
        if fold not in loaded:
            adapter = folder / f"fold-{fold}.safetensors"
            if not adapter.exists():
                raise InvalidDataError(
                    f"no adapter at {adapter} "
                    f"(train it with contextune_lab.train.llm.plan_writer --fold {fold})"
                )
            loaded.clear()
            loaded[fold] = LocalChat(adapter=adapter)
        return loaded[fold]

    return chat


def main() -> None:
    """Answer what is open, and write all answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("data", "adapters", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--recorded", type=Path, help="answers to keep where they still hold")
    parser.add_argument("--row", action="append", help="only this row; may be repeated")
    parser.add_argument("--limit", type=int, help="answer at most so many questions")
    options = parser.parse_args()
    questions = json.loads(options.data.read_text(encoding="utf-8"))["questions"]
    recorded: WrittenAnswers = read_written_plans(options.recorded) if options.recorded else {}
    wanted = [question for question in questions if not options.row or question["row"] in options.row]
    remaining = open_questions(wanted, recorded, (tool.name for tool in bundled_toolbox()))
    print(f"{len(remaining)} of {len(wanted)} questions have no current answer", flush=True)  # noqa: T201
    answers = answer_questions(remaining[: options.limit], fold_adapters(options.adapters))
    write_answers({**recorded, **answers}, options.out)


if __name__ == "__main__":
    main()
