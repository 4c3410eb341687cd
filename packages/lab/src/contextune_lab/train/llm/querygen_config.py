"""Configuration of a query generation run; a TOML file overrides the defaults."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contextune_lab.train.llm.sampling import SamplingOptions
from contextune_lab.train.llm.writer import TuningOptions


@dataclass(frozen=True, slots=True)
class DraftFilter:
    """Which drafts to train on."""

    drafts: int = 1
    """Number of best drafts per request."""
    least: float = 0.1
    """Minimum reward. The paper's 0.05 drops requests for one tool that no draft finds: its MMRR, with n/2
    for (n+1)/2, is then 1/24. Our MMRR is 1/12 there: 0.1 drops them too, 0.05 would drop nothing.
    """
    top: float = 100.0
    """Percentage of the remaining drafts to keep, best first."""


@dataclass(frozen=True, slots=True)
class QuerygenConfig:
    """Settings of a query generation run."""

    kind: str = "descriptions"
    rank: int = 16
    alpha: float = 32.0
    stages: tuple[str, ...] = ("zero-shot", "sft", "warm", "align")
    """Stages to run; also "ablations" and "blends"."""
    sft: TuningOptions = field(default_factory=TuningOptions)
    warm: TuningOptions = field(default_factory=TuningOptions)
    align: TuningOptions = field(default_factory=lambda: TuningOptions(rate=5e-4))
    sft_sets: Mapping[str, int] = field(
        default_factory=lambda: {"toolbench": 2_000, "more": 2_000, "toollens": 8_000, "metatool": 1_000}
    )
    """Training requests per set for SFT."""
    repeats: int = 4
    """Repetitions of ToolBench's requests in SFT: read once, as in the paper, a small adapter hardly learns
    which tools exist.
    """
    warmup: int = 400
    """Examples of the warm-up, so that a small model writes one query per line; the paper's needs none."""
    iterations: int = 5
    drafts: SamplingOptions = field(default_factory=lambda: SamplingOptions(drafts=24, batch=6144))
    align_sets: Mapping[str, int] = field(
        default_factory=lambda: {"toolbench": 2_000, "more": 2_000, "toollens": 400, "metatool": 800}
    )
    """Training requests per set and iteration; the next iteration takes the next ones."""
    shown: bool = False
    """Add the right tools' own descriptions to the drafts."""
    reward: str = "mmrr"
    filter: DraftFilter = field(default_factory=DraftFilter)
    lessons: int = 2_000
    """Authored lessons mixed into SFT and every iteration of alignment, but not into the ablations: chains of
    thought, implicit requests.
    """
    request_first: bool = False
    """Whether drafts are rewarded with the results of the request itself first; the paper has them last."""
    ablations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Other rewards and filters by name; each runs one iteration on the first drafts."""
    blends: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    """Weighted averages of adapters in the same folder, by name."""
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
    """Temperatures tried on the dev split, as in the paper."""
    judged: int = 800
    """Maximum number of evaluated requests per set and split."""
    seed: int = 0


def read_config(file: Path | None) -> QuerygenConfig:
    """Read a TOML file of `QuerygenConfig` settings, with tables for its parts."""
    settings: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
    tables = {
        "sft": TuningOptions,
        "warm": TuningOptions,
        "align": TuningOptions,
        "drafts": SamplingOptions,
        "filter": DraftFilter,
    }
    defaults = QuerygenConfig()
    for name in tables:
        if name in settings:
            settings[name] = replace(getattr(defaults, name), **settings[name])
    return replace(defaults, **settings)
