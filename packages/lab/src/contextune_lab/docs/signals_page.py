"""Generates docs/signals.md from the feature registry.

python -m contextune_lab.docs.signals_page > docs/signals.md
"""

from contextune.context.signals.registry import FAMILIES, FEATURE_NAMES

_HEAD = """\
# Signals
The ranker computes {count} features in {families} families for every pair of request and candidate item.
`Tuner.signals(request)` returns how much each family contributed to the score of each hit.

All features are as of the time of the request: items created and usage events recorded later have no effect
(`tests/context/signals/test_registry.py`). Missing values are NaN, which the decision trees handle. Features
marked “signed log” are `sign(x) · log(1 + |x|)`.

This page is generated: `python -m contextune_lab.docs.signals_page > docs/signals.md`.
"""


def signals_page() -> str:
    """The page as Markdown."""
    lines = [_HEAD.format(count=len(FEATURE_NAMES), families=len(FAMILIES))]
    for name, family in FAMILIES.items():
        lines += [f"\n## {name}", f"{family.description}\n", "| feature | value |", "|---|---|"]
        lines += [f"| `{feature}` | {description} |" for feature, description in family.features.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(signals_page())  # noqa: T201  # writes to stdout
