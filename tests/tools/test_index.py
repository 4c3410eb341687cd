"""What is worked out once for a catalogue: recognising names, and embedding no tool twice."""

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
from contextune.tools.tool_text import spans, tool_text
from contextune.types import Tool

Vector = NDArray[np.float32]
SEND = Tool("send_email", "Sends a mail.", app="Mail")
READ = Tool("readEmail", "Reads a mail.", app="Mail")
UNREAD = Tool("list-unread-email", "Lists mail not read yet.", app="Mail")
TWIN = replace(SEND, app="Other")
SEARCH = Tool("search", "Searches.", app="Web")


class Counting:
    """An embedder that writes down what it embeds."""

    def __init__(self, inner: Embedder, name: str = "counted") -> None:
        self._inner = inner
        self.name = name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return self._inner.embed(texts)


class DictShelf:
    """A shelf that lasts as long as the test."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, bytes], Vector] = {}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        return {one: self.kept[model, one] for one in digests if (model, one) in self.kept}

    def put_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        self.kept |= {(model, digest): vector for digest, vector in vectors.items()}


def named(tools: Sequence[Tool], text: str) -> list[str]:
    index = ToolIndex.of(Catalog(tools), np.zeros((len(tools), 1), np.float32))
    return [index.catalog[place].id for place in index.named(spans(text))]


ALL = (SEND, READ, UNREAD, SEARCH)


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_a_name_is_recognised_however_it_is_spelled(text: str, found: str) -> None:
    assert named(ALL, text) == [found]


@pytest.mark.parametrize(
    "text", ["send an email", "email send", "resend_emails", "send", "research", "read my email", "…", "🎉"]
)
def test_half_a_name_is_no_name(text: str) -> None:
    assert named(ALL, text) == []


def test_the_longest_name_comes_first_then_the_order_of_the_catalogue() -> None:
    text = "search, then read_email, list_unread_email and send_email"
    assert named(ALL, text) == ["Mail/list-unread-email", "Mail/send_email", "Mail/readEmail", "Web/search"]


def test_a_name_that_two_servers_have_names_both() -> None:
    assert named([SEND, READ, TWIN], "send_email") == ["Mail/send_email", "Other/send_email"]


def test_a_long_name_is_recognised_too() -> None:
    long = Tool("create_a_new_pull_request_review_comment_for_this_line", "Comments.")
    assert named([SEND, long], f"try {long.name} please") == [long.id]


def test_a_name_without_words_is_never_said() -> None:
    assert named([Tool("🎉", "Celebrates."), SEND], "🎉 hurrah") == []


def test_a_name_in_a_script_without_spaces() -> None:
    assert named([Tool("搜索邮件", "Searches mail."), SEND], "请用搜索邮件看看") == ["搜索邮件"]


def test_each_tool_has_its_own_row(word_embedder: Embedder) -> None:
    """They are embedded in another order, by length."""
    tools = bundled_toolbox()
    index = ToolIndex.build(Catalog(tools), word_embedder)
    np.testing.assert_array_equal(index.vectors, word_embedder.embed([tool_text(tool) for tool in tools]))


def test_applications_are_numbered_in_their_order(word_embedder: Embedder) -> None:
    index = ToolIndex.build(
        Catalog([SEARCH, SEND, TWIN, READ, Tool("now", "Tells the time.")]), word_embedder
    )
    assert list(index.apps) == ["Web", "Mail", "Other", ""]
    assert index.app.tolist() == [0, 1, 2, 1, 3]
    assert index.app_sizes.tolist() == [1, 2, 1, 1]


def test_only_changed_tools_are_embedded_again(word_embedder: Embedder) -> None:
    shelf = DictShelf()
    embedder = Counting(word_embedder)
    first = ToolIndex.build(Catalog(ALL), embedder, shelf=shelf)
    assert sorted(embedder.texts) == sorted(map(tool_text, ALL))

    again = Counting(word_embedder)
    index = ToolIndex.build(Catalog(ALL[::-1]), again, shelf=shelf)
    assert again.texts == []
    np.testing.assert_array_equal(index.vectors, first.vectors[::-1])

    better = replace(SEND, description="Sends an email to somebody.")
    new = Tool("archive", "Puts mail away.", app="Mail")
    index = ToolIndex.build(Catalog([better, READ, new, SEARCH]), again, shelf=shelf)
    assert sorted(again.texts) == sorted(map(tool_text, [better, new]))
    np.testing.assert_array_equal(index.vectors[1], first.vectors[1])

    # of parameters nothing is embedded, so a change to them costs nothing
    same = Counting(word_embedder)
    ToolIndex.build(Catalog([replace(SEARCH, parameters={"properties": {"q": {}}})]), same, shelf=shelf)
    assert same.texts == []


def test_another_model_has_its_own_vectors(word_embedder: Embedder) -> None:
    shelf = DictShelf()
    ToolIndex.build(Catalog(ALL), Counting(word_embedder, "one"), shelf=shelf)
    other = Counting(word_embedder, "two")
    ToolIndex.build(Catalog(ALL), other, shelf=shelf)
    assert len(other.texts) == len(ALL)


def test_the_retriever_takes_a_shelf(word_embedder: Embedder) -> None:
    shelf, embedder = DictShelf(), Counting(word_embedder)
    ToolRetriever(ALL, embedder, method="hybrid", shelf=shelf)
    retriever = ToolRetriever(ALL, embedder, method="hybrid", shelf=shelf)
    assert len(embedder.texts) == len(ALL)
    retriever.search("send it")
    retriever.search("send it")
    assert embedder.texts[len(ALL) :] == ["send it"]


def test_equal_texts_are_embedded_once(word_embedder: Embedder) -> None:
    embedder = Counting(word_embedder)
    index = ToolIndex.build(Catalog([SEND, replace(SEND, name="send-email"), READ]), embedder)
    assert len(embedder.texts) == 2
    np.testing.assert_array_equal(index.vectors[0], index.vectors[1])


def test_progress_reaches_the_end_and_what_is_done_is_kept(word_embedder: Embedder) -> None:
    tools = [Tool(f"tool_{number}", "Does it. " * (number % 7)) for number in range(600)]
    shelf = DictShelf()
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ToolIndex.build(Catalog(tools), word_embedder, shelf=shelf, progress=stop)
    done = told[-1][0]
    assert 0 < done < 600
    assert len(shelf.kept) == done
    ToolIndex.build(Catalog(tools), word_embedder, shelf=shelf, progress=stop)
    assert told[-1] == (600 - done, 600 - done)


def test_the_nearest_example_of_each_tool(word_embedder: Embedder) -> None:
    tools = [
        replace(SEND, examples=("write to ana", "mail it off")),
        READ,
        replace(SEARCH, examples=("find",)),
    ]
    index = ToolIndex.build(Catalog(tools), word_embedder)
    like = index.by_example(word_embedder.embed(["mail it off"])[0])
    assert like is not None
    assert like[0] == pytest.approx(1)
    assert like[1] == -1  # it has none
    assert like[2] < 0.5
    assert ToolIndex.build(Catalog(ALL), word_embedder).by_example(index.vectors[0]) is None


def test_of_very_many_examples_the_first_few_count(word_embedder: Embedder) -> None:
    many = replace(SEND, examples=tuple(f"say {number}" for number in range(300)))
    index = ToolIndex.build(Catalog([many]), word_embedder)
    assert index.examples is not None
    assert len(index.examples) == 8


def test_an_empty_catalogue(word_embedder: Embedder) -> None:
    index = ToolIndex.build(Catalog(), word_embedder)
    assert index.vectors.shape == (0, 512)
    assert index.named(spans("send_email")) == []


def many(count: int) -> Catalog:
    return Catalog(
        Tool(f"tool_{n}", f"does number {n} of the {n % 7} kinds", app="Server") for n in range(count)
    )


def test_of_very_many_tools_a_graph_finds_the_nearest(
    tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, asked = many(300), word_embedder.embed(["number 4 of the kinds"])[0]
    exact = ToolIndex.build(catalog, word_embedder)
    assert exact.graph is None
    monkeypatch.setattr("contextune.tools.index.MANY", 300)
    with CatalogFile(tmp_path / "tools.db") as shelf:
        index = ToolIndex.build(catalog, word_embedder, shelf=shelf)
        assert index.graph
        assert index.nearest(asked, 5).tolist() == exact.nearest(asked, 5).tolist()
        hidden = np.ones(300, bool)
        hidden[index.nearest(asked, 1)] = False
        assert index.nearest(asked, 5, hidden).tolist() == exact.nearest(asked, 5, hidden).tolist()
        kept = (tmp_path / "tools.db.graph").read_bytes()
        ToolIndex.build(catalog, word_embedder, shelf=shelf)
        assert (tmp_path / "tools.db.graph").read_bytes() == kept
        more = ToolIndex.build(many(310), word_embedder, shelf=shelf)  # of other tools: built anew
        assert more.graph
        assert len(more.graph) == 310
    monkeypatch.setattr("contextune.tools.index.ApproximateIndex.build", _missing)
    assert ToolIndex.build(catalog, word_embedder).graph is None


def _missing(_: object) -> None:
    raise MissingExtraError("searching very many vectors", "big")
