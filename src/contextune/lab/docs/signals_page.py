"""Prints the table of features as the page of the docs.

python -m contextune.lab.docs.signals_page > docs/signals.md
"""

from contextune.context.signals.registry import FAMILIES, NAMES

_HEAD = """\
# Signals
What the ranker looks at, for every request and candidate: {count} features in {families} families. All of
them are as of the request's moment: nothing made or used later changes any (`tests/signals/test_table.py`).
A feature that has nothing to say is empty, and the trees learn what that means. This page is printed by
`python -m contextune.lab.docs.signals_page`.
"""


def page() -> str:
    """The whole page."""
    lines = [_HEAD.format(count=len(NAMES), families=len(FAMILIES))]
    for family in FAMILIES.values():
        title, _, about = family.about.partition(": ")
        lines += [
            f"\n## {title}",
            f"{about[:1].upper()}{about[1:]}\n",
            "| feature | what it says |",
            "|---|---|",
        ]
        lines += [f"| `{name}` | {explanation} |" for name, explanation in family.features.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())  # noqa: T201  # this is what it is for
