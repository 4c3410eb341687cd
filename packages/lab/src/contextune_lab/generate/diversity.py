"""Diversity statistics of a set of personas, and their distance from the paper's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from statistics import fmean

from contextune.datasets import Persona, Query
from contextune.search import tokenize
from contextune.types import Tool
from contextune_lab.generate.deduplicate import MIN_SIMILARITY, jaccard
from contextune_lab.generate.leaks import common_words, leaks
from contextune_lab.generate.query_rules import KINDS
from contextune_lab.generate.quotas import ITEMS


@dataclass(frozen=True)
class Diversity:
    """Statistics of a set of personas; shares are from 0 to 1."""

    personas: int
    queries: int
    items: dict[str, float]
    """Average items per persona by application (the paper's Table 4)."""
    overlap: float
    """Share of query words that occur in a needed item."""
    telling: float
    """The same for rare words only: what keyword search could find."""
    leaking: float
    """Share of queries that give an item away."""
    alike: float
    """Share of queries that nearly duplicate another."""
    people: float
    """Share of distinct names and professions, the smaller of both."""
    kinds: dict[str, int]
    kinds_even: float
    """Normalised entropy over the kinds: 1 is uniform, 0 is a single kind."""
    apis: dict[str, int]
    apis_even: float
    apis_unused: tuple[str, ...]


def diversity(personas: Sequence[Persona], tools: Sequence[Tool]) -> Diversity:
    """Compute the statistics; `tools` is the toolbox the queries are for."""
    pairs = [(persona, query) for persona in personas for query in persona.queries]
    kinds = Counter(query.gold.kind for _, query in pairs if query.gold.kind)
    apis = Counter(query.gold.api for _, query in pairs if query.gold.api)
    items_by_app = Counter(item.app for persona in personas for item in persona.items)
    profiles = [(p.user.profile.get("name"), p.user.profile.get("profession")) for p in personas]
    names = [tool.name for tool in tools]
    return Diversity(
        personas=len(personas),
        queries=len(pairs),
        items={app: items_by_app[app] / max(len(personas), 1) for app in ITEMS},
        overlap=_mean(_overlap(persona, query) for persona, query in pairs),
        telling=_mean(_overlap(persona, query, telling=True) for persona, query in pairs),
        leaking=_mean(bool(leaks(persona, query)) for persona, query in pairs),
        alike=_alike([query.text for _, query in pairs]),
        people=min(
            (len({profile[part] for profile in profiles}) / len(profiles) for part in (0, 1)), default=0.0
        )
        if profiles
        else 0.0,
        kinds={kind: kinds[kind] for kind in KINDS},
        kinds_even=evenness(kinds[kind] for kind in KINDS),
        apis=dict(apis.most_common()),
        apis_even=evenness(apis[name] for name in names),
        apis_unused=tuple(name for name in names if not apis[name]),
    )


def evenness(counts: Iterable[int]) -> float:
    """Entropy of the counts, normalised to 1."""
    values = list(counts)
    total = sum(values)
    if len(values) < 2 or not total:
        return 0.0
    return -sum(count / total * log(count / total) for count in values if count) / log(len(values))


def _overlap(persona: Persona, query: Query, *, telling: bool = False) -> float:
    common = common_words()
    words = {word for word in tokenize(query.text) if not telling or word not in common}
    needed = [item for item in persona.items if (query.gold.relevant or {}).get(item.id) == 2]
    item_words = {word for item in needed for word in tokenize(item.text)}
    return len(words & item_words) / len(set(tokenize(query.text)) or {""})


def _alike(texts: Sequence[str]) -> float:
    words = [frozenset(tokenize(text)) for text in texts]
    # near-duplicates share most words, so also one of the rarest few of either
    counts = Counter(word for words_of_text in words for word in words_of_text)
    by_word: dict[str, list[int]] = {}
    for number, words_of_text in enumerate(words):
        rarest = sorted(words_of_text, key=lambda word: (counts[word], word))
        for word in rarest[: len(rarest) - int(len(rarest) * MIN_SIMILARITY) + 1]:
            by_word.setdefault(word, []).append(number)
    alike: set[int] = set()
    for numbers in by_word.values():
        for first, second in combinations(numbers, 2):
            if {first, second} <= alike:
                continue
            if jaccard(words[first], words[second]) >= MIN_SIMILARITY:
                alike |= {first, second}
    return len(alike) / max(len(texts), 1)


def _mean(values: Iterable[float]) -> float:
    numbers = [float(value) for value in values]
    return fmean(numbers) if numbers else 0.0
