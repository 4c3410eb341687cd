"""Parse the XML answers of WebDAV servers into a tree, without document types and entities."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from contextune.importers.live.source import SyncError


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
