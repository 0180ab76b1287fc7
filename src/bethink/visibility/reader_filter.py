"""What of other kinds of memory a filter hides: facts and turns that say what it hides in the vault.

Recall, the memory and the doors ask. A pattern is looked for in every text; of a
field, what names it and what repeats its values; of a page or section, sentences
that say what stands there, as forgetting finds them; and the facts whose lines stand in any of it.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

import anyio.to_thread
import msgspec

from bethink.errors import BethinkError
from bethink.memory.facts import mark_of
from bethink.redaction import redaction_of
from bethink.vault.filters.fields import names
from bethink.vault.filters.normalize import folded
from bethink.vault.filters.page_filter import Mark, View, merged, view
from bethink.vault.filters.patterns import HIDDEN, numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bethink.feature import Recallable, Resolve
    from bethink.memory import Fact
    from bethink.memory.facts import Source
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.tool import ToolOutput
    from bethink.vault import Vault
    from bethink.vault.filters.rules import FilterStore, Rule

_KEPT: Final = 16
_KEPT_TEXTS: Final = 20_000
"""Texts of which a filter still knows what is hidden: a history comes again each turn, and a search looks
through hundreds of facts. A text takes about 150 bytes."""
_ANY: Final = 2**62
_FACT: Final = re.compile(r"\^(fact-[a-z2-7]{10})")
_SENTENCE: Final = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*[.!?]*")
_MARK_CHARS: Final = 15
_WORD: Final = re.compile(r"\w+")
_LEAST: Final = 3
_LONG_NUMBER: Final = 4
_MOST_SAID: Final = 300_000
"""Characters of hidden pages whose sentences are looked for elsewhere."""
_COMMON: Final = frozenset({"yes", "no", "none", "true", "false", "unknown", "the", "and", "not", "n/a"})
_ID: Final = re.compile(
    r"(?:[a-z]+[:_])?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\S{0,60}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
)
"""Ids, tokens and times: they tell nothing, and are needed as they are."""
_TELLING: Final = ("content", "text", "snippet", "name")


@dataclass(slots=True)
class _Hidden:
    """What the vault's pages hide from a reader."""

    values: set[str] = field(default_factory=set[str])
    said: list[str] = field(default_factory=list[str])
    facts: set[str] = field(default_factory=set[str])

    def take(self, rule: Rule, pieces: Iterable[str]) -> None:
        for piece in pieces:
            self.facts.update(_FACT.findall(piece))
            if rule.field or rule.pattern:
                self.values.update(line.strip(" \t-*_`|\"'") for line in piece.splitlines())
            else:
                self.said.append(piece)


