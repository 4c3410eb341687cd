"""Log fields that are named like a time and cannot be read as one."""

import logging

from contextune.types.unread_times import UnreadTimes

_log = logging.getLogger("contextune.store")


def log_unread_times(unread: UnreadTimes) -> None:
    """Log the fields, by application, without their values."""
    for field in unread.all():
        _log.warning("%s", field)
