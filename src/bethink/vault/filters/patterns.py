"""What a filter's pattern finds in a text, and what may be said in its place. Pure.

Texts are searched as they are written and as they are read: emphasis, escapes, tags of HTML, characters
that are not seen, accents, wide forms and letters of other scripts that look alike do not keep a reader,
or a model, from an address or a number; so they must not keep a filter from it. What is found is rather
too much than too little. `masking` masks what tools return, the other way about: there a price
must never be taken for a card. All of it takes time that grows with the text alone.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from bethink.masking import has_check_digit
from bethink.vault.regex import Regex, Span

_SIGNS: Final = re.compile(
    r"<[^<>\n]{1,200}>|&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});|%40|[*`~\\]+"
    r"|(?<=\w)[ \t]{1,20}@[ \t]{0,20}|[^\x00-\x7f\u3040-\u9fff\uac00-\ud7a3]"
)
"""What may be read as something else, or not at all; Chinese, Japanese and Korean letters are not."""
_SPLIT: Final = re.compile(r"(?<=\d)[ \t]{0,20}[\n\r|_/,][ \t\n\r|_/,>]{0,20}(?=\d)")
"""What parts a number: a cell of a table, a line's end."""
_ALIKE: Final = str.maketrans("аеорсухіјѕһԁԛԝкмтвнαορυνικ", "aeopcyxijshdqwkmtbhaopuvik")
_DASHES: Final = frozenset("\u00b7\u2212\u2022\u2043\u30fb\u02d7")
_ASCII: Final = 128


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A text as it is read.

    `starts` are where parts of it begin, `places` and `ends` where these stand in the text itself.
    A part is as long in both, or was read as something else as a whole.
    """

    text: str
    starts: list[int]
    places: list[int]
    ends: list[int]

    def spans(self, spans: Iterable[Span]) -> list[Span]:
        """Where these parts stand in the text itself."""
        return [
            (self._place(start, is_end=False), self._place(end - 1, is_end=True))
            for start, end in spans
            if start < end
        ]

    def _place(self, at: int, *, is_end: bool) -> int:
        part = bisect_right(self.starts, at) - 1
        start, place, end = self.starts[part], self.places[part], self.ends[part]
        following = self.starts[part + 1] if part + 1 < len(self.starts) else len(self.text)
        if following - start == end - place:
            return place + at - start + is_end
        return end if is_end else place


def folded(text: str) -> NormalizedText | None:
    """The text as it is read; None where that is just what is written."""
    return _replaced(text, _SIGNS)


def plainly(text: str) -> str:
    """A short text as it is read."""
    read = folded(text)
    return text if read is None else read.text


def in_one(text: str) -> NormalizedText | None:
    """The text with numbers in one piece that are parted by cells of a table or ends of lines; else None."""
    return _replaced(text, _SPLIT)


def _replaced(text: str, signs: re.Pattern[str]) -> NormalizedText | None:
    read: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    ends: list[int] = []
    size = done = 0
    for match in signs.finditer(text):
        new = " " if signs is _SPLIT else _read(match.group())
        if new == match.group():
            continue
        for piece, place, end in ((text[done : match.start()], done, match.start()), (new, *match.span())):
            if piece:
                starts.append(size)
                places.append(place)
                ends.append(end)
                read.append(piece)
                size += len(piece)
        done = match.end()
    if not done:
        return None
    if done < len(text):
        starts.append(size)
        places.append(done)
        ends.append(len(text))
        read.append(text[done:])
    return NormalizedText("".join(read), starts, places, ends)


@lru_cache(maxsize=4_096)
def _read(sign: str) -> str:
    """What a sign is read as; nothing for what is not seen."""
    if sign == "%40" or sign.strip() == "@":
        return "@"
    if sign[0] == "&":
        shown = html.unescape(sign)
        return sign if shown == sign else "".join(map(_read, shown))
    if sign[0] in "<*`~\\":
        return ""
    if ord(sign[0]) < _ASCII:
        return sign
    kind = unicodedata.category(sign)
    if kind in {"Cf", "Mn", "Me"}:
        return ""
    if kind == "Pd" or sign in _DASHES:
        return "-"
    if kind == "Zs":
        return " "
    if kind == "Nd":
        return str(unicodedata.digit(sign))
    plain = unicodedata.normalize("NFKD", sign)
    return "".join(char for char in plain if unicodedata.category(char) != "Mn").translate(_ALIKE)


_LOCAL_CHARS: Final = 64
_DOMAIN_CHARS: Final = 255
"""RFC 5321, 4.5.3.1."""
_LOCAL: Final = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+\Z")
_DOMAIN: Final = re.compile(r"(?:[\w-]+\.)+[\w-]*[^\W\d_]")
_DIGITS: Final = re.compile(r"\d(?:[ \u00a0.-]?\d)*")
_GROUP: Final = re.compile(r"\d+")
_CARD_DIGITS: Final = range(13, 20)
_PHONE: Final = re.compile(r"(?:\+|\(\+?)?\d(?:[ \u00a0()/.-]{0,3}\d)*")
_PHONE_DIGITS: Final = range(7, 16)
"""ITU-T E.164 has at most 15; seven without a code."""
_SHORT_PHONE: Final = 4
"""So short is a number where the words before it say what it is."""
_PHONE_WORD: Final = re.compile(
    r"\b(?:phone|telephone|tel|mobile|cell|fax|call|whatsapp|sms|telefon|handy|rufnummer)", re.IGNORECASE
)
_NEAR: Final = 40
_MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember|"
    "janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|"
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
_YEAR_DIGITS: Final = 4
_YEAR: Final = r"(?:1[89]|20)\d\d"
_DATE: Final = re.compile(
    rf"(?<!\w)(?:(?P<a>{_YEAR})[-/.]\d\d?(?:[-/.]\d\d?)?"
    rf"|\d\d?[-/.]\d\d?[-/.](?P<b>{_YEAR}|\d\d)"
    rf"|(?:\d\d?(?:st|nd|rd|th|\.)? ?(?:of )?)?(?:{_MONTHS})\.?,? (?:\d\d?(?:st|nd|rd|th)?,? )?(?P<c>{_YEAR})"
    rf"|(?:(?:{_MONTHS})\.? \d\d?|\d\d?(?:st|nd|rd|th|\.)? ?(?:of )?(?:{_MONTHS}))"
    rf"|(?P<d>{_YEAR}))(?!\w)",
    re.IGNORECASE,
)
_BIRTH: Final = re.compile(
    r"born|birth|(?<![^\W_])(?:d\.?o\.?b|bday|geb)(?![^\W_])|geburt|geboren|naissance|né[e]? le|nacid|nacim",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d+(?:[.,'’:/-]\d+|[ \u00a0\u202f]\d{3}(?!\d))*")
_MARKER: Final = re.compile(r"[ \t>]*\d{1,9}[.)](?=[ \t])")
"""Of a numbered list."""
_ANCHOR: Final = re.compile(r"(?<!\S)\^[\w-]+\s*\Z")
"""What a line is known by."""

HIDDEN: Final = "[hidden]"
"""Stands where something is masked."""


def emails(text: str) -> list[Span]:
    """Addresses of e-mail: what stands around an `@`, as far as it can be one."""
    found: list[Span] = []
    at = text.find("@")
    while at >= 0:
        before = _LOCAL.search(text, max(0, at - _LOCAL_CHARS), at)
        behind = _DOMAIN.match(text, at + 1, at + 1 + _DOMAIN_CHARS)
        if before and behind:
            found.append((before.start(), behind.end()))
        at = text.find("@", at + 1)
    return found


def cards(text: str) -> list[Span]:
    """Numbers of payment cards: 13 to 19 digits of which the last is the check digit.

    Where groups of digits follow one another, each row of whole groups is tried.
    """
    found: list[Span] = []
    for match in _DIGITS.finditer(text):
        if match.end() - match.start() < _CARD_DIGITS[0]:
            continue
        groups = [(group.start() + match.start(), group.group()) for group in _GROUP.finditer(match.group())]
        found += [
            span
            for place in range(len(groups))
            for span in _cards_from(groups[place : place + _CARD_DIGITS[-1]])
        ]
    return joined(found)


def _cards_from(groups: Sequence[tuple[int, str]]) -> Iterator[Span]:
    digits = ""
    for start, group in groups:
        digits += group
        if len(digits) > _CARD_DIGITS[-1]:
            return
        if len(digits) in _CARD_DIGITS and has_check_digit(digits):
            yield groups[0][0], start + len(group)


def phones(text: str) -> list[Span]:
    """Telephone numbers, as far as they do not look like dates, amounts or counts."""
    found: list[Span] = []
    for match in _PHONE.finditer(text):
        run = match.group()
        count = sum(char.isdecimal() for char in run)
        if count < _SHORT_PHONE or count > _PHONE_DIGITS[-1] or _DATE.fullmatch(run):
            continue
        before = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
        is_told = _PHONE_WORD.search(before) is not None
        is_shaped = run[0] in "+(0" or any(char in " \u00a0()/-" for char in run.strip("()"))
        if is_told or (is_shaped and count in _PHONE_DIGITS) or (run.isdecimal() and count in (10, 11)):
            found.append(match.span())
    return found


def dates(text: str) -> list[Span]:
    """Days, months and years, as people write them."""
    return [match.span() for match in _DATE.finditer(text)]


def birth_dates(text: str) -> list[Span]:
    """Dates in a line that speaks of a birth, in the next one, and in a table one of whose rows does."""
    found: list[Span] = []
    start = 0
    was_told = is_table_told = False
    for line in text.splitlines(keepends=True):
        is_row = line.lstrip().startswith("|")
        is_told = _BIRTH.search(line) is not None
        is_table_told = is_row and (is_told or is_table_told)
        if is_told or was_told or is_table_told:
            found += [(start + first, start + last) for first, last in dates(line)]
        was_told = is_told or (was_told and not line.strip())
        start += len(line)
    return found


def numbers(text: str) -> list[Span]:
    """Numbers, but for those of numbered lists and of `^` marks."""
    found: list[Span] = []
    start = 0
    for line in text.splitlines(keepends=True):
        marker, anchor = _MARKER.match(line), _ANCHOR.search(line)
        first, last = marker.end() if marker else 0, anchor.start() if anchor else len(line)
        found += [
            (start + match.start(), start + match.end()) for match in _NUMBER.finditer(line, first, last)
        ]
        start += len(line)
    return found


_FINDERS: Final[Mapping[str, Callable[[str], list[Span]]]] = {
    "email": emails,
    "phone": phones,
    "card": cards,
    "birth_date": birth_dates,
    "number": numbers,
}


@lru_cache(maxsize=64)
def finder_of(pattern: str) -> Callable[[str], list[Span]]:
    """What finds a pattern, by its name or as an expression, however a text is written (`normalize`).

    Raises:
        BadInput: it is an expression that cannot be used; the sentence says why.
    """
    return partial(_found, _FINDERS.get(pattern) or Regex(pattern, longest=True).spans, _IN_ONE.get(pattern))


def _found(
    find: Callable[[str], list[Span]], in_pieces: Callable[[str], list[Span]] | None, text: str
) -> list[Span]:
    found = find(text)
    read = folded(text)
    if read is not None:
        found = joined([*found, *read.spans(find(read.text))])
    if in_pieces is not None and (whole := in_one(text if read is None else read.text)) is not None:
        spans = whole.spans(in_pieces(whole.text))
        found = joined([*found, *(spans if read is None else read.spans(spans))])
    return found


def _cards_in_pieces(text: str) -> list[Span]:
    """Cards as they are printed: in groups of four, or of four, six and five."""
    return [span for span in cards(text) if _PRINTED.fullmatch(text, *span)]


def _phones_in_pieces(text: str) -> list[Span]:
    """Numbers with a code of the world: others are rather two numbers that follow one another."""
    return [span for span in phones(text) if text[span[0]] == "+" or text.startswith("00", span[0])]


_IN_ONE: Final[Mapping[str, Callable[[str], list[Span]]]] = {
    "phone": _phones_in_pieces,
    "card": _cards_in_pieces,
}
_PRINTED: Final = re.compile(r"\d{4}(?:[ -]\d{4}){3}(?:[ -]\d{1,3})?|\d{4}[ -]\d{6}[ -]\d{5}")


def general(text: str) -> str:
    """Something less exact in place of a value: a decade, a domain, an order of magnitude; else `[hidden]`.

    A number behind a word such as "age" is for `general_age`.
    """
    value = text.strip()
    if emails(value) == [(0, len(value))]:
        return value.rpartition("@")[2]
    if match := _DATE.fullmatch(value):
        year = next((year for year in match.groups() if year), "")
        return f"in the {year[:3]}0s" if len(year) == _YEAR_DIGITS else HIDDEN
    if match := _AMOUNT.fullmatch(value):
        return f"{match['before'] or ''}{magnitude(match['number'])}{match['behind'] or ''}"
    return HIDDEN


_AMOUNT: Final = re.compile(
    r"(?P<before>[^\w\s.,-]{1,3} ?|[A-Z]{2,4} )?(?P<number>-?\d(?:[\d.,'’ \u00a0\u202f]*\d)?)"
    r"(?P<behind> ?(?:%|[^\w\s.,-]{1,3}|[^\W\d_]{1,12}(?:/[^\W\d_]{1,12})?))?"
)
_MAGNITUDES: Final = (
    *("under ten", "tens", "hundreds", "thousands", "tens of thousands", "hundreds of thousands"),
    *("millions", "tens of millions", "hundreds of millions", "billions"),
)
_GROUPED: Final = re.compile(r"(?P<head>\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+|\d+)(?:[.,]\d*)?")


def magnitude(number: str) -> str:
    """The order of magnitude of a number, in words."""
    match = _GROUPED.match(number.strip().lstrip("-"))
    digits = re.sub(r"\D", "", match["head"]).lstrip("0") if match else ""
    return _MAGNITUDES[min(max(len(digits), 1), len(_MAGNITUDES)) - 1]


_DECADES: Final = (
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
)


def general_age(text: str) -> str:
    """An age as a decade of life; `[hidden]` for what is none."""
    match = re.search(r"\d{1,3}", text)
    if match is None:
        return HIDDEN
    age = int(match.group())
    ten, twenty, hundred = 10, 20, 100
    if age < twenty:
        return "a child" if age < ten else "in their teens"
    return f"in their {_DECADES[age // ten - 2]}" if age < hundred else "over a hundred"


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap made one."""
    whole: list[Span] = []
    for start, end in sorted(spans):
        if whole and start < whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((start, end))
    return whole
