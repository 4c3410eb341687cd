"""Logs: a line of JSON for each request and each event, in which nothing stands that somebody wrote.

What Contextune and uvicorn say of the service is written as it is. Of any other library only the
unfilled pattern of a message is written, and of an exception its kind and where it came from: what they
would fill in may be a mail.
"""

import json
import logging
import sys
import time
import traceback
from typing import Any, TextIO

LOG = logging.getLogger("contextune.serve")
_OURS = ("contextune.serve", "uvicorn.error")
_FRAMES = 12


class JsonFormatter(logging.Formatter):
    """One record, one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
        }
        if record.name != LOG.name:
            line["from"] = record.name
        line["event"] = record.getMessage() if record.name in _OURS else str(record.msg)
        line |= getattr(record, "told", {})
        if record.exc_info and record.exc_info[1]:
            line |= fault(record.exc_info[1])
        return json.dumps(line)


def fault(error: BaseException) -> dict[str, Any]:
    """An exception without what it says: its kind, and the lines of code it came through."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {"error": type(error).__name__, "at": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


def start_logs(stream: TextIO | None = None) -> None:
    """Write all logs of this process as lines of JSON, to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    # it would write whole addresses, with whatever stands in them
    logging.getLogger("uvicorn.access").disabled = True
    logging.captureWarnings(True)


def told(
    event: str, *, level: int = logging.INFO, error: BaseException | None = None, **more: object
) -> None:
    """Write a line: what happened, and facts of it that hold no personal text."""
    LOG.log(level, event, extra={"told": more}, exc_info=error)
