"""The time zone of this machine, by its IANA name."""

import os
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo

_LOCALTIME, _TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")


def machine_zone() -> str | None:
    """The name of the zone, such as Europe/Lisbon; None if the machine does not tell."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    with suppress(OSError):
        candidates.append(str(_LOCALTIME.resolve()).partition("zoneinfo/")[2])
    with suppress(OSError):
        candidates.append(_TIMEZONE.read_text(encoding="utf-8").strip())
    for name in candidates:
        with suppress(ValueError, OSError, KeyError):
            if name:
                return ZoneInfo(name.removeprefix("posix/")).key
    return None
