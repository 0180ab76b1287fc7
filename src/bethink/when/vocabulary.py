"""The words of time in English and German, and what they count: numbers, weekdays, months, units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_ONES: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90,
    "ein": 1, "eine": 1, "einem": 1, "einen": 1, "einer": 1, "eins": 1, "zwei": 2, "drei": 3, "vier": 4,
    "fünf": 5, "fuenf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12,
    "zwoelf": 12, "vierzehn": 14, "fünfzehn": 15, "zwanzig": 20, "dreißig": 30, "dreissig": 30,
    "vierzig": 40, "fünfzig": 50, "sechzig": 60, "neunzig": 90,
}  # fmt: skip
_ORDINALS: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "twelfth": 12,
    "erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "fuenft": 5, "sechst": 6, "siebt": 7,
    "acht": 8, "neunt": 9, "zehnt": 10,
}  # fmt: skip
_GERMAN_ORDINALS: Final = [word for word in _ORDINALS if word.endswith("t") and word != "first"]
WEEKDAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS: Final = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4, "samstag": 5, "sonnabend": 5,
    "sonntag": 6,
}  # fmt: skip
_SHORT_WEEKDAYS: Final = {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6,
    "mo": 0, "di": 1, "mi": 2, "do": 3, "fr": 4, "sa": 5, "so": 6,
}  # fmt: skip
_MONTHS: Final = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
    "september": 9, "october": 10, "november": 11, "december": 12,
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10,
    "nov": 11, "dec": 12,
    "januar": 1, "jänner": 1, "februar": 2, "märz": 3, "maerz": 3, "mai": 5, "juni": 6, "juli": 7,
    "oktober": 10, "dezember": 12, "mär": 3, "okt": 10, "dez": 12,
}  # fmt: skip
_UNITS: Final = {
    "minute": "MINUTELY", "minutes": "MINUTELY", "min": "MINUTELY", "mins": "MINUTELY", "minuten": "MINUTELY",
    "hour": "HOURLY", "hours": "HOURLY", "hr": "HOURLY", "hrs": "HOURLY", "h": "HOURLY", "stunde": "HOURLY",
    "stunden": "HOURLY", "std": "HOURLY",
    "day": "DAILY", "days": "DAILY", "tag": "DAILY", "tage": "DAILY", "tagen": "DAILY", "tags": "DAILY",
    "week": "WEEKLY", "weeks": "WEEKLY", "woche": "WEEKLY", "wochen": "WEEKLY",
    "month": "MONTHLY", "months": "MONTHLY", "monat": "MONTHLY", "monate": "MONTHLY", "monaten": "MONTHLY",
    "monats": "MONTHLY",
    "year": "YEARLY", "years": "YEARLY", "jahr": "YEARLY", "jahre": "YEARLY", "jahren": "YEARLY",
    "jahres": "YEARLY",
}  # fmt: skip
"""Units by how a rule calls what recurs by them (RFC 5545, 3.3.10)."""


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_ENDING = "e[rnsm]?"
NUMBER: Final = rf"(?:\d{{1,6}}|(?:{_any(_ONES)})(?!\w))"
ORDINAL: Final = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.(?!\d)|e[rnsm]?(?!\w))"
    rf"|(?:{_any(set(_ORDINALS) - set(_GERMAN_ORDINALS))})(?!\w)"
    rf"|(?:{_any(_GERMAN_ORDINALS)}){_ENDING}(?!\w))"
)
WEEKDAY_NAME: Final = rf"(?:{_any(_WEEKDAYS)})"
"""A weekday in full, to which an ending may be put: "Mondays", "Freitagabend"."""
WEEKDAY: Final = rf"(?:(?:{_any(_WEEKDAYS)})(?!\w)|(?:{_any(_SHORT_WEEKDAYS)})(?!\w)\.?)"
MONTH: Final = rf"(?:(?:{_any(_MONTHS)})(?!\w)\.?)"
UNIT: Final = rf"(?:(?:{_any(_UNITS)})(?!\w)\.?)"


def number(text: str) -> int:
    """What a number counts, in figures or words."""
    return int(text) if text.isdecimal() else _ONES[text.lower()]


def ordinal(text: str) -> int:
    """What place an ordinal is."""
    if digits := re.match(r"\d+", text):
        return int(digits.group())
    word = text.lower()
    return _ORDINALS[word] if word in _ORDINALS else _ORDINALS[re.sub(r"e[rnsm]?$", "", word)]


def weekday(text: str) -> int:
    """The number of a weekday, Monday is 0."""
    word = text.lower().rstrip(".")
    return _WEEKDAYS[word] if word in _WEEKDAYS else _SHORT_WEEKDAYS[word]


def month(text: str) -> int:
    """The number of a month, January is 1."""
    return _MONTHS[text.lower().rstrip(".")]


def unit(text: str) -> str:
    """How a rule calls what recurs by this unit."""
    return _UNITS[text.lower().rstrip(".")]


def ordinal_word(number: int) -> str:
    """A number as the place of something: 1st, 22nd, 13th."""
    is_th = 10 <= number % 100 <= 20  # noqa: PLR2004
    return f"{number}{'th' if is_th else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
