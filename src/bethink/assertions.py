"""Which parts of a message its writer states of their own accord, and whether a fact says what they say.

`agent/extraction` asks before it believes a model: a message also holds what others wrote (pasted, quoted,
to be translated), what is not so (stories, dreams, jokes, "if I moved") and what is only asked. All of it is
told by marks and by words of ten languages (`assertions.toml`), for precision: what is left out wrongly can
be said again, what is kept wrongly is believed. No model takes part. The first look at a sentence compiles
the words for 30 ms: ask in a thread. What others wrote (`parted`) is told of what is recalled, too.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Reason = Literal[
    "pasted",
    "quoted",
    "to be worked on",
    "invented",
    "dreamt",
    "hypothetical",
    "reported",
    "joking",
    "asked",
    "requested",
    "uncertain",
]
"""Why a passage is not its writer's assertion; what is `uncertain` may be, and is theirs to decide."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a message, from `start` to `end`; without a `reason` its writer asserts it."""

    start: int
    end: int
    text: str
    reason: Reason | None = None


_TABLE: Final[Mapping[str, Mapping[str, Sequence[str]]]] = tomllib.loads(
    resources.files("bethink").joinpath("assertions.toml").read_text("utf-8")
)


@cache
def _marks(kind: str) -> re.Pattern[str]:
    """What tells a kind of passage, compiled on first use."""
    told = _TABLE[kind]
    whole = [rf"(?<!\w)(?:{'|'.join(told['words'])})(?!\w)"] if "words" in told else []
    return re.compile("|".join((*whole, *told.get("parts", ()))), re.IGNORECASE | re.MULTILINE)


_END: Final = re.compile(r"[.!?…]+[\"'”»)\]]*(?=\s|$)|[。！？｡]+[」』”）]*|।|\n+")
_SHORT_WORD: Final = re.compile(
    r"(?:^|[\s(])(?:[A-ZÄÖÜ]|z|d|ca|bzw|e|p|Dr|Mr|Mrs|Ms|St|Prof|Hr|Fr|Nr|No|Str|Sr|Sra|Sig|Mme|Dott|Av|vs)\.$"
)
"""The point behind "Dr." or an initial ends nothing."""

# --- what others wrote ---

