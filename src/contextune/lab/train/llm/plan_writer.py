"""Tunes a language model to plan: for each fold one that has not seen it, and one on everything, to ship.

    python -m contextune.lab.train.llm.plan_writer DATA.json MODEL OUT [--fold N] [--epochs N] [--rate R]

`DATA.json` is of `contextune train plan-lessons`. With `--fold` the model learns from the other folds and
writes what it is asked of this one; without, it learns from all of them, and the adapter is kept.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from contextune.lab.train.llm.sampling import SamplingOptions
from contextune.lab.train.llm.writer import CausalWriter, Lesson, TuningOptions
from contextune.llm.chat import Message


def lessons_of(data: dict[str, Any], fold: int | None) -> list[Lesson]:
    """What may be learnt from where a fold is to be judged."""
    return [(_messages(row["asked"]), row["answer"]) for row in data["lessons"] if row["fold"] != fold]


def written(writer: CausalWriter, data: dict[str, Any], fold: int) -> list[dict[str, Any]]:
    """The answers to all that is asked of a fold."""
    asked = [row for row in data["questions"] if row["fold"] == fold]
    how = SamplingOptions(temperature=0, most=170, batch=256)
    answers = writer.write([_messages(row["asked"]) for row in asked], how)
    return [
        {"name": row["name"], "row": row["row"], "answer": drafts[0]}
        for row, drafts in zip(asked, answers, strict=True)
    ]


def _messages(rows: list[list[Any]]) -> list[Message]:
    return [Message(role, content) for role, content in rows]


def main() -> None:
    """One training run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("data", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--fold", type=int, help="the fold that is judged, and not learnt from")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--start", type=Path, help="an adapter to go on from")
    given = parser.parse_args()
    start = time.perf_counter()
    data = json.loads(given.data.read_text(encoding="utf-8"))
    gguf = next(iter(sorted(given.model.glob("*.gguf"))), None) if given.model.is_dir() else None
    writer = CausalWriter(given.model, file=gguf and gguf.name, rank=given.rank, alpha=2.0 * given.rank)
    given.out.mkdir(parents=True, exist_ok=True)
    name = "all" if given.fold is None else f"fold-{given.fold}"

    def say(what: str, **figures: Any) -> None:
        line = {"at": round(time.perf_counter() - start, 1), "what": what, **figures}
        with (given.out / f"{name}.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)  # noqa: T201  # the machine it runs on has no other console

    lessons = lessons_of(data, given.fold)
    say("ready", lessons=len(lessons))
    steps: list[float] = []
    loss = writer.learn(
        lessons, TuningOptions(rate=given.rate, epochs=given.epochs), told=lambda _, loss: steps.append(loss)
    )
    say(
        "learnt", loss=loss, steps=len(steps), curve=[round(one, 3) for one in steps[:: len(steps) // 20 + 1]]
    )
    writer.adapter.save(given.out / f"{name}.safetensors")
    if given.fold is not None:
        rows = written(writer, data, given.fold)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (given.out / f"{name}.answers.jsonl").write_text(text, encoding="utf-8")
        say("written", answers=len(rows), tokens_per_second=round(writer.speed))


if __name__ == "__main__":
    main()
