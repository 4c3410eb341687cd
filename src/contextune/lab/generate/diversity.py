"""How varied a set of personas is, and how close it comes to the paper's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from contextune.datasets import Persona, Query
from contextune.lab.generate.deduplicate import ALIKE, likeness
from contextune.lab.generate.leaks import common_words, leaks
from contextune.lab.generate.query_rules import KINDS
from contextune.lab.generate.quotas import ITEMS
from contextune.search import tokenize
from contextune.types import Tool


@dataclass(frozen=True)
class Diversity:
    """Figures of a set of personas. Shares are from 0 to 1."""

    personas: int
    queries: int
    items: dict[str, float]
    """Items a persona has on average, by application (the paper's Table 4)."""
    overlap: float
    """Words of a query that stand in an item it needs, of all its words."""
    telling: float
    """The same of words that are not common: what a search by words could find it by."""
    leaking: float
    """Queries that give an item away."""
    alike: float
    """Queries that say nearly the same as another."""
    people: float
    """Different names and professions, of all."""
    kinds: dict[str, int]
    kinds_even: float
    """How evenly the queries are spread over the kinds: 1 if all are as frequent, 0 if there is one."""
    apis: dict[str, int]
    apis_even: float
    apis_unused: tuple[str, ...]


def diversity(personas: Sequence[Persona], tools: Sequence[Tool]) -> Diversity:
    """Measure personas; `tools` are the toolbox that their queries are for."""
    asked = [(persona, query) for persona in personas for query in persona.queries]
    kinds = Counter(query.gold.kind for _, query in asked if query.gold.kind)
    apis = Counter(query.gold.api for _, query in asked if query.gold.api)
    held = Counter(item.app for persona in personas for item in persona.items)
    profiles = [(p.user.profile.get("name"), p.user.profile.get("profession")) for p in personas]
    names = [tool.name for tool in tools]
    return Diversity(
        personas=len(personas),
        queries=len(asked),
        items={app: held[app] / max(len(personas), 1) for app in ITEMS},
        overlap=_mean(_overlap(persona, query) for persona, query in asked),
        telling=_mean(_overlap(persona, query, telling=True) for persona, query in asked),
        leaking=_mean(bool(leaks(persona, query)) for persona, query in asked),
        alike=_alike([query.text for _, query in asked]),
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
    """The entropy of some counts, of the most it could be."""
    each = list(counts)
    total = sum(each)
    if len(each) < 2 or not total:
        return 0.0
    return -sum(one / total * log(one / total) for one in each if one) / log(len(each))


def _overlap(persona: Persona, query: Query, *, telling: bool = False) -> float:
    common = common_words().counts
    said = {word for word in tokenize(query.text) if not telling or word not in common}
    needed = [item for item in persona.items if (query.gold.relevant or {}).get(item.id) == 2]
    there = {word for item in needed for word in tokenize(item.text)}
    return len(said & there) / len(set(tokenize(query.text)) or {""})


def _alike(texts: Sequence[str]) -> float:
    said = [frozenset(tokenize(text)) for text in texts]
    # two texts that are alike share most words, so one of the rarest few of either is among them
    counts = Counter(word for one in said for word in one)
    by_word: dict[str, list[int]] = {}
    for number, one in enumerate(said):
        for word in sorted(one, key=lambda word: (counts[word], word))[
            : len(one) - int(len(one) * ALIKE) + 1
        ]:
            by_word.setdefault(word, []).append(number)
    alike: set[int] = set()
    for numbers in by_word.values():
        for place, one in enumerate(numbers):
            for other in numbers[place + 1 :]:
                if not {one, other} <= alike and likeness(said[one], said[other]) >= ALIKE:
                    alike |= {one, other}
    return len(alike) / max(len(texts), 1)


def _mean(values: Iterable[float]) -> float:
    found = [float(value) for value in values]
    return fmean(found) if found else 0.0
