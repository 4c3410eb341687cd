"""What is searched of descriptions that nobody vouches for: the sentences that are about their tool.

A description can recommend its tool for everything, or list what others do. Such a sentence has few of the
tool's own words, and is about as near to others; it adds nothing to the rank. Nor does a clause of a
sentence, or an example request, that is nearer to another tool.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from contextune.embed import Embedder, Matrix
from contextune.search import identifier_words, tokenize
from contextune.search.stop_words import STOP_WORDS
from contextune.tools.index import VectorCache, embed_texts
from contextune.tools.tool_text import tool_text
from contextune.types import Tool

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？])\s+|\n+")
_CLAUSE_END = re.compile(r"(?<=[,;:)，、：])\s+|(?<!\s)\s+(?=[(/])|(?<!\s)\s*[–—]\s*")
_OWN_SHARE = 1 / 3
"""Share of a sentence's telling words that are the tool's own, from which the sentence is about the tool."""
_MARGIN = 0.1
"""How much more similar to its tool than to any other a sentence about the tool is."""
_COMMON = 0.1
"""Share of the tools from which a word of their descriptions tells nothing."""
_MAX_REPEATS = 2
_MIN_LENGTH = 4
_STEM = 5
_MAX_PARAMETER_WORDS = 4
"""A parameter with more words in its name describes other tools, not an argument."""
_LOOSE_END = " ,;:–—-(/"
"""What a sentence does not end with, once its rest is dropped."""


@dataclass(slots=True)
class _Description:
    """The sentences of a tool's description."""

    tool: Tool
    sentences: list[str]
    kept: set[int]
    """Positions of those that are about the tool."""
    own: set[str]
    """Stems of the tool's own words."""
    foreign_examples: set[str] = field(default_factory=set[str])
    about: str = ""
    """What is searched of the server's description."""

    def bounded(self) -> Tool:
        """The tool as it is searched."""
        text = " ".join(self.sentences[position] for position in sorted(self.kept))
        examples = tuple(text for text in self.tool.examples if text not in self.foreign_examples)
        title = self.tool.title if not self.tool.description or _is_about(self.tool.title, self.own) else ""
        tool = replace(
            self.tool, description=_without_repeats(text), title=title, examples=examples, about=self.about
        )
        return _without_long_parameters(tool)


def bound_descriptions(
    tools: Sequence[Tool], embedder: Embedder | None = None, vector_cache: VectorCache | None = None
) -> list[Tool]:
    """The tools with the sentences of their descriptions that are about them, and at least one of them.

    A sentence that does not have the tool's own words is compared with all tools by meaning; without an
    embedder, it is left out.
    """
    common = _common_stems(tools)
    descriptions = [_describe(tool, common) for tool in tools]
    if embedder:
        _keep_nearest(descriptions, embedder, vector_cache)
        _drop_foreign_texts(descriptions, common, embedder, vector_cache)
    for description in descriptions:
        if not description.kept:
            description.kept.add(0)
    _drop_foreign_tails(descriptions)
    return [description.bounded() for description in descriptions]


def _describe(tool: Tool, common: frozenset[str]) -> _Description:
    sentences = [part for part in _SENTENCE_END.split(tool.description.strip()) if part] or [""]
    own = _own_stems(tool)
    kept = {
        position
        for position, sentence in enumerate(sentences)
        if _is_about(sentence, own, common) and not _is_repetitive(sentence)
    }
    about = "" if _is_repetitive(tool.about) else tool.about
    return _Description(tool, sentences, kept, own, about=about)


def _is_about(text: str, own: set[str], common: frozenset[str] = frozenset()) -> bool:
    """Whether enough of the telling words of a text are the tool's own."""
    telling = _stems(text) - common
    return bool(telling) and len(telling & own) >= _OWN_SHARE * len(telling)


def _keep_nearest(
    descriptions: Sequence[_Description], embedder: Embedder, vector_cache: VectorCache | None
) -> None:
    """Keep the sentences that are nearer to their tool, as far as it is known, than to any other."""
    open_sentences = [
        (number, position)
        for number, description in enumerate(descriptions)
        for position in range(len(description.sentences))
        if position not in description.kept
    ]
    if not open_sentences:
        return
    tools = embed_texts([tool_text(each.bounded()) for each in descriptions], embedder, vector_cache, None)
    texts = [descriptions[number].sentences[position] for number, position in open_sentences]
    sentences = embed_texts(texts, embedder, vector_cache, None)
    best: dict[int, tuple[int, int]] = {}
    for (number, position), vector in zip(open_sentences, sentences, strict=True):
        rivals = _count_rivals(vector, tools, number)
        if not rivals and not _is_repetitive(descriptions[number].sentences[position]):
            descriptions[number].kept.add(position)
        best[number] = min(best.get(number, (rivals, position)), (rivals, position))
    for number, (_, position) in best.items():
        if not descriptions[number].kept:
            descriptions[number].kept.add(position)


