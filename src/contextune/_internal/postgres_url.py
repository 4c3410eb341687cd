"""URLs of PostgreSQL databases: tell them from paths of files, and hide their passwords.

This imports no library.
"""

import re
from pathlib import Path

_SCHEMES = ("postgresql://", "postgres://")
# a mistyped scheme makes a URL a path, which has one slash
_PASSWORD_IN_URL = re.compile(r"(:/{1,2}[^/@\s:\"]{0,200}):[^\s\"]{0,1000}@")
_PASSWORD_VALUE = re.compile(r"\b((?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&'\"]+)", re.IGNORECASE)


def is_postgres(store: str | Path | None) -> bool:
    """Whether a store is named by the URL of a PostgreSQL database, or by its key=value form."""
    return isinstance(store, str) and (store.startswith(_SCHEMES) or "dbname=" in store)


def hide_passwords(text: str) -> str:
    """The text with `***` in place of the passwords of database URLs in it."""
    return _PASSWORD_VALUE.sub(r"\1***", _PASSWORD_IN_URL.sub(r"\1:***@", text))
