"""Outlook's message files: a compound file ([MS-CFB]) with the properties of a message ([MS-OXMSG])."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SECTOR: Final = 512
_MINI: Final = 64
_CUTOFF: Final = 4096
"""Smaller streams lie in the mini stream."""
_END, _FAT, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_ROOT, _STORAGE, _STREAM = 5, 1, 2
_UNICODE, _BINARY = 0x001F, 0x0102


@dataclass(slots=True)
class Entry:
    """A storage or a stream; what is not given is filled in."""

    name: str
    kind: int
    content: bytes = b""
    children: list[Entry] = field(default_factory=list["Entry"])
    number: int = 0
    start: int = _END
    first_child: int = _FREE
    next_sibling: int = _FREE


def message_file(
    subject: str, sender: str, *, body: str, attachments: Sequence[tuple[str, bytes]] = ()
) -> bytes:
    """A message with attached files, each a name and its content."""
    texts = {0x001A: "IPM.Note", 0x0037: subject, 0x0C1A: sender, 0x0C1F: "ada@example.org", 0x1000: body}
    # Eight bytes, then the numbers of recipients and attachments, twice.
    head = struct.pack("<8x4I8x", 0, len(attachments), 0, len(attachments))
    root = Entry("Root Entry", _ROOT, children=[*_properties(head, texts)])
    named = [Entry(f"__substg1.0_{number:04X}0102", _STREAM) for number in (2, 3, 4)]
    root.children.append(Entry("__nameid_version1.0", _STORAGE, children=named))
    for number, (name, content) in enumerate(attachments):
        held = _properties(bytes(8), {0x3704: name, 0x3707: name}, {0x3701: content})
        root.children.append(Entry(f"__attach_version1.0_#{number:08X}", _STORAGE, children=[*held]))
    return compound_file(root.children)


def _properties(
    head: bytes, texts: dict[int, str], binary: dict[int, bytes] | None = None
) -> Iterator[Entry]:
    values = [(tag, _UNICODE, text.encode("utf-16-le")) for tag, text in texts.items()]
    values += [(tag, _BINARY, content) for tag, content in (binary or {}).items()]
    rows = bytearray(head)
    for tag, kind, value in values:
        yield Entry(f"__substg1.0_{tag:04X}{kind:04X}", _STREAM, value)
        # A text's size counts its closing zero, which the stream leaves out.
        rows += struct.pack("<HHIII", kind, tag, 6, len(value) + (2 if kind == _UNICODE else 0), 0)
    yield Entry("__properties_version1.0", _STREAM, bytes(rows))


def compound_file(entries: Sequence[Entry]) -> bytes:
    """The file that holds these storages and streams."""
    root = Entry("Root Entry", _ROOT, children=[*entries])
    flat = list(_flat(root))
    for number, entry in enumerate(flat):
        entry.number = number
    for entry in flat:
        _order(entry)
    mini, mini_fat = bytearray(), list[int]()
    sectors, fat = bytearray(), list[int]()

    def stored(content: bytes) -> int:
        return _chained(content, sectors, fat, size=_SECTOR)

    for entry in flat[1:]:
        if entry.content and len(entry.content) < _CUTOFF:
            entry.start = _chained(entry.content, mini, mini_fat, size=_MINI)
        elif entry.content:
            entry.start = stored(entry.content)
    root.content = bytes(mini)
    root.start = stored(root.content) if mini else _END
    mini_fat_at = stored(struct.pack(f"<{len(mini_fat)}I", *mini_fat)) if mini_fat else _END
    mini_fat_sectors = -(-len(mini_fat) * 4 // _SECTOR)
    directory = b"".join(map(_row, flat))
    directory_at = stored(directory + _row(None) * (-len(flat) % 4))
    per = _SECTOR // 4
    count = 1
    while count * per < len(fat) + count:
        count += 1
    places = [len(fat) + number for number in range(count)]
    fat += [_FAT] * count
    fat += [_FREE] * (count * per - len(fat))
    sectors += struct.pack(f"<{len(fat)}I", *fat)
    head = struct.pack(
        "<8s16x5H6x9I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, count, directory_at, 0, _CUTOFF, mini_fat_at, mini_fat_sectors, _END, 0),
    )
    if count > _DIRECT:
        raise ValueError("Larger files need a table of tables.")
    return head + struct.pack("<109I", *places, *[_FREE] * (_DIRECT - count)) + bytes(sectors)


_DIRECT: Final = 109


def _flat(entry: Entry) -> Iterator[Entry]:
    yield entry
    for child in entry.children:
        yield from _flat(child)


def _order(entry: Entry) -> None:
    """Siblings form a tree in the order of length and name: here a chain to the right, which is allowed."""
    children = sorted(entry.children, key=lambda one: (len(one.name), one.name.upper()))
    entry.first_child = children[0].number if children else _FREE
    for one, following in pairwise(children):
        one.next_sibling = following.number


def _chained(content: bytes, sectors: bytearray, fat: list[int], *, size: int) -> int:
    first = len(fat)
    count = -(-len(content) // size)
    sectors += content.ljust(count * size, b"\0")
    fat += [*range(first + 1, first + count), _END]
    return first


def _row(entry: Entry | None) -> bytes:
    if entry is None:
        return struct.pack("<64xHBBIII36xIQ", 0, 0, 1, _FREE, _FREE, _FREE, 0, 0)
    name = entry.name.encode("utf-16-le")
    size = 0 if entry.kind == _STORAGE else len(entry.content)
    links = (_FREE, entry.next_sibling, entry.first_child)
    start = entry.start if size else 0
    return struct.pack("<64sHBBIII36xIQ", name, len(name) + 2, entry.kind, 1, *links, start, size)
