"""Logs of query generation training: rewards and recall by iteration, and temperatures."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

_PLOT_LABELS = {
    "toolbench id_test": "ToolBench, in-domain",
    "toolbench ood": "ToolBench, out-of-domain",
    "wide ood": "ToolBench, what the filter left out",
    "metatool ood": "MetaTool",
    "toollens test": "ToolLens",
}
_MODEL_LABELS = {"sft": "SFT"}


@dataclass(frozen=True, slots=True)
class AlignmentIteration:
    """Log entry of one alignment iteration."""

    iteration: int
    requests: int
    reward: float
    """Mean over all drafts."""
    best: float
    """Mean over the best draft of each request."""
    spread: tuple[float, ...]
    """The share of drafts in each tenth of the rewards from 0 to 1."""
    tokens_per_second: int
    recall: Mapping[str, float]
    """Recall@5 by set and part after the iteration, in percent."""


def read_logs(folders: Sequence[Path]) -> list[AlignmentIteration]:
    """The iterations of the first run that has any."""
    for folder in folders:
        rows = _log_rows(folder)
        recalls = {row["model"]: row["recall5"] for row in rows if row["what"] == "judged"}
        drafted = [row for row in rows if row["what"] == "drafted" and row["set"] == "toolbench"]
        if drafted:
            return [_iteration(row, recalls) for row in drafted]
    return []


def _iteration(row: Mapping[str, Any], recalls: Mapping[str, Mapping[str, float]]) -> AlignmentIteration:
    number = int(row["iteration"])
    return AlignmentIteration(
        number,
        int(row["requests"]),
        float(row["mean"]["mmrr"]),
        float(row["best"]),
        tuple(map(float, row["spread"])),
        int(row["tokens_per_second"]),
        recalls.get(f"align-{number}", {}),
    )


def recall_lines(logs: Sequence[AlignmentIteration]) -> dict[str, list[float]]:
    """Recall@5 after each iteration, one line per test split (the paper's Figure 3)."""
    parts = dict.fromkeys(part for log in logs for part in log.recall)
    return {
        _PLOT_LABELS.get(part, part): [log.recall.get(part, float("nan")) for log in logs]
        for part in parts
        if not part.endswith("dev")  # dev splits only select the iteration
    }


def reward_lines(logs: Sequence[AlignmentIteration], most: int = 5) -> dict[str, list[float]]:
    """Reward histograms in percent, first to last iteration (the paper's Figure 4)."""
    places = np.linspace(0, len(logs) - 1, min(most, len(logs))).round()
    chosen = [logs[int(n)] for n in dict.fromkeys(places.tolist())]
    return {f"iteration {log.iteration}": [100 * share for share in log.spread] for log in chosen}


def rewards_table(logs: Sequence[AlignmentIteration]) -> RichTable:
    """Mean reward of the drafts per iteration."""
    table = RichTable(
        "iteration", "requests", "mean reward", "best draft", "tokens/s", title="Drafts, reward MMRR"
    )
    for log in logs:
        figures = (f"{log.reward:.3f}", f"{log.best:.3f}", f"{log.tokens_per_second:,}")
        table.add_row(str(log.iteration), str(log.requests), *figures)
    return table


@dataclass(frozen=True, slots=True)
class Calibration:
    """Recall@5 of one model on the dev split by sampling temperature."""

    model: str
    by_temperature: Mapping[float, float]
    """From 0 to 1."""


def read_calibrations(folders: Sequence[Path]) -> list[Calibration]:
    """The temperature calibrations of these runs; alignment is named by its iteration."""
    return [
        Calibration(
            _MODEL_LABELS.get(row["model"], re.sub(r"^align-", "alignment, iteration ", row["model"])),
            {float(temperature): float(value) for temperature, value in row["recall5"].items()},
        )
        for folder in folders
        for row in _log_rows(folder)
        if row["what"] == "calibrated"
    ]


def calibrations_table(calibrations: Sequence[Calibration]) -> RichTable:
    """One row per model, one column per temperature."""
    temperatures = sorted({key for calibration in calibrations for key in calibration.by_temperature})
    heads = [f"{temperature:g}" for temperature in temperatures]
    table = RichTable("model", *heads, title="Recall@5 on the dev split by temperature, in percent")
    for calibration in calibrations:
        values = [calibration.by_temperature.get(temperature) for temperature in temperatures]
        shown = ["" if value is None else f"{100 * value:.1f}" for value in values]
        table.add_row(calibration.model, *shown)
    return table


def _log_rows(folder: Path) -> list[dict[str, Any]]:
    file = folder / "log.jsonl"
    return [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
