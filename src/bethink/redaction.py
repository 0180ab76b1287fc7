"""What of a text says a forgotten fact, and the text without it.

`forgetting` redacts what conversations keep, `agent/recorder` what a live run is
about to keep. Sentences are compared by the stems of their words, without a
language model: a word that is not common and that only the forgotten fact used
gives a sentence away, and so do most of the fact's words together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from bethink.forgettable import FORGOTTEN, Cut, Span, without
from bethink.messages import AssistantMessage, Attachment, Message, ToolMessage, UserMessage
from bethink.search.analysis import Analyzer

COMMON_WORDS = frozenset((Path(__file__).parent / "search/common_words.txt").read_text("utf-8").split())
"""Words of everyday English: one of them alone gives nothing away."""
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*\s+|[。！？]+\s*|\n+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_BLOCK = re.compile(r"\n\s*\n")
_PAIR = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""A pair of Chinese or Japanese characters, say, is too little to give a sentence away."""
_LONG_NUMBER = 3
_MOST_CLOSE, _MOST = 2 / 3, 3 / 4
"""The share of a fact's words that says it: in a conversation where the fact was known, and in others."""
_TINY = 1e-9
"""What a product of shares may be above the whole number that it is."""
_WHO = "user"


@dataclass(frozen=True, slots=True)
class _Saying:
    """One sentence of a forgotten fact; `plain` for one without any words."""

    words: frozenset[str]
    marks: frozenset[str]
    plain: str = ""


