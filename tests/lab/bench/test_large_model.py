from pathlib import Path

import pytest

from contextune.datasets import bundled_personas
from contextune.errors import InvalidDataError, MissingLabDataError
from contextune_lab.bench.large_model import large_model_cot


def test_every_bundled_request_has_one_chain_of_thought() -> None:
    thoughts = large_model_cot()
    assert set(thoughts) == {
        persona.name(query) for persona in bundled_personas() for query in persona.queries
    }
    assert all(thought.strip() for thought in thoughts.values())


def test_missing_recording_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingLabDataError, match="chains of thought"):
        large_model_cot(tmp_path / "none.jsonl.gz")


@pytest.mark.parametrize("content", [b'{"persona": "a01", "query": "q1"}\n', b"no json\n", b"[1]\n"])
def test_malformed_recording_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "cot.jsonl"
    file.write_bytes(content)
    with pytest.raises(InvalidDataError, match=r"cot\.jsonl"):
        large_model_cot(file)
