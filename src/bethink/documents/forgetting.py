"""What documents say of what is forgotten, and how it goes: by words, as a whole, and with everything.

A document whose name or title is asked for goes whole. Of others the sentences go: the page is cut, its
content is cut into passages anew, and its original bytes go, unless they are plain text, which is cut, too.
Bytes go also if only a part of them says it that no page shows. What was cut or removed is not read again
from a watched folder.
"""

from __future__ import annotations

import binascii
import email
import html
import io
import re
import struct
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from email import policy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import anyio.to_thread
import msgspec

from bethink.documents.records import (
    COLLECTIONS,
    CONTENTS,
    DOCUMENTS,
    FOLDER_FILES,
    FOLDERS,
    PAGES,
    PASSAGES,
    USES,
    Content,
    Document,
    DocumentCollection,
    PageText,
)
from bethink.feature import RecordCuts, RecordExcerpt
from bethink.forgettable import Forgettable, Holding, Removal, TextPlace, left_of, places_in
from bethink.store import Change, Collection, Delete, DeleteAll, Put, Record, Scan, pages_of, records_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.documents.library import Library
    from bethink.redaction import Redaction

KIND: Final = "documents"
_PAGE: Final = 500
_SENTENCES: Final = frozenset({"text", "description"})
"""Fields of which single sentences go; of all others everything."""
_PLAIN: Final = frozenset({"text", "markdown"})
"""Formats whose bytes are the text of their pages."""
_HIDDEN: Final = "hidden part"
"""Fields of a content that are the parts of its bytes."""
_MOST_SEARCHED: Final = 20_000_000
"""Bytes of originals, the newest, that a question's words are looked for in: some three seconds."""
_HIDDEN_PART: Final = "a part of a document that no page shows"
_WORD: Final = re.compile(r"\w+(?:['’.-]\w+)*")
_SEARCHED: Final = cast("tuple[Collection[Any], ...]", (DOCUMENTS, COLLECTIONS, CONTENTS, PAGES))
_FOLDER: Final = (
    "{:,} of these documents are files of watched folders, which still contain it: Bethink does not read "
    "these files again unless they change. Remove it there."
)
_UNREAD: Final = "{:,} documents that were not read, or could not be, were not looked through."
_BYTES: Final = "The original files of {:,} documents were removed, since a part of them cannot be cut out."

Left = dict[str, dict[str, dict[str, str]]]
"""What is left of fields, by collection, record, and field."""


