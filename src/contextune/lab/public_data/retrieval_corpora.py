"""A corpus with labelled requests, in two layouts.

That of ToolBench's `retrieval/G*`: `corpus.tsv`, `train.query.txt`, `qrels.train.tsv` and so on. And BEIR's,
in which COLT publishes ToolLens and parts of ToolBench: `corpus.jsonl`, `queries.jsonl`, `qrels/train.tsv`.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.lab.public_data.collect import (
    TESTED,
    TEXTLESS,
    UNKNOWN,
    UNNAMED,
    PublicBenchmark,
    ToolsetBuilder,
)
from contextune.lab.public_data.files import an_id, checked_text, lines, rows, table
from contextune.lab.public_data.rapidapi import document_api

SPLITS = ("test", "dev", "train")
"""In this order, so that what is tested is not trained on."""
_Labels = dict[str, dict[str, None]]


def read_retrieval(folder: Path, name: str | None = None) -> PublicBenchmark:
    """The toolset of such a folder; documents and requests are the same where their ids are."""
    into = ToolsetBuilder(name or folder.name)
    if (folder / "corpus.tsv").exists():
        _take_tsv(folder, into)
    elif (folder / "corpus.jsonl").exists():
        _take_beir(folder, into)
    else:
        raise InvalidDataError(
            f"{folder}: has neither corpus.tsv nor corpus.jsonl: give one such as retrieval/G1 or ToolLens"
        )
    return into.published()


def _take_tsv(folder: Path, into: ToolsetBuilder) -> None:
    for where, (number, text) in table(folder / "corpus.tsv", "docid", "document_content"):
        into.put(number, lambda text=text, where=where: document_api(text, where))
    for split in _splits(folder, "qrels.{}.tsv"):
        file = folder / f"{split}.query.txt"
        texts: dict[str, str] = {}
        for where, (number, text) in rows(file, 2):
            _add_text(texts, number, text, where)
        labels: _Labels = {}
        for where, (query, _, document, score) in rows(folder / f"qrels.{split}.tsv", 4):
            _label(labels, query, document, score, where)
        _ask(into, texts, labels, split, str(file))
        _skip_unlabelled(into, texts, labels.keys())


def _take_beir(folder: Path, into: ToolsetBuilder) -> None:
    for where, entry in lines(folder / "corpus.jsonl"):
        text = checked_text(entry, "text", where)
        into.put(an_id(entry, "_id", where), lambda text=text, where=where: document_api(text, where))
    file = folder / "queries.jsonl"
    texts: dict[str, str] = {}
    for where, entry in lines(file):
        _add_text(texts, an_id(entry, "_id", where), checked_text(entry, "text", where), where)
    labelled: set[str] = set()
    for split in _splits(folder, "qrels/{}.tsv"):
        given = table(folder / "qrels" / f"{split}.tsv", "query-id", "corpus-id", "score")
        labels: _Labels = {}
        for where, (query, document, score) in given:
            _label(labels, query, document, score, where)
        _ask(into, texts, labels, split, str(file))
        labelled |= labels.keys()
    _skip_unlabelled(into, texts, labelled)


def _skip_unlabelled(into: ToolsetBuilder, texts: Iterable[str], labelled: Collection[str]) -> None:
    for number in texts:
        if number not in labelled:
            into.skip(number, UNNAMED)


def _splits(folder: Path, name: str) -> Iterator[str]:
    found = [split for split in SPLITS if (folder / name.format(split)).exists()]
    if not found:
        raise InvalidDataError(
            f"{folder}: has no labels, neither {name.format('train')} nor {name.format('test')}"
        )
    return iter(found)


def _add_text(texts: dict[str, str], number: str, text: str, where: str) -> None:
    """ToolBench repeats a request for each tool that serves it."""
    if texts.setdefault(number, text) != text:
        raise InvalidDataError(f"{where}: another request has the id {number!r} too: give each its own")


def _label(labels: _Labels, query: str, document: str, score: str, where: str) -> None:
    try:
        serves = float(score) > 0
    except ValueError:
        raise InvalidDataError(
            f"{where}: {score!r} does not say whether the tool serves: write 1 or 0"
        ) from None
    documents = labels.setdefault(query, {})
    if serves:
        documents[document] = None


def _ask(into: ToolsetBuilder, texts: dict[str, str], labels: _Labels, split: str, where: str) -> None:
    for number, documents in labels.items():
        places = {document: into.place(document) for document in documents}
        missing = [document for document, place in places.items() if place is None]
        if into.asked(number):
            into.skip(number, TESTED)
        elif number not in texts:
            into.skip(number, TEXTLESS)
        elif missing:
            into.skip(number, UNKNOWN, missing[0])
        elif not places:
            into.skip(number, UNNAMED)
        else:
            into.ask(
                number, texts[number], (place for place in places.values() if place is not None), split, where
            )
