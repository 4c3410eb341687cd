"""Retrieval corpora with labelled requests, in two layouts.

ToolBench's `retrieval/G*`: `corpus.tsv`, `train.query.txt`, `qrels.train.tsv` and so on. BEIR's, as used
by COLT for ToolLens and parts of ToolBench: `corpus.jsonl`, `queries.jsonl`, `qrels/train.tsv`.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune_lab.public_data.collect import (
    ALSO_IN_TEST,
    NO_TEXT,
    NO_TOOL,
    UNKNOWN_TOOL,
    PublicBenchmark,
    ToolsetBuilder,
)
from contextune_lab.public_data.files import get_id, get_text, read_jsonl, read_rows, read_table
from contextune_lab.public_data.rapidapi import document_api

SPLITS = ("test", "dev", "train")
"""Test first, so that nothing tested is trained on."""
_Labels = dict[str, dict[str, None]]


def read_retrieval(folder: Path, name: str | None = None) -> PublicBenchmark:
    """Read the toolset of a folder; documents and requests are identified by id."""
    builder = ToolsetBuilder(name or folder.name)
    if (folder / "corpus.tsv").exists():
        _read_tsv(folder, builder)
    elif (folder / "corpus.jsonl").exists():
        _read_beir(folder, builder)
    else:
        raise InvalidDataError(
            f"{folder}: no corpus.tsv or corpus.jsonl found: use a folder such as retrieval/G1 or ToolLens"
        )
    return builder.build()


def _read_tsv(folder: Path, builder: ToolsetBuilder) -> None:
    for where, (number, text) in read_table(folder / "corpus.tsv", "docid", "document_content"):
        builder.add_tool(number, lambda text=text, where=where: document_api(text, where))
    for split in _splits(folder, "qrels.{}.tsv"):
        file = folder / f"{split}.query.txt"
        texts: dict[str, str] = {}
        for where, (number, text) in read_rows(file, 2):
            _add_text(texts, number, text, where)
        labels: _Labels = {}
        for where, (query, _, document, score) in read_rows(folder / f"qrels.{split}.tsv", 4):
            _label(labels, query, document, score, where)
        _add_requests(builder, texts, labels, split, str(file))
        _skip_unlabelled(builder, texts, labels.keys())


def _read_beir(folder: Path, builder: ToolsetBuilder) -> None:
    for where, entry in read_jsonl(folder / "corpus.jsonl"):
        text = get_text(entry, "text", where)
        builder.add_tool(
            get_id(entry, "_id", where), lambda text=text, where=where: document_api(text, where)
        )
    file = folder / "queries.jsonl"
    texts: dict[str, str] = {}
    for where, entry in read_jsonl(file):
        _add_text(texts, get_id(entry, "_id", where), get_text(entry, "text", where), where)
    labelled: set[str] = set()
    for split in _splits(folder, "qrels/{}.tsv"):
        label_rows = read_table(folder / "qrels" / f"{split}.tsv", "query-id", "corpus-id", "score")
        labels: _Labels = {}
        for where, (query, document, score) in label_rows:
            _label(labels, query, document, score, where)
        _add_requests(builder, texts, labels, split, str(file))
        labelled |= labels.keys()
    _skip_unlabelled(builder, texts, labelled)


def _skip_unlabelled(builder: ToolsetBuilder, texts: Iterable[str], labelled: Collection[str]) -> None:
    for number in texts:
        if number not in labelled:
            builder.skip(number, NO_TOOL)


def _splits(folder: Path, name: str) -> Iterator[str]:
    splits = [split for split in SPLITS if (folder / name.format(split)).exists()]
    if not splits:
        raise InvalidDataError(
            f"{folder}: no labels, neither {name.format('train')} nor {name.format('test')}"
        )
    return iter(splits)


def _add_text(texts: dict[str, str], number: str, text: str, where: str) -> None:
    """Add a request text; ToolBench repeats a request for each of its tools."""
    if texts.setdefault(number, text) != text:
        raise InvalidDataError(f"{where}: duplicate request id {number!r}")


def _label(labels: _Labels, query: str, document: str, score: str, where: str) -> None:
    try:
        is_relevant = float(score) > 0
    except ValueError:
        raise InvalidDataError(f"{where}: {score!r} is not a relevance label: write 1 or 0") from None
    documents = labels.setdefault(query, {})
    if is_relevant:
        documents[document] = None


def _add_requests(
    builder: ToolsetBuilder, texts: dict[str, str], labels: _Labels, split: str, where: str
) -> None:
    for number, documents in labels.items():
        places = {document: builder.place_of(document) for document in documents}
        missing = [document for document, place in places.items() if place is None]
        if builder.has_request(number):
            builder.skip(number, ALSO_IN_TEST)
        elif number not in texts:
            builder.skip(number, NO_TEXT)
        elif missing:
            builder.skip(number, UNKNOWN_TOOL, missing[0])
        elif not places:
            builder.skip(number, NO_TOOL)
        else:
            builder.add_request(
                number, texts[number], (place for place in places.values() if place is not None), split, where
            )