@dataclass(slots=True, eq=False)
class Redaction:
    """Takes what is forgotten out of texts. Made by `redaction_of`.

    `marks` are words that give a sentence away, by themselves, in the
    conversations where the fact was known. One of `everything` takes every text:
    for where nobody can tell any more what it was. Safe to use from several threads.
    """

    sayings: tuple[_Saying, ...]
    marks: frozenset[str]
    analyzer: Analyzer = field(repr=False)
    everything: bool = False
    _of_word: dict[str, list[int]] = field(init=False, repr=False)
    _telling: dict[str, list[int]] = field(init=False, repr=False)
    _apart: dict[str, list[int]] = field(init=False, repr=False)
    _wordless: tuple[str, ...] = field(init=False, repr=False)
    _known_words: dict[str, bool] = field(init=False, repr=False, default_factory=dict[str, bool])

    def __post_init__(self) -> None:
        of_word: dict[str, list[int]] = {}
        for place, saying in enumerate(self.sayings):
            for word in saying.words:
                of_word.setdefault(word, []).append(place)
        telling: dict[str, list[int]] = {}
        apart: dict[str, list[int]] = {}
        for place, saying in enumerate(self.sayings):
            # Few sayings are looked at for a sentence: those of which it has the rarest word. What says them
            # elsewhere has all of their marks.
            words = sorted(saying.words, key=lambda word: (len(of_word[word]), *_rarity(word)))
            for word in words[: _spare(words, _MOST_CLOSE)]:
                telling.setdefault(word, []).append(place)
            marks = [word for word in words if word in saying.marks][:1]
            for word in marks or words[: _spare(words, _MOST)]:
                apart.setdefault(word, []).append(place)
        self._of_word = of_word
        self._telling = telling
        self._apart = apart
        self._wordless = tuple(one.plain for one in self.sayings if one.plain)

    def sayings_with(self, word: str) -> int:
        """How many of the sayings have this word."""
        return len(self._of_word.get(word, ()))

    @property
    def needed(self) -> Collection[str] | None:
        """What says it where it was not known has one of these words; None where it may have any."""
        return None if self.everything or self._wordless else self._apart.keys()

    def sparing(self, kept: Iterable[str]) -> Redaction:
        """The same, where words of the `kept` texts give nothing away by themselves."""
        spared = {word for text in kept for word in self.analyzer.words(text)}
        return replace(self, marks=self.marks - spared)

    def about(self, name: str) -> Redaction:
        """The same for texts about somebody of this name, which need not say it."""
        named = frozenset(self.analyzer.words(name))
        if self._of_word.keys().isdisjoint(named):
            return self
        sayings = [_unnamed(one, named) if one.words & named else one for one in self.sayings]
        return replace(self, sayings=tuple(one for one in sayings if one.words or one.plain))

    def naming(self, named: frozenset[str]) -> Redaction:
        """Of what has one of these words only, for texts which need not say these."""
        places = sorted({place for word in named for place in self._of_word.get(word, ())})
        sayings = (_unnamed(self.sayings[place], named) for place in places)
        return replace(self, sayings=tuple(one for one in sayings if one.words))

    def said_in(self, texts: Iterable[str]) -> Redaction:
        """The redaction of what these texts say in full, and of nothing else."""
        words = [self.analyzer.words(text) for text in texts]
        said = tuple(
            saying
            for saying in self.sayings
            if any(_is_said(saying, len(saying.words & there), there, close=False) for there in words)
        )
        return replace(self, sayings=said, marks=frozenset(mark for saying in said for mark in saying.marks))

    def says(self, text: str, *, close: bool) -> bool:
        """Whether a sentence says what is forgotten; `close` where the fact was known."""
        if self.everything:
            return True
        words = self.analyzer.words(text)
        words.discard(_WHO)
        if close and not self.marks.isdisjoint(words):
            return True
        index = self._telling if close else self._apart
        near = {place for word in words for place in index.get(word, ())}
        sayings = (self.sayings[place] for place in near)
        if any(_is_said(one, len(one.words & words), words, close=close) for one in sayings):
            return True
        if not self._wordless:
            return False
        plain = _plain(text)
        return any(wordless in plain for wordless in self._wordless)

    def says_in(self, text: str, *, close: bool) -> bool:
        """Whether a sentence of a long text says it."""
        return bool(self.spans(text, close=close))

    def spans(self, text: str, *, close: bool, blocks: bool = False) -> list[Span]:
        """The sentences that say it, or the `blocks` of lines in which they stand."""
        if not self._may_be_in(text):
            return []
        return [
            span
            for unit in (_parts(text, _BLOCK) if blocks else [(0, len(text))])
            for span in self._gone(text, unit, close=close, whole=blocks)
        ]

    def cut(self, text: str, *, close: bool, blocks: bool = False) -> Cut:
        """The text with `[forgotten]` in place of the sentences, or blocks, that say it."""
        return without(text, self.spans(text, close=close, blocks=blocks))

    def message(self, message: Message, *, close: bool) -> tuple[Message, tuple[str, ...]]:
        """The message without it, still a valid message; the very same object where nothing goes."""
        match message:
            case UserMessage():
                content, said = self.cut(message.content, close=close)
                attachments, named = self._files(message.attachments, close=close)
                gone = (*said, *named)
                changed: Message = msgspec.structs.replace(message, content=content, attachments=attachments)
            case AssistantMessage():
                content, said = self.cut(message.content, close=close)
                reasoning, thought = self.cut(message.reasoning, close=close)
                calls = [(call, *self.arguments(call.arguments, close=close)) for call in message.tool_calls]
                beside = _texts_of(msgspec.json.encode(message.extra).decode()) if message.extra else ""
                kept = tuple(beside.splitlines()) if beside and self.spans(beside, close=close) else ()
                gone = (*said, *thought, *(part for _, _, parts in calls for part in parts), *kept)
                changed = msgspec.structs.replace(
                    message,
                    content=content,
                    reasoning=reasoning,
                    tool_calls=tuple(
                        msgspec.structs.replace(call, arguments=text) for call, text, _ in calls
                    ),
                ).without_extra()
            case ToolMessage():
                content, said = self.cut(message.content, close=close, blocks=True)
                attachments, named = self._files(message.attachments, close=close)
                gone = (*said, *named)
                changed = msgspec.structs.replace(message, content=content, attachments=attachments)
        return (changed, gone) if gone else (message, ())

    def _files(
        self, files: tuple[Attachment, ...], *, close: bool
    ) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
        named = tuple(file.name for file in files if self.spans(file.name, close=close))
        kept = tuple(
            msgspec.structs.replace(file, name=FORGOTTEN) if file.name in named else file for file in files
        )
        return kept, named

    def arguments(self, arguments: str, *, close: bool) -> Cut:
        """A call's arguments, still JSON: where one says it, every text among them goes."""
        said = _texts_of(arguments)
        if not self.spans(said, close=close):
            return arguments, ()
        try:
            parsed: Any = msgspec.json.decode(arguments)
        except msgspec.DecodeError:
            return "{}", (arguments,)
        return msgspec.json.encode(_mapped(parsed, lambda _: FORGOTTEN)).decode(), tuple(said.splitlines())

    def _may_be_in(self, text: str) -> bool:
        """False where a text has none of the words: nearly all have not, and this costs little."""
        if self.everything or not text.isascii() or self._wordless:
            return True
        return any(map(self._is_known_word, set(_ASCII_WORD.findall(text.lower()))))

    def _is_known_word(self, word: str) -> bool:
        known = self._known_words.get(word)
        if known is None:
            known = any(term in self._of_word or term in self.marks for term in self.analyzer.words(word))
            self._known_words[word] = known
        return known

    def _gone(self, text: str, unit: Span, *, close: bool, whole: bool) -> Iterator[Span]:
        """The sentences of a unit that say it; the `whole` unit as soon as one does."""
        start, end = unit
        for first, last in _parts(text[start:end], _END):
            if self.says(text[start + first : start + last], close=close):
                if whole:
                    yield unit
                    return
                yield start + first, start + last


