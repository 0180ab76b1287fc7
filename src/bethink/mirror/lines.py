"""Facts as lines of Markdown, `- The content ^fact-abcdefghij`, and what the mirror keeps of them. Pure.

Of texts only digests are kept, and those only while the fact itself is: what forgets a fact takes its
lines' records along (`service.MirrorLines`). What would hide a line from whoever reads the page, a comment
or a fence of code in a fact's words, is broken by a backslash, which reading takes out again.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from bethink.errors import BadInput
from bethink.memory.facts import clean
from bethink.store import Collection, Record
from bethink.vault.files.paths import ENDING, checked_new
from bethink.vault.markdown.format import Block, ParsedPage, is_running, new_line_of, parse
from bethink.vault.markdown.lines import BOM

_DIGEST_BYTES: Final = 16

State = Literal["kept", "conflict", "held", "gone"]


class MirrorLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the vault that shows a fact, under the line's id.

    `kept`: it is at `path`. `conflict`: the line and the fact were both changed,
    and both are in the file. `held`: the line vanished, and its owner is asked.
    `gone`: the line was removed together with its fact; it comes back with it.
    `said` is the digest of what both said when they last agreed; `refused` that
    of what the line says where the memory does not take it, and `why` says why not.
    """

    fact: str
    path: str
    said: str
    state: State = "kept"
    refused: str = ""
    why: str = ""


class RefusedLine(Record, frozen=True, kw_only=True):
    """A line without an id that became no fact, under `refusal_id`; `why` says so without its words."""

    path: str
    why: str


