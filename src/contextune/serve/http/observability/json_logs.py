"""Structured logs: one JSON object a line, without personal data.

Messages of Contextune, uvicorn and the pool of database connections are logged in full. For other libraries
only the format string is logged, and for exceptions only type and stack, because arguments and messages may
contain personal data.
"""

import json
import logging
import sys
import time
import traceback
from typing import Any, TextIO

from contextune._internal.postgres_url import hide_passwords

LOG = logging.getLogger("contextune.serve")
_SAFE_LOGGERS = ("contextune.serve", "uvicorn.error")
_FORMATTED_LOGGERS = (*_SAFE_LOGGERS, "psycopg.pool")
"""The arguments of the last are connections, and why one was not made."""
_MAX_FRAMES = 12


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
        }
        if record.name != LOG.name:
            line["from"] = record.name
        line["event"] = record.getMessage() if record.name in _FORMATTED_LOGGERS else str(record.msg)
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            line |= exception_fields(record.exc_info[1])
        return hide_passwords(json.dumps(line))


def exception_fields(error: BaseException) -> dict[str, Any]:
    """Type and stack of an exception, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    return {"error": type(error).__name__, "at": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


def configure_logging(stream: TextIO | None = None) -> None:
    """Write all logs of this process as JSON lines, to standard error by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _SAFE_LOGGERS:
        logging.getLogger(name).setLevel(logging.INFO)
    # access logs contain whole URLs
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(True)


def log_event(
    event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: object
) -> None:
    """Log an event with additional JSON fields, which must not contain personal data."""
    LOG.log(level, event, extra={"fields": fields}, exc_info=error)
