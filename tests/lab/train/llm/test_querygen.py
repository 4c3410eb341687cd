"""Query generation training on a model of two layers: drafts, adapters, rewards, complete runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers
from tests.embed import tiny_bert
from tests.lab.train import tiny_llama

from contextune.llm import Message
from contextune_lab.train.embedder.encoder import Encoder
from contextune_lab.train.llm.lora import LoraAdapter, pack_adapter, read_adapter
from contextune_lab.train.llm.querygen import QuerygenRun
from contextune_lab.train.llm.querygen_config import DraftFilter, QuerygenConfig, read_config
from contextune_lab.train.llm.reward import SMALLEST_MMRR, RewardExample, RewardRetrieval
from contextune_lab.train.llm.sampling import SamplingOptions, register_shared_attention, sample_drafts
from contextune_lab.train.llm.writer import CausalWriter, TuningOptions

PROMPTS = [[Message("user", "find a table tonight")], [Message("user", "music")]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama.make(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert.make(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def writer(model: Path) -> CausalWriter:
    return CausalWriter(model, rank=4, alpha=8)


def test_batched_drafts_equal_generate(model: Path) -> None:
    """Batched prompts of several lengths with shared keys give the same drafts as single ones."""
    library = cast("Any", transformers)
    plain = library.AutoModelForCausalLM.from_pretrained(model).eval()
    shared = library.AutoModelForCausalLM.from_config(
        plain.config, attn_implementation=register_shared_attention()
    ).eval()
    shared.load_state_dict(plain.state_dict())
    prompts = [[1, 4, 7, 8, 9, 2], [1, 5], [1, 4, 10, 11, 12, 13, 14, 15, 2]]
    options = SamplingOptions(drafts=2, temperature=0, most=20, batch=4)
    drafts_found = sample_drafts(shared, prompts, options, stop=frozenset([2]))
    for prompt, drafts in zip(prompts, drafts_found, strict=True):
        whole = plain.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False, eos_token_id=2)
        right: list[int] = whole[0, len(prompt) :].tolist()
        right = right[: right.index(2)] if 2 in right else right
        assert drafts == [right, right]


def test_same_seed_samples_same_drafts(writer: CausalWriter) -> None:
    options = SamplingOptions(drafts=4, temperature=1.0, most=12)
    first = writer.write(PROMPTS, options)
    assert writer.write(PROMPTS, options) == first
    assert writer.write(PROMPTS, replace(options, seed=1)) != first
    assert [len(drafts) for drafts in first] == [4, 4]
    assert len({text for drafts in first for text in drafts}) > 4
    assert writer.speed > 0


def test_adapter_learns_answers_and_can_be_reset_and_loaded(writer: CausalWriter, tmp_path: Path) -> None:
    before = writer.write(PROMPTS, SamplingOptions(temperature=0, most=8))
    answers = ["book a table", "play music"]
    losses: list[float] = []
    options = TuningOptions(rate=3e-2, epochs=40, batch=2, warmup=1)
    writer.learn(
        list(zip(PROMPTS, answers, strict=True)), options, on_step=lambda _, loss: losses.append(loss)
    )
    assert losses[-1] < losses[0] / 10
    greedy = SamplingOptions(temperature=0, most=8)
    assert writer.write(PROMPTS, greedy) == [["book a table"], ["play music"]]
    writer.adapter.save(tmp_path / "adapter.safetensors")
    writer.reset()
    assert writer.write(PROMPTS, greedy) == before
    writer.load(read_adapter(tmp_path / "adapter.safetensors"))
    assert writer.write(PROMPTS, greedy) == [["book a table"], ["play music"]]


def test_packed_adapter_writes_the_same(writer: CausalWriter, tmp_path: Path) -> None:
    options = TuningOptions(rate=3e-2, epochs=40, batch=2, warmup=1)
    writer.learn(list(zip(PROMPTS, ["book a table", "play music"], strict=True)), options)
    whole, small = tmp_path / "whole.safetensors", tmp_path / "small.safetensors"
    writer.adapter.save(whole)
    pack_adapter(whole, small)
    original, packed = read_adapter(whole), read_adapter(small)
    assert original.keys() == packed.keys()
    for name, tensor in original.items():
        assert (tensor.float() - packed[name]).abs().max() <= tensor.float().abs().max() / 127
    writer.load(packed)
    assert writer.write(PROMPTS, SamplingOptions(temperature=0, most=8)) == [["book a table"], ["play music"]]


def test_adapter_of_another_model_is_rejected(writer: CausalWriter) -> None:
    with pytest.raises(ValueError, match="another model"):
        writer.load({"layer.down": torch.zeros(1)})
    with pytest.raises(ValueError, match="none of the layers"):
        LoraAdapter(torch.nn.Sequential(torch.nn.Linear(2, 2)), rank=1, alpha=1)


def test_rewards_follow_the_interleaved_results(encoder: Path) -> None:
    tools = ["call mum", "buy tea", "a note", "dinner on friday"]
    retrieval = RewardRetrieval(Encoder(encoder, 1, 1, 64), {"tools": tools})
    examples = [RewardExample("1", "x", "train", frozenset([0, 3]))]
    rewards = retrieval.rewards("tools", examples, [[["call mum", "dinner on friday"], ["buy tea"]]])
    assert rewards["mmrr"][0][0] == pytest.approx(1)
    assert rewards["map"][0][0] == pytest.approx(1)
    assert rewards["mmrr"][0][1] < 1
    assert rewards["recall"][0].tolist() == [1, 1]  # there are but four tools


def test_default_threshold_drops_a_request_for_one_tool_that_no_draft_finds(encoder: Path) -> None:
    """The smallest reward is 1/12, so that a threshold of 0.05 would never act."""
    tools = [f"tool {n}" for n in range(30)]
    retrieval = RewardRetrieval(Encoder(encoder, 1, 1, 64), {"tools": tools})
    examples = [RewardExample(str(n), "x", "train", frozenset([n])) for n in range(len(tools))]
    rewards = np.concatenate(retrieval.rewards("tools", examples, [[["tool"]]] * len(tools))["mmrr"])
    assert rewards.min() == pytest.approx(SMALLEST_MMRR)
    assert (rewards < DraftFilter().least).sum() == len(tools) - 10  # rank 11 gives 1/11
    assert not (rewards < 0.05).any()


def data() -> dict[str, Any]:
    tools = ["find places", "call a friend", "the weather", "play music"]
    requests = ["book a table tonight", "rain at six", "music for two", "call", "places and weather"]
    queries = [
        {"id": f"{split}{n}", "text": text, "split": split, "relevant": [n % 4]}
        for split in ("train", "dev", "id_test", "ood", "test")
        for n, text in enumerate(requests)
    ]
    sets = {name: {"tools": tools, "queries": queries} for name in ("toolbench", "toollens", "wide")}
    return {"sets": sets, "lessons": [{"asked": [["user", "rain"]], "answer": "the weather"}]}


RECIPE = QuerygenConfig(
    rank=2,
    sft_sets={"toolbench": 5, "toollens": 2},
    warmup=2,
    iterations=2,
    align_sets={"toolbench": 5, "toollens": 1},
    drafts=SamplingOptions(drafts=3, most=6),
    temperatures=(0.0, 1.0),
    judged=8,
    ablations={"two": {"drafts": 2, "least": 0.0}, "map": {"reward": "map"}},
)


def test_run_saves_adapters_and_continues(model: Path, encoder: Path, tmp_path: Path) -> None:
    run = QuerygenRun(RECIPE, data(), encoder, model, tmp_path)
    run.evaluate("zero-shot", run.calibrate("zero-shot"))
    run.train_or_load("sft", run.sft)
    assert run.calibrate("sft") in RECIPE.temperatures
    run.train_or_load("warm", run.warm)
    run.align(1e9)
    run.run_ablations(1e9)
    log = [json.loads(row) for row in (tmp_path / "log.jsonl").read_text().splitlines()]
    drafted = [row for row in log if row["what"] == "drafted" and row["set"] == "toolbench"]
    assert [row["iteration"] for row in drafted] == [1, 2]  # the ablations are of the first ones' drafts
    assert all(sum(row["spread"]) == pytest.approx(1, abs=1e-3) for row in drafted)
    calibrated = [row for row in log if row["what"] == "calibrated"]
    assert [row["model"] for row in calibrated] == ["zero-shot", "sft"]
    assert all(set(row["recall5"]) == {"0.0", "1.0"} for row in calibrated)
    judged = [row["model"] for row in log if row["what"] == "judged"]
    assert judged == ["zero-shot", "align-1", "align-2", "ablation two", "ablation map"]
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {
        f"{name}.safetensors" for name in ("sft", "warm", "align-1", "align-2")
    }
    again = QuerygenRun(RECIPE, data(), encoder, model, tmp_path)
    again.train_or_load("sft", again.sft)
    again.align(1e9)
    again.run_ablations(1e9)
    more = [json.loads(row) for row in (tmp_path / "log.jsonl").read_text().splitlines()][len(log) :]
    assert [row["model"] for row in more if row["what"] == "taken over"] == ["sft", "align-1", "align-2"]
    assert not any(row["what"] in ("aligned", "drafted", "judged") for row in more)


def test_alignment_ends_with_the_iteration_that_is_best_on_dev(
    model: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = QuerygenRun(RECIPE, data(), encoder, model, tmp_path)
    recalls = {"align-1": {"toolbench dev": 60.0, "wide ood_dev": 50.0}, "align-2": {"toolbench dev": 54.0}}

    def recorded(name: str, temperature: float) -> dict[str, float]:
        del temperature
        return recalls[name]

    monkeypatch.setattr(run, "evaluate", recorded)
    assert run.align(1e9) == "align-1"
    saved = {n: read_adapter(tmp_path / f"align-{n}.safetensors") for n in (1, 2)}
    state = {name: tensor.half() for name, tensor in run.writer.adapter.state().items()}
    assert all(torch.equal(state[name], tensor) for name, tensor in saved[1].items())
    assert any(not torch.equal(state[name], tensor) for name, tensor in saved[2].items())


def test_runs_with_the_same_seed_start_from_the_same_adapter(
    model: Path, encoder: Path, tmp_path: Path
) -> None:
    states = [
        QuerygenRun(replace(RECIPE, seed=seed), data(), encoder, model, tmp_path).writer.adapter.state()
        for seed in (0, 0, 1)
    ]
    assert all(torch.equal(states[1][name], tensor) for name, tensor in states[0].items())
    assert not all(torch.equal(states[2][name], tensor) for name, tensor in states[0].items())


def test_target_descriptions_can_be_added_to_drafts(model: Path, encoder: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, stages=("ablations",), shown=True, ablations={"plain": {}})
    run = QuerygenRun(recipe, data(), encoder, model, tmp_path)
    pool = run.draft(1)
    assert [len(drafts) for _, drafts, _ in pool] == [4] * len(pool)
    assert all(len(rewards["mmrr"]) == 4 for _, _, rewards in pool)
    assert pool[0][1][-1] == "find places"  # what serves "book a table tonight"
    run.run_stages()
    log = [json.loads(row) for row in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["model"] for row in log if row["what"] == "judged"] == ["ablation plain"]


def test_blend_approximates_the_weighted_sum(model: Path, encoder: Path, tmp_path: Path) -> None:
    recipe = replace(
        RECIPE,
        stages=("sft", "warm", "blends"),
        blends={"all warm": {"sft": 0.0, "warm": 1.0}, "half": {"sft": 0.5, "warm": 0.5}},
    )
    run = QuerygenRun(recipe, data(), encoder, model, tmp_path)
    run.run_stages()
    states = {
        name: read_adapter(tmp_path / f"{name}.safetensors") for name in ("sft", "warm", "all warm", "half")
    }
    layers = [name.removesuffix(".up") for name in states["sft"] if name.endswith(".up")]

    def product(name: str, layer: str) -> torch.Tensor:
        return states[name][f"{layer}.up"].float() @ states[name][f"{layer}.down"].float()

    for layer in layers:
        assert torch.allclose(product("all warm", layer), product("warm", layer), atol=1e-3)
        between = ((product("sft", layer) + product("warm", layer)) / 2).double().numpy()
        sizes = np.linalg.svd(between, compute_uv=False)
        best = float(np.linalg.norm(sizes[recipe.rank :]))  # what no pair of that rank can keep
        missed = float(np.linalg.norm(product("half", layer).double().numpy() - between))
        assert missed == pytest.approx(best, abs=1e-2)
    judged = [json.loads(row)["model"] for row in (tmp_path / "queries.jsonl").read_text().splitlines()]
    assert {"all warm", "half"} <= set(judged)


def test_iterations_rotate_through_the_requests(model: Path, encoder: Path, tmp_path: Path) -> None:
    run = QuerygenRun(replace(RECIPE, align_sets={"toolbench": 2}), data(), encoder, model, tmp_path)
    request_ids = [[example.id for example, _, _ in run.draft(iteration)] for iteration in (1, 2, 3)]
    assert request_ids == [["train0", "train1"], ["train2", "train3"], ["train4", "train0"]]


def test_draft_filter_selects_best_drafts(model: Path, encoder: Path, tmp_path: Path) -> None:
    run = QuerygenRun(RECIPE, data(), encoder, model, tmp_path)
    example, other = run.split("toolbench", "train")[:2]
    pool = [
        (example, ["a", "b", "a", ""], {"mmrr": np.array([0.2, 0.9, 0.9, 1.0])}),
        (other, ["c", "d"], {"mmrr": np.array([SMALLEST_MMRR, SMALLEST_MMRR + 1e-3])}),
    ]

    def select(options: DraftFilter) -> list[str]:
        return [answer for _, answer in run.select(pool, "mmrr", options)]

    assert select(DraftFilter()) == ["b"]
    assert select(DraftFilter(drafts=2)) == ["b", "a"]
    assert select(DraftFilter(least=SMALLEST_MMRR)) == ["b", "d"]
    assert select(DraftFilter(drafts=2, least=0.0, top=50)) == ["b", "a"]


def test_config_is_read_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text(
        'kind = "intents"\n[drafts]\ndrafts = 8\n[filter]\nleast = 0.3\n[ablations.x]\ntop = 75.0\n'
    )
    recipe = read_config(file)
    assert (recipe.kind, recipe.drafts.drafts, recipe.drafts.temperature) == ("intents", 8, 1.0)
    assert recipe.filter == DraftFilter(least=0.3)
    assert recipe.ablations == {"x": {"top": 75.0}}
    assert read_config(None) == QuerygenConfig()
