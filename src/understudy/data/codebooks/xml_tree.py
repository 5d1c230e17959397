"""XML from anywhere, read without the doors that XML has: no document types, entities or
references outwards, and nothing deeper or larger than a codebook is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

MAX_XML_DEPTH = 64
MAX_ELEMENTS = 5_000_000


class UnsafeXMLError(ValueError):
    """What a document holds that a codebook has no need of."""


@dataclass
class Element:
    """An element; its name and those of its attributes have no namespace."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside, spaces at both ends left out."""
        return "".join(self.texts).strip()

    def all(self, name: str) -> list[Element]:
        """The children of this name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Element | None:
        """The first child of this name."""
        return next(iter(self.all(name)), None)

    def walk(self, name: str) -> Iterator[Element]:
        """The elements of this name below this one; not those inside of each other."""
        for child in self.children:
            if child.name == name:
                yield child
            else:
                yield from child.walk(name)


def parse_xml(data: bytes) -> Element:
    """The root of a document.

    Entities are never expanded: a document type, where they would be declared, is refused before it
    is read. So a document takes memory in proportion to its length.
    """
    parser = expat.ParserCreate()
    builder = _Builder()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.EntityDeclHandler = _refuse_doctype
    parser.ExternalEntityRefHandler = _refuse_doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.Parse(data, True)
    return builder.root.children[0]


def _refuse_doctype(*_: object) -> NoReturn:
    raise UnsafeXMLError(
        "has a document type or entities, which a codebook does not need; remove them"
    )


class _Builder:
    def __init__(self) -> None:
        self.root = Element("", {})
        self.path = [self.root]
        self.elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if len(self.path) > MAX_XML_DEPTH:
            raise UnsafeXMLError(f"has elements more than {MAX_XML_DEPTH} levels deep")
        if self.elements > MAX_ELEMENTS:
            raise UnsafeXMLError(f"has more than {MAX_ELEMENTS:,} elements")
        element = Element(_local(name), {_local(key): v for key, v in attributes.items()})
        self.path[-1].children.append(element)
        self.path.append(element)

    def end(self, _: str) -> None:
        self.path.pop()

    def characters(self, text: str) -> None:
        self.path[-1].texts.append(text)


def _local(name: str) -> str:
    return name.rsplit(":", 1)[-1]
