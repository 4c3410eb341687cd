"""Every claim of the security pages names its test, and every named test exists."""

import re

import pytest
from tests.paths import ROOT

PRIVACY = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`")
_LISTS = {
    "Threat model": 18,
    "OWASP Top 10 for LLM applications, 2025": 10,
    "Security practices of the MCP specification": 6,
    "What is kept": 4,
}
"""Sections with tables of claims, and how many claims they have at least."""


def section(title: str) -> str:
    return PRIVACY.partition(f"## {title}\n")[2].partition("\n## ")[0]


def named_tests(text: str) -> list[tuple[str, str]]:
    """Pairs of file and test; `::name` alone belongs to the file named before it."""
    tests: list[tuple[str, str]] = []
    path = ""
    for match in _NAMED.finditer(text):
        path = match[1] or path
        if match[1] or match[2]:
            tests.append((path, match[2] or ""))
    return tests


def claims(title: str) -> list[str]:
    """The rows of the section's first table, without its head."""
    rows = [line for line in section(title).splitlines() if line.startswith("|")]
    return rows[2:]


def test_named_tests_exist() -> None:
    tests = named_tests(PRIVACY) + named_tests((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(tests) > 100
    for path, name in tests:
        assert (ROOT / path).is_file(), path
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not name or re.search(rf"^ *(async )?def {name}\(", source, re.MULTILINE), f"{path}::{name}"


@pytest.mark.parametrize("title", _LISTS)
def test_every_claim_names_its_test(title: str) -> None:
    assert len(claims(title)) >= _LISTS[title]
    for claim in claims(title):
        assert any(name for _, name in named_tests(claim)), claim


def test_owasp_list_is_complete() -> None:
    points = [claim.split()[1] for claim in claims("OWASP Top 10 for LLM applications, 2025")]
    assert points == [f"LLM{number:02}" for number in range(1, 11)]


def test_a_wrong_name_would_be_noticed() -> None:
    text = "`tests/conftest.py::test_nowhere`, `::test_other` and `tests/paths.py`"
    assert named_tests(text) == [
        ("tests/conftest.py", "test_nowhere"),
        ("tests/conftest.py", "test_other"),
        ("tests/paths.py", ""),
    ]