def redaction_of(texts: Iterable[str], analyzer: Analyzer | None = None) -> Redaction:
    """The redaction of facts with these contents."""
    analyzer = analyzer or Analyzer()
    common = analyzer.words(" ".join(COMMON_WORDS))
    sentences = [text[start:end] for text in texts for start, end in _parts(text, _END)]
    sayings = [_saying(sentence, analyzer, common) for sentence in sentences]
    marks = frozenset(mark for saying in sayings for mark in saying.marks)
    return Redaction(tuple(dict.fromkeys(sayings)), marks, analyzer)


def redaction_of_everything() -> Redaction:
    """The redaction that leaves nothing of any text."""
    return Redaction((), frozenset(), Analyzer(), everything=True)


def _saying(text: str, analyzer: Analyzer, common: set[str]) -> _Saying:
    words = frozenset(analyzer.words(text)) - {_WHO}
    marks = frozenset(
        word
        for word in words - common
        if (len(word) >= _LONG_NUMBER if word.isdecimal() else len(word) > 1 and not _PAIR.match(word))
    )
    return _Saying(words, marks, "" if words else _plain(text))


def _rarity(word: str) -> tuple[bool, int, str]:
    """Orders words by how seldom others may say them: numbers first, then the longest."""
    return not word.isdecimal(), -len(word), word


def _unnamed(saying: _Saying, named: frozenset[str]) -> _Saying:
    return replace(saying, words=saying.words - named, marks=saying.marks - named)


def _spare(words: Sequence[str], most: float) -> int:
    """How many of the words nobody can leave out together who shares the most of them."""
    return len(words) - max(1, ceil(most * len(words) - _TINY)) + 1


def _is_said(saying: _Saying, shared: int, words: set[str], *, close: bool) -> bool:
    """Whether a sentence of these words says it, `shared` of which it has in common."""
    if shared < (_MOST_CLOSE if close else _MOST) * len(saying.words):
        return False
    # One word says a fact only where nothing else is said.
    return (shared > 1 or len(words) == 1) and (close or saying.marks <= words)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?… ")


def _parts(text: str, boundary: re.Pattern[str]) -> list[Span]:
    """Starts and ends of the parts between boundaries, without the white space around them."""
    parts: list[Span] = []
    start = 0
    for end in (*(match.end() for match in boundary.finditer(text)), len(text)):
        part = text[start:end]
        if said := part.strip():
            first = start + part.index(said[0])
            parts.append((first, first + len(said)))
        start = end
    return parts


def _texts_of(arguments: str) -> str:
    """The texts among a call's arguments, a line each; the whole where they are no JSON."""
    try:
        parsed: Any = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    texts: list[str] = []
    _mapped(parsed, lambda text: texts.append(text) or text)
    return "\n".join(texts)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - whatever JSON holds
    match value:
        case str():
            return change(value)
        case list():
            return [_mapped(item, change) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        case dict():
            return {name: _mapped(item, change) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
        case _:
            return value
