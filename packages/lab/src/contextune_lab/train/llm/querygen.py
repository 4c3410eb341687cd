"""Fine-tune a language model to write tool-retrieval queries (Kachuee et al.): SFT, then alignment.

SFT trains request → descriptions of the right tools. Alignment (the paper's Algorithm 1) repeats: draft
queries, search with every draft, keep the best draft of each request, train on those.

    python -m contextune_lab.train.llm.querygen DATA.json ENCODER MODEL OUT [--config FILE.toml]

`DATA.json` is written by `querygen_data`, `ENCODER` is the folder of the sentence encoder that searches,
`MODEL` a causal model of `transformers` (name or folder). An interrupted run continues from what is in
`OUT`.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from contextune.evaluate.metrics import Floats, recall
from contextune.llm.chat import Message
from contextune.tools.querygen.parse import parse_queries
from contextune.tools.querygen.prompts import describe_messages, intent_messages
from contextune_lab.train.embedder.encoder import Encoder
from contextune_lab.train.llm.lora import blend_adapters, read_adapter
from contextune_lab.train.llm.querygen_config import DraftFilter, QuerygenConfig, read_config
from contextune_lab.train.llm.reward import RewardExample, RewardRetrieval
from contextune_lab.train.llm.sampling import SamplingOptions
from contextune_lab.train.llm.writer import CausalWriter, Lesson

ENGINES: Mapping[str, Callable[..., CausalWriter]] = {"here": CausalWriter}
"""Training engines by name; register another one here, for instance a distributed one."""
_EVALUATED_SPLITS = ("dev", "ood_dev", "id_test", "test", "ood")
_REPEATED_SETS = ("toolbench", "more")
PROMPTS = {"descriptions": describe_messages, "intents": intent_messages}


DraftPool = list[tuple[RewardExample, list[str], dict[str, Floats]]]
"""(request, its drafts, their rewards by metric)."""


class QuerygenRun:
    """Trains one model on one dataset; adapters, written queries and the log go to a folder."""

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
        search_encoder = Encoder(encoder, 1, 1, 128).to("cuda" if torch.cuda.is_available() else "cpu")
        self.tools: dict[str, list[str]] = {name: part["tools"] for name, part in data["sets"].items()}
        self.examples = {name: _examples(part) for name, part in data["sets"].items()}
        self.authored_lessons = [_lesson(row) for row in data["lessons"]]
        self.retrieval = RewardRetrieval(search_encoder, self.tools)
        cast("Any", torch).manual_seed(config.seed)  # the adapter's first weights
        gguf = next(iter(sorted(model.glob("*.gguf"))), None) if model.is_dir() else None
        self.writer = ENGINES[engine](model, file=gguf and gguf.name, rank=config.rank, alpha=config.alpha)
        self._evaluated = self._read_evaluated()
        self._first_pool: DraftPool = []
        self.log("ready")

    def _read_evaluated(self) -> dict[str, dict[str, float]]:
        """Results of an earlier run into the same folder, by model."""
        log = self.out / "log.jsonl"
        rows = map(json.loads, log.read_text(encoding="utf-8").splitlines()) if log.exists() else ()
        return {row["model"]: row["recall5"] for row in rows if row["what"] == "judged"}

    def train_or_load(self, model: str, train: Callable[[], None]) -> None:
        """Train and save an adapter, or load the one an earlier run saved."""
        file = self.out / f"{model}.safetensors"
        if file.exists():
            self.writer.load(read_adapter(file))
            self.log("taken over", model=model)
            return
        train()
        self.writer.adapter.save(file)

    def run_stages(self, until: float = 1e9) -> None:
        """Run the configured stages: zero-shot, SFT, alignment, ablations, blends."""
        stages = self.config.stages
        if "zero-shot" in stages:
            self.evaluate("zero-shot", self.calibrate("zero-shot"))
        if "sft" in stages:
            self.train_or_load("sft", self.sft)
            self.evaluate("sft", self.calibrate("sft"))
        if "warm" in stages:
            self.train_or_load("warm", self.warm)
            self.evaluate("warm", 0.1)
        if "align" in stages:
            self.calibrate(self.align(until))
        if "ablations" in stages:
            self.run_ablations(until)
        if "blends" in stages:
            self.evaluate_blends()

    def log(self, what: str, **values: Any) -> None:
        """Append one line to the log and print it."""
        line = json.dumps({"at": round(time.perf_counter() - self._start, 1), "what": what, **values})
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)  # noqa: T201  # console of the training machine

    def split(self, name: str, *splits: str) -> list[RewardExample]:
        """The examples of some splits of a set."""
        return [example for example in self.examples[name] if example.split in splits]

    def prompts(self, examples: Sequence[RewardExample]) -> list[list[Message]]:
        """One prompt per request."""
        return [PROMPTS[self.config.kind](example.text) for example in examples]

    def queries(self, example: RewardExample, answer: str) -> list[str]:
        """The queries to search with: those in the answer, and the request itself."""
        written = [query for query in parse_queries(answer, example.text) if query != example.text]
        return [example.text, *written] if self.config.request_first else [*written, example.text]

    def write(self, examples: Sequence[RewardExample], options: SamplingOptions) -> list[list[list[str]]]:
        """Drafts per request, each as a list of queries."""
        answers = self.writer.write(self.prompts(examples), options)
        return [
            [self.queries(example, text) for text in drafts]
            for example, drafts in zip(examples, answers, strict=True)
        ]

    def lessons(self, name: str, examples: Sequence[RewardExample]) -> list[Lesson]:
        """SFT lessons: each request with the descriptions of its tools, one per line."""
        return [
            (
                messages,
                "\n".join(dict.fromkeys(_first_words(self.tools[name][n]) for n in sorted(example.relevant))),
            )
            for example, messages in zip(examples, self.prompts(examples), strict=True)
        ]

    def evaluate(self, model: str, temperature: float) -> dict[str, float]:
        """Write queries for the evaluation splits, save them, and log recall@5 by set and split."""
        if model in self._evaluated:
            return self._evaluated[model]
        examples_by_set = {
            name: [
                example
                for split in _EVALUATED_SPLITS
                for example in self.split(name, split)[: self.config.judged]
            ]
            for name in self.examples
        }
        examples_by_set = {name: examples for name, examples in examples_by_set.items() if examples}
        all_examples = [example for examples in examples_by_set.values() for example in examples]
        options = SamplingOptions(temperature=temperature, seed=self.config.seed)
        answers = iter(self.writer.write(self.prompts(all_examples), options))
        recalls: dict[str, float] = {}
        with (self.out / "queries.jsonl").open("a", encoding="utf-8") as file:
            for name, examples in examples_by_set.items():
                written = [next(answers)[0] for _ in examples]
                pairs = list(zip(examples, written, strict=True))
                queries = [self.queries(example, answer) for example, answer in pairs]
                values = recall(self.retrieval.judge(name, examples, queries), 5)
                for split in sorted({example.split for example in examples}):
                    in_split = [example.split == split for example in examples]
                    recalls[f"{name} {split}"] = round(100 * float(values[in_split].mean()), 2)
                lines = {example.id: parse_queries(answer, "") for example, answer in pairs}
                row = {"model": model, "temperature": temperature, "set": name, "lines": lines}
                file.write(json.dumps(row) + "\n")
        self.log(
            "judged",
            model=model,
            temperature=temperature,
            recall5=recalls,
            tokens_per_second=round(self.writer.speed),
        )
        return recalls

    def calibrate(self, model: str) -> float:
        """The temperature with the best Recall@5 on the dev split, as in the paper; the lowest if equal."""
        examples = self.split("toolbench", "dev")
        recalls: dict[float, float] = {}
        for temperature in self.config.temperatures:
            drafts = self.write(examples, SamplingOptions(temperature=temperature, drafts=4))
            repeated = [example for example, each in zip(examples, drafts, strict=True) for _ in each]
            judged = self.retrieval.judge("toolbench", repeated, [draft for each in drafts for draft in each])
            recalls[temperature] = float(recall(judged, 5).mean())
        best = max(recalls, key=lambda temperature: (round(recalls[temperature], 3), -temperature))
        self.log("calibrated", model=model, recall5=recalls, best=best)
        return best

    def sft(self) -> None:
        """Supervised fine-tuning on the descriptions of the right tools."""
        config = self.config
        lessons: list[Lesson] = []
        for name, limit in config.sft_sets.items():
            of_set = self.lessons(name, self.split(name, "train")[:limit])
            lessons += of_set * (config.repeats if name in _REPEATED_SETS else 1)
        self.writer.reset()
        loss = self.writer.learn(
            [*lessons, *self.authored_lessons[: config.lessons]], config.sft, seed=config.seed
        )
        self.log("sft", lessons=len(lessons), loss=loss)

    def warm(self) -> None:
        """Train on a few examples, so that the model writes one query per line."""
        lessons = self.lessons("toolbench", self.split("toolbench", "train")[: self.config.warmup])
        self.writer.reset()
        loss = self.writer.learn(
            [*lessons, *self.authored_lessons[:400]], self.config.warm, seed=self.config.seed
        )
        self.log("warm", lessons=len(lessons), loss=loss)

    def align(self, until: float) -> str:
        """Algorithm 1 of the paper, for the configured iterations or `until` seconds have passed.

        Loads the iteration with the best mean Recall@5 on the dev splits, and returns its name.
        """
        best: tuple[float, str] = (-1.0, "")
        for iteration in range(1, self.config.iterations + 1):
            if time.perf_counter() - self._start > until:
                self.log("out of time", iteration=iteration)
                break
            model = f"align-{iteration}"
            self.train_or_load(model, lambda iteration=iteration: self.iterate(iteration))
            recalls = self.evaluate(model, 0.1)
            dev = [value for split, value in recalls.items() if split.endswith("dev")]
            best = max(best, (sum(dev) / max(1, len(dev)), model))
        self.log("best", model=best[1], recall5=best[0])
        if best[1]:
            self.writer.load(read_adapter(self.out / f"{best[1]}.safetensors"))
        return best[1] or "warm"

    def iterate(self, iteration: int) -> None:
        """One iteration: draft, select the best drafts, train on them."""
        pool = self.draft(iteration)
        self._first_pool = pool if iteration == 1 else self._first_pool
        selected = self.select(pool, self.config.reward, self.config.filter)
        authored = self.authored_lessons[
            (iteration * self.config.lessons) % max(1, len(self.authored_lessons)) :
        ]
        lessons = [*selected, *authored[: self.config.lessons]]
        loss = self.writer.learn(lessons, self.config.align, seed=self.config.seed + iteration)
        self.log("aligned", iteration=iteration, kept=len(selected), loss=loss)

    def draft(self, iteration: int) -> DraftPool:
        """Drafts for the training requests of an iteration, with all their rewards."""
        pool: DraftPool = []
        for name, limit in self.config.align_sets.items():
            examples = _rotate(self.split(name, "train"), limit, iteration)
            if not examples:
                continue
            options = replace(self.config.drafts, seed=self.config.seed + iteration)
            drafts = self.write(examples, options)
            speed = self.writer.speed
            rewards = self.retrieval.rewards(name, examples, drafts)
            histogram = np.histogram(np.concatenate(rewards["mmrr"]), np.linspace(0, 1, 11))[0]
            self.log(
                "drafted",
                iteration=iteration,
                set=name,
                requests=len(examples),
                tokens_per_second=round(speed),
                mean={
                    metric: round(float(np.concatenate(rows).mean()), 4) for metric, rows in rewards.items()
                },
                best=round(float(np.mean([rows.max() for rows in rewards["mmrr"]])), 4),
                spread=(histogram / histogram.sum()).round(4).tolist(),
            )
            if self.config.shown:
                drafts, rewards = self._add_targets(name, examples, drafts, rewards)
            for n, example in enumerate(examples):
                lines = ["\n".join(query for query in row if query != example.text) for row in drafts[n]]
                pool.append((example, lines, {metric: rewards[metric][n] for metric in rewards}))
        return pool

    def _add_targets(
        self,
        name: str,
        examples: Sequence[RewardExample],
        drafts: list[list[list[str]]],
        rewards: dict[str, list[Floats]],
    ) -> tuple[list[list[list[str]]], dict[str, list[Floats]]]:
        """Add the right tools' own descriptions to the drafts, with their rewards."""
        targets = [
            [self.queries(example, answer)]
            for example, (_, answer) in zip(examples, self.lessons(name, examples), strict=True)
        ]
        target_rewards = self.retrieval.rewards(name, examples, targets)
        return (
            [[*rows, *more] for rows, more in zip(drafts, targets, strict=True)],
            {
                metric: [np.append(*pair) for pair in zip(rows, target_rewards[metric], strict=True)]
                for metric, rows in rewards.items()
            },
        )

    def select(self, pool: DraftPool, reward: str, draft_filter: DraftFilter) -> list[Lesson]:
        """The drafts to train on: the best of each request that pass the filter."""
        candidates: list[tuple[float, RewardExample, str]] = []
        for example, drafts, rewards in pool:
            texts: set[str] = set()
            for n in map(int, np.argsort(-rewards[reward], kind="stable")):
                value, text = float(rewards[reward][n]), drafts[n]
                full = len(texts) >= draft_filter.drafts
                if not full and text and text not in texts and value >= draft_filter.least:
                    texts.add(text)
                    candidates.append((value, example, text))
        values = [value for value, _, _ in candidates]
        floor = np.percentile(values, 100 - draft_filter.top) if candidates else 0.0
        selected = [(example, text) for value, example, text in candidates if value >= floor]
        prompts = self.prompts([example for example, _ in selected])
        return [(messages, text) for messages, (_, text) in zip(prompts, selected, strict=True)]

    def run_ablations(self, until: float) -> None:
        """One iteration with other rewards and filters, each from the same drafts of the same model."""
        remaining = {
            name: overrides
            for name, overrides in self.config.ablations.items()
            if f"ablation {name}" not in self._evaluated
        }
        if not remaining:
            return
        self.train_or_load("warm", self.warm)
        warm = self.writer.adapter.state()
        pool = self._first_pool or self.draft(1)
        for name, overrides in remaining.items():
            if time.perf_counter() - self._start > until:
                self.log("out of time", ablation=name)
                break
            reward = str(overrides.get("reward", self.config.reward))
            changes = {key: value for key, value in overrides.items() if key != "reward"}
            selected = self.select(pool, reward, replace(self.config.filter, **changes))
            self.writer.load(warm)
            self.writer.learn(selected, self.config.align, seed=self.config.seed)
            self.log("ablated", name=name, kept=len(selected))
            self.evaluate(f"ablation {name}", 0.1)

    def evaluate_blends(self) -> None:
        """Evaluate weighted averages of adapters."""
        for name, shares in self.config.blends.items():
            adapters = [
                (read_adapter(self.out / f"{model}.safetensors"), share) for model, share in shares.items()
            ]
            self.writer.load(blend_adapters(adapters))
            self.writer.adapter.save(self.out / f"{name}.safetensors")
            self.evaluate(name, 0.1)


def _rotate(examples: list[RewardExample], count: int, iteration: int) -> list[RewardExample]:
    """`count` examples, the next ones in every iteration, wrapping around."""
    if count >= len(examples):
        return examples
    start = (iteration - 1) * count
    return [examples[n % len(examples)] for n in range(start, start + count)]


def _examples(part: Mapping[str, Any]) -> list[RewardExample]:
    return [
        RewardExample(row["id"], row["text"], row["split"], frozenset(row["relevant"]))
        for row in part["queries"]
    ]


def _lesson(row: Mapping[str, Any]) -> Lesson:
    return [Message(role, content) for role, content in row["asked"]], row["answer"]


def _first_words(text: str) -> str:
    return " ".join(text.split()[:19])


def main() -> None:
    """Run the stages of the configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("data", "encoder", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--config", type=Path, help="TOML file of QuerygenConfig settings")
    parser.add_argument(
        "--until", type=float, default=1e9, help="seconds after which no further iteration starts"
    )
    parser.add_argument("--engine", choices=list(ENGINES), default="here", help="training engine")
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))
    run = QuerygenRun(
        read_config(options.config), data, options.encoder, options.model, options.out, options.engine
    )
    run.run_stages(options.until)


if __name__ == "__main__":
    main()
