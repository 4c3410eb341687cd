"""A fleet's ranker: trained on bounded feedback, measured on users held out, used and rolled back by name."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.fleet.people import NOW, write_people
from tests.serve.conftest import running
from tests.serve.waiting import wait_until
from typer.testing import CliRunner

from contextune.cli.fleet import app
from contextune.context import current_ranker
from contextune.context.current_ranker import CurrentRanker
from contextune.context.ranker import ContextRanker, default_ranker, load_ranker
from contextune.errors import ContextuneError, RankerError
from contextune.fleet import Checkpoint
from contextune.fleet.feedback import groups_from_bytes, groups_to_bytes
from contextune.fleet.opening import WorkerSettings
from contextune.fleet.train import AFTER, BEFORE, train_fleet
from contextune.rank import CandidateGroup, ModelVersions, Ranker, RankerSettings
from contextune.rank.model_versions import FILE_NAME
from contextune.serve.http.app import create_app
from contextune.serve.http.settings import ServiceSettings
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Progress, Request, UsageEvent


@contextmanager
def _show(_title: str) -> Generator[Progress]:
    yield lambda _done, _total: None


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fleet") / "store.db"
    write_people(path, 6)
    return path


@pytest.fixture(scope="module")
def trained(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with one version, trained by the command."""
    models = tmp_path_factory.mktemp("models")
    options = ["--store", str(people), "--models", str(models), "--workers", "0"]
    done = CliRunner().invoke(app, ["train", *options, "--checkpoint", str(models / "run.db")])
    assert done.exit_code == 0, done.output
    assert "v1 is current" in done.output
    return models


def test_resumed_training_gives_the_same_model(people: Path, trained: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.db"
    settings = WorkerSettings(str(people))
    with Checkpoint(checkpoint) as opened, pytest.raises(KeyboardInterrupt):
        train_fleet(settings, opened, show=_stop_after_features)
    with Checkpoint(checkpoint) as opened:
        result = train_fleet(settings, opened, show=_show)
    assert result.ranker.second_pass.models == load_ranker(trained).second_pass.models
    assert result.scores.means(AFTER)["mrr"] >= result.scores.means(BEFORE)["mrr"]
    assert result.users + result.scores.users == 6


@contextmanager
def _stop_after_features(title: str) -> Generator[Progress]:
    if title == "Training":
        raise KeyboardInterrupt
    yield lambda _done, _total: None


def test_version_is_listed_and_rolled_back(trained: Path) -> None:
    assert load_ranker(trained).second_pass.models != default_ranker().second_pass.models
    models = ["--models", str(trained)]
    assert "v1" in CliRunner().invoke(app, ["models", *models]).output
    done = CliRunner().invoke(app, ["rollback", *models])
    assert "bundled is current" in done.output
    assert load_ranker(trained) is default_ranker()
    assert "v1 is current" in CliRunner().invoke(app, ["rollback", "v1", *models]).output


def test_services_load_the_current_version(people: Path, trained: Path) -> None:
    settings = ServiceSettings(people, trained / "tokens.json", ranker=trained)
    (trained / "v1" / "card.json").rename(trained / "card.json")
    try:
        with pytest.raises(RankerError, match="model version 'v1' is missing or has changed"):
            create_app(settings)
    finally:
        (trained / "card.json").rename(trained / "v1" / "card.json")


def test_running_service_follows_a_rollback(tmp_path: Path) -> None:
    write_people(tmp_path / "store.db", 1)
    body = {"text": "open my notes", "time": NOW.isoformat()}
    models, bundled = tmp_path / "models", default_ranker()
    weights = {name: -weight for name, weight in bundled.fusion.weights.items()}
    reverse = replace(bundled, fusion=replace(bundled.fusion, weights=weights))
    versions = ModelVersions(models)
    versions.add("reverse", reverse.save, {})
    versions.activate("reverse")
    with running(tmp_path, ranker=models) as service, service.client("user 0") as client:

        def ranking() -> list[str]:
            hits = client.post("/v1/context", json=body).raise_for_status().json()["context"]
            return [hit["item"]["id"] for hit in hits]

        reversed_ranking = ranking()
        versions.rollback()
        wait_until(lambda: ranking() == reversed_ranking[::-1])
        versions.rollback("reverse")
        wait_until(lambda: ranking() == reversed_ranking)


def test_damaged_version_does_not_replace_the_one_in_use(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_ranker, "_PAUSE_S", 0)
    folder = tmp_path / "models"
    shutil.copytree(trained, folder)
    errors: list[ContextuneError | None] = []
    versions = ModelVersions(folder)
    versions.rollback("bundled")
    ranker = CurrentRanker(folder, errors.append)
    assert ranker() is default_ranker()
    versions.rollback("v1")
    (folder / "v1" / "card.json").write_text("{}")
    assert ranker() is ranker() is default_ranker()
    assert [type(error) for error in errors] == [RankerError]
    (folder / FILE_NAME).unlink()
    assert ranker() is default_ranker()
    assert len(errors) == 1


def test_users_own_uses_still_adapt_the_fleets_ranker(people: Path, trained: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    write_people(own, 1)
    request = Request("open my notes", "user 0", NOW)
    with SQLiteStore(own) as store:
        tuner = Tuner(store, ranker=load_ranker(trained))
        before = {hit.item.id: rank for rank, hit in enumerate(tuner.context(request))}
        last = max(before, key=lambda item: before[item])
        tuner.record("user 0", *(UsageEvent(last, NOW.replace(hour=hour)) for hour in range(8, 18)))
        after = {hit.item.id: rank for rank, hit in enumerate(tuner.context(request))}
    assert after[last] < before[last]


def test_one_user_is_too_few(tmp_path: Path) -> None:
    write_people(tmp_path / "store.db", 1)
    with Checkpoint() as checkpoint, pytest.raises(RankerError, match="at least two"):
        train_fleet(WorkerSettings(str(tmp_path / "store.db")), checkpoint, show=_show)


def test_weight_of_a_group_changes_what_is_learnt() -> None:
    draw = np.random.default_rng(0)
    groups = [
        CandidateGroup(draw.normal(size=(20, 3)).astype(np.float32), (np.arange(20) == n).astype(np.int64))
        for n in range(10)
    ]
    settings = RankerSettings(rounds=3, seeds=1, smallest_leaf=2)
    unweighted, again, weighted = (
        Ranker.fit([replace(groups[0], weight=weight), *groups[1:]], ("a", "b", "c"), settings).models
        for weight in (1.0, 1.0, 0.01)
    )
    assert unweighted == again
    assert unweighted != weighted


def test_groups_survive_the_checkpoint() -> None:
    group = CandidateGroup(np.ones((3, 2), np.float32), np.array([0, 2, 0]))
    [copy] = groups_from_bytes(groups_to_bytes([group]))
    assert np.array_equal(copy.matrix, group.matrix)
    assert np.array_equal(copy.grades, group.grades)
    assert groups_from_bytes(groups_to_bytes([])) == []


def test_folder_without_versions_is_a_ranker(tmp_path: Path) -> None:
    default_ranker().save(tmp_path)
    assert isinstance(load_ranker(tmp_path), ContextRanker)