@dataclass(frozen=True, slots=True)
class ReaderFilter:
    """What one reader is not told by anything, the `audience`.

    What they wrote themselves while these filters held is told them whatever it repeats:
    would it be hidden where it says what is hidden, each word of theirs would be a guess answered.
    """

    audience: str
    rules: tuple[Rule, ...]
    facts: frozenset[str]
    values: dict[str, tuple[str, ...]]
    numbers: frozenset[str]
    said: Redaction | None = field(default=None, compare=False)
    """Finds sentences of `hidden`, the text of what is hidden whole."""
    hidden: str = field(default="", repr=False)
    _marks: dict[bytes, tuple[Mark, ...]] = field(
        default_factory=dict[bytes, tuple[Mark, ...]], compare=False, repr=False
    )
    _own: set[str] = field(default_factory=set[str], compare=False, repr=False)
    """Ids of what was told lately that the reader wrote: what tells it is looked through by `plain`."""
    _plain: list[ReaderFilter] = field(default_factory=list["ReaderFilter"], compare=False, repr=False)

    def text(self, text: str) -> str:
        """A text without what is hidden."""
        return self.view(text).text if any(map(str.isalnum, text)) else text

    def view(self, text: str) -> View:
        """The same, with marks of what is hidden. What was looked through lately is not so again."""
        key = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        marks = self._marks.get(key)
        if marks is None:
            marks = self._looked_through(text)
            if len(self._marks) >= _KEPT_TEXTS:
                self._marks.clear()
            self._marks[key] = marks
        return View(text, marks)

    def _looked_through(self, text: str) -> tuple[Mark, ...]:
        patterns = [rule for rule in self.rules if rule.pattern and not rule.field and rule.is_everywhere]
        marks = [*view(text, "", patterns).marks, *self._named(text), *self._repeated(text)]
        if (read := folded(text)) is not None:
            for mark in (*self._named(read.text), *self._repeated(read.text)):
                spans = read.spans([(mark.start, mark.end)])
                marks += [replace(mark, start=start, end=end) for start, end in spans]
        if self.said is not None:
            marks += [
                Mark(start, end, "mask", HIDDEN, "") for start, end in self.said.spans(text, close=True)
            ]
        return tuple(merged(marks))

    def hides(self, id: object) -> bool:
        """Whether the fact of this id stands in what is hidden."""
        return bool(self.facts) and isinstance(id, str) and mark_of(id)[:_MARK_CHARS] in self.facts

    def fact(self, fact: Fact) -> Fact | None:
        """A fact as it is seen; None where it is hidden."""
        if self.is_own(fact.id, fact.sources):
            return self.plain.fact(fact)
        if self.hides(fact.id):
            return None
        seen = self.view(fact.content)
        if any(mark.action == "hide" for mark in seen.marks) or not _tells(seen.text):
            return None
        topics = tuple(topic for topic in fact.topics if self.text(topic) == topic)
        category = fact.category if self.text(fact.category) == fact.category else "general"
        return msgspec.structs.replace(fact, content=seen.text, category=category, topics=topics)

    def is_own(self, id: str, sources: Sequence[Source]) -> bool:
        """Whether the reader wrote all of a fact, under the filters that hold."""
        if not (self.has_secrets and sources and all(map(self._is_by_reader, sources))):
            return False
        if len(self._own) >= _KEPT_TEXTS:
            self._own.clear()
        self._own.add(id)
        return True

    def _is_by_reader(self, source: Source) -> bool:
        return source.under >= self.newest and f"{source.by}/".startswith(f"{self.audience}/")

    def signed(self, source: Source) -> Source:
        """A source that says whose words it has, and under which filters."""
        return msgspec.structs.replace(source, by=self.audience, under=self.newest)

    @property
    def newest(self) -> int:
        """The number of the newest of the filters: they are numbered as they are made."""
        return max(int(rule.id.removeprefix("f") or 0) for rule in self.rules)

    @property
    def has_secrets(self) -> bool:
        """Whether it hides what the vault says, and not only what its filters say themselves."""
        return bool(self.facts or self.values or self.numbers or self.said)

    @property
    def plain(self) -> ReaderFilter:
        """What is hidden whatever the vault says: what patterns find, and sentences that name a field."""
        if not self._plain:
            self._plain.append(ReaderFilter(self.audience, self.rules, frozenset(), {}, frozenset()))
        return self._plain[0]

    def value(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """A JSON value without what is hidden; of a list, what tells nothing any more is left out."""
        match value:
            case str():
                return value if _ID.fullmatch(value) else self.text(value)
            case dict():
                return self._object(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
            case list():
                return self._list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
            case _:
                return value

    def output(self, output: ToolOutput) -> ToolOutput:
        """What a tool answers, without what is hidden."""
        structured = self.value(output.structured) if output.structured else output.structured
        return replace(output, text=self.document(output.text) or "", structured=structured)

    def document(self, text: str) -> str | None:
        """The same of a text, or of JSON in one document or one a line; None where nothing is left."""
        if not text.lstrip().startswith(("{", "[")):
            return self.text(text)
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return "".join(filter(None, map(self._line, text.splitlines(keepends=True))))
        now = self.value(value)
        if now == value:
            return text
        return None if self._is_gone(value, now) else msgspec.json.encode(now).decode()

    def _line(self, line: str) -> str | None:
        try:
            was = msgspec.json.decode(line)
        except msgspec.DecodeError:
            return self.text(line)
        now = self.value(was)
        if now == was:
            return line
        return None if self._is_gone(was, now) else f"{msgspec.json.encode(now).decode()}\n"

    def _list(self, value: list[Any]) -> list[Any]:
        parts = [(part, self.value(part)) for part in value]
        return [now for was, now in parts if not self._is_gone(was, now)]

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        if value.get("id") in self._own:
            return self.plain.value(value)
        now = {name: self.value(part) for name, part in value.items()}
        if self.hides(value.get("id")):
            now |= {name: HIDDEN for name in _TELLING if isinstance(value.get(name), str)}
        return now

    def _is_gone(self, was: Any, now: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
        """Whether nothing is left of what an object told."""
        if not isinstance(was, dict):
            return False
        given = cast("dict[str, Any]", was)
        told = [name for name in _TELLING if isinstance(given.get(name), str)]
        return any(given[name] != now[name] and not _tells(now[name]) for name in told)

    def _named(self, text: str) -> Iterator[Mark]:
        """Sentences that name a field which is hidden wherever it stands."""
        for rule in self.rules:
            if rule.field and rule.is_everywhere and (found := names(rule.field)).search(text):
                action = "mask" if rule.action == "generalise" else rule.action
                for sentence in _SENTENCE.finditer(text):
                    if found.search(sentence.group()):
                        shown = "" if action == "hide" else HIDDEN
                        yield Mark(*sentence.span(), action, shown, rule.id)

    def _repeated(self, text: str) -> Iterator[Mark]:
        """What repeats a hidden value, word for word, or a long number of one."""
        if self.values:
            lower = text.lower()
            for word in _WORD.finditer(lower):
                for value in self.values.get(word.group(), ()):
                    if lower.startswith(value, word.start()):
                        yield Mark(word.start(), word.start() + len(value), "mask", HIDDEN, "")
        if self.numbers:
            for start, end in numbers(text):
                if _digits(text[start:end]) in self.numbers:
                    yield Mark(start, end, "mask", HIDDEN, "")


@dataclass(frozen=True, slots=True)
class ReaderFilters:
    """What is hidden from each reader."""

    vault: Vault
    filters: FilterStore
    _kept: OrderedDict[tuple[str, str], tuple[int, ReaderFilter]] = field(
        default_factory=OrderedDict[tuple[str, str], "tuple[int, ReaderFilter]"], repr=False
    )

    async def of(self, principal: Principal) -> ReaderFilter | None:
        """What a reader is not told; None for who is restrained by no filter."""
        rules = (await self.filters.for_reader(principal)).on(principal.audience)
        if not rules:
            return None
        key = principal.owner, principal.audience
        change, _ = await self.vault.changed_since(principal.owner, _ANY)
        kept = self._kept.get(key)
        if kept is None or kept[0] != change or kept[1].rules != rules:
            reader_filter = await self._made(principal, rules)
            # What changed in the vault may bear on nothing hidden: what was looked through stays so.
            kept = self._kept[key] = (
                change,
                kept[1] if kept is not None and kept[1] == reader_filter else reader_filter,
            )
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return kept[1]

    async def facts(self, principal: Principal, facts: Sequence[Fact]) -> list[Fact]:
        """Facts as a reader sees them, in order, without those that are hidden."""
        reader_filter = await self.of(principal)
        return (
            [*facts]
            if reader_filter is None
            else [seen for fact in facts if (seen := reader_filter.fact(fact)) is not None]
        )

    async def _made(self, principal: Principal, rules: tuple[Rule, ...]) -> ReaderFilter:
        hidden = _Hidden()
        looked = [rule for rule in rules if rule.path or rule.section or rule.field]
        for path in await self.vault.pages(principal.owner) if looked else ():
            here = [rule for rule in looked if rule.is_at(path)]
            if not here:
                continue
            try:
                text = (await self.vault.read(principal.owner, path)).text
            except BethinkError:
                continue
            for rule in here:
                if not rule.field or names(rule.field).search(text):
                    hidden.take(rule, view(text, path, [rule]).hidden)
        return await anyio.to_thread.run_sync(_filter_of, principal.audience, rules, hidden)


@dataclass(frozen=True, slots=True)
class FilteredResolve:
    """A resolver whose recallables say no more than their reader may be told."""

    resolve: Resolve
    reader_filters: ReaderFilters

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables of these ids, in order; None for what is gone or hidden."""
        found = await self.resolve(principal, ids)
        reader_filter = await self.reader_filters.of(principal)
        if reader_filter is None:
            return found
        return [
            None if recallable is None else _filtered_recallable(id, recallable, reader_filter)
            for id, recallable in zip(ids, found, strict=True)
        ]


def _filtered_recallable(id: str, recallable: Recallable, reader_filter: ReaderFilter) -> Recallable | None:
    if reader_filter.is_own(id, recallable.said_by):
        reader_filter = reader_filter.plain
    elif reader_filter.hides(id):
        return None
    seen = reader_filter.view(recallable.text)
    if seen.is_whole:
        return recallable
    is_hidden = recallable.speaker is None and any(mark.action == "hide" for mark in seen.marks)
    return None if is_hidden or not _tells(seen.text) else recallable.saying(seen.text)


def _filter_of(audience: str, rules: tuple[Rule, ...], hidden: _Hidden) -> ReaderFilter:
    values: dict[str, tuple[str, ...]] = {}
    for value in sorted(hidden.values):
        known = value.lower()
        word = _WORD.search(known)
        if word is None or sum(map(str.isalnum, known)) < _LEAST or known in _COMMON:
            continue
        values[word.group()] = (*values.get(word.group(), ()), known[word.start() :])
    long = {_digits(value[start:end]) for value in hidden.values for start, end in numbers(value)}
    said = "\n".join(hidden.said)[:_MOST_SAID]
    return ReaderFilter(
        audience,
        rules,
        frozenset(hidden.facts),
        values,
        frozenset(number for number in long if len(number) >= _LONG_NUMBER),
        # No single word gives a sentence away here: most of a hidden one must stand in it.
        replace(redaction_of([said]), marks=frozenset()) if said.strip() else None,
        said,
    )


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


def _tells(text: object) -> bool:
    """Whether a text still says something."""
    return isinstance(text, str) and any(map(str.isalnum, text.replace(HIDDEN, "")))
