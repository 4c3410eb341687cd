"""Toolbox generation: counts per application, no duplicates, resumable."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab.generate.author import Author, keep

from contextune.errors import InvalidDataError, LanguageModelError
from contextune.tools.toolbox import read_toolbox
from contextune_lab.generate import NoValidAnswerError, ValidJsonWriter, make_toolbox
from contextune_lab.generate.quotas import APIS

ScribeOf = Callable[[Path], ValidJsonWriter]


def test_default_toolbox_has_the_papers_distribution(
    author: Author, scribe_of: ScribeOf, tmp_path: Path
) -> None:
    file = tmp_path / "toolbox.yaml"
    tools = make_toolbox(scribe_of(tmp_path), file)
    assert Counter(tool.app for tool in tools) == APIS
    assert len({tool.name for tool in tools}) == 59
    assert read_toolbox(file) == tools
    assert author.parts == {"apis": 7}
    assert "There are already: music_" in author.asked[1]["messages"][1]["content"]


def test_duplicate_api_is_asked_for_again(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    def twins(_: str, answer: dict[str, Any], count: int) -> dict[str, Any] | None:
        first, *rest = answer["apis"]
        same_words = {**first, "api": "photos_other"}
        return {"apis": [first, first, same_words, *rest[1:]]} if count == 1 else None

    author.spoil = twins
    tools = make_toolbox(scribe_of(tmp_path), tmp_path / "t.yaml", {"Photos": 5})
    assert len({tool.name for tool in tools}) == len(tools) == 5
    assert "Write exactly 1 APIs" in author.asked[1]["messages"][1]["content"]
    assert "photos_other" not in {tool.name for tool in tools}


def test_interrupted_run_continues(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    file, counts = tmp_path / "t.yaml", {"Photos": 3, "Maps": 2, "Clock": 2}
    author.spoil = lambda _part, _answer, count: (500, {}) if count > 2 else None
    with pytest.raises(LanguageModelError, match="HTTP 500"):
        make_toolbox(scribe_of(tmp_path), file, counts)
    begun = read_toolbox(file)
    assert Counter(tool.app for tool in begun) == {"Photos": 3, "Maps": 2}
    author.spoil, author.parts = keep, {}
    assert make_toolbox(scribe_of(tmp_path), file, counts)[:5] == begun
    assert author.parts == {"apis": 1}


def test_too_few_new_apis_raise(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    same: dict[str, Any] = {"api": "look", "description": "Looks", "arguments": []}
    author.spoil = lambda _part, _answer, _count: {"apis": [same]}
    with pytest.raises(NoValidAnswerError, match=r"toolbox/Photos: 1 of 2 APIs after 4 rounds"):
        make_toolbox(scribe_of(tmp_path), tmp_path / "t.yaml", {"Photos": 2})
    assert not (tmp_path / "t.yaml").exists()


def test_faults_are_sent_back_to_the_model(author: Author, scribe_of: ScribeOf, tmp_path: Path) -> None:
    argument = {"name": "when", "type": "date", "required": True, "free_text": True, "description": "day"}
    bad = {"api": "look", "description": " ", "arguments": [argument, argument]}
    author.spoil = lambda _part, _answer, count: {"apis": [bad]} if count == 1 else None
    make_toolbox(scribe_of(tmp_path), tmp_path / "t.yaml", {"Photos": 1})
    messages = author.asked[1]["messages"][-1]["content"]
    assert "look has two arguments of one name" in messages
    assert "look.when: free text is a string or a list" in messages
    assert "look is not described" in messages


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ({"Photos": 0}, "invalid number of APIs for 'Photos': 0"),
        ({"Photos": 3}, "has 2 APIs of Photos, not 3"),
        ({"Maps": 1}, "not 0"),
    ],
)
def test_mismatched_file_is_rejected(
    author: Author, scribe_of: ScribeOf, tmp_path: Path, counts: dict[str, int], why: str
) -> None:
    file = tmp_path / "t.yaml"
    make_toolbox(scribe_of(tmp_path), file, {"Photos": 2})
    before = file.read_bytes()
    with pytest.raises(InvalidDataError, match=why):
        make_toolbox(scribe_of(tmp_path), file, counts)
    assert file.read_bytes() == before