_LINE: Final = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]+`")
_QUOTATION: Final = re.compile(
    r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|\"[^\"]*\"|(?<!\w)'[^'\n]{12,}'(?!\w)"
)
_NAME_WORDS: Final = 3
_NAME_CHARS: Final = 6
"""A quotation as short as this may be a name: the boat "Halcyone"."""
_GIVEN: Final = re.compile(r"[:：]\s|\n")
"""Where what is to be worked on begins."""
_PARTED_CHARS: Final = 4_000
"""Of a message, looked at to tell what of it is pasted: that takes a millisecond."""
_LONG_PASTE: Final = 1_500
"""Characters; people tell of themselves in less, and what they paste is longer."""


# --- what is not so ---

_QUESTION: Final = re.compile(r"[?？؟]|か。?\s*$|吗。?\s*$|呢。?\s*$|^\s*क्या\b.*$")

_OF_SENTENCE: Final[Mapping[str, Reason]] = {
    "unreal": "hypothetical",
    "report": "reported",
    "request": "requested",
    "hedge": "uncertain",
}
_ONWARD: Final[Mapping[str, Reason]] = {"suppose": "hypothetical", "dream": "dreamt", "yours": "quoted"}
"""What holds from where it is said to the end: a dream is told in several sentences."""
_OF_ALL: Final[Mapping[str, Reason]] = {"work": "to be worked on", "fiction": "invented", "joke": "joking"}


def passages(text: str) -> list[Passage]:
    """The sentences of a message in order, each with the reason why its writer does not assert it."""
    sentences = [*_sentences(text)]
    of_all = _told(text, _OF_ALL)
    if of_all is None and len(text) > _LONG_PASTE:
        of_all = "pasted"
    others = _of_others(text)
    found: list[Passage] = []
    onward: Reason | None = None
    for one in sentences:
        onward = onward or _told(one.text, _ONWARD)
        reason = of_all or _within(one, others) or onward or _of_sentence(one.text)
        found.append(Passage(one.start, one.end, one.text, reason))
    return found


def _told(text: str, kinds: Mapping[str, Reason]) -> Reason | None:
    return next((reason for kind, reason in kinds.items() if _marks(kind).search(text)), None)


def _of_sentence(text: str) -> Reason | None:
    return "asked" if _QUESTION.search(text) else _told(text, _OF_SENTENCE)


def _sentences(text: str) -> Iterator[Passage]:
    begun = 0
    for end in _END.finditer(text):
        piece = text[begun : end.end()]
        if end.group().startswith(".") and _SHORT_WORD.search(piece.rstrip()):
            continue
        if piece.strip():
            yield Passage(begun, end.end(), piece.strip())
        begun = end.end()
    if text[begun:].strip():
        yield Passage(begun, len(text), text[begun:].strip())


_Span = tuple[int, int, Reason]


def parted(text: str) -> tuple[str, str]:
    """What of a message its writer wrote, and what they pasted or gave to be worked on, each in order.

    What stands between quotation marks stays in its place: it shows by itself whose words it has.
    """
    head = text[:_PARTED_CHARS]
    spans = [(start, end) for start, end, _ in _pasted(head)]
    if _marks("work").search(head) and (given := _GIVEN.search(head)):
        spans.append((given.end(), len(head)))
    own: list[str] = []
    others: list[str] = []
    done = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < done:
            continue
        own += [text[done:start].strip(), "[…]"]
        done = end if end < len(head) else len(text)
        others.append(text[start:done].strip())
    own.append(text[done:].strip())
    return (" ".join(filter(None, own)), "\n".join(others)) if any(others) else (text, "")


def _of_others(text: str) -> list[_Span]:
    """The spans that somebody else wrote."""
    quotations = (one for one in _QUOTATION.finditer(text) if not _is_name(one.group()[1:-1]))
    return [*_pasted(text), *_spans(_CODE.finditer(text), "pasted"), *_spans(quotations, "quoted")]


def _pasted(text: str) -> list[_Span]:
    begins = [one.start() for kind in ("header", "greeting") for one in _marks(kind).finditer(text)]
    begins += [one.end() for one in [_marks("shown").search(text)] if one]
    is_closed = "\n" in text.strip() and _marks("closing").search(text)
    if not begins and is_closed:
        begins = [0]
    return [
        *([(min(begins), len(text), "pasted")] if begins else []),
        *_spans(_LINE.finditer(text), "quoted"),
        *_spans(_BLOCK.finditer(text), "pasted"),
    ]


def _spans(found: Iterable[re.Match[str]], reason: Reason) -> Iterator[_Span]:
    return ((one.start(), one.end(), reason) for one in found)


def _is_name(quoted: str) -> bool:
    is_unspaced = _UNSPACED.search(quoted) is not None
    return len(quoted) <= _NAME_CHARS if is_unspaced else len(quoted.split()) <= _NAME_WORDS


def _within(one: Passage, others: Sequence[_Span]) -> Reason | None:
    return next((reason for start, end, reason in others if start < one.end and one.start < end), None)


# --- where a fact's words stand ---

_APOSTROPHE: Final = re.compile("['’‘ʼ]")
_MARKS: Final = re.compile(r"[\"“”„«»「」『』]")


def quoted_in(quote: str, text: str) -> tuple[int, int] | None:
    """Where a text has these words one after the other, whatever its case, spaces and marks, if it has."""
    words = _MARKS.sub(" ", quote).strip(" \t\n.!?。！？।,;…").split()
    if not words:
        return None
    loose = (_APOSTROPHE.sub(_APOSTROPHE.pattern, re.escape(word)) for word in words)
    found = re.search(r"[\s\"“”„«»「」『』]+".join(loose), text, re.IGNORECASE)
    return found and (found.start(), found.end())


_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff](?:[^\W\u3040-\u30ff\u3400-\u9fff]|[\u0900-\u0963\u0966-\u097f])*"
)
_SHORTEST: Final = 3
_OF_PERSONS: Final = {"s", "t"}
"""How the first and the third person of short French verbs end: "vis" and "vit"."""
_SAME_SHARE: Final = 0.55
"""How much of the longer of two words is common at their beginning if they are forms of one."""


def _tokens(text: str) -> set[str]:
    """The words that tell something; of a writing without spaces each pair of neighbours."""
    found: set[str] = set()
    for token in _TOKEN.findall(_marks("owner").sub(" ", unicodedata.normalize("NFC", text))):
        if _UNSPACED.match(token):
            found |= {token[at : at + 2] for at in range(max(len(token) - 1, 1))}
        elif not _marks("light").fullmatch(token) and (
            len(token) >= _SHORTEST or token[0].isdigit() or token[0].isupper()
        ):
            found.add(token.casefold())
    return found


def _is_form(token: str, others: set[str]) -> bool:
    """Whether a word or another form of it is among others."""
    if token in others:
        return True
    if _UNSPACED.match(token):
        return len(token) == 1 and any(token in other for other in others)
    if token[0].isdigit():
        return False
    for other in others:
        if token[:-1] == other[:-1] and {token[-1], other[-1]} == _OF_PERSONS:
            return True
        common = 0
        for a, b in zip(token, other, strict=False):
            if a != b:
                break
            common += 1
        if common >= max(_SHORTEST, _SAME_SHARE * max(len(token), len(other))):
            return True
    return False


def share_said(content: str, said: str) -> float:
    """The share of a statement's telling words that a text has, in any form; 0 if it has none that tell."""
    tokens, there = _tokens(content), _tokens(said)
    return sum(_is_form(token, there) for token in tokens) / len(tokens) if tokens else 0.0


def names_said(content: str, said: str) -> bool:
    """Whether a text has all names and numbers of a statement."""
    there, rest = _tokens(said), _marks("owner").sub(" ", content)
    tokens = _TOKEN.findall(rest)
    begins_with_owner = _marks("owner").match(content.strip()) is not None
    # The first word has a capital letter whatever it is.
    marked = [
        token
        for place, token in enumerate(tokens)
        if token[0].isdigit() or (token[0].isupper() and (place or begins_with_owner))
    ]
    return all(_is_form(token.casefold(), there) for token in marked if not _marks("light").fullmatch(token))


_OTHER_CLAUSE: Final = re.compile(
    r"[,;，；、]|\bbut\b|\bsondern\b|\bmais\b|\bpero\b|\bma\b|\bmas\b|\bale\b|而是|じゃなくて|ではなく|बल्कि",
    re.IGNORECASE,
)


def denies_alike(content: str, quote: str) -> bool | None:
    """Whether a statement denies if the words that it is made of do; None if another clause may do so."""
    stated = _marks("negation").search(_marks("owner").sub(" ", content)) is not None
    if stated == (_marks("negation").search(quote) is not None):
        return True
    return None if not stated and _OTHER_CLAUSE.search(quote) else False


_FIRST_PERSON: Final = re.compile(r"(?:o|[íéìò]|[ae]?i)$")
_THIRD_PERSON: Final = re.compile(r"(?:[aeà]|[óòì]|[eio]u)$")
"""How verbs of Romance languages end, which leave out who does it: "colleziono" and "colleziona"."""


def _in_first_person(content: str, sentence: str) -> bool:
    """Whether the words have a verb in the first person that a statement has in the third."""
    own = {word for word in _tokens(sentence) if _FIRST_PERSON.search(word)}
    return any(
        _THIRD_PERSON.search(word) and word not in own and _is_form(word, own) for word in _tokens(content)
    )


def speaks_of_self(content: str, sentence: str) -> bool:
    """Whether a sentence names its writer, or what is theirs, or leaves them out as their language does.

    `content` is what was made of it, in the third person.
    """
    if _marks("mine").search(sentence) or _in_first_person(content, sentence):
        return True
    # Japanese leaves out who speaks of themselves.
    return bool(
        _UNSPACED.search(sentence)
        and _marks("unnamed").search(sentence)
        and not _marks("relative").search(sentence)
    )


def mixes_people_up(content: str, quote: str) -> bool:
    """Whether the words speak of a relative, a friend or an animal whom the statement leaves out."""
    named = {one.group().casefold() for one in _marks("relative").finditer(quote)}
    if not named:
        return False
    there = _tokens(content)
    return not any(
        _marks("relative").search(content) and (_is_form(one, there) or one in content.casefold())
        for one in named
    )


def tells_change(text: str) -> bool:
    """Whether a text says that something is otherwise than it was, or than it was said."""
    return _marks("change").search(text) is not None or tells_mistake(text)


def tells_mistake(text: str) -> bool:
    """Whether a text says that what was said before was never so."""
    return _marks("mistake").search(text) is not None


def names_writer(sentence: str) -> bool:
    """Whether a sentence names its writer, or leaves them out as Japanese does."""
    return bool(
        _marks("mine").search(sentence)
        or (_UNSPACED.search(sentence) and (_marks("unnamed").search(sentence)))
    )


def fits_owner(content: str) -> bool:
    """Whether a statement names the owner in the third person, and nobody in the first."""
    named = _marks("owner").sub(" ", content)
    return named != content and _marks("first").search(named) is None


def tells_end(text: str) -> bool:
    """Whether a text asks to forget something, or says that it is over."""
    return _marks("ending").search(text) is not None


_MOST_ASSERTED: Final = 3


def asserted(text: str) -> list[str]:
    """The first sentences that a message's writer may assert; all of it if there are none."""
    told = [one.text for one in passages(text) if one.reason in {None, "uncertain"} and may_tell(one.text)]
    return told[:_MOST_ASSERTED] or [text]


_LEAST_WORDS, _LEAST_CHARS = 2, 4
_TELLING_WORDS: Final = 4
"""Shorter sentences tell something if they name their writer, somebody else, or a number."""


def may_tell(text: str) -> bool:
    """Whether a message may state something worth a look: small talk and plain questions do not."""
    return any(
        one.reason in {None, "uncertain"}
        and _is_long_enough(one.text)
        and any(char.isalpha() for char in one.text)
        for one in passages(text)
    ) or any(one.reason == "requested" and tells_end(one.text) for one in passages(text))


def _is_long_enough(sentence: str) -> bool:
    if _UNSPACED.search(sentence):
        return len(sentence) >= _LEAST_CHARS
    words = [word for word in sentence.split() if any(map(str.isalnum, word))]
    if not _LEAST_WORDS <= len(words) < _TELLING_WORDS:
        return len(words) >= _TELLING_WORDS
    return bool(_marks("mine").search(sentence)) or any(not word.islower() for word in words[1:])