class MirrorState(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One an owner: how far both sides were compared.

    `change` counts the vault's changes, `revision` the facts', `ended` the forgettings among these; `at` is
    the last step of the facts' log. `looked` is when, microseconds UTC. `lost` lines were taken for deletions
    since `lost_at`. While it is `paused` no line is added; `trouble` is why facts have none beside that.
    """

    change: int = 0
    revision: int = 0
    ended: int = 0
    at: int = 0
    looked: int = 0
    lost: int = 0
    lost_at: int = 0
    paused: bool = False
    trouble: str = ""


ONE: Final = "mirror"
LINES = Collection(
    "mirror_lines",
    MirrorLine,
    ("fact", "path", "state"),
    scans=(("fact",), ("path",), ("state",)),
    searchable=False,
)
REFUSALS = Collection("mirror_refusals", RefusedLine, ("path",), scans=(("path",),), searchable=False)
MIRRORS = Collection("meta", MirrorState, searchable=False)


def said(content: str) -> str:
    """Tells two contents apart by every character."""
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def refusal_id(path: str, content: str) -> str:
    """The id under which it is known that a line of a page became no fact."""
    return said(f"{path}\n{content}")


FOLDER: Final = "memories/"
"""Where a new line becomes a fact, and where facts get their lines."""
_ROOM: Final = 32_000
"""Bytes of a page of facts before another is begun: pages are read, and their versions kept, whole."""
_NUMBER: Final = re.compile(r"(?P<category>.+?)(?:-\d+)?")
_UNFIT: Final = re.compile(r"[^\w-]+")
_NAME_CHARS: Final = 60
_PROBE: Final = "fact-aaaaaaaaaa"
NOW: Final = "-now"
"""Behind the id of the line that shows what the memory says, below the one that says something else."""
_NOTE: Final = "The memory says: "
_ID: Final = re.compile(r"(fact-[a-z2-7]{10,16})(-now)?")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FIRST: Final = re.compile(r"[-*+][ \t]+(?!\[[^\]\n]\][ \t])(?=\S)")
"""An item that is not indented and has no box to tick."""
_ANY_ID: Final = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]+[ \t]*$")
_MOST_LINES: Final = 20
"""Of one item, above the one that carries the id."""
_BEHIND: Final = (
    (re.compile(r"%(?=\\*%)"), "%\\\\", re.compile(r"%\\(?=\\*%)"), "%"),
    (re.compile(r"<(?=\\*!--)"), "<\\\\", re.compile(r"<\\(?=\\*!--)"), "<"),
    (
        re.compile(r"^(?=\\*(?:```|~~~|[-*+>#][ \t]|\d{1,9}[.)][ \t]))"),
        "\\\\",
        re.compile(r"^\\(?=\\*(?:```|~~~|[-*+>#][ \t]|\d{1,9}[.)][ \t]))"),
        "",
    ),
)


@dataclass(frozen=True, slots=True)
class LineItem:
    """An item of a page. `id` is that of its fact's line, "" where it has none.

    `start` is where its line begins, `text` where its words do, `stop` where
    the line ends that carries the id, without its ending. `is_note` is set for
    what the memory says beside a line that was changed, too.
    """

    id: str
    content: str
    start: int
    text: int
    stop: int
    is_note: bool = False


@dataclass(slots=True)
class PageSnapshot:
    """A page as its file is now; `version` is None where there is none. One that is `odd` cannot be read.

    `untrusted` says that a model wrote in it what may come from outside.
    """

    path: str
    version: str | None = None
    text: str = ""
    marked: Sequence[LineItem] = ()
    unmarked: Sequence[LineItem] = ()
    odd: bool = False
    untrusted: bool = False


def shown_in(text: str) -> tuple[list[LineItem], list[LineItem]]:
    """The facts' lines of a page in order, and the items that could be facts and have no id."""
    document = parse(text)
    marked: list[LineItem] = []
    taken: set[int] = set()
    for block in document.blocks:
        if (found := _ID.fullmatch(block.id)) is not None:
            one, lines = _marked(document, block, found[1], is_note=found[2] is not None)
            marked.append(one)
            taken |= lines
    return marked, [*_unmarked(document, taken)]


def rendered(content: str, id: str) -> str:
    """What stands behind the `- ` of a fact's line."""
    for broken, by, _, _ in _BEHIND:
        content = broken.sub(by, content)
    return f"{content} ^{id}"


def noted(content: str, id: str) -> str:
    """What stands behind the mark of the note below a line, where the memory says something else."""
    return rendered(f"{_NOTE}{content}", f"{id}{NOW}")


def read(text: str) -> str:
    """What a line's words say, as a fact's content."""
    content = clean(text)
    for _, _, whole, by in _BEHIND:
        content = whole.sub(by, content)
    return content


def _marked(document: ParsedPage, block: Block, id: str, *, is_note: bool) -> tuple[LineItem, set[int]]:
    text, starts = document.text, document.lines.starts
    first = block.line
    while (item := _ITEM.match(text, starts[first - 1])) is None and block.line - first < _MOST_LINES:
        above = _line(document, first - 1) if first > 1 else ""
        if not above.strip() or above.startswith("#") or starts[first - 1] <= document.lines.body:
            break
        first -= 1
    if item is None:
        first = block.line
    begin = starts[first - 1]
    words = item.end() if item is not None else begin
    words = min(words, block.id_span[0])
    content = read(text[words : block.id_span[0]])
    shown = LineItem(id, content, begin, words, block.span[1], is_note)
    return shown, {*range(first, block.line + 1)}


def _unmarked(document: ParsedPage, taken: set[int]) -> Iterator[LineItem]:
    text, lines = document.text, document.lines
    for line in range(bisect_right(lines.starts, lines.body - 1) + 1, len(lines.starts) + 1):
        begin = lines.starts[line - 1]
        found = _FIRST.match(text, begin)
        if found is None or line in taken or not is_running(lines, begin):
            continue
        said = _line(document, line)[found.end() - begin :]
        if _ANY_ID.search(said):
            continue
        content = read(said)
        if content:
            yield LineItem("", content, begin, found.end(), begin + len(_line(document, line)))


def _line(document: ParsedPage, line: int) -> str:
    begin, end = document.line_span(line)
    return document.text[begin:end]


@dataclass(slots=True)
class PageEdit:
    """What a page becomes. `lines` are true once it is written."""

    snapshot: PageSnapshot
    lines: list[MirrorLine] = field(default_factory=list["MirrorLine"])
    _edits: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    _more: list[str] = field(default_factory=list[str])

    @property
    def is_changed(self) -> bool:
        """Whether anything is to be written."""
        return bool(self._edits or self._more)

    def say(self, shown: LineItem, content: str, id: str) -> None:
        """Have a line say this, under this id."""
        # Between the mark of an item and its words there may be a box to tick: it is none of them.
        is_item = shown.text > shown.start and self.snapshot.text[shown.text - 1] in " \t>"
        head = "" if is_item else "- "
        self._edits.append((shown.text, shown.stop, head + rendered(content, id)))

    def mark(self, shown: LineItem, id: str) -> None:
        """Give a line an id, and keep its text as they are written."""
        stop = (
            shown.stop if not shown.id else self.snapshot.text.rindex(f"^{shown.id}", shown.text, shown.stop)
        )
        written = self.snapshot.text[shown.text : stop].rstrip(" \t")
        self._edits.append((shown.text, shown.stop, f"{written} ^{id}"))

    def remove(self, shown: LineItem) -> None:
        """Take out a line, with its ending."""
        self._edits.append((*_whole(self.snapshot.text, shown), ""))

    def note(self, below: LineItem, content: str, id: str) -> None:
        """Have what the memory says stand below a line."""
        text = self.snapshot.text
        indent = text[below.start : below.text]
        outer = indent[: len(indent) - len(indent.lstrip(" \t>"))]
        line = f"{new_line_of(text)}{outer}  - {noted(content, id)}"
        self._edits.append((below.stop, below.stop, line))

    def renote(self, note: LineItem, content: str, id: str) -> None:
        """Have the note below a line say this."""
        self._edits.append((note.text, note.stop, noted(content, id)))

    def unnote(self, note: LineItem, content: str, id: str) -> None:
        """Put the line itself in the place of the note that was below it."""
        start, _ = _whole(self.snapshot.text, note)
        self._edits.append((start, note.stop, f"- {rendered(content, id)}"))

    def add(self, content: str, id: str) -> None:
        """Have a line more at the end."""
        self._more.append(f"- {rendered(content, id)}")

    def text(self) -> str:
        """The page as it becomes."""
        text = self.snapshot.text
        for start, stop, by in sorted(self._edits, reverse=True):
            text = text[:start] + by + text[stop:]
        if not self._more:
            return text
        if not text.strip(f"{BOM} \t\r\n"):
            name = category_of(self.snapshot.path).replace("_", " ")
            text = f"{text.rstrip()}# {name[:1].upper()}{name[1:]}\n\n"
        ending = new_line_of(text)
        if not text.endswith(("\n", "\r")):
            text += ending
        return text + "".join(f"{line}{ending}" for line in self._more)


@dataclass(slots=True)
class PageAllocator:
    """On which page a fact of a category gets its line. `sizes` are those of all pages, in bytes."""

    sizes: dict[str, int]
    most: int

    @classmethod
    def of(cls, sizes: Mapping[str, int], most: int) -> PageAllocator:
        """Pages are filled up to `most` bytes, or to what is handy."""
        return cls({**sizes}, min(_ROOM, most * 9 // 10))

    def place(self, category: str, content: str) -> str:
        """The path of the last page of the category, or of a new one where that is full."""
        stem = stem_of(category)
        size = len(content.encode("utf-8", "replace")) + 24
        number = 1
        while _path(stem, number + 1) in self.sizes:
            number += 1
        path = _path(stem, number)
        if self.sizes.get(path, 0) and self.sizes[path] + size > self.most:
            path = _path(stem, number + 1)
        self.sizes[path] = self.sizes.get(path, 0) + size
        return path

    def close(self, path: str) -> None:
        """Put no more lines on a page."""
        self.sizes[path] = self.most


def stem_of(category: str) -> str:
    """What the pages of a category are called."""
    stem = _UNFIT.sub("_", category.casefold()).strip("_-")[:_NAME_CHARS] or "general"
    try:
        return checked_new(_path(stem, 1))[len(FOLDER) : -len(ENDING)]
    except BadInput:
        return "general"


def category_of(path: str) -> str:
    """The category of a new line of a page."""
    found = _NUMBER.fullmatch(path.rpartition("/")[2].removesuffix(ENDING))
    return "general" if found is None else found["category"]


def takes_lines(snapshot: PageSnapshot) -> bool:
    """Whether a line at the end of a page is one: no comment or fence is open there."""
    if snapshot.odd:
        return False
    page_edit = PageEdit(snapshot)
    page_edit.add("x", _PROBE)
    return any(one.id == _PROBE for one in shown_in(page_edit.text())[0])


def _path(stem: str, number: int) -> str:
    return f"{FOLDER}{stem}{'' if number == 1 else f'-{number}'}{ENDING}"


def _whole(text: str, shown: LineItem) -> tuple[int, int]:
    stop = shown.stop
    if text.startswith("\r\n", stop):
        return shown.start, stop + 2
    return shown.start, stop + 1 if text[stop : stop + 1] in {"\n", "\r"} else stop
