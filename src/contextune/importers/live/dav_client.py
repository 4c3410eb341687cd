"""A small WebDAV client: collections of an account, their changes, and the content of resources.

The XML of servers is parsed into a tree, without document types and entities.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from xml.parsers import expat
from xml.sax.saxutils import escape

from contextune.errors import MissingExtraError
from contextune.importers.live.accounts import SyncAccount
from contextune.importers.live.source import SyncError

CALENDAR, CONTACTS = "calendar", "contacts"
_TIMEOUT = 60.0
_MAX_ANSWER = 256 * 2**20
_MAX_REDIRECTS = 5
_D, _C, _A = "DAV: ", "urn:ietf:params:xml:ns:caldav ", "urn:ietf:params:xml:ns:carddav "
_NAMESPACES = (
    'xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:A="urn:ietf:params:xml:ns:carddav"'
    ' xmlns:S="http://calendarserver.org/ns/"'
)
_CTAG = "http://calendarserver.org/ns/ getctag"
_WELL_KNOWN = ("/.well-known/caldav", "/.well-known/carddav")
_HOMES = {_C + "calendar-home-set": CALENDAR, _A + "addressbook-home-set": CONTACTS}
_NOT_FOUND, _UNAUTHORIZED, _MULTI_STATUS, _TRUNCATED = 404, (401, 403), 207, 507


@dataclass(slots=True)
class XmlNode:
    """An element; names are `namespace name`."""

    name: str
    text: str = ""
    children: "list[XmlNode]" = field(default_factory=lambda: list[XmlNode]())

    def find(self, *names: str) -> "XmlNode | None":
        """The first descendant along this path."""
        node: XmlNode | None = self
        for name in names:
            node = next((child for child in node.children if child.name == name), None) if node else None
        return node

    def all(self, name: str) -> "Iterator[XmlNode]":
        """The children with this name."""
        return (child for child in self.children if child.name == name)

    def text_of(self, *names: str) -> str:
        """The text of the first descendant along this path, or ""."""
        node = self.find(*names)
        return node.text.strip() if node else ""


def parse_xml(content: bytes) -> XmlNode:
    """The root element; raises `SyncError` if it is not XML."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    root = XmlNode("")
    stack = [root]

    def start(name: str, _attributes: dict[str, str]) -> None:
        node = XmlNode(name)
        stack[-1].children.append(node)
        stack.append(node)

    def end(_name: str) -> None:
        stack.pop()

    def text(content: str) -> None:
        stack[-1].text += content

    def document_type(*_: object) -> None:
        raise SyncError("the server answers with a document type declaration: not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(content, True)
    except expat.ExpatError:
        raise SyncError("the server's answer is not XML: is it a CalDAV or CardDAV address?") from None
    return root.children[0]


@dataclass(frozen=True, slots=True)
class DavCollection:
    """A calendar or an address book."""

    url: str
    kind: str
    """`CALENDAR` or `CONTACTS`."""
    title: str
    ctag: str
    sync_token: str


class DavChanges(NamedTuple):
    """Changed resources with their etags, removed ones, and the token for the next time."""

    changed: Mapping[str, str]
    removed: Sequence[str]
    token: str


class DavClient:
    """Requests with the credentials of an account, to its host only."""

    def __init__(self, account: SyncAccount, password: str) -> None:
        self._account = account
        self._httpx = _import_httpx()
        self._client = self._httpx.Client(
            auth=(account.username, password), timeout=_TIMEOUT, headers={"User-Agent": "contextune"}
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def collections(self) -> list[DavCollection]:
        """All calendars and address books of the account, or the one at its address."""
        start = self._account.url
        names = "<resourcetype/><displayname/><current-user-principal/><sync-token/><S:getctag/>"
        principals: list[str] = []
        for url in (start, *(urljoin(start, path) for path in _WELL_KNOWN)):
            status, answer = self._propfind(url, names, depth=0)
            if answer is None:
                if status in _UNAUTHORIZED and url == start:
                    raise SyncError(
                        f"{self._account.name}: the server refuses user name or password;"
                        " some providers need an app password"
                    )
                continue
            for _, properties in _responses(answer, url):
                if collection := _collection(url, properties):
                    return [collection]
                if principal := properties.text_of(_D + "current-user-principal", _D + "href"):
                    principals.append(urljoin(url, principal))
            if principals:
                break
        homes = [home for principal in dict.fromkeys(principals) for home in self._homes(principal)]
        collections: dict[str, DavCollection] = {}
        for home in dict.fromkeys(homes):
            _, answer = self._propfind(home, names, depth=1)
            for url, properties in _responses(answer, home) if answer else ():
                if collection := _collection(url, properties):
                    collections[url] = collection
        if not homes:
            raise SyncError(
                f"{self._account.name}: no calendars or contacts found at {start}: check the address"
            )
        return list(collections.values())

    def changes(self, collection: DavCollection, token: str) -> DavChanges | None:
        """What changed since a sync token ("" for everything); None if the server does not know the token."""
        changed: dict[str, str] = {}
        removed: list[str] = []
        while True:
            body = (
                f"<sync-collection {_NAMESPACES}><sync-token>{escape(token)}</sync-token>"
                "<sync-level>1</sync-level><prop><getetag/></prop></sync-collection>"
            )
            status, content = self._request("REPORT", collection.url, body, {"Depth": "0"})
            if status != _MULTI_STATUS:
                return None
            answer = parse_xml(content)
            is_truncated = False
            for response in answer.all(_D + "response"):
                url = urljoin(collection.url, response.text_of(_D + "href"))
                code = _status_code(response.text_of(_D + "status"))
                if code == _NOT_FOUND:
                    removed.append(url)
                elif code == _TRUNCATED:
                    is_truncated = True
                elif (etag := _properties(response).text_of(_D + "getetag")) and not url.endswith("/"):
                    changed[url] = etag
            next_token = answer.text_of(_D + "sync-token")
            if not is_truncated or next_token == token:
                return DavChanges(changed, removed, next_token)
            token = next_token

    def etags(self, collection: DavCollection) -> dict[str, str]:
        """All resources of a collection with their etags."""
        _, answer = self._propfind(collection.url, "<getetag/><resourcetype/>", depth=1)
        if answer is None:
            raise SyncError(f"{self._account.name}: the server does not list {collection.title}")
        return {
            url: etag
            for url, properties in _responses(answer, collection.url)
            if (etag := properties.text_of(_D + "getetag"))
            and properties.find(_D + "resourcetype", _D + "collection") is None
        }

    def contents(self, collection: DavCollection, urls: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
        """Address, etag and content of resources."""
        is_calendar = collection.kind == CALENDAR
        report, data = ("C:calendar-multiget", "C:calendar-data") if is_calendar else (
            "A:addressbook-multiget", "A:address-data"
        )  # fmt: skip
        hrefs = "".join(f"<href>{escape(urlsplit(url).path)}</href>" for url in urls)
        body = f"<{report} {_NAMESPACES}><prop><getetag/><{data}/></prop>{hrefs}</{report}>"
        status, content = self._request("REPORT", collection.url, body, {"Depth": "1"})
        if status != _MULTI_STATUS:
            yield from self._contents_one_by_one(urls)
            return
        name = (_C if is_calendar else _A) + data.partition(":")[2]
        for url, properties in _responses(parse_xml(content), collection.url):
            if text := properties.text_of(name):
                yield url, properties.text_of(_D + "getetag"), text.encode()

    def _contents_one_by_one(self, urls: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
        for url in urls:
            status, content = self._request("GET", url, "", {})
            if status == 200:
                yield url, "", content

    def _homes(self, principal: str) -> Iterator[str]:
        _, answer = self._propfind(principal, "<C:calendar-home-set/><A:addressbook-home-set/>", depth=0)
        for _, properties in _responses(answer, principal) if answer else ():
            for home in _HOMES:
                node = properties.find(home)
                for href in node.all(_D + "href") if node else ():
                    yield urljoin(principal, href.text.strip())

    def _propfind(self, url: str, names: str, *, depth: int) -> tuple[int, XmlNode | None]:
        body = f"<propfind {_NAMESPACES}><prop>{names}</prop></propfind>"
        status, content = self._request("PROPFIND", url, body, {"Depth": str(depth)})
        return status, parse_xml(content) if status == _MULTI_STATUS else None

    def _request(self, method: str, url: str, body: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send a request, following redirects on the same host; status and content of the answer."""
        types = {"Content-Type": "application/xml; charset=utf-8"} if body else {}
        content = f'<?xml version="1.0" encoding="utf-8"?>{body}'.encode() if body else None
        for _ in range(_MAX_REDIRECTS):
            if not self._is_own_host(url):
                raise SyncError(
                    f"{self._account.name}: the server refers to another host ({urlsplit(url).hostname}):"
                    " add that address instead"
                )
            try:
                with self._client.stream(
                    method, url, content=content, headers={**types, **headers}
                ) as answer:
                    if answer.is_redirect:
                        url = urljoin(url, answer.headers.get("Location", ""))
                        continue
                    return answer.status_code, _read(answer, self._account)
            except self._httpx.HTTPError as error:
                raise SyncError(
                    f"{self._account.name}: cannot reach {self._account.url} ({type(error).__name__}):"
                    " check address and network"
                ) from None
        raise SyncError(f"{self._account.name}: the server redirects too often")

    def _is_own_host(self, url: str) -> bool:
        """Whether the password may be sent there: to the host of the account, or to a neighbour of it.

        Providers answer at caldav.example.com and refer to p42-caldav.example.com.
        """
        parts, own = urlsplit(url), self._account.parts
        if parts.scheme not in (own.scheme, "https"):
            return False
        host, own_host = parts.hostname or "", own.hostname or ""
        domain = own_host.partition(".")[2]
        return host == own_host or ("." in domain and not _is_ip(own_host) and host.endswith(f".{domain}"))


def _is_ip(host: str) -> bool:
    return host.replace(".", "").isdecimal() or ":" in host


def _read(answer: Any, account: SyncAccount) -> bytes:
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if len(content) > _MAX_ANSWER:
            raise SyncError(
                f"{account.name}: an answer of the server is larger than {_MAX_ANSWER // 2**20} MB"
            )
    return bytes(content)


def _responses(answer: XmlNode, base: str) -> Iterator[tuple[str, XmlNode]]:
    """Address and found properties of each response."""
    for response in answer.all(_D + "response"):
        yield urljoin(base, response.text_of(_D + "href")), _properties(response)


def _properties(response: XmlNode) -> XmlNode:
    found = XmlNode("prop")
    for state in response.all(_D + "propstat"):
        if _status_code(state.text_of(_D + "status")) == 200 and (properties := state.find(_D + "prop")):
            found.children += properties.children
    return found


def _status_code(line: str) -> int:
    """The code of "HTTP/1.1 200 OK"; 0 if there is none."""
    parts = line.split()
    return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0


def _collection(url: str, properties: XmlNode) -> DavCollection | None:
    kinds = (
        {child.name for child in node.children}
        if (node := properties.find(_D + "resourcetype"))
        else set[str]()
    )
    kind = CALENDAR if _C + "calendar" in kinds else CONTACTS if _A + "addressbook" in kinds else None
    if kind is None:
        return None
    last = unquote(url.rstrip("/").rpartition("/")[2])
    title = properties.text_of(_D + "displayname") or last
    return DavCollection(url, kind, title, properties.text_of(_CTAG), properties.text_of(_D + "sync-token"))


def _import_httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("reading calendar and contact servers", "sync") from None
    return httpx
