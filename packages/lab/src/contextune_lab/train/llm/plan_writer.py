"""Fine-tune a causal language model as a planner: one adapter per fold, and one on everything, to ship.

    python -m contextune_lab.train.llm.plan_writer DATA.json MODEL OUT [--fold N] [--epochs N] [--rate R]

`DATA.json` is written by `contextune train plan-lessons`. With `--fold` the model trains on the other folds
and answers the questions of this one; without, it trains on all folds.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from contextune.llm.chat import Message
from contextune_lab.train.llm.sampling import SamplingOptions
from contextune_lab.train.llm.writer import CausalWriter, Lesson, TuningOptions


def training_lessons(data: dict[str, Any], fold: int | None) -> list[Lesson]:
    """The training examples of all folds but one."""
    return [(_messages(row["asked"]), row["answer"]) for row in data["lessons"] if row["fold"] != fold]


def write_answers(writer: CausalWriter, data: dict[str, Any], fold: int) -> list[dict[str, Any]]:
    """Answer all questions of a fold."""
    questions = [row for row in data["questions"] if row["fold"] == fold]
    sampling = SamplingOptions(temperature=0, most=170, batch=256)
    answers = writer.write([_messages(row["asked"]) for row in questions], sampling)
    return [
        {"name": row["name"], "row": row["row"], "tools": row.get("tools"), "answer": drafts[0]}
        for row, drafts in zip(questions, answers, strict=True)
    ]


def _messages(rows: list[list[Any]]) -> list[Message]:
    return [Message(role, content) for role, content in rows]


def main() -> None:
    """Run one training."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("data", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--fold", type=int, help="fold to hold out and evaluate")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--start", type=Path, help="adapter to start from")
    options = parser.parse_args()
    start = time.perf_counter()
    data = json.loads(options.data.read_text(encoding="utf-8"))
    gguf = next(iter(sorted(options.model.glob("*.gguf"))), None) if options.model.is_dir() else None
    writer = CausalWriter(options.model, file=gguf and gguf.name, rank=options.rank, alpha=2.0 * options.rank)
    options.out.mkdir(parents=True, exist_ok=True)
    name = "all" if options.fold is None else f"fold-{options.fold}"

    def log(what: str, **figures: Any) -> None:
        line = {"at": round(time.perf_counter() - start, 1), "what": what, **figures}
        with (options.out / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)  # noqa: T201  # console of the training machine

    lessons = training_lessons(data, options.fold)
    log("ready", lessons=len(lessons))
    steps: list[float] = []
    loss = writer.learn(
        lessons,
        TuningOptions(rate=options.rate, epochs=options.epochs),
        on_step=lambda _, loss: steps.append(loss),
    )
    log(
        "learnt",
        loss=loss,
        steps=len(steps),
        curve=[round(step_loss, 3) for step_loss in steps[:: len(steps) // 20 + 1]],
    )
    writer.adapter.save(options.out / f"{name}.safetensors")
    if options.fold is not None:
        rows = write_answers(writer, data, options.fold)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (options.out / f"{name}.answers.jsonl").write_text(text, encoding="utf-8")
        log("written", answers=len(rows), tokens_per_second=round(writer.speed))


if __name__ == "__main__":
    main()
