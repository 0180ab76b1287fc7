"""What one reader is not told: applied to texts, facts, messages, tool results and events.

`service` makes a reader's filter once per request; recall, memory, the agent and the doors apply it
where text leaves. A pattern is searched in every text; of a field, what names it and what repeats its
values; of a page or section, sentences that say what stands there, as forgetting finds them; and the
facts whose lines stand in any of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import anyio.to_thread
import msgspec

from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimUnbacked,
    MemoryChanged,
    MemoryRecalled,
    QuestionAsked,
    ReasoningDelta,
    RunFailed,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    Warned,
)
from bethink.memory.facts import Source, mark_of
from bethink.messages import AssistantMessage, Attachment, Message, ToolCall, ToolMessage, UserMessage
from bethink.redaction import Redaction, redaction_of
from bethink.vault.filters.page_filter import Mark, PageView, merged, view
from bethink.vault.filters.patterns import HIDDEN, folded, numbers
from bethink.vault.filters.structure import names

if TYPE_CHECKING:
    from bethink.events import Event, Recalled
    from bethink.feature import Recallable
    from bethink.memory import Fact
    from bethink.tool import Tool, ToolOutput
    from bethink.vault.filters.rules import FilterRule

_KEPT_TEXTS: Final = 20_000
"""Texts of which a filter still knows what is hidden: a history comes again each turn, and a search looks
through hundreds of facts. A text takes about 150 bytes."""
_FACT: Final = re.compile(r"\^(fact-[a-z2-7]{10})")
_SENTENCE: Final = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*[.!?]*")
_MARK_CHARS: Final = 15
_WORD: Final = re.compile(r"\w+")
_LEAST: Final = 3
_LONG_NUMBER: Final = 4
_MOST_SAID: Final = 300_000
"""Characters of hidden pages whose sentences are searched elsewhere."""
_COMMON: Final = frozenset({"yes", "no", "none", "true", "false", "unknown", "the", "and", "not", "n/a"})
_ID: Final = re.compile(
    r"(?:[a-z]+[:_])?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\S{0,60}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
)
"""Ids, tokens and times: they tell nothing, and are needed as they are."""
_TEXT_FIELDS: Final = ("content", "text", "snippet", "name")
"""The fields of a JSON object that say what it is about."""


@dataclass(frozen=True)
class ReaderFilter:
    """What one reader, the `audience`, is not told by anything.

    What they wrote themselves under these filters is told them whatever it repeats: if it were
    hidden when it says what is hidden, each word of theirs would be a guess answered.
    """

    audience: str
    rules: tuple[FilterRule, ...]
    facts: frozenset[str] = frozenset()
    values: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    numbers: frozenset[str] = frozenset()
    said: Redaction | None = field(default=None, compare=False)
    """Finds sentences of `hidden`, the text of what is hidden whole."""
    hidden: str = field(default="", repr=False)
    _marks: dict[bytes, tuple[Mark, ...]] = field(
        default_factory=dict[bytes, tuple[Mark, ...]], compare=False, repr=False
    )
    _own: set[str] = field(default_factory=set[str], compare=False, repr=False)
    """Ids of what was told lately that the reader wrote: `plain` filters what tells of it."""

    @classmethod
    def of(
        cls, audience: str, rules: tuple[FilterRule, ...], hidden: Iterable[tuple[FilterRule, str]]
    ) -> ReaderFilter:
        """The filter of these rules; `hidden` are the parts of pages that they hide, each with its rule."""
        facts: set[str] = set()
        lines: set[str] = set()
        whole: list[str] = []
        for rule, piece in hidden:
            facts.update(_FACT.findall(piece))
            if rule.field or rule.pattern:
                lines.update(line.strip(" \t-*_`|\"'") for line in piece.splitlines())
            else:
                whole.append(piece)
        values: dict[str, tuple[str, ...]] = {}
        for value in sorted(map(str.lower, lines)):
            word = _WORD.search(value)
            if word is None or sum(map(str.isalnum, value)) < _LEAST or value in _COMMON:
                continue
            values[word.group()] = (*values.get(word.group(), ()), value[word.start() :])
        digits = {_digits(line[start:end]) for line in lines for start, end in numbers(line)}
        said = "\n".join(whole)[:_MOST_SAID]
        return cls(
            audience,
            rules,
            frozenset(facts),
            values,
            frozenset(number for number in digits if len(number) >= _LONG_NUMBER),
            # No single word gives a sentence away here: most of a hidden one must stand in it.
            replace(redaction_of([said]), marks=frozenset()) if said.strip() else None,
            said,
        )

    @cached_property
    def plain(self) -> ReaderFilter:
        """What is hidden whatever the vault says: what patterns find, and sentences that name a field."""
        return ReaderFilter(self.audience, self.rules)

    @property
    def newest(self) -> int:
        """The number of the newest of the filters: they are numbered as they are made."""
        return max(int(rule.id.removeprefix("f") or 0) for rule in self.rules)

    @property
    def has_secrets(self) -> bool:
        """Whether it hides what the vault says, and not only what its filters say themselves."""
        return bool(self.facts or self.values or self.numbers or self.said)

    def text(self, text: str) -> str:
        """A text without what is hidden."""
        return self.view(text).text if any(map(str.isalnum, text)) else text

    def view(self, text: str) -> PageView:
        """The same, with marks of what is hidden; those of recent texts are kept."""
        key = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        marks = self._marks.get(key)
        if marks is None:
            marks = self._found(text)
            if len(self._marks) >= _KEPT_TEXTS:
                self._marks.clear()
            self._marks[key] = marks
        return PageView(text, marks)

    def _found(self, text: str) -> tuple[Mark, ...]:
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

    def hides(self, id: object) -> bool:
        """Whether the fact of this id stands in what is hidden."""
        return bool(self.facts) and isinstance(id, str) and mark_of(id)[:_MARK_CHARS] in self.facts

    def is_own(self, id: str, sources: Sequence[Source]) -> bool:
        """Whether the reader wrote all of a fact, under the filters that hold."""
        is_own = (
            self.has_secrets
            and bool(sources)
            and all(
                source.under >= self.newest and f"{source.by}/".startswith(f"{self.audience}/")
                for source in sources
            )
        )
        if is_own:
            if len(self._own) >= _KEPT_TEXTS:
                self._own.clear()
            self._own.add(id)
        return is_own

    def signed(self, source: Source) -> Source:
        """A source that says whose words it has, and under which filters."""
        return msgspec.structs.replace(source, by=self.audience, under=self.newest)

    def fact(self, fact: Fact) -> Fact | None:
        """A fact as it is seen; None if it is hidden."""
        if self.is_own(fact.id, fact.sources):
            return self.plain.fact(fact)
        if self.hides(fact.id):
            return None
        shown = self.view(fact.content)
        if any(mark.action == "hide" for mark in shown.marks) or not _tells(shown.text):
            return None
        topics = tuple(topic for topic in fact.topics if self.text(topic) == topic)
        category = fact.category if self.text(fact.category) == fact.category else "general"
        return msgspec.structs.replace(fact, content=shown.text, category=category, topics=topics)

    def recallable(self, id: str, recallable: Recallable) -> Recallable | None:
        """What recall found, as it is seen; None if it is hidden."""
        if self.is_own(id, recallable.said_by):
            shown = self.plain.view(recallable.text)
        elif self.hides(id):
            return None
        else:
            shown = self.view(recallable.text)
        if recallable.title is not None:
            recallable = replace(recallable, title=self.text(recallable.title))
        if shown.is_whole:
            return recallable
        is_hidden = recallable.speaker is None and any(mark.action == "hide" for mark in shown.marks)
        return None if is_hidden or not _tells(shown.text) else recallable.saying(shown.text)

    def value(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """A JSON value without what is hidden; objects of a list that tell nothing any more are left out."""
        match value:
            case str():
                return value if _ID.fullmatch(value) else self.text(value)
            case dict():
                return self._object(cast("dict[str, Any]", value))
            case list():
                parts = [(part, self.value(part)) for part in cast("list[Any]", value)]
                return [now for was, now in parts if not _is_emptied(was, now)]
            case _:
                return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        if value.get("id") in self._own:
            return self.plain.value(value)
        now = {name: self.value(part) for name, part in value.items()}
        if self.hides(value.get("id")):
            now |= {name: HIDDEN for name in _TEXT_FIELDS if isinstance(value.get(name), str)}
        return now

    def document(self, text: str) -> str | None:
        """The same of a text, or of JSON in one document or one a line; None if nothing is left."""
        if not text.lstrip().startswith(("{", "[")):
            return self.text(text)
        try:
            return self._json(text)
        except msgspec.DecodeError:
            return "".join(filter(None, map(self._line, text.splitlines(keepends=True))))

    def _line(self, line: str) -> str | None:
        try:
            return self._json(line, end="\n")
        except msgspec.DecodeError:
            return self.text(line)

    def _json(self, text: str, *, end: str = "") -> str | None:
        was = msgspec.json.decode(text)
        now = self.value(was)
        if now == was:
            return text
        return None if _is_emptied(was, now) else f"{msgspec.json.encode(now).decode()}{end}"

    async def tool_output(self, output: ToolOutput, tool: Tool) -> ToolOutput:
        """What a tool answers, without what is hidden; what is fetched from the net is not the owner's."""
        if tool.filters_itself or (tool.effect == "egress" and not tool.source):
            return output
        is_echo = tool.echoes_arguments and not tool.source
        return await anyio.to_thread.run_sync((self.plain if is_echo else self).output, output)

    def output(self, output: ToolOutput) -> ToolOutput:
        """What any tool answers, without what is hidden."""
        structured = self.value(output.structured) if output.structured else output.structured
        return replace(output, text=self.document(output.text) or "", structured=structured)

    async def history(self, messages: Sequence[Message], summary: str) -> tuple[list[Message], str]:
        """The same messages in the same places and the summary, without what is hidden.

        Each text is filtered once per run and comes out the same every time, so that prompt caches
        keep fitting. The stored conversation stays whole.
        """

        def filtered() -> tuple[list[Message], str]:
            return [self._message(message) for message in messages], summary and self.text(summary)

        return await anyio.to_thread.run_sync(filtered)

    def _message(self, message: Message) -> Message:
        match message:
            case UserMessage(content=content, attachments=files):
                return UserMessage(self.text(content), self._files(files), message.untrusted)
            case AssistantMessage(content=content, tool_calls=calls, reasoning=reasoning):
                shown = msgspec.structs.replace(
                    message,
                    content=self.text(content),
                    tool_calls=tuple(map(self._call, calls)),
                    reasoning=self.text(reasoning),
                )
                is_whole = shown == message and self.value(message.extra) == message.extra
                return message if is_whole else shown.without_extra()
            case ToolMessage(content=content, attachments=files, addresses=addresses):
                return msgspec.structs.replace(
                    message,
                    content=self.document(content) or HIDDEN,
                    attachments=self._files(files),
                    addresses=tuple(address for address in addresses if self.text(address) == address),
                )

    def _call(self, call: ToolCall) -> ToolCall:
        try:
            was = msgspec.json.decode(call.arguments)
        except msgspec.DecodeError:
            return msgspec.structs.replace(call, arguments=self.text(call.arguments))
        now = self.value(was)
        if now == was:
            return call
        return msgspec.structs.replace(call, arguments=msgspec.json.encode(now).decode())

    def _recalled(self, item: Recalled) -> Recalled:
        title = item.title and self.text(item.title)
        return msgspec.structs.replace(item, text=self.text(item.text), title=title)

    def _files(self, files: Sequence[Attachment]) -> tuple[Attachment, ...]:
        return tuple(msgspec.structs.replace(file, name=self.text(file.name)) for file in files)

    def event(self, event: Event) -> Event:
        """An event of a run without what is hidden."""
        replace = msgspec.structs.replace
        match event:
            case (
                TextDelta()
                | ReasoningDelta()
                | ToolProgress()
                | MemoryChanged()
                | ClaimUnbacked()
                | QuestionAsked()
            ):
                return replace(event, text=self.text(event.text))
            case TextSoFar():
                return replace(event, text=self.text(event.text), reasoning=self.text(event.reasoning))
            case MemoryRecalled(items=items):
                kept = [item for item in items if not self.hides(item.id)]
                return replace(event, items=tuple(map(self._recalled, kept)))
            case ToolRequested() | ApprovalNeeded() | ApprovalDecided():
                changes = {"arguments": self.document(event.arguments) or "{}"}
                for name in ("label", "reason"):
                    if isinstance(text := getattr(event, name, None), str):
                        changes[name] = self.text(text)
                return replace(event, **changes)
            case ToolFinished():
                text = self.document(event.text) or ""
                return replace(event, text=text, attachments=self._files(event.attachments))
            case Warned() | RunFailed():
                return replace(event, message=self.text(event.message))
            case _:
                return event


def _is_emptied(was: Any, now: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether nothing is left of what an object told."""
    if not isinstance(was, dict):
        return False
    before = cast("dict[str, Any]", was)
    fields = [name for name in _TEXT_FIELDS if isinstance(before.get(name), str)]
    return any(before[name] != now[name] and not _tells(now[name]) for name in fields)


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


def _tells(text: object) -> bool:
    """Whether a text still says something."""
    return isinstance(text, str) and any(map(str.isalnum, text.replace(HIDDEN, "")))
