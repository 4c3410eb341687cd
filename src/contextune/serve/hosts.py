"""Host names that a service answers for, against DNS rebinding and forged redirects.

A page of another site can point its name at this machine; the browser then sends that name as `Host`. And a
page of another site that sends requests here names itself as `Origin`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
ANY_HOST = "*"
"""Allows every host name."""


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names without port; `*.example.org` allows all subdomains, and none at all allow every name."""

    names: tuple[str, ...] = ()

    def allow_host(self, header: str | None) -> bool:
        """Whether a `Host` header names this service."""
        return self._is_open or (header is not None and self._matches(_host_name(f"//{header}")))

    def allow_origin(self, header: str | None) -> bool:
        """Whether an `Origin` header, if there is one, is of a page of this service."""
        return self._is_open or header is None or self._matches(_host_name(header))

    @property
    def _is_open(self) -> bool:
        return not self.names or ANY_HOST in self.names

    def _matches(self, name: str | None) -> bool:
        return name is not None and any(
            name.endswith(allowed[1:]) if allowed.startswith("*.") else name == allowed
            for allowed in self.names
        )


def allowed_hosts(bound: str, names: Iterable[str] = ()) -> AllowedHosts:
    """The names given, and those of the address the service is bound to.

    On a loopback address only local programs and pages are expected, so that other names are refused; on
    other addresses every name is allowed, unless some are given.
    """
    chosen = [name.strip().lower() for name in names if name.strip()]
    if not chosen and not _is_loopback(bound):
        return AllowedHosts()
    own = f"[{bound}]" if ":" in bound else bound.lower()
    return AllowedHosts(tuple(dict.fromkeys([*chosen, *_LOOPBACK_NAMES, own])))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_name(url: str) -> str | None:
    """The host of a URL in lower case, IPv6 addresses in brackets; None if it has none."""
    try:
        parts = urlsplit(url)
        name = parts.hostname
        _ = parts.port  # raises for a port that is not a number
    except ValueError:
        return None
    if not name or parts.username is not None or parts.path not in ("", "/"):
        return None
    return f"[{name}]" if ":" in name else name
