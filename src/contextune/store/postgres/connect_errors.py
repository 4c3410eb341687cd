"""Names and errors of a database that contain no password: what is wrong with its URL, or why it refuses."""

import re

import psycopg
from psycopg import conninfo

from contextune._internal.postgres_url import hide_passwords
from contextune.errors import StoreError

_SERVER_MESSAGE = re.compile(r"FATAL:\s*(.+)")
_CLIENT_MESSAGE = re.compile(r"(?:connection is bad: |port \d+ failed: )((?:invalid|server does not) .+)")
_LAST_PORT = 65535
_UNESCAPED = (
    "the password contains a character that must be percent-encoded, such as %40 for @ and %2F for /; or set "
    "PGPASSWORD, and leave it out"
)


def safe_name(url: str) -> str:
    """The database in messages: without user and password."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the PostgreSQL store"
    # an unescaped @ or / in a password makes the rest of it the host or the database
    host, database = (str(parts.get(part) or "").rpartition("@")[2] for part in ("host", "dbname"))
    return f"the PostgreSQL store {database!r} on {host or 'this machine'}"


def check_url(url: str) -> None:
    """Raise `StoreError` naming the part of a URL that is malformed, if one is."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError(f"the URL of the PostgreSQL store is malformed: {_malformed_part(url)}") from None
    if any("@" in str(parts.get(part) or "") for part in ("host", "dbname")):
        raise StoreError(f"the URL of the PostgreSQL store is malformed: {_UNESCAPED}")
    for port in str(parts.get("port") or "").split(","):
        if port and not (port.isdecimal() and 0 < int(port) <= _LAST_PORT):
            raise StoreError(f"the URL of the PostgreSQL store is malformed: invalid port {port!r}")


def _malformed_part(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if separator and "@" in rest:
        userinfo, _, rest = rest.rpartition("@")
        user, colon, _ = userinfo.partition(":")
        url = f"{scheme}://{user}{':x' if colon else ''}@{rest}"
    try:
        conninfo.conninfo_to_dict(hide_passwords(url))
    except psycopg.ProgrammingError as error:
        return str(error).strip()
    return _UNESCAPED


def explain_refusal(error: psycopg.Error, name: str) -> str:
    """Why a connection was not made: in the words of the server, if it has answered."""
    message = str(error)
    if match := _SERVER_MESSAGE.search(message):
        return f"{name}: the server refuses the connection: {match[1].strip()}"
    if match := _CLIENT_MESSAGE.search(message):
        return f"{name}: no connection: {match[1].strip()}"
    if "resolve host" in message or "translate host" in message:
        return f"{name} cannot be reached: the name of the host cannot be resolved"
    if isinstance(error, psycopg.ProgrammingError):
        return f"{name}: no connection: check the options in the URL"
    return f"{name} cannot be reached: check host and port, and that the server runs; retry"
