"""What the content of a snapshot depends on besides the user's data."""

import json
import sys
import unicodedata
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from zoneinfo import ZoneInfo

from contextune.types.app_schema import described_apps

_FORMAT = 2
"""To be raised with every change of what is stored, and of how tokens, columns and habits are computed."""
_YEARS = range(1970, 2040)


def fingerprint(model: str, zone: ZoneInfo | None) -> str:
    """Equal if a state computed anew would be the same: versions, embedder, time zone, applications."""
    parts = [
        _FORMAT,
        version("contextune"),
        unicodedata.unidata_version,  # the tokenizer depends on it
        sys.byteorder,
        model,
        _offsets(zone),
        sorted((name, repr(description)) for name, description in described_apps().items()),
    ]
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _offsets(zone: ZoneInfo | None) -> list[float]:
    """Offsets of a zone, or of the machine's, in each quarter: a zone is not told by its name alone."""
    moments = (datetime(year, month, 1, tzinfo=UTC) for year in _YEARS for month in (1, 4, 7, 10))
    offsets = (moment.astimezone(zone).utcoffset() for moment in moments)
    return [offset.total_seconds() for offset in offsets if offset is not None]
