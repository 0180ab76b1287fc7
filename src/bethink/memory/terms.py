"""What a sentence says, as far as its words show it: read by `compare` and `slots`.

A statement is put into terms that differ only where the meaning may: the owner
is left out ("I", "User", nobody named), verbs and nouns are stems, a few words
are taken for others of the same meaning, numbers and dates have one form. What
is denied, over or past is told apart. English; of other languages only equal
words are equal. `dated` tells what a fact's relative dates meant when it was said.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, cast
from zoneinfo import ZoneInfo

from Stemmer import Stemmer  # pyright: ignore[reportUnknownVariableType]

from bethink.clock import shown_in, to_datetime, to_us
from bethink.errors import BadInput
from bethink.search.analysis import word_set
from bethink.when import ranges

if TYPE_CHECKING:
    from bethink.memory.facts import NewFact
    from bethink.when.ranges import Mention


MAX_CHARS = 2_000
"""Longer statements are stories: nothing is concluded from their words."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word that counts. `before` is what stands between it and the term before it, in lower case.

    There `'s` says that the term before it owns it, and what begins with `~` that nothing but the marks
    behind it stands between the two.
    """

    key: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says. `text` is in plain letters, its owner named as `user`; `keys` are the terms'.

    `denials` are the places of the terms that a word denies, `denied` where
    their number is odd, `over` where it says that something has ended, `past`
    where its verb tells of the past.
    """

    text: str
    terms: tuple[Term, ...]
    keys: tuple[str, ...]
    denials: tuple[int, ...]
    over: bool
    past: bool

    @property
    def denied(self) -> bool:
        """Whether it is not so: what is denied twice is so."""
        return len(self.denials) % 2 == 1


