"""ToolLens in COLT's published formats: BEIR layout, or a single file."""

from pathlib import Path

from contextune.errors import InvalidDataError
from contextune_lab.public_data.collect import NO_TOOL, PublicBenchmark, ToolsetBuilder
from contextune_lab.public_data.files import (
    Entry,
    get_text,
    read_json_array,
    require_list,
    require_object,
)
from contextune_lab.public_data.rapidapi import ApiName, api_name, listed_api
from contextune_lab.public_data.retrieval_corpora import read_retrieval

UNSPLIT = "all"


def read_toollens(folder: Path) -> PublicBenchmark:
    """The toolset of `datasets/ToolLens/`; without a corpus, that of `ToolLens_data.json`.

    That file has no splits: all its requests are in split "all".
    """
    file = folder / "ToolLens_data.json"
    if (folder / "corpus.jsonl").exists() or (folder / "corpus.tsv").exists():
        return read_retrieval(folder, "toollens")
    if not file.exists():
        raise InvalidDataError(
            f"{folder}: neither a corpus nor {file.name} found: use COLT's datasets/ToolLens"
        )
    builder = ToolsetBuilder("toollens")
    for number, (where, entry) in enumerate(read_json_array(file), 1):
        api_entries = [
            require_object(api_entry, f"{where}: one of 'apis'")
            for api_entry in require_list(entry, "apis", where)
        ]
        places = [_put(builder, api_name(api_entry, where), api_entry, where) for api_entry in api_entries]
        if places:
            builder.add_request(str(number), get_text(entry, "query", where), places, UNSPLIT, where)
        else:
            builder.skip(str(number), NO_TOOL)
    return builder.build()


def _put(builder: ToolsetBuilder, name: ApiName, entry: Entry, where: str) -> int:
    return builder.add_tool(name, lambda: listed_api(entry, "", where))
