"""ToolLens as the authors of COLT publish it: in BEIR's layout, and all of it in one file besides."""

from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.lab.public_data.collect import UNNAMED, PublicBenchmark, ToolsetBuilder
from contextune.lab.public_data.files import (
    Entry,
    checked_entry,
    checked_list,
    checked_text,
    entries,
)
from contextune.lab.public_data.rapidapi import ApiName, api_name, described_api
from contextune.lab.public_data.retrieval_corpora import read_retrieval

UNSPLIT = "all"


def read_toollens(folder: Path) -> PublicBenchmark:
    """The toolset of `datasets/ToolLens/`; without a corpus, that of its `ToolLens_data.json`.

    That file does not say what is for training and what for testing: all its requests are of the part "all".
    """
    file = folder / "ToolLens_data.json"
    if (folder / "corpus.jsonl").exists() or (folder / "corpus.tsv").exists():
        return read_retrieval(folder, "toollens")
    if not file.exists():
        raise InvalidDataError(
            f"{folder}: has neither a corpus nor {file.name}: give COLT's datasets/ToolLens"
        )
    into = ToolsetBuilder("toollens")
    for number, (where, entry) in enumerate(entries(file), 1):
        given = [checked_entry(one, f"{where}: one of 'apis'") for one in checked_list(entry, "apis", where)]
        places = [_put(into, api_name(one, where), one, where) for one in given]
        if places:
            into.ask(str(number), checked_text(entry, "query", where), places, UNSPLIT, where)
        else:
            into.skip(str(number), UNNAMED)
    return into.published()


def _put(into: ToolsetBuilder, name: ApiName, entry: Entry, where: str) -> int:
    return into.put(name, lambda: described_api(entry, "", where))
