"""Tunes a language model to write queries for tools (Kachuee et al.): by example, then by what they find.

SFT learns request → descriptions of the tools that serve it. Alignment (the paper's Algorithm 1) lets the
model draft, searches with every draft, keeps the best one of each request, and learns from those; and again.

    python -m contextune.lab.train.llm.querygen DATA.json ENCODER MODEL OUT [--config FILE.toml]

`DATA.json` is of `querygen_data`, `ENCODER` the folder of the sentence encoder that searches, `MODEL` any
causal model of `transformers`, by name or folder. What a run that was broken off had learnt and judged is
found in `OUT`, and not done again.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from contextune.evaluate.metrics import recall
from contextune.lab.train.embedder.encoder import Encoder
from contextune.lab.train.llm.lora import blended, read_adapter
from contextune.lab.train.llm.querygen_config import DraftFilter, QuerygenConfig, read_config
from contextune.lab.train.llm.reward import RewardExample, RewardRetrieval
from contextune.lab.train.llm.sampling import SamplingOptions
from contextune.lab.train.llm.writer import CausalWriter, Lesson
from contextune.llm.chat import Message
from contextune.tools.querygen.parse import parse
from contextune.tools.querygen.prompts import describe_messages, intent_messages

ENGINES: Mapping[str, Callable[..., CausalWriter]] = {"here": CausalWriter}
"""Who learns and writes: whatever else does both, on several machines say, can be named here."""
_JUDGED = ("dev", "ood_dev", "id_test", "test", "ood")
_REPEATED = ("toolbench", "more")
KINDS = {"descriptions": describe_messages, "intents": intent_messages}


Pool = list[tuple[RewardExample, list[str], dict[str, NDArray[np.float64]]]]
"""Requests, their drafts, and what these are worth by each metric."""


class QuerygenRun:
    """One model, one set of data, and a folder for what comes of them."""

    def __init__(
        self,
        config: QuerygenConfig,
        data: Mapping[str, Any],
        encoder: Path,
        model: Path,
        out: Path,
        engine: str = "here",
    ) -> None:
        self.config, self.out = config, out
        out.mkdir(parents=True, exist_ok=True)
        self._start = time.perf_counter()
        searcher = Encoder(encoder, 1, 1, 128).to("cuda" if torch.cuda.is_available() else "cpu")
        self.tools: dict[str, list[str]] = {name: part["tools"] for name, part in data["sets"].items()}
        self.wanted = {name: _wanted(part) for name, part in data["sets"].items()}
        self.lessons = [_lesson(row) for row in data["lessons"]]
        self.retrieval = RewardRetrieval(searcher, self.tools)
        gguf = next(iter(sorted(model.glob("*.gguf"))), None) if model.is_dir() else None
        self.writer = ENGINES[engine](model, file=gguf and gguf.name, rank=config.rank, alpha=config.alpha)
        self._judged = self._before()
        self._first: Pool = []
        self.say("ready")

    def _before(self) -> dict[str, dict[str, float]]:
        """What an earlier run into the same folder judged, by model."""
        log = self.out / "log.jsonl"
        rows = map(json.loads, log.read_text(encoding="utf-8").splitlines()) if log.exists() else ()
        return {row["model"]: row["recall5"] for row in rows if row["what"] == "judged"}

    def learnt(self, model: str, learn: Callable[[], None]) -> None:
        """Learn, and keep the adapter; or take over the one that an earlier run kept."""
        file = self.out / f"{model}.safetensors"
        if file.exists():
            self.writer.load(read_adapter(file))
            self.say("taken over", model=model)
            return
        learn()
        self.writer.adapter.save(file)

    def all(self, until: float = 1e9) -> None:
        """Zero-shot, SFT and alignment, one after the other, as far as the recipe names them."""
        stages = self.config.stages
        if "zero-shot" in stages:
            self.judge("zero-shot", 0.6)
        if "sft" in stages:
            self.learnt("sft", self.sft)
            self.judge("sft", self.calibrate("sft"))
        if "warm" in stages:
            self.learnt("warm", self.warm)
            self.judge("warm", 0.1)
        if "align" in stages:
            self.align(until)
            self.calibrate("alignment")
        if "ablations" in stages:
            self.ablate(until)
        if "blends" in stages:
            self.blend()

    def say(self, what: str, **figures: Any) -> None:
        """One line to the log and the screen."""
        line = json.dumps({"at": round(time.perf_counter() - self._start, 1), "what": what, **figures})
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        print(line, flush=True)  # noqa: T201  # the machine it runs on has no other console

    def part(self, name: str, *splits: str) -> list[RewardExample]:
        """Requests of some parts of a set."""
        return [one for one in self.wanted[name] if one.split in splits]

    def ask(self, wanted: Sequence[RewardExample]) -> list[list[Message]]:
        """The prompts of requests."""
        return [KINDS[self.config.kind](one.text) for one in wanted]

    def queries(self, one: RewardExample, answer: str) -> list[str]:
        """What is searched for: what was written, and the request."""
        found = [query for query in parse(answer, one.text) if query != one.text]
        return [one.text, *found] if self.config.request_first else [*found, one.text]

    def write(self, wanted: Sequence[RewardExample], how: SamplingOptions) -> list[list[list[str]]]:
        """Of each request so many drafts, each as what is searched for."""
        written = self.writer.write(self.ask(wanted), how)
        return [
            [self.queries(one, text) for text in drafts] for one, drafts in zip(wanted, written, strict=True)
        ]

    def examples(self, name: str, wanted: Sequence[RewardExample]) -> list[Lesson]:
        """Requests with their tools, a line each."""
        return [
            (messages, "\n".join(dict.fromkeys(_line(self.tools[name][n]) for n in sorted(one.relevant))))
            for one, messages in zip(wanted, self.ask(wanted), strict=True)
        ]

    def _answered(self, name: str, wanted: Sequence[RewardExample]) -> list[tuple[RewardExample, Lesson]]:
        return list(zip(wanted, self.examples(name, wanted), strict=True))

    def judge(self, model: str, temperature: float) -> dict[str, float]:
        """Write for every request that is judged, keep what was written, and say how much of it is found."""
        if model in self._judged:
            return self._judged[model]
        judged = {
            name: [one for split in _JUDGED for one in self.part(name, split)[: self.config.judged]]
            for name in self.wanted
        }
        judged = {name: part for name, part in judged.items() if part}
        asked = [one for part in judged.values() for one in part]
        how = SamplingOptions(temperature=temperature, seed=self.config.seed)
        answers = iter(self.writer.write(self.ask(asked), how))
        found: dict[str, float] = {}
        with (self.out / "queries.jsonl").open("a", encoding="utf-8") as kept:
            for name, wanted in judged.items():
                written = [next(answers)[0] for _ in wanted]
                rows = [self.queries(one, answer) for one, answer in zip(wanted, written, strict=True)]
                worth = recall(self.retrieval.judged(name, wanted, rows), 5)
                for split in sorted({one.split for one in wanted}):
                    chosen = [one.split == split for one in wanted]
                    found[f"{name} {split}"] = round(100 * float(worth[chosen].mean()), 2)
                lines = {one.id: parse(answer, "") for one, answer in zip(wanted, written, strict=True)}
                row = {"model": model, "temperature": temperature, "set": name, "lines": lines}
                kept.write(json.dumps(row) + "\n")
        self.say(
            "judged",
            model=model,
            temperature=temperature,
            recall5=found,
            tokens_per_second=round(self.writer.speed),
        )
        return found

    def calibrate(self, model: str) -> float:
        """The temperature at which most is found of the requests kept for it, the lower one of equals."""
        wanted = self.part("toolbench", "dev")
        found: dict[float, float] = {}
        for temperature in self.config.temperatures:
            drafts = self.write(wanted, SamplingOptions(temperature=temperature, drafts=4))
            worth = self.retrieval.rewards("toolbench", wanted, drafts)["recall"]
            found[temperature] = float(np.concatenate(worth).mean())
        best = max(found, key=lambda temperature: (round(found[temperature], 3), -temperature))
        self.say("calibrated", model=model, recall=found, best=best)
        return best

    def sft(self) -> None:
        """Learn from the descriptions of the right tools."""
        config = self.config
        given: list[Lesson] = []
        for name, most in config.sft_sets.items():
            examples = self.examples(name, self.part(name, "train")[:most])
            given += examples * (config.repeats if name in _REPEATED else 1)
        self.writer.reset()
        loss = self.writer.learn([*given, *self.lessons[: config.lessons]], config.sft, seed=config.seed)
        self.say("sft", lessons=len(given), loss=loss)

    def warm(self) -> None:
        """Show a few examples, so that lines are written."""
        given = self.examples("toolbench", self.part("toolbench", "train")[: self.config.warmup])
        self.writer.reset()
        loss = self.writer.learn([*given, *self.lessons[:400]], self.config.warm, seed=self.config.seed)
        self.say("warm", lessons=len(given), loss=loss)

    def align(self, until: float) -> None:
        """Algorithm 1, for so many iterations or seconds."""
        best: tuple[float, str] = (-1.0, "")
        for iteration in range(1, self.config.iterations + 1):
            if time.perf_counter() - self._start > until:
                self.say("out of time", iteration=iteration)
                break
            model = f"align-{iteration}"
            self.learnt(model, lambda iteration=iteration: self.iterate(iteration))
            found = self.judge(model, 0.1)
            kept = [recalls for part, recalls in found.items() if part.endswith("dev")]
            best = max(best, (sum(kept) / max(1, len(kept)), model))
        self.say("best", model=best[1], recall5=best[0])

    def iterate(self, iteration: int) -> None:
        """Draft, keep the best, learn from these."""
        pool = self.drafted(iteration)
        self._first = pool if iteration == 1 else self._first
        kept = self.kept(pool, self.config.reward, self.config.filter)
        mixed = self.lessons[(iteration * self.config.lessons) % max(1, len(self.lessons)) :]
        given = [*kept, *mixed[: self.config.lessons]]
        loss = self.writer.learn(given, self.config.align, seed=self.config.seed + iteration)
        self.say("aligned", iteration=iteration, kept=len(kept), loss=loss)

    def drafted(self, iteration: int) -> Pool:
        """Drafts for the training requests; all rewards of all of them are kept."""
        pool: Pool = []
        for name, most in self.config.align_sets.items():
            wanted = _turn(self.part(name, "train"), most, iteration)
            if not wanted:
                continue
            how = replace(self.config.drafts, seed=self.config.seed + iteration)
            drafts = self.write(wanted, how)
            speed = self.writer.speed
            worth = self.retrieval.rewards(name, wanted, drafts)
            spread = np.histogram(np.concatenate(worth["mmrr"]), np.linspace(0, 1, 11))[0]
            self.say(
                "drafted",
                iteration=iteration,
                set=name,
                requests=len(wanted),
                tokens_per_second=round(speed),
                mean={metric: round(float(np.concatenate(rows).mean()), 4) for metric, rows in worth.items()},
                best=round(float(np.mean([rows.max() for rows in worth["mmrr"]])), 4),
                spread=(spread / spread.sum()).round(4).tolist(),
            )
            if self.config.shown:
                right = [[self.queries(one, answer)] for one, (_, answer) in self._answered(name, wanted)]
                also = self.retrieval.rewards(name, wanted, right)
                drafts = [[*rows, *more] for rows, more in zip(drafts, right, strict=True)]
                for metric, rows in also.items():
                    worth[metric] = [np.append(*pair) for pair in zip(worth[metric], rows, strict=True)]
            for n, one in enumerate(wanted):
                lines = ["\n".join(query for query in row if query != one.text) for row in drafts[n]]
                pool.append((one, lines, {metric: worth[metric][n] for metric in worth}))
        return pool

    def kept(self, pool: Pool, reward: str, how: DraftFilter) -> list[Lesson]:
        """The drafts that are learnt from."""
        chosen: list[tuple[float, RewardExample, str]] = []
        for one, drafts, worth in pool:
            seen: set[str] = set()
            for n in map(int, np.argsort(-worth[reward], kind="stable")):
                value, text = float(worth[reward][n]), drafts[n]
                if len(seen) < how.drafts and text and text not in seen and value >= how.least:
                    seen.add(text)
                    chosen.append((value, one, text))
        floor = np.percentile([value for value, _, _ in chosen], 100 - how.top) if chosen else 0.0
        left = [(one, text) for value, one, text in chosen if value >= floor]
        asked = self.ask([one for one, _ in left])
        return [(messages, text) for messages, (_, text) in zip(asked, left, strict=True)]

    def ablate(self, until: float) -> None:
        """One iteration under other rewards and filters, from the same drafts of the same model."""
        left = {
            name: how for name, how in self.config.ablations.items() if f"ablation {name}" not in self._judged
        }
        if not left:
            return
        self.learnt("warm", self.warm)
        warm = self.writer.adapter.state()
        pool = self._first or self.drafted(1)
        for name, changed in left.items():
            if time.perf_counter() - self._start > until:
                self.say("out of time", ablation=name)
                break
            reward = str(changed.get("reward", self.config.reward))
            other = {key: value for key, value in changed.items() if key != "reward"}
            kept = self.kept(pool, reward, replace(self.config.filter, **other))
            self.writer.load(warm)
            self.writer.learn(kept, self.config.align, seed=self.config.seed)
            self.say("ablated", name=name, kept=len(kept))
            self.judge(f"ablation {name}", 0.1)

    def blend(self) -> None:
        """Judge adapters that lie between others: what one learnt in domain, and the other beyond it."""
        for name, shares in self.config.blends.items():
            parts = [
                (read_adapter(self.out / f"{part}.safetensors"), share) for part, share in shares.items()
            ]
            self.writer.load(blended(parts))
            self.writer.adapter.save(self.out / f"{name}.safetensors")
            self.judge(name, 0.1)


def _turn(wanted: list[RewardExample], most: int, iteration: int) -> list[RewardExample]:
    """So many of them, another iteration's others, beginning again at the end."""
    if most >= len(wanted):
        return wanted
    start = (iteration - 1) * most
    return [wanted[n % len(wanted)] for n in range(start, start + most)]


def _wanted(part: Mapping[str, Any]) -> list[RewardExample]:
    return [
        RewardExample(row["id"], row["text"], row["split"], frozenset(row["relevant"]))
        for row in part["queries"]
    ]


def _lesson(row: Mapping[str, Any]) -> Lesson:
    return [Message(role, content) for role, content in row["asked"]], row["answer"]


def _line(text: str) -> str:
    return " ".join(text.split()[:19])


def main() -> None:
    """Zero-shot, SFT and alignment, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("data", "encoder", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--config", type=Path, help="a TOML file that changes the recipe")
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which nothing long is begun")
    parser.add_argument("--engine", choices=list(ENGINES), default="here", help="who learns and writes")
    given = parser.parse_args()
    data = json.loads(given.data.read_text(encoding="utf-8"))
    run = QuerygenRun(read_config(given.config), data, given.encoder, given.model, given.out, given.engine)
    run.all(given.until)


if __name__ == "__main__":
    main()
