"""The ToolBench split of the published tables, rebuilt from recorded ids."""

from pathlib import Path

import pytest
from tests.lab.train.tiny_tools import api, ask, write
from tests.paths import SHARED_DATA

from contextune.errors import InvalidDataError
from contextune_lab.public_data.toolbench_split import RecordedSplit, recorded_split, write_split
from contextune_lab.public_data.toolset import read_toolset


def test_recorded_split_has_the_published_sizes() -> None:
    split = recorded_split()
    assert {name: len(keys) for name, keys in split.requests.items()} == {
        "train": 1643,
        "id_test": 171,
        "ood": 203,
    }
    keys = [key for part in split.requests.values() for key in part]
    assert len(set(keys)) == len(keys)
    assert len(set(split.tools)) == len(split.tools) == 1608


def test_split_is_copied_with_its_own_split_names(tmp_path: Path) -> None:
    tools = [api("mail", name) for name in ("send", "read", "list")]
    whole = write(
        tmp_path / "whole",
        tools,
        [ask("write it", "train", "mail.send"), ask("read it", "extra", "mail.read"), ask("no", "train")],
    )
    split = RecordedSplit(("mail.read", "mail.send"), {"ood": ("read-it",), "train": ("write-it",)})
    write_split(whole, tmp_path / "filter", split)
    toolset = read_toolset(tmp_path / "filter")
    assert toolset.ids == split.tools
    assert [(query.id, query.split, query.relevant) for query in toolset.queries] == [
        ("write-it", "train", {1}),
        ("read-it", "ood", {0}),
    ]
    with pytest.raises(InvalidDataError, match="1 ids of the recorded split are missing, such as 'gone'"):
        write_split(whole, tmp_path / "filter", RecordedSplit(("gone",), {}))


@pytest.mark.skipif(not (SHARED_DATA / "toolbench" / "filter").exists(), reason="the public data is not here")
def test_command_gives_exactly_the_filtered_copy(tmp_path: Path) -> None:
    write_split(SHARED_DATA / "toolbench", tmp_path, recorded_split())
    rebuilt, kept = read_toolset(tmp_path), read_toolset(SHARED_DATA / "toolbench" / "filter")
    assert (rebuilt.ids, rebuilt.tools, rebuilt.queries) == (kept.ids, kept.tools, kept.queries)