_PLAIN = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})
_SHORT = (
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(?:can't|cannot)\b", re.IGNORECASE), "can not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bI'm\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(I|you|we|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(I|you|he|she|we|they|it)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\b(he|she|it|that)'s\b", re.IGNORECASE), r"\1 is"),
)
_TOLD = re.compile(
    r"^(?:(?:please )?(?:remember|note|keep in mind)(?: that)?[:,]? "
    r"|(?:the )?user (?:has )?(?:said|says|mentioned|stated|noted|shared)(?: that|:) (?:(?:he|she|they)\b)?)",
    re.IGNORECASE,
)
_POSSESSED = re.compile(r"\b(?:the user's|user's|my)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(?:the user|user|i)\b(?!')", re.IGNORECASE)


def plain(text: str) -> str:
    """The sentence in plain quotes and full words, its owner named as `user`, in one form."""
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    if "'" in text or "annot" in text:
        for pattern, full in _SHORT:
            text = pattern.sub(full, text)
    text = _TOLD.sub("", text).strip().rstrip(".! ")
    return _OWNER.sub("user", _POSSESSED.sub("user's", text))


ACCUSTOMED = re.compile(
    r"\b(?:is|am|are|was|were|be|been|get|gets|got|getting|become|became)"
    r"(?: not| now| still| quite| already)? used to\b",
    re.IGNORECASE,
)
"""Of what has not ended: "is used to the noise"."""
_OVER = re.compile(
    r"\b(?:no longer|not?\b(?P<what>[^.;]*?) (?:any ?more|any longer)|used to(?: be)?|no more"
    r"|(?:has |have )?(?:stopped|quit|given up|gave up|ceased)(?= \w+ing\b))(?!\w)",
    re.IGNORECASE,
)
_DISLIKES = re.compile(
    r"\b(?:dislikes?|disliked|hates?|hated|detests?|loathes?|despises?|can not (?:stand|bear))\b",
    re.IGNORECASE,
)
_LIKES = re.compile(
    r"\b(?:(?:is |am |are )?(?:a )?(?:big |huge |great )?fan of|(?:is |am |are )?(?:fond of|keen on)"
    r"|enjoys?|loves?|adores?)\b",
    re.IGNORECASE,
)
_DENYING = re.compile(r"\b(?:not|never|no|neither|nor)\b", re.IGNORECASE)

_TOKEN = re.compile(
    r"(?P<date>\x01[^\x02]*\x02)|(?P<clock>\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|\d{1,2}:\d\d)"
    # With its sign and the point that it begins with: -5, .5.
    r"|(?P<number>(?:(?<![\w.,)])[-+\u2212]?[.,]?)?\d+(?:[.,]\d+)*)"
    # Also the signs of a blood type or a grade, and of feet and inches.
    r"|(?P<word>[^\W\d_]+(?:'s\b)?|\w+|[^\w\s,.;:()\"'!?-]"
    r"|(?:(?<=\b\w)|(?<=\b\w\w))-(?!\w)|(?<=\d)[\"'](?!\w))",
    re.IGNORECASE,
)

_DROPPED = word_set("""
    a an the is am are be been being was were do does did of in at on that currently now presently really
    actually just also still nowadays
""")
_SMALL_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
"""
_AS_THEY_ARE = {word: str(number) for number, word in enumerate(_SMALL_NUMBERS.split())} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "dozen": "12",
    # Every Monday is not one Monday.
    **{f"{day}days": f"{day}days" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")},
}
_GROUPS = """
    have has own possess / live resid dwell / begin start / buy purchas bought / child children kid
    film movi / mother mom mum / father dad / doctor physician / car automobil / bike bicycl
    phone telephon / email e-mail / big larg / km kilomet kilometr / kg kilo kilogram / min minut
    eur euro € / usd dollar $ / gbp pound £ / percent % / favorit favourit / color colour / name call
    jan januari / feb februari / mar march / apr april / aug august / sep sept septemb / oct octob
    nov novemb / dec decemb
"""
_ONE_FOR_ANOTHER = {
    word: group.split()[0]
    for line in _GROUPS.splitlines()
    for group in line.split(" / ")
    for word in group.split()
}
"""Stems that are taken for the same, the first of each group for all."""
_PAST = word_set("""
    was were did had went saw bought got met made took ate grew knew taught wrote left lost won sold began
    became ran drove flew spoke slept told came gave found felt kept paid sent spent built broke chose drank
    fell forgot held heard led rode sang stood swam wore
""")
_BEING = frozenset(("is", "am", "are", "be", "been", "being", "get", "gets"))
_NOT_PAST = frozenset(("named", "called", "based", "located", "interested", "married", "allegedly"))
_SHORT_WORD = 4
"""Red, bed, need: no verb of the past is as short."""
_NOON = 12
_MARK = re.compile(r"[^\s\w]")


def read(text: str) -> Statement:
    """What a sentence says. Deterministic, for any text."""
    said = plain(text[:MAX_CHARS])
    words = ACCUSTOMED.sub("is accustomed to", said)
    words, over = _OVER.subn(lambda match: f" {_DENIED} {match['what'] or ''} ", words)
    words = _LIKES.sub("like", _DISLIKES.sub("not like", words))
    words = _DENYING.sub(f" {_DENIED} ", words)
    terms, denials = _terms(_dated(words))
    return Statement(
        said,
        terms,
        tuple(term.key for term in terms),
        denials,
        over=over > 0,
        past=_is_past(said),
    )


def words(text: str) -> set[str]:
    """The words of a text of any length, in the forms that `read` gives them; dates as they are written."""
    return set(stems([_form(token) for token in set(_TOKEN.findall(text.translate(_PLAIN)))]))


def figures(text: str) -> set[str]:
    """The numbers and times of day among the words."""
    return {_form(token) for token in _TOKEN.findall(text.translate(_PLAIN)) if token[1] or token[2]}


def dates(text: str) -> list[str]:
    """The dates that `read` puts into one form, as they are written."""
    return [
        mention.text for mention in ranges.find(plain(text[:MAX_CHARS]), _ANY_DAY) if not mention.relative
    ]


def is_date(key: str) -> bool:
    """Whether a term's key is a date in its one form."""
    return key.startswith(_DATE)


_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_DATE = "\x01"
"""Begins a date in its one form: in no other text."""
_DENIED = "\x03"
"""In the place of a word that denies."""


def _dated(text: str) -> str:
    """Dates in one form, whichever way they were written; relative ones stay as they are."""
    for mention in reversed(ranges.find(text, _ANY_DAY)):
        if not mention.relative:
            form = f"{_DATE}{mention.low or ''}|{mention.high or ''}\x02"
            text = text[: mention.start] + form + text[mention.end :]
    return text


def _is_past(text: str) -> bool:
    words = re.findall(r"[\w']+", text.lower())
    return any(
        word in _PAST
        or (
            len(word) > _SHORT_WORD and word.endswith("ed") and before not in _BEING and word not in _NOT_PAST
        )
        for before, word in pairwise(("", *words))
    )


def _terms(text: str) -> tuple[tuple[Term, ...], tuple[int, ...]]:
    raw: list[tuple[str, str]] = []
    between: list[str] = []
    denials: list[int] = []
    ended = 0
    for match in _TOKEN.finditer(text):
        if (gap := text[ended : match.start()]) and not gap.isspace():
            between += _MARK.findall(gap)
            if _TIGHT.match(text, ended - 1):
                between.append(f"~{gap}")
        ended = match.end()
        word = _form(match.groups(""))
        if word == _DENIED:
            denials.append(len(raw))
        elif (
            # Of a hepatitis, "A" says something.
            (word in _DROPPED and not (match.group() == "A" and match.start() > 0))
            or word == "user's"
            or (word == "user" and not raw)
        ):
            between.append(word)
        else:
            raw.append((word, " ".join(between)))
            between = ["'s"] if match.group().casefold().endswith("'s") else []
    terms = zip(raw, stems([word for word, _ in raw]), strict=True)
    return tuple(Term(key, before) for (_, before), key in terms), tuple(denials)


_TIGHT = re.compile(r"\d[^\s\w]+\d|\w\.\w")
"""12-34 is not 12 34, and example.org is not two words."""


class _Stemmer(Protocol):
    def stemWords(self, words: list[str], /) -> list[str]: ...  # noqa: N802 - PyStemmer's name


def stems(words: list[str]) -> list[str]:
    """Of words in lower case, what is taken for the same."""
    # One of its own each time: a stemmer must stay in one thread, and its cache costs more than the words.
    # PyStemmer ships no types; `_Stemmer` says what is used of it.
    stemmer = cast("_Stemmer", Stemmer("english", 0))
    return [
        _AS_THEY_ARE.get(word) or _ONE_FOR_ANOTHER.get(stemmed, stemmed)
        for word, stemmed in zip(words, stemmer.stemWords(words), strict=True)
    ]


def _form(token: Sequence[str]) -> str:
    """What the groups of a token are compared as, all but one of which are empty."""
    date, clock, number, word = token
    if clock:
        return _clock(clock.casefold())
    if number:
        return _number(number)
    word = word.casefold()
    return date or (word if word == "user's" else word.removesuffix("'s"))


def _number(text: str) -> str:
    """A number as it is compared: .5 is 0.5, +5 is 5, and 1,000 is 1000."""
    sign = "-" if text[0] in "-\u2212" else ""
    number = text.lstrip("-+\u2212")
    number = number.replace(",", "") if _THOUSANDS.fullmatch(number) else number
    return f"{sign}0{number}" if number[0] in ".," else f"{sign}{number}"


_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def _clock(text: str) -> str:
    """A time of day on 24 hours: 9am is 9:00."""
    hour, _, minutes = text.rstrip("apm. ").partition(":")
    number = int(hour)
    if "p" in text and number < _NOON:
        number += _NOON
    elif "a" in text and number == _NOON:
        number = 0
    return f"{number}:{minutes or '00'}"


_AHEAD = re.compile(
    r"\b(?:will|shall|going to|about to|plans?|planning|wants?|hopes?|intends?|due|until|till|by)\b"
    r"|\b(?:is|am|are) (?:\w+ing|getting)\b",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:appointment|flight|exam|interview|party|trip|deadline|wedding|concert|arrives?|leaves?)\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:was|were|did|had|ago|last|yesterday|\w{3,}ed|went|met|saw|bought|got|came|left|won|lost)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(r"\b(?:every|each|always|usually|often|sometimes|never)\b", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"\b(?:last|next|this|coming|past|previous|in|earlier|ago|from now|yesterday|to(?:day|night|morrow))\b",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(r"\s*\(\d{4}\b")
_MOVED = re.compile(
    r"\b(?:moved|relocated|started|joined|switched|changed|became|begun|began)\b", re.IGNORECASE
)
_FROM = re.compile(r"\b(?:from|between)\s+$", re.IGNORECASE)
_MADE_FROM = re.compile(
    r"\b(?:an?|the|my|his|her|their|our|\w+['’]s)\s+(?:[\w-]+\s+){1,4}from\s+$", re.IGNORECASE
)
"""What stands before the year that a thing is from: "a bicycle from 1984" was not had since."""
_LASTING = re.compile(
    r"\b(?:been|works?|worked|working|lives?|lived|living|stud(?:y|ies|ied))\b", re.IGNORECASE
)
_YEAR = re.compile(r"\d{4}")
_ONE_DAY = timedelta(days=1)


def dated(fact: NewFact, time_zone: str, now: int) -> NewFact:
    """The fact with the dates that its relative words meant beside them, and its time from what it says.

    What nobody can place ("on Monday" in "plays on Mondays") stays as it is.

    Raises:
        BadInput: a time that no calendar has, or that ends before it begins.
    """
    text = fact.content
    said = shown_in(ZoneInfo(time_zone), _checked("at", fact.at or fact.source.at or now))
    tells_past = _HAPPENED.search(text) is not None and _AHEAD.search(text) is None
    mentions = ranges.find(text, said, past_first=tells_past)
    for mention in reversed(mentions):
        if mention.relative and _is_placed(text, mention) and not _EXPLAINED.match(text, mention.end):
            text = f"{text[: mention.end]} ({_shown(mention)}){text[mention.end :]}"
    begun, ended = _bounds(fact.content, mentions)
    valid_from = begun if fact.valid_from is None else fact.valid_from
    valid_until = ended if fact.valid_until is None else fact.valid_until
    check_span(valid_from, valid_until)
    return replace(fact, content=text, valid_from=valid_from, valid_until=valid_until)


def check_span(valid_from: int | None, valid_until: int | None) -> None:
    """Refuse a time that cannot be.

    Raises:
        BadInput: a time that no calendar has, or that ends before it begins.
    """
    for name, at in (("valid_from", valid_from), ("valid_until", valid_until)):
        if at is not None:
            _checked(name, at)
    if valid_from is not None and valid_until is not None and valid_from >= valid_until:
        raise BadInput("The memory would end before it begins: check valid_from and valid_until.")


def _checked(name: str, at: int) -> datetime:
    try:
        return to_datetime(at)
    except OverflowError as error:
        raise BadInput(
            f"{name} is {at} microseconds: no time that a calendar has. Give one of the years 1 to 9999."
        ) from error


def _is_placed(text: str, mention: Mention) -> bool:
    """Whether one day or stretch is meant, and not every one of its name."""
    if _QUALIFIED.search(mention.text):
        return True
    once = _EVENT.search(text) or _AHEAD.search(text) or _HAPPENED.search(text)
    return once is not None and _HABIT.search(text) is None


def _shown(mention: Mention) -> str:
    """The first and the last day, or the one that is known."""
    low, high = mention.low, mention.high
    if low is None or high is None:
        day = low or (high if mention.relation == "before" or high is None else high - _ONE_DAY)
        return "" if day is None else f"{day:%Y-%m-%d}"
    last = high - _ONE_DAY
    if low.date() == last.date():
        return f"{low:%Y-%m-%d}"
    if low.day == high.day == 1 and (high.year - low.year) * 12 + high.month - low.month == 1:
        return f"{low:%Y-%m}"
    return f"{low:%Y-%m-%d} to {last:%Y-%m-%d}"


def _bounds(text: str, mentions: list[Mention]) -> tuple[int | None, int | None]:
    """Since when and until when, where the words say each once."""
    begun: set[datetime] = set()
    ended: set[datetime] = set()
    for mention in mentions:
        spans = _FROM.search(text[: mention.start]) is not None
        if _is_origin(text, mention):
            continue
        starts = mention.relation == "since" or spans or (mention.relation == "in" and _MOVED.search(text))
        if starts and mention.low is not None:
            begun.add(mention.low)
        if (mention.relation == "until" or spans) and mention.high is not None:
            ended.add(mention.high)
    return _only(begun), _only(ended)


def _is_origin(text: str, mention: Mention) -> bool:
    """Whether a thing is said to be from a year, rather than something to be so since then."""
    return (
        _YEAR.fullmatch(mention.text) is not None
        and _MADE_FROM.search(text[: mention.start]) is not None
        and _LASTING.search(text) is None
    )


def _only(moments: set[datetime]) -> int | None:
    try:
        return to_us(moments.pop().astimezone(UTC)) if len(moments) == 1 else None
    except OverflowError:
        # The first day of year 1, east of UTC: in storage's time there is none before it.
        return None
