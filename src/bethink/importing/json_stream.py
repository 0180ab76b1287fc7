"""The conversations of a large JSON file, one at a time, without holding it. `chatgpt` and `claude` call it.

Bytes that are no UTF-8, raw control characters and NaN are mended on the way, since
one of them would end the reading of everything behind it. What nests too
deeply or is too long is passed over. Only one conversation is held at once.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from bethink.errors import BadInput, TooLarge
from bethink.importing.items import Skipped, mapping, one_line, text

if TYPE_CHECKING:
    from bethink.importing.archive import Archive, Readable


_NOTHING: frozenset[str] = frozenset()


def objects(
    archive: Archive, name: str, ignored: frozenset[str] = _NOTHING, *, alone: bool = False
) -> Iterator[dict[str, object] | Skipped]:
    """`elements` of a member of the archive; one that is damaged ends in a `Skipped`.

    Raises:
        TooLarge: the archive unpacks to more than any export would.
    """
    whole = None if alone else "talk"
    try:
        with archive.open(name) as file:
            for found in elements(file, ignored, alone=alone):
                if isinstance(found, Skipped):
                    yield Skipped(name if alone else found.name, found.why, whole=whole)
                else:
                    yield found
    except TooLarge:
        raise
    except BadInput as error:
        yield Skipped(name, error.message, whole=whole)


MAX_DEPTH = 64
"""Of a value: exports nest 12 deep."""
MAX_ITEM_CHARS = 16_000_000
"""Of one conversation's texts: the longest that chats allow have some two million."""
MAX_ITEM_VALUES = 1_500_000
"""Of one conversation: a hundred thousand messages."""
_BUFFER = 1 << 20
"""The parser looks at a long text anew with each part of the file: small parts cost it minutes."""
_LISTS = frozenset({"conversations", "items", "data"})
"""Under these names some programs wrap the list."""
_ALONE = frozenset({"mapping", "chat_messages"})
"""An object with one of these is a conversation by itself."""
_CONTROLS = bytes(max(code, 32) for code in range(256))
_PAIR_BYTES = 12
"""Of a character that is escaped in two halves (RFC 8259, 7)."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_FIRST_HALF = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}\Z")
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)", re.DOTALL
)
_HALF_BYTES = 6
_UNLIKE_NUMBERS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|-?(?:NaN|Infinity)', re.DOTALL)
"""Texts, in which these are words, and what some programs write for numbers that JSON has not."""
_CUT_WORD = re.compile(rb"[-A-Za-z]{1,9}\Z")
_NO_NUMBER = "\ufdd0"
"""Stands for such a number: a character that no text has (Unicode 23.7, "Noncharacters")."""
_NO_NUMBER_JSON = b'"\\ufdd0"'
_NO_NUMBER_WHY = "It contains NaN or Infinity, which is not valid JSON."
_VALUE_CHARS = 16
"""A value that is no text counts as so many characters."""
_NAMES = ("title", "name")
_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})
_MAX_QUIET = 32_000_000
"""Bytes in which no value ends: a parser holds them all."""

_Container = dict[str, object] | list[object]


@dataclass(slots=True)
class RepairedJson:
    """A file's bytes as valid UTF-8 without control characters, and without numbers that JSON has not.

    `done` is how many were read, `quiet` how many since the reader last got a value.
    """

    file: Readable
    done: int = 0
    quiet: int = 0
    _kept: bytes = b""
    _cut_word: bytes = b""
    _in_text: bool = False
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8-sig")("replace")
    )

    def read(self, size: int = -1) -> bytes:
        """At most a little more than `size` bytes.

        Raises:
            ValueError: no value has ended for too long.
        """
        while size:
            part = self.file.read(size)
            self.done += len(part)
            self.quiet += len(part)
            if self.quiet > _MAX_QUIET:
                raise ValueError(f"a text of more than {_MAX_QUIET // 1_000_000} MB")
            whole = self._decoder.decode(part.translate(_CONTROLS), final=not part).encode()
            mended = self._numbered(self._paired(whole, is_last=not part), is_last=not part)
            if mended or not part:
                return mended
        return b""

    def _paired(self, part: bytes, *, is_last: bool) -> bytes:
        """The bytes with escapes of half a character replaced: one ends the reading of all behind it."""
        part, self._kept = self._kept + part, b""
        place = part.find(b"\\", max(len(part) - _PAIR_BYTES, 0))
        if place >= 0 and not is_last:
            # An escape may go on in the next part, and what stands before it may be its first half.
            # Where backslashes stand together, all are kept.
            if _FIRST_HALF.search(part[max(place - _HALF_BYTES, 0) : place]):
                place -= _HALF_BYTES
            begin = len(part[:place].rstrip(b"\\"))
            part, self._kept = part[:begin], part[begin:]
        if not _HALF.search(part):
            return part
        return _ESCAPES.sub(lambda found: b"\\ufffd" if len(found[0]) == _HALF_BYTES else found[0], part)

    def _numbered(self, part: bytes, *, is_last: bool) -> bytes:
        """The bytes with `_NO_NUMBER` for NaN and Infinity, which end the reading of all behind them."""
        part, self._cut_word = self._cut_word + part, b""
        if not is_last and (cut := _CUT_WORD.search(part)) is not None:
            part, self._cut_word = part[: cut.start()], cut[0]
        # No escape goes on in the next part: see `_paired`.
        quotes = part.count(b'"') - part.replace(b"\\\\", b"").count(b'\\"')
        was_in_text, self._in_text = self._in_text, self._in_text ^ bool(quotes % 2)
        if b"NaN" not in part and b"Infinity" not in part:
            return part
        whole = b'"' + part if was_in_text else part
        return _UNLIKE_NUMBERS.sub(
            lambda found: found[0] if found[0].startswith(b'"') else _NO_NUMBER_JSON, whole
        )[was_in_text:]


def elements(
    file: Readable, ignored: frozenset[str] = frozenset(), *, alone: bool = False
) -> Iterator[dict[str, object] | Skipped]:
    """The objects of the file's list, in order; members that are `ignored` are left out, wherever they stand.

    A file that holds one conversation gives that; any one object if it may stand
    `alone`. If the file breaks off or is no JSON, the last thing is a `Skipped` that says where.
    """
    import ijson

    mended = RepairedJson(file)
    reading = _JsonReader(mended, ignored, alone)
    try:
        events = cast(
            "Iterator[tuple[str, object]]", ijson.basic_parse(mended, use_float=True, buf_size=_BUFFER)
        )
        yield from reading.top(events)
    except (ijson.JSONError, UnicodeError, ValueError, ArithmeticError) as error:
        what = one_line(text(str(error).partition("\n")[0]), 80)
        why = f"The file ends early or is not JSON near byte {mended.done:,} ({what}); the rest was not read."
        yield Skipped(reading.behind, why if mended.done else "The file is empty.")


@dataclass(slots=True)
class _JsonReader:
    """How far the reading is: `behind` names what was read last."""

    mended: RepairedJson
    ignored: frozenset[str]
    alone: bool
    count: int = 0
    last: str = ""

    @property
    def behind(self) -> str:
        if not self.count:
            return "the first conversation"
        return f"behind conversation {self.count:,}" + (f", “{self.last}”" if self.last else "")

    def top(self, events: Iterator[tuple[str, object]]) -> Iterator[dict[str, object] | Skipped]:
        event, _ = next(events, ("", None))
        if event == "start_array":
            yield from self.array(events)
        elif event == "start_map":
            yield from self.object(events)
        else:
            yield Skipped("the file", "It contains neither a list nor an object.")
        for _ in events:  # what follows the value is an error that the parser raises
            pass

    def array(self, events: Iterator[tuple[str, object]]) -> Iterator[dict[str, object] | Skipped]:
        for event, value in events:
            if event == "end_array":
                return
            found = self.value(events, event, value)
            self.count += 1
            if isinstance(found, dict):
                members = mapping(cast("object", found))
                self.last = named(members)
                yield members
            elif isinstance(found, Skipped):
                yield found
            else:
                yield Skipped(f"conversation {self.count:,}", "It is not an object.")

    def object(self, events: Iterator[tuple[str, object]]) -> Iterator[dict[str, object] | Skipped]:
        members: dict[str, object] = {}
        key = ""
        for event, value in events:
            if event == "end_map":
                break
            if event == "map_key":
                key = str(value)
            elif event == "start_array" and key in _LISTS and not self.alone:
                yield from self.array(events)
            else:
                members[key] = self.value(events, event, value)
        if self.alone or not _ALONE.isdisjoint(members):
            wrong = next((one for one in members.values() if isinstance(one, Skipped)), None)
            yield wrong or members

    def value(self, events: Iterator[tuple[str, object]], event: str, value: object) -> object:
        """The value that begins with an event; `Skipped` where it is too much to be held."""
        if event not in _STARTS:
            is_number = value != _NO_NUMBER
            return value if is_number else Skipped(f"conversation {self.count + 1:,}", _NO_NUMBER_WHY)
        building = _ValueBuilder(self.ignored, _empty(event))
        for following, inner in events:
            self.mended.quiet = 0
            if building.take(following, inner):
                break
        if building.why:
            return Skipped(named(mapping(building.root)) or f"conversation {self.count + 1:,}", building.why)
        return building.root


def _empty(event: str) -> _Container:
    return {} if event == "start_map" else []


class _ValueBuilder:
    """A value while it is put together; `why` says that it became too much."""

    def __init__(self, ignored: frozenset[str], root: _Container) -> None:
        self.root = root
        self.why = ""
        self._ignored = ignored
        self._stack: list[_Container] = [root]
        self._key = ""
        self._size = self._values = self._skipped = 0

    def take(self, event: str, value: object) -> bool:
        """Whether that was its end."""
        starts, ends = event in _STARTS, event in _ENDS
        if self._skipped:
            self._skipped += starts - ends
            return not self._skipped and bool(self.why)
        if event == "map_key":
            self._key = str(value)
        elif ends:
            self._stack.pop()
            return not self._stack
        else:
            self._put(_empty(event) if starts else value, starts=starts)
        return False

    def _put(self, value: object, *, starts: bool) -> None:
        top = self._stack[-1]
        if isinstance(top, dict) and self._key in self._ignored:
            self._skipped = int(starts)
            return
        self._values += 1
        self._size += len(value) if isinstance(value, str) else _VALUE_CHARS
        if self._size > MAX_ITEM_CHARS or self._values > MAX_ITEM_VALUES:
            self.why = (
                f"It holds more than {MAX_ITEM_CHARS // 1_000_000} million characters, or more than "
                f"{MAX_ITEM_VALUES:,} values."
            )
        elif starts and len(self._stack) >= MAX_DEPTH:
            self.why = f"It is nested more than {MAX_DEPTH} deep."
        elif value == _NO_NUMBER:
            self.why = _NO_NUMBER_WHY
        if self.why:
            self._skipped = len(self._stack) + starts
            return
        if isinstance(top, dict):
            top[self._key] = value
        else:
            top.append(value)
        if starts:
            self._stack.append(cast("_Container", value))


def named(members: dict[str, object]) -> str:
    """What a conversation is called, in its export's words; "" if it has no name."""
    return next((one_line(text(members.get(name)), 80) for name in _NAMES if members.get(name)), "")
