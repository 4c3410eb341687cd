"""ToolIndex: tool names in a request, cached vectors, examples, approximate search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.embed import Embedder, Matrix
from contextune.errors import MissingExtraError
from contextune.tools import Catalog, ToolRetriever, bundled_toolbox
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import ToolIndex
from contextune.tools.tool_text import name_spans, tool_text
from contextune.types import Tool

Vector = NDArray[np.float32]
SEND = Tool("send_email", "Sends a mail.", app="Mail")
READ = Tool("readEmail", "Reads a mail.", app="Mail")
UNREAD = Tool("list-unread-email", "Lists mail not read yet.", app="Mail")
TWIN = replace(SEND, app="Other")
SEARCH = Tool("search", "Searches.", app="Web")


class Counting:
    """An embedder with a name, which records the texts it embeds."""

    def __init__(self, inner: Embedder, name: str = "counted") -> None:
        self._inner = inner
        self.name = name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return self._inner.embed(texts)


class DictCache:
    """A vector cache in a dict."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, bytes], Vector] = {}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        return {digest: self.kept[model, digest] for digest in digests if (model, digest) in self.kept}

    def put_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        self.kept |= {(model, digest): vector for digest, vector in vectors.items()}


def find_named(tools: Sequence[Tool], text: str) -> list[str]:
    index = ToolIndex.from_vectors(Catalog(tools), np.zeros((len(tools), 1), np.float32))
    return [index.catalog[position].id for position in index.find_named(name_spans(text))]


ALL = (SEND, READ, UNREAD, SEARCH)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("call send_email now", "Mail/send_email"),
        ("call `send-email`, now", "Mail/send_email"),
        ("SEND_EMAIL", "Mail/send_email"),
        ("use sendEmail(to=Ana)", "Mail/send_email"),
        ("send email to Ana", "Mail/send_email"),
        ("Mail/send_email", "Mail/send_email"),
        ("read_email", "Mail/readEmail"),
        ("readEmail?", "Mail/readEmail"),
        ("listUnreadEmail", "Mail/list-unread-email"),
        ("please Search it", "Web/search"),
    ],
)
def test_name_is_found_in_any_spelling(text: str, tool: str) -> None:
    assert find_named(ALL, text) == [tool]


@pytest.mark.parametrize(
    "text", ["send an email", "email send", "resend_emails", "send", "research", "read my email", "…", "🎉"]
)
def test_partial_name_is_not_found(text: str) -> None:
    assert find_named(ALL, text) == []


def test_longest_name_first_then_catalogue_order() -> None:
    text = "search, then read_email, list_unread_email and send_email"
    assert find_named(ALL, text) == [
        "Mail/list-unread-email",
        "Mail/send_email",
        "Mail/readEmail",
        "Web/search",
    ]


def test_name_on_two_servers_finds_both() -> None:
    assert find_named([SEND, READ, TWIN], "send_email") == ["Mail/send_email", "Other/send_email"]


def test_long_name_is_found() -> None:
    long = Tool("create_a_new_pull_request_review_comment_for_this_line", "Comments.")
    assert find_named([SEND, long], f"try {long.name} please") == [long.id]


def test_name_without_words_is_not_found() -> None:
    assert find_named([Tool("🎉", "Celebrates."), SEND], "🎉 hurrah") == []


def test_name_in_a_script_without_spaces_is_found() -> None:
    assert find_named([Tool("搜索邮件", "Searches mail."), SEND], "请用搜索邮件看看") == ["搜索邮件"]


def test_each_tool_has_its_own_row(word_embedder: Embedder) -> None:
    """Although tools are embedded in order of length."""
    tools = bundled_toolbox()
    index = ToolIndex.build(Catalog(tools), word_embedder)
    np.testing.assert_array_equal(index.vectors, word_embedder.embed([tool_text(tool) for tool in tools]))


def test_apps_are_numbered_in_catalogue_order(word_embedder: Embedder) -> None:
    index = ToolIndex.build(
        Catalog([SEARCH, SEND, TWIN, READ, Tool("now", "Tells the time.")]), word_embedder
    )
    assert list(index.apps) == ["Web", "Mail", "Other", ""]
    assert index.app.tolist() == [0, 1, 2, 1, 3]
    assert index.app_sizes.tolist() == [1, 2, 1, 1]


def test_only_changed_tools_are_embedded_again(word_embedder: Embedder) -> None:
    cache = DictCache()
    embedder = Counting(word_embedder)
    first = ToolIndex.build(Catalog(ALL), embedder, vector_cache=cache)
    assert sorted(embedder.texts) == sorted(map(tool_text, ALL))

    again = Counting(word_embedder)
    index = ToolIndex.build(Catalog(ALL[::-1]), again, vector_cache=cache)
    assert again.texts == []
    np.testing.assert_array_equal(index.vectors, first.vectors[::-1])

    better = replace(SEND, description="Sends an email to somebody.")
    new = Tool("archive", "Puts mail away.", app="Mail")
    index = ToolIndex.build(Catalog([better, READ, new, SEARCH]), again, vector_cache=cache)
    assert sorted(again.texts) == sorted(map(tool_text, [better, new]))
    np.testing.assert_array_equal(index.vectors[1], first.vectors[1])

    # parameters are not part of the embedded text
    same = Counting(word_embedder)
    ToolIndex.build(
        Catalog([replace(SEARCH, parameters={"properties": {"q": {}}})]), same, vector_cache=cache
    )
    assert same.texts == []