def _drop_foreign_texts(
    descriptions: Sequence[_Description],
    common: frozenset[str],
    embedder: Embedder,
    vector_cache: VectorCache | None,
) -> None:
    """Drop clauses without the tool's own words, and examples, that are nearer to another tool's names.

    The description of a server that is nearer to the tools of another is dropped, too.
    """
    names = [tool_text(replace(each.tool, description="", about="")) for each in descriptions]
    tools = embed_texts(names, embedder, vector_cache, None)
    clauses = [
        (number, position, clause)
        for number, description in enumerate(descriptions)
        for position in sorted(description.kept)
        for clause in _CLAUSE_END.split(description.sentences[position])[1:]
        if not _is_about(clause, description.own, common)
    ]
    examples = [(n, text) for n, description in enumerate(descriptions) for text in description.tool.examples]
    about = [(number, each.about) for number, each in enumerate(descriptions) if each.about]
    texts = [*(clause for _, _, clause in clauses), *(text for _, text in (*examples, *about))]
    if not texts:
        return
    vectors = embed_texts(texts, embedder, vector_cache, None)
    for (number, position, clause), vector in zip(clauses, vectors, strict=False):
        if _is_foreign(vector, tools, number):
            sentence = descriptions[number].sentences[position]
            descriptions[number].sentences[position] = _ended(sentence.replace(clause, " ", 1))
    for (number, text), vector in zip(examples, vectors[len(clauses) :], strict=False):
        if _is_foreign(vector, tools, number):
            descriptions[number].foreign_examples.add(text)
    for (number, _), vector in zip(about, vectors[len(clauses) + len(examples) :], strict=True):
        if descriptions[int(np.argmax(tools @ vector))].tool.app != descriptions[number].tool.app:
            descriptions[number].about = ""


def _drop_foreign_tails(descriptions: Sequence[_Description]) -> None:
    """End sentences at the last of their tool's own words if a name word of another server's follows."""
    named: dict[str, set[str]] = {}
    for description in descriptions:
        for word in identifier_words(description.tool.name):
            if len(word) >= _MIN_LENGTH:
                named.setdefault(word[:_STEM], set()).add(description.tool.app)
    for description in descriptions:
        app, own = description.tool.app, description.own
        for position in description.kept:
            words = description.sentences[position].split()
            last = max((n for n, word in enumerate(words) if _stems(word) & own), default=len(words))
            tail = (stem for word in words[last + 1 :] for stem in _stems(word))
            if any(
                named.get(stem[:length], set()) - {app} for stem in tail for length in (_STEM, _MIN_LENGTH)
            ):
                description.sentences[position] = _ended(" ".join(words[: last + 1]))


def _ended(sentence: str) -> str:
    """A sentence whose rest was dropped, without the words that led to it."""
    words = sentence.split()
    while words and STOP_WORDS.issuperset(tokenize(words[-1])):
        words.pop()
    text = " ".join(words).rstrip(_LOOSE_END)
    return f"{text}." if text and text[-1] not in ".!?;。！？" else text


def _without_long_parameters(tool: Tool) -> Tool:
    properties = _properties(tool)
    short = {name: schema for name, schema in properties.items() if _is_short(name)}
    if len(short) == len(properties):
        return tool
    return replace(tool, parameters={**tool.parameters, "properties": short})


def _is_short(parameter: str) -> bool:
    return len(identifier_words(parameter)) <= _MAX_PARAMETER_WORDS


def _properties(tool: Tool) -> Mapping[str, object]:
    stated: object = tool.parameters.get("properties")
    return cast("Mapping[str, object]", stated if isinstance(stated, Mapping) else {})


def _is_foreign(vector: Matrix, tools: Matrix, own: int) -> bool:
    """Whether a text is nearer to another tool than to its own."""
    return int(np.argmax(tools @ vector)) != own


def _count_rivals(vector: Matrix, tools: Matrix, own: int) -> int:
    """How many other tools are about as near to a sentence as its own, or nearer."""
    similarities = np.delete(tools @ vector, own)
    return int(np.count_nonzero(similarities > float(tools[own] @ vector) - _MARGIN))


def _is_repetitive(sentence: str) -> bool:
    """Whether a sentence repeats a word more often than a sentence does."""
    counts = Counter(word for word in tokenize(sentence) if len(word) >= _MIN_LENGTH)
    return any(count > _MAX_REPEATS for count in counts.values())


def _common_stems(tools: Sequence[Tool]) -> frozenset[str]:
    """Stems that so many descriptions have that they tell nothing."""
    counts = Counter(stem for tool in tools for stem in _stems(tool.description))
    return frozenset(stem for stem, count in counts.items() if count > max(2, _COMMON * len(tools)))


def _own_stems(tool: Tool) -> set[str]:
    """Stems of the tool's names: its own, its server's, and those of its parameters."""
    names = [tool.app, tool.name, *filter(_is_short, map(str, _properties(tool)))]
    own = {word[:_STEM] for name in names for word in identifier_words(name)}
    return own | _stems(tool.title) if _is_about(tool.title, own) else own


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in tokenize(text)}


def _without_repeats(text: str) -> str:
    """The text with each word at most twice; short ones, which join others, may be repeated."""
    counts: Counter[str] = Counter()
    kept: list[str] = []
    for part in text.split():
        words = [word for word in tokenize(part) if len(word) >= _MIN_LENGTH]
        counts.update(words)
        if not words or any(counts[word] <= _MAX_REPEATS for word in words):
            kept.append(part)
    return " ".join(kept)
