"""Parts: results are kept once, failures are repeated, and a killed run goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import ContextuneError, DamagedStoreError, StoreError, UnknownUserError
from contextune.fleet import Checkpoint, Handler, Part, PartResult, Work, run_locally, run_parts
from contextune.fleet.parts import run_part

PARTS = [Part(f"part {number}", number) for number in range(5)]


@dataclass
class Squares:
    """Squares numbers, and fails on some."""

    failures: dict[int, Exception] = field(default_factory=dict[int, Exception])
    seen: list[int] = field(default_factory=list[int])

    def open(self) -> Handler:
        def handle(payload: Any) -> bytes:
            self.seen.append(payload)
            if payload in self.failures:
                raise self.failures[payload]
            return str(payload**2).encode()

        return handle


def _contents(checkpoint: Checkpoint) -> list[bytes]:
    return list(checkpoint.contents(part.key for part in PARTS))


def test_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with Checkpoint(path, "squares") as checkpoint, pytest.raises(KeyboardInterrupt):
        run_parts(Squares({3: KeyboardInterrupt()}), PARTS, checkpoint)  # type: ignore[dict-item]
    work = Squares()
    with Checkpoint(path, "squares") as checkpoint:
        report = run_parts(work, PARTS, checkpoint)
        assert _contents(checkpoint) == [b"0", b"1", b"4", b"9", b"16"]
        checkpoint.remove()
    assert (report.parts, report.resumed, work.seen) == (5, 3, [3, 4])
    assert not path.exists()


def test_failed_part_is_reported_by_kind_and_tried_again_by_the_next_run() -> None:
    with Checkpoint() as checkpoint:
        report = run_parts(Squares({2: UnknownUserError("no user 'ann'")}), PARTS, checkpoint)
        assert dict(report.errors) == {"UnknownUserError": 1}
        assert not report.complete
        work = Squares()
        assert run_parts(work, PARTS, checkpoint).complete
        assert work.seen == [2]


def test_result_that_arrives_twice_is_kept_once() -> None:
    def twice(work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
        for result in run_locally(work, parts):
            yield result
            yield result._replace(content=b"other")

    steps: list[int] = []
    with Checkpoint() as checkpoint:
        run_parts(Squares(), PARTS, checkpoint, execute=twice, progress=lambda done, _: steps.append(done))
        assert _contents(checkpoint) == [b"0", b"1", b"4", b"9", b"16"]
    assert steps == [0, 1, 2, 3, 4, 5]


def test_lost_parts_are_an_error() -> None:
    def lose(work: Work, parts: Sequence[Part]) -> Iterator[PartResult]:
        return run_locally(work, parts[1:])

    with Checkpoint() as checkpoint, pytest.raises(ContextuneError, match="1 parts were lost"):
        run_parts(Squares(), PARTS, checkpoint, execute=lose)


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (StoreError("busy"), 3),
        (DamagedStoreError("damaged"), 1),
        (FileNotFoundError(), 1),
        (OSError(5, "io"), 3),
    ],
)
def test_only_failures_that_may_pass_are_repeated(error: Exception, attempts: int) -> None:
    work = Squares({1: error})
    result = run_part(work.open(), PARTS[1], waits=(0, 0))
    assert result.error == type(error).__name__
    assert len(work.seen) == attempts


def test_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "run.db", "squares").close()
    with pytest.raises(ContextuneError, match="other settings or input"):
        Checkpoint(tmp_path / "run.db", "cubes")


def test_checkpoint_in_use_is_refused(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "run.db"), pytest.raises(ContextuneError, match="another run"):
        Checkpoint(tmp_path / "run.db")


def test_checkpoint_names_no_user_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with Checkpoint(path) as checkpoint:
        checkpoint.put("ann@example.org", b"{}")
        assert checkpoint.fact("now", "monday") == checkpoint.fact("now", "tuesday") == "monday"
    assert b"ann" not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0


def test_file_that_is_no_checkpoint_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ann, " * 1000)
    with pytest.raises(ContextuneError, match="not a checkpoint"):
        Checkpoint(path)
    assert path.read_text().startswith("Dear Ann")