def test_vectors_are_cached_by_embedder(word_embedder: Embedder) -> None:
    cache = DictCache()
    ToolIndex.build(Catalog(ALL), Counting(word_embedder, "one"), vector_cache=cache)
    other = Counting(word_embedder, "two")
    ToolIndex.build(Catalog(ALL), other, vector_cache=cache)
    assert len(other.texts) == len(ALL)


def test_retriever_uses_the_vector_cache(word_embedder: Embedder) -> None:
    cache, embedder = DictCache(), Counting(word_embedder)
    ToolRetriever(ALL, embedder, method="hybrid", vector_cache=cache)
    retriever = ToolRetriever(ALL, embedder, method="hybrid", vector_cache=cache)
    assert len(embedder.texts) == len(ALL)
    retriever.search("send it")
    retriever.search("send it")
    assert embedder.texts[len(ALL) :] == ["send it"]


def test_equal_texts_are_embedded_once(word_embedder: Embedder) -> None:
    embedder = Counting(word_embedder)
    index = ToolIndex.build(Catalog([SEND, replace(SEND, name="send-email"), READ]), embedder)
    assert len(embedder.texts) == 2
    np.testing.assert_array_equal(index.vectors[0], index.vectors[1])


def test_interrupted_build_keeps_finished_vectors(word_embedder: Embedder) -> None:
    tools = [Tool(f"tool_{number}", "Does it. " * (number % 7)) for number in range(600)]
    cache = DictCache()
    reports: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        reports.append((done, total))
        if len(reports) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ToolIndex.build(Catalog(tools), word_embedder, vector_cache=cache, progress=stop)
    done = reports[-1][0]
    assert 0 < done < 600
    assert len(cache.kept) == done
    ToolIndex.build(Catalog(tools), word_embedder, vector_cache=cache, progress=stop)
    assert reports[-1] == (600 - done, 600 - done)


def test_example_similarities_use_the_nearest_example(word_embedder: Embedder) -> None:
    tools = [
        replace(SEND, examples=("write to ana", "mail it off")),
        READ,
        replace(SEARCH, examples=("find",)),
    ]
    index = ToolIndex.build(Catalog(tools), word_embedder)
    similarity = index.example_similarities(word_embedder.embed(["mail it off"])[0])
    assert similarity is not None
    assert similarity[0] == pytest.approx(1)
    assert similarity[1] == -1  # it has none
    assert similarity[2] < 0.5
    assert ToolIndex.build(Catalog(ALL), word_embedder).example_similarities(index.vectors[0]) is None


def test_only_the_first_examples_count(word_embedder: Embedder) -> None:
    many = replace(SEND, examples=tuple(f"say {number}" for number in range(300)))
    index = ToolIndex.build(Catalog([many]), word_embedder)
    assert index.examples is not None
    assert len(index.examples) == 8


def test_empty_catalogue(word_embedder: Embedder) -> None:
    index = ToolIndex.build(Catalog(), word_embedder)
    assert index.vectors.shape == (0, 512)
    assert index.find_named(name_spans("send_email")) == []


def many(count: int) -> Catalog:
    return Catalog(
        Tool(f"tool_{n}", f"does number {n} of the {n % 7} kinds", app="Server") for n in range(count)
    )


def test_large_catalogue_uses_approximate_search(
    tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, query = many(300), word_embedder.embed(["number 4 of the kinds"])[0]
    exact = ToolIndex.build(catalog, word_embedder)
    assert exact.ann is None
    monkeypatch.setattr("contextune.tools.index.ANN_MIN_TOOLS", 300)
    with CatalogFile(tmp_path / "tools.db") as cache:
        index = ToolIndex.build(catalog, word_embedder, vector_cache=cache)
        assert index.ann
        assert index.nearest(query, 5).tolist() == exact.nearest(query, 5).tolist()
        visible = np.ones(300, bool)
        visible[index.nearest(query, 1)] = False
        assert index.nearest(query, 5, visible).tolist() == exact.nearest(query, 5, visible).tolist()
        kept = (tmp_path / "tools.db.graph").read_bytes()
        ToolIndex.build(catalog, word_embedder, vector_cache=cache)
        assert (tmp_path / "tools.db.graph").read_bytes() == kept
        more = ToolIndex.build(many(310), word_embedder, vector_cache=cache)  # rebuilt for other tools
        assert more.ann
        assert len(more.ann) == 310
    monkeypatch.setattr("contextune.tools.index.AnnIndex.build", _missing)
    assert ToolIndex.build(catalog, word_embedder).ann is None


def _missing(_: object) -> None:
    raise MissingExtraError("searching very many vectors", "big")
