"""Everything that decides what comes out of tuning a model to write queries; a TOML file changes it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contextune.lab.train.llm.sampling import SamplingOptions
from contextune.lab.train.llm.writer import TuningOptions


@dataclass(frozen=True, slots=True)
class DraftFilter:
    """Which drafts are learnt from."""

    drafts: int = 1
    """The best so many of each request."""
    least: float = 0.05
    """Reward below which a draft is dropped."""
    top: float = 100.0
    """Percent of the drafts that are left, the best ones."""


@dataclass(frozen=True, slots=True)
class QuerygenConfig:
    """Everything that decides what comes out."""

    kind: str = "descriptions"
    rank: int = 16
    alpha: float = 32.0
    stages: tuple[str, ...] = ("zero-shot", "sft", "warm", "align")
    """What a run does; it knows "ablations" and "blends" as well."""
    sft: TuningOptions = field(default_factory=TuningOptions)
    warm: TuningOptions = field(default_factory=TuningOptions)
    align: TuningOptions = field(default_factory=lambda: TuningOptions(rate=5e-4))
    sft_sets: Mapping[str, int] = field(
        default_factory=lambda: {"toolbench": 2_000, "more": 2_000, "toollens": 8_000, "metatool": 1_000}
    )
    """How many training requests of each set SFT learns from."""
    repeats: int = 4
    """How often SFT reads what is of ToolBench: once, as in the paper, an adapter of a small model hardly
    learns which tools there are."""
    warmup: int = 400
    """Requests a small model is shown first, so that it writes lines at all; the paper's needs none."""
    iterations: int = 5
    drafts: SamplingOptions = field(default_factory=lambda: SamplingOptions(drafts=24, batch=6144))
    align_sets: Mapping[str, int] = field(
        default_factory=lambda: {"toolbench": 2_000, "more": 2_000, "toollens": 400, "metatool": 800}
    )
    """How many training requests of each set an iteration drafts for; the next takes the next ones."""
    shown: bool = False
    """Whether the right tools' own descriptions stand among the drafts, to be judged like these."""
    reward: str = "mmrr"
    filter: DraftFilter = field(default_factory=DraftFilter)
    lessons: int = 2_000
    """Authored lessons mixed into SFT and into each iteration: chains of thought, implicit requests."""
    request_first: bool = True
    ablations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Other rewards and filters, by name: each tried for one iteration, on the drafts of the first."""
    blends: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Adapters between others of the same folder, by name: how much of each."""
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
    """At which a tuned model is tried on the requests kept for it, as in the paper."""
    judged: int = 800
    """Requests of each set that are judged."""
    seed: int = 0


def read_config(file: Path | None) -> QuerygenConfig:
    """A TOML file of `QuerygenConfig`, with tables for its parts."""
    given: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
    tables = {
        "sft": TuningOptions,
        "warm": TuningOptions,
        "align": TuningOptions,
        "drafts": SamplingOptions,
        "filter": DraftFilter,
    }
    plain = QuerygenConfig()
    for name in tables:
        if name in given:
            given[name] = replace(getattr(plain, name), **given[name])
    return replace(plain, **given)