@dataclass(frozen=True, slots=True)
class DocumentForgetting:
    """Forgets what the documents of all owners say."""

    library: Library

    @property
    def forgettable(self) -> Forgettable:
        """How all of an owner's documents go, and what of them holds some words."""
        store = self.library.store
        return Forgettable(
            KIND,
            "document",
            "documents",
            lambda owner: store.count(owner, DOCUMENTS, {}),
            self._names,
            self._remove_all,
            find=self._find,
            take=self._take,
        )

    async def _names(self, owner: str, limit: int) -> list[str]:
        (page,) = await self.library.store.scan(owner, Scan(DOCUMENTS, limit=limit))
        return [item.record.name for item in page.items]

    async def _remove_all(self, owner: str) -> None:
        """Everything goes, watched folders too: they would bring it back."""
        kept = (DOCUMENTS, USES, CONTENTS, PAGES, PASSAGES, COLLECTIONS, FOLDERS, FOLDER_FILES)
        await self.library.store.commit(owner, [DeleteAll(one) for one in kept])
        await self.library.contents.sweep(owner)

    # --- by the words of a question

    async def _find(self, owner: str, holding: Holding) -> list[TextPlace]:
        """Documents whose names or titles hold the words, and the fields of all else that do."""
        places: list[TextPlace] = []
        for collection in _SEARCHED:
            async for page in pages_of(self.library.store, owner, Scan(collection, limit=_PAGE)):
                places += await anyio.to_thread.run_sync(
                    partial(_places, collection, [item.record for item in page], holding)
                )
        said_in = {_content_of(one) for one in places}
        room = _MOST_SEARCHED
        for content in await self._originals(owner, but=said_in):
            room -= content.size
            if room < 0:
                break
            fields = await self._hidden(owner, content)
            found = partial(_places_in_parts, f"{CONTENTS.name}/{content.id}", fields, holding)
            places += await anyio.to_thread.run_sync(found)
        titled = {_id_of(one) for one in places if (_in(one), one.field) == (CONTENTS.name, "title")}
        for content in titled:
            documents = await self.library.documents_with(owner, content)
            places += [_whole(one) for one in documents if one.content == content]
        return [*dict.fromkeys(places)]

    async def _take(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        """Documents without what these places name."""
        whole = [_id_of(one) for one in places if not one.field]
        by_record: defaultdict[str, list[TextPlace]] = defaultdict(list)
        for place in places:
            if place.field:
                by_record[place.id].append(place)
        left: Left = {}
        said: list[tuple[str, str]] = []
        for collection in _SEARCHED:
            ids = [id.partition("/")[2] for id in by_record if id.startswith(f"{collection.name}/")]
            for item in await self.library.store.get(collection, owner, ids):
                if item is None:
                    continue
                fields = await self._all_fields_of(owner, item.record)
                places_here = by_record[f"{collection.name}/{item.record.id}"]
                # Bytes that are gone by now hold nothing any more.
                mine = [one for one in places_here if one.field in fields]
                after, parts = left_of(fields, mine)
                if after:
                    left.setdefault(collection.name, {})[item.record.id] = after
                    said += [(_called(item.record, name), part) for name, part in parts]
        cut = await _Cut.of(self.library, owner, whole=whole, left=left)
        gone = [("document, as a whole", one.name) for one in cut.whole] + said
        return Removal(cut.changes, gone, await cut.notes())

    # --- with what is forgotten elsewhere

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """The changes by which no document says it, and what goes out of which."""
        left: Left = {}
        excerpts: list[RecordExcerpt] = []
        for collection in _SEARCHED:
            async for page in pages_of(self.library.store, owner, Scan(collection, limit=_PAGE)):
                found = await anyio.to_thread.run_sync(partial(_cuts, [item.record for item in page], gone))
                for record, after, parts in found:
                    left.setdefault(collection.name, {})[record.id] = after
                    id = f"{collection.name}/{record.id}"
                    excerpts.append(RecordExcerpt(KIND, id, _called(record, ""), parts))
        if not left:
            return RecordCuts()
        cut = await _Cut.of(self.library, owner, whole=(), left=left)
        return RecordCuts(cut.changes, excerpts)

    async def redact(self, owner: str, gone: Redaction) -> Removal:
        """The changes by which no original says it in a part that no page shows; `cut` does the others."""
        left: dict[str, dict[str, str]] = {}
        for content in await self._originals(owner, but=frozenset()):
            fields = await self._hidden(owner, content)
            if await anyio.to_thread.run_sync(partial(_says_in, fields, gone)):
                scan = Scan(PAGES, {"content": content.id}, order="number", limit=_PAGE)
                pages = [page.text async for page in records_of(self.library.store, owner, scan)]
                if not await anyio.to_thread.run_sync(partial(_says_in, dict(enumerate(pages)), gone)):
                    left[content.id] = {_HIDDEN: ""}
        if not left:
            return Removal()
        cut = await _Cut.of(self.library, owner, whole=(), left={CONTENTS.name: left})
        return Removal(cut.changes, notes=[_BYTES.format(cut.bytes_gone)])

    async def _originals(self, owner: str, *, but: AbstractSet[str]) -> list[Content]:
        """The contents whose bytes may say what no page of them shows, the newest first."""
        held = [item.record for item in await self.library.contents.all_of(owner)]
        found = [one for one in held if one.original and one.kind not in _PLAIN and one.id not in but]
        return sorted(found, key=lambda one: (-one.at, one.id))

    async def _hidden(self, owner: str, content: Content) -> dict[str, str]:
        """What the parts of a content's bytes say, as fields, as far as they can be looked through."""
        path = await self.library.contents.blobs.opened(owner, content.id)
        return await anyio.to_thread.run_sync(_hidden_in, path, content.kind)

    async def _all_fields_of(self, owner: str, record: Record) -> dict[str, str]:
        fields = _fields_of(record)
        if isinstance(record, Content) and record.original and record.kind not in _PLAIN:
            fields |= await self._hidden(owner, record)
        return fields

    async def clean(self, owner: str) -> None:
        """Remove bytes that no content names, and cut those of plain texts that were cut."""
        contents = self.library.contents
        for item in await contents.all_of(owner):
            content = item.record
            if content.is_cut and content.original:
                pages = records_of(
                    self.library.store, owner, Scan(PAGES, {"content": content.id}, order="number")
                )
                said = "\f".join([page.text async for page in pages]).encode()
                await contents.rewrite(owner, content.id, said)
        await contents.sweep(owner)
        self.library.added.set()


@dataclass(slots=True)
class _Cut:
    """The changes of one forgetting. `whole` documents go, of other records what is `left` stays."""

    library: Library
    owner: str
    whole: list[Document] = field(default_factory=list[Document])
    changes: list[Change] = field(default_factory=list["Change"])
    contents: dict[str, Content] = field(default_factory=dict[str, Content])
    bytes_gone: int = 0

    @classmethod
    async def of(cls, library: Library, owner: str, *, whole: Sequence[str], left: Left) -> _Cut:
        cut = cls(library, owner)
        await cut._remove(whole)
        pages = await cut._cut_pages(left.get(PAGES.name, {}))
        await cut._cut_contents(left.get(CONTENTS.name, {}), pages)
        for collection in (DOCUMENTS, COLLECTIONS):
            await cut._rewrite(collection, left.get(collection.name, {}))
        cut.changes += await library.contents.forgotten(cut.contents)
        return cut

    async def _remove(self, ids: Sequence[str]) -> None:
        contents = self.library.contents
        found = [item for item in await self.library.store.get(DOCUMENTS, self.owner, ids) if item]
        self.whole = [item.record for item in found]
        versions = [version.content for one in self.whole for version in one.versions]
        self.changes += [Delete(DOCUMENTS, item.record.id, item.version) for item in found]
        self.changes += [DeleteAll(USES, {"document": one.id}) for one in self.whole]
        self.changes += await contents.dropped(self.owner, versions, gone={one.id for one in self.whole})
        # Those that other documents have, too: they are not read again from a folder.
        self.contents |= await contents.of(self.owner, versions)

    @property
    def _dropped(self) -> set[str]:
        return {one.id for one in self.changes if isinstance(one, Delete) and one.collection is CONTENTS}

    async def _cut_pages(self, left: Mapping[str, Mapping[str, str]]) -> set[str]:
        """Have pages say what is left of them; the contents that they are of."""
        dropped, cut = self._dropped, set[str]()
        for item in await self.library.store.get(PAGES, self.owner, [*left]):
            if item is not None and item.record.content not in dropped:
                now = _rewritten(item.record, left[item.record.id])
                self.changes.append(Put(PAGES, now, item.version))
                cut.add(item.record.content)
        return cut

    async def _cut_contents(self, left: Mapping[str, Mapping[str, str]], pages: set[str]) -> None:
        """Have contents searched by what is left of them, and their bytes say no more."""
        ids = {*left, *pages} - self._dropped
        put = {one.record.id for one in self.changes if isinstance(one, Put) and one.collection is CONTENTS}
        for item in await self.library.store.get(CONTENTS, self.owner, sorted(ids)):
            if item is None:
                continue
            content = _rewritten(item.record, left.get(item.record.id, {}))
            said = left.get(content.id, {})
            in_bytes = content.id in pages or any(_is_in_bytes(field) for field in said)
            if in_bytes:
                is_plain = content.kind in _PLAIN and content.original
                self.bytes_gone += content.original and not is_plain
                content = msgspec.structs.replace(content, is_cut=True, original=is_plain)
                self.contents[content.id] = content
            stage = "indexing" if content.stage in {"ready", "reading", "indexing"} else content.stage
            if stage == "waiting" and not content.original:
                stage = "cancelled"
            # What was read so far is all that will be read: its bytes say what is forgotten.
            done = content.done if in_bytes else content.pages
            content = content.restaged(stage, pages=done, passages=0)
            self.changes += [
                Put(CONTENTS, content, None if content.id in put else item.version),
                DeleteAll(PASSAGES, {"content": content.id}),
            ]

    async def _rewrite(self, collection: Collection[Any], left: Mapping[str, Mapping[str, str]]) -> None:
        gone = {one.id for one in self.whole}
        for item in await self.library.store.get(collection, self.owner, [*left]):
            if item is not None and item.record.id not in gone:
                now = _rewritten(item.record, left[item.record.id])
                self.changes.append(Put(collection, now, item.version))

    async def notes(self) -> list[str]:
        """What the receipt says of it, quoting nothing."""
        library = self.library
        documents = {one.id: one for one in self.whole}
        for id in self.contents:
            documents |= {one.id: one for one in await library.documents_with(self.owner, id)}
        stages = Counter([item.record.stage for item in await library.contents.all_of(self.owner)])
        unread = sum(stages[stage] for stage in ("waiting", "reading", "failed", "cancelled"))
        pages = sum(isinstance(one, Put) and one.collection is PAGES for one in self.changes)
        return [
            *([f"{len(self.whole):,} documents were removed as a whole."] if self.whole else ()),
            *([f"{pages:,} pages of documents were cut."] if pages else ()),
            *([_BYTES.format(self.bytes_gone)] if self.bytes_gone else ()),
            *(
                [_FOLDER.format(held)]
                if (held := sum(bool(one.folder) for one in documents.values()))
                else ()
            ),
            *([_UNREAD.format(unread)] if unread else ()),
        ]


def _is_in_bytes(field: str) -> bool:
    """Whether a content's field says what its bytes do."""
    return field == "title" or field.startswith(_HIDDEN)


def _hidden_in(path: Path, kind: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    with suppress(NotLookedThroughError):
        for number, text in enumerate(texts_of(path, kind)):
            fields[f"{_HIDDEN} {number}"] = text
    return fields


def _places_in_parts(id: str, fields: Mapping[str, str], holding: Holding) -> list[TextPlace]:
    # Parts are long and say the same again and again: most of them do not even have the words.
    likely = {name: text for name, text in fields.items() if holding(_words_of(text))}
    return places_in(KIND, id, likely, holding=holding)


def _says_in(fields: Mapping[Any, str], gone: Redaction) -> bool:
    likely = (text for text in fields.values() if gone.says(_words_of(text), close=False))
    return any(gone.cut(text, close=False)[1] for text in likely)


def _words_of(text: str) -> str:
    """The words of a text, each once, as one sentence: what any sentence of it says, this says, too."""
    return " ".join(dict.fromkeys(_WORD.findall(text)))


def _content_of(place: TextPlace) -> str:
    """The content of a page that says it; "" for other places."""
    return _id_of(place).partition(":")[0] if _in(place) == PAGES.name else ""


def _fields_of(record: Record) -> dict[str, str]:
    """What a record says, by the names of its fields."""
    match record:
        case Document():
            tags = {f"tag {number}": tag for number, tag in enumerate(record.tags)}
            return {"name": record.name, "project": record.project or "", "place": record.origin.place} | tags
        case Content():
            return {"name": record.name, "title": record.title, "note": record.note, "error": record.error}
        case PageText():
            return {"text": record.text, "label": record.label}
        case DocumentCollection():
            return {"name": record.name, "description": record.description}
        case _:
            return {}


def _rewritten(record: Any, left: Mapping[str, str]) -> Any:  # noqa: ANN401 - of any of the collections
    """A record of which no more is left in these fields."""
    changes: dict[str, Any] = {name: left[name] for name in _SENTENCES & left.keys()}
    whole = left.keys() - _SENTENCES
    if "name" in whole:
        changes["name"] = _unnamed(record)
    changes |= dict.fromkeys(whole & {"title", "note", "error", "label"}, "")
    if "project" in whole:
        changes["project"] = None
    if "place" in whole:
        changes["origin"] = msgspec.structs.replace(record.origin, place="")
    if any(name.startswith("tag ") for name in whole):
        changes["tags"] = tuple(tag for number, tag in enumerate(record.tags) if f"tag {number}" not in whole)
    return msgspec.structs.replace(record, **changes)


def _unnamed(record: Document | Content | DocumentCollection) -> str:
    if isinstance(record, DocumentCollection):
        # No two have one name.
        return f"forgotten {record.id[-8:]}"
    _, dot, ending = record.name.rpartition(".")
    return f"forgotten.{ending}" if dot and ending.isalnum() and len(ending) <= _MAX_ENDING else "forgotten"


_MAX_ENDING: Final = 5


def _called(record: Record, name: str) -> str:
    """What a person calls a record, or a field of it, in a preview."""
    match record:
        case PageText():
            return f"page {record.number:,} of a document"
        case DocumentCollection():
            return f"{name} of a collection of documents".strip()
        case Content() if name.startswith(_HIDDEN):
            return _HIDDEN_PART
        case _:
            return f"{name.partition(' ')[0]} of a document".strip()


def _places(collection: Collection[Any], records: Iterable[Record], holding: Holding) -> list[TextPlace]:
    places: list[TextPlace] = []
    for record in records:
        if isinstance(record, Document) and holding(record.name):
            places.append(_whole(record))
        else:
            places += places_in(KIND, f"{collection.name}/{record.id}", _fields_of(record), holding=holding)
    return places


def _whole(document: Document) -> TextPlace:
    return TextPlace(KIND, f"{DOCUMENTS.name}/{document.id}")


def _in(place: TextPlace) -> str:
    return place.id.partition("/")[0]


def _id_of(place: TextPlace) -> str:
    return place.id.partition("/")[2]


def _cuts(records: Iterable[Record], gone: Redaction) -> list[tuple[Record, dict[str, str], tuple[str, ...]]]:
    """The records that say it, with what is left of their fields, and what goes."""
    found: list[tuple[Record, dict[str, str], tuple[str, ...]]] = []
    for record in records:
        left: dict[str, str] = {}
        parts: list[str] = []
        for name, text in _fields_of(record).items():
            if name in _SENTENCES:
                now, said = gone.cut(text, close=False)
            else:
                now, said = "", (text,) if text and gone.says(text, close=False) else ()
            if said:
                left[name] = now
                parts += said
        if parts:
            found.append((record, left, tuple(parts)))
    return found


_MOST: Final = 200_000_000
"""Bytes that are looked through of one file, unpacked: some ten times what the longest of a library has."""
_DEEP: Final = 4
"""A picture in a sheet in a letter in a message."""
_ZIP, _PDF = b"PK\x03\x04", b"%PDF-"
_MEDIA: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"OTTO", b"\x00\x01\x00\x00", b"wOF")
"""Pictures, sound and fonts: what they say of themselves stands at their beginning or end."""
_OF_MEDIA: Final = 65_536
_MAIL: Final = "eml"
_XML: Final = re.compile(rb"\s*<")
_MARK: Final = re.compile(r"<[^>]*>")
_VALUE: Final = re.compile(r"=\s*(?:\"([^\"]+)\"|'([^']+)')")
_END: Final = re.compile(
    r"</[\w.-]*:?(?:p|tr|row|si|h|c|br|title|subject|keywords|description)>", re.IGNORECASE
)
"""Behind it another paragraph, cell or property begins."""
_STREAM: Final = re.compile(rb"stream\r?\n(.*?)\r?\n?endstream", re.DOTALL)
_STRING: Final = re.compile(r"\(((?:\\.|[^\\()])*)\)|<([0-9A-Fa-f\s]{4,})>")
_SHOWN: Final = re.compile(r"\[((?:[^\][\\]|\\.)*)\]\s*TJ")
_ESCAPED: Final = re.compile(r"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS: Final = re.compile(rb"[A-Za-z]{6}")
"""Among bytes that are no text: six letters in a row, which chance makes seventy times in a megabyte."""
_AROUND: Final = 200
"""Bytes before and behind them that belong to what is said."""
_UNFIT: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WIDE: Final = re.compile(rb"(?:[\t\n\r -~\xa0-\xff]\x00|[\x00-\xff][\x01-\x06\x30]){8,}")
"""Text of two bytes a character, as Outlook and old Office files keep it: Latin to Arabic, and Kana."""
_GLUED: Final = re.compile(r"\w(?:<[^>]*>)+\w")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LOOKED_AT: Final = 2_000
_MOST_BINARY: Final = 0.02
"""Of the first bytes of what a stream holds, if it is words: pictures and fonts have more."""
_FAULTS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    binascii.Error,
    LookupError,
)


class NotLookedThroughError(Exception):
    """The file is encrypted, damaged, or unpacks to more than is looked through."""


def texts_of(path: Path, kind: str) -> Iterator[str]:
    """The texts of a file's parts, always in the same order; of a mark-up also without its marks.

    Raises:
        NotLookedThroughError: it could not be looked through as a whole.
    """
    try:
        content = path.read_bytes()
        yield from _Walk(_MOST).texts(content, kind == _MAIL, 0)
    except _FAULTS as error:
        raise NotLookedThroughError from error


@dataclass(slots=True)
class _Walk:
    """Goes through the parts of one file; `left` is how much may still be unpacked."""

    left: int

    def texts(self, content: bytes, is_mail: bool, depth: int) -> Iterator[str]:  # noqa: FBT001 - two kinds of reading
        if depth > _DEEP:
            raise NotLookedThroughError
        self._take(len(content))
        if content.startswith(_ZIP):
            yield from self._members(content, depth)
        elif content.startswith(_PDF):
            yield from self._streams(content)
        elif is_mail:
            yield from self._parts(content, depth)
        else:
            yield from _said(content)

    def _members(self, content: bytes, depth: int) -> Iterator[str]:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for member in packed.infolist():
                yield member.filename
                if member.is_dir():
                    continue
                with packed.open(member) as file:
                    part = file.read(self.left + 1)
                yield from self.texts(part, False, depth + 1)

    def _streams(self, content: bytes) -> Iterator[str]:
        # What is packed says nothing as it is.
        yield from _pdf_said(_STREAM.sub(b"", content))
        for found in _STREAM.finditer(content):
            packed = zlib.decompressobj()
            try:
                said = packed.decompress(found[1], self.left)
            except zlib.error:
                # Packed in another way, as a picture is, or not at all.
                said = found[1]
            self._take(len(said))
            if len(said) > len(found[1]) and packed.unconsumed_tail:
                raise NotLookedThroughError
            if not _is_binary(said):
                yield from _pdf_said(said)

    def _parts(self, content: bytes, depth: int) -> Iterator[str]:
        message = email.message_from_bytes(content, policy=policy.default)
        for part in message.walk():
            yield "\n".join(f"{name}: {value}" for name, value in part.items())
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                yield from self.texts(payload, False, depth + 1)

    def _take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise NotLookedThroughError


def _said(content: bytes) -> Iterator[str]:
    """What bytes say as a text, or as one of the ways to keep a text among other things."""
    if content.startswith(_MEDIA):
        content = b"\x00".join((content[:_OF_MEDIA], content[_OF_MEDIA:][-_OF_MEDIA:]))
    try:
        text = content.decode("utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError:
        yield "\n".join(_plain_in(content))
        yield "\n".join(found.decode("utf-16-le", "replace") for found in _WIDE.findall(content))
        return
    if not _XML.match(content):
        yield text
        return
    parted = _END.sub("\n", text)
    yield html.unescape(_MARK.sub(" ", parted))
    if _GLUED.search(parted):
        # Marks may also stand in a word.
        yield html.unescape(_MARK.sub("", parted))
    values = dict.fromkeys(found[1] or found[2] for found in _VALUE.finditer(text))
    yield html.unescape("\n".join(values))


def _plain_in(content: bytes) -> Iterator[str]:
    """What stands around letters among bytes that are no text."""
    done = 0
    for found in _LETTERS.finditer(content):
        if found.start() < done:
            continue
        before = content[max(done, found.start() - _AROUND) : found.start()]
        behind = content[found.end() : found.end() + _AROUND]
        end = _UNFIT.search(behind)
        done = found.end() + (end.start() if end else len(behind))
        head = _UNFIT.split(before)[-1]
        yield (head + content[found.start() : done]).decode("latin-1")


def _is_binary(content: bytes) -> bool:
    head = content[:_LOOKED_AT]
    return len(_BINARY.findall(head)) > _MOST_BINARY * len(head)


def _pdf_said(content: bytes) -> Iterator[str]:
    """The strings of a PDF's part, as they are kept: what a font maps is on its pages."""
    text = content.decode("latin-1")
    shown = ("".join(map(_string, _STRING.finditer(found[1]))) for found in _SHOWN.finditer(text))
    strings = dict.fromkeys((*shown, *map(_string, _STRING.finditer(text))))
    # Numbers of a font's signs are no text.
    yield "\n".join(one for one in strings if not _CONTROL.search(one))
    if _XML.match(content):
        yield from _said(content)


def _string(found: re.Match[str]) -> str:
    """A string of a PDF: in brackets with escapes, or as hexadecimal digits (ISO 32000-1, 7.3.4)."""
    if found[2] is not None:
        digits = "".join(found[2].split())
        kept = bytes.fromhex(digits + "0" * (len(digits) % 2))
    else:
        kept = _ESCAPED.sub(_unescaped, found[1]).encode("latin-1", "replace")
    return (
        kept.decode("utf-16", "replace") if kept[:2] in {b"\xfe\xff", b"\xff\xfe"} else kept.decode("latin-1")
    )


def _unescaped(found: re.Match[str]) -> str:
    return (
        chr(int(found[1], 8) & 0xFF)
        if found[1]
        else {"n": "\n", "r": "\r", "t": "\t", "\n": ""}.get(found[2], found[2])
    )
