"""What a large language model wrote for the bundled requests, recorded in `packages/lab/runs`.

Its chain of thought saw only the request, the time and the place, as at run time. The one in the dataset was
written by people who knew the data.
"""

import json
from pathlib import Path

from contextune._internal.assets import read_decompressed
from contextune.errors import InvalidDataError, MissingLabDataError

COT_FILE = Path(__file__).parents[3] / "runs" / "context" / "large-model-cot.jsonl.gz"
"""In a clone of the repository; recorded runs are in no wheel."""


def large_model_cot(file: Path = COT_FILE) -> dict[str, str]:
    """The chain of thought of each request, by name (`persona/query`)."""
    if not file.exists():
        raise MissingLabDataError("the recorded chains of thought")
    try:
        rows = [json.loads(line) for line in read_decompressed(file).decode().splitlines()]
        return {f"{row['persona']}/{row['query']}": str(row["cot"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of chains of thought: {error}") from None
