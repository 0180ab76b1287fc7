"""How two values of one slot stand to each other: towns and countries, dates, names. `compare` asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bethink.memory.slots import Slot

Fit = Literal["equal", "fuller", "emptier", "apart", "open"]
"""How a value stands to another: `fuller` says all of it and more, `open` cannot be told."""


_COUNTRIES_WORDS = """
    afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium
    bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus
    czechia denmark ecuador egypt england estonia ethiopia finland france germany ghana greece guatemala
    hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya
    korea kuwait latvia lebanon libya lithuania luxembourg malaysia malta mexico moldova mongolia morocco
    nepal netherlands nigeria norway pakistan panama paraguay peru philippines poland portugal qatar romania
    russia scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria
    taiwan tanzania thailand tunisia turkey uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen
    zambia zimbabwe uk us usa america britain
"""
_COUNTRIES = frozenset(_COUNTRIES_WORDS.split()) | {
    "united kingdom",
    "great britain",
    "united states",
    "new zealand",
    "south africa",
    "south korea",
    "north korea",
    "saudi arabia",
    "sri lanka",
    "costa rica",
    "czech republic",
    "the netherlands",
    "the uk",
    "the us",
    "the usa",
}
_REGIONS_WORDS = """
    africa asia europe scandinavia california texas florida oregon washington colorado arizona nevada utah
    massachusetts illinois ohio michigan georgia virginia maryland bavaria saxony brittany normandy provence
    tuscany sicily catalonia andalusia ontario quebec brooklyn manhattan queens bronx montmartre kreuzberg
    soho shibuya
"""
_REGIONS = frozenset(_REGIONS_WORDS.split()) | {
    "south america",
    "north america",
    "new england",
    "british columbia",
    "new south wales",
}
"""Larger or smaller than a town: such a home may be the same as a town's."""


def fit(old: Slot, new: Slot) -> Fit:
    """How the new value stands to the old one, of the same attribute."""
    if old.value == new.value:
        return "equal"
    match new.attribute:
        case "home" | "hometown" | "birthplace":
            return _places(old.value.split(", "), new.value.split(", "))
        case "birthday":
            return _days(old.value, new.value)
        case "height" | "weight":
            return "apart" if _unit(old.value) == _unit(new.value) else "open"
        case attribute if attribute.startswith("favourite "):
            # Dune is not Dune Messiah.
            stands = _words(_meant(old.value), _meant(new.value))
            return stands if stands in {"equal", "apart"} else "open"
        case _:
            return _words(_meant(old.value), _meant(new.value))


def _unit(value: str) -> str:
    return value.strip("0123456789., ")


def _places(old: list[str], new: list[str]) -> Fit:
    if old[0] == new[0]:
        shorter = min(len(old), len(new))
        if old[:shorter] != new[:shorter]:
            return "open"
        return "fuller" if len(new) > len(old) else "emptier"
    if new == old[-len(new) :]:
        return "emptier"
    if old == new[-len(old) :]:
        return "fuller"
    if old[0].startswith(f"{new[0]} ") or new[0].startswith(f"{old[0]} ") or new[0] in old or old[0] in new:
        return "open"
    kinds = {place in _COUNTRIES for place in (old[0], new[0])}
    return "open" if len(kinds) > 1 or _REGIONS & {old[0], new[0]} else "apart"


_MEANT = re.compile(r"(?:(?<![\w.,])-?[.,]?(?=\d))?[^\W_]+(?:[.'@+-][^\W_]+)*(?:[-+#]+(?!\w))?")
"""With the sign of a number, of a blood type and of C++."""
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof", "a", "an", "the", "is"))


def _meant(value: str) -> list[str]:
    words = _MEANT.findall(value)
    return [word for word in words if word not in _TITLES] or words


def _words(old: list[str], new: list[str]) -> Fit:
    if old == new:
        return "equal"
    if not old or not new:
        return "open"
    if set(old) < set(new):
        return "fuller"
    return "emptier" if set(new) < set(old) else "apart"


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _days(old: str, new: str) -> Fit:
    """Of two dates, each maybe without its year or its day."""
    first, second = _parts(old), _parts(new)
    if not first or not second:
        return "open"
    if any(first[part] != second[part] for part in first.keys() & second.keys()):
        return "apart"
    if first == second:
        return "equal"
    if first.items() < second.items():
        return "fuller"
    return "emptier" if second.items() < first.items() else "open"


def _parts(value: str) -> dict[str, int]:
    if iso := re.search(r"(\d{4})-(\d\d)-(\d\d)", value):
        return {"year": int(iso[1]), "month": int(iso[2]), "day": int(iso[3])}
    parts: dict[str, int] = {}
    for word in re.findall(r"[a-z]+|\d+", value):
        if word.isdecimal():
            parts["year" if len(word) > len("31") else "day"] = int(word)
        elif word[:3] in _MONTHS:
            parts["month"] = _MONTHS.index(word[:3]) + 1
    return parts
