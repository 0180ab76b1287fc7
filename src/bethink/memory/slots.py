"""What can have one value at a time: a home, an employer, a name. `compare` and the gate ask.

Of a statement, the slot that it fills: whose ("", the owner; "sister";
"anna"), which and with what. Read from English sentences of the kinds that
people and models write facts in. What is not plainly one of these fills no
slot: two facts kept side by side do less harm than one wrongly put away.
What one can have several of (daughters, friends, languages) is no slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from bethink.memory.terms import ACCUSTOMED, stems
from bethink.search.analysis import word_set

if TYPE_CHECKING:
    from bethink.memory.terms import Statement


Fit = Literal["equal", "fuller", "emptier", "apart", "open"]
"""How a value stands to another: `fuller` says all of it and more, `open` cannot be told."""
_LONGER_COUNTRIES = (
    "united kingdom,great britain,united states,new zealand,south africa,south korea,north korea,"
    "saudi arabia,sri lanka,costa rica,czech republic,the netherlands,the uk,the us,the usa"
)
_COUNTRIES = word_set("""
    afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium
    bolivia bosnia botswana brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus
    czechia denmark ecuador egypt england estonia ethiopia finland france germany ghana greece guatemala
    hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya
    korea kuwait latvia lebanon libya lithuania luxembourg malaysia malta mexico moldova mongolia morocco
    nepal netherlands nigeria norway pakistan panama paraguay peru philippines poland portugal qatar romania
    russia scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria
    taiwan tanzania thailand tunisia turkey uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen
    zambia zimbabwe uk us usa america britain
""") | frozenset(_LONGER_COUNTRIES.split(","))
_REGIONS = word_set("""
    africa asia europe scandinavia california texas florida oregon washington colorado arizona nevada utah
    massachusetts illinois ohio michigan georgia virginia maryland bavaria saxony brittany normandy provence
    tuscany sicily catalonia andalusia ontario quebec brooklyn manhattan queens bronx montmartre kreuzberg
    soho shibuya
""") | {"south america", "north america", "new england", "british columbia", "new south wales"}
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


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of one person or thing, filled.

    `value` is in lower-case words, `places` its parts between commas. `over`
    says that it is so no longer, `moved` that it has become so. `certain`
    where only one person or thing can be meant and it has one value. `sole`
    where the sentence says nothing else, or only adds to it; `bounded` where
    it holds on some days or under a condition only. `rest` is what follows.
    """

    subject: str
    attribute: str
    value: str
    over: bool = False
    moved: bool = False
    certain: bool = True
    sole: bool = True
    bounded: bool = False
    rest: str = ""

    @property
    def key(self) -> str:
        """Under which the gate finds others that fill the same."""
        return f"{self.subject}|{self.attribute}"


def _nouns(table: str) -> dict[str, str]:
    """What nouns mean: a line says it before its colon; on one without, each noun means itself."""
    meanings: dict[str, str] = {}
    for line in table.strip().splitlines():
        meaning, _, nouns = line.rpartition(":")
        meanings |= {noun.strip(): (meaning or noun).strip() for noun in nouns.split(",")}
    return meanings


_ATTRIBUTES = _nouns("""
    name: name, full name
    last name: last name, surname, family name
    birthday: birthday, birth date, date of birth
    birthplace: birthplace, place of birth
    home: home, home city
    address: address, home address
    hometown: hometown, home town
    phone: phone, phone number, telephone number
    mobile: mobile number, cell number
    work phone: work phone, work phone number
    email: email, e-mail, email address, e-mail address
    work email: work email, work email address
    employer: employer, company
    job: job, job title, occupation, profession
    time zone: time zone, timezone
    native language: native language, mother tongue
    status: marital status, relationship status
    first name, nickname, age, blood type, shoe size, height, weight, diet, salary, rent, pronouns
""")
_ONE_PERSON = _nouns("""
    fiance: fiance, fiancé, fiancee, fiancée
    mother: mother, mom, mum
    father: father, dad
    landlord: landlord, landlady
    wife, husband, spouse, partner, girlfriend, boyfriend, boss, manager, dentist
""")
"""Of whom one has one at a time: their names are slots."""
_CAPITAL = r"[^\W\d_a-zà-öø-ÿ][\w.'&-]*"
_LINKING = r"(?:de|la|le|del|der|den|van|von|of|the|am|upon|and)"
_NAME = re.compile(rf"{_CAPITAL}(?:[ -](?:{_LINKING} )*{_CAPITAL}|(?: \d+)+$)*")
_PLACE = re.compile(rf"{_NAME.pattern}(?:, {_NAME.pattern}){{0,3}}")
_ROLE = re.compile(r"[\w'/ -]+?(?=$|,| (?:at|for|in|with|since|and|from|on|but|who|by|because)\b)")
_AGE = re.compile(r"\d{1,3}")
_NUMBER = re.compile(r"\d[\d.,]*(?: ?[^\W\d_]+)?")
_WORDS = re.compile(r"[^,;]+?(?=$|[,;]| (?:and|but|because|since|as|so|which|who|at the moment)\b)")
_ONE_WORD = re.compile(r"[\w-]+")
_DATE = re.compile(r".+")


@dataclass(frozen=True, slots=True)
class _Verb:
    """How a sentence with a verb fills a slot; the value follows the verb."""

    attribute: str
    verb: str
    value: re.Pattern[str]
    needs: str = ""
    moved: bool = False
    over: bool = False


_BEING, _HAVING = r"\b(?:is|am|was|been)\b", r"\b(?:has|have)\b"
_VERBS = (
    _Verb("home", r"(?:lives?|living|resides?|residing) in", _PLACE),
    _Verb("home", "lived in", _PLACE, needs=_HAVING),
    _Verb("home", r"(?:based|located) in", _PLACE, needs=_BEING),
    _Verb("home", r"(?:moved|relocated|moved back) to", _PLACE, moved=True),
    _Verb("home", r"moved (?:away from|out of)", _PLACE, over=True),
    _Verb("employer", r"(?:works?|working) (?:at|for)", _NAME),
    _Verb("employer", "worked (?:at|for)", _NAME, needs=_HAVING),
    _Verb("employer", r"employed (?:at|by)", _NAME, needs=_BEING),
    _Verb("employer", r"started (?:working at|a (?:new )?job at|at)", _NAME, moved=True),
    _Verb("employer", r"(?:left|quit)(?: (?:his|her|their|the|user's) job at)?", _NAME, over=True),
    _Verb("job", r"(?:works?|working) as an?", _ROLE),
    _Verb("job", r"employed as an?", _ROLE, needs=_BEING),
    _Verb("name", r"(?:called|named)", _NAME, needs=_BEING),
    _Verb("age", r"(?:aged )?(?=\d{1,3}(?: years? old)?$)", _AGE, needs=_BEING),
    _Verb("birthplace", r"born in", _PLACE, needs=_BEING),
    _Verb("birthday", r"born on", _DATE, needs=_BEING),
    _Verb("status", r"(?=(?:single|married|divorced|widowed|engaged|separated)\b)", _ONE_WORD, needs=_BEING),
    _Verb(
        "diet", r"(?:an? )?(?=(?:vegetarian|vegan|pescatarian|omnivore|carnivore)\b)", _ONE_WORD, needs=_BEING
    ),
    _Verb("height", r"(?=\d[\d.,]* ?(?:cm|m|meters|metres|feet|ft) tall)", _NUMBER, needs=_BEING),
    _Verb("weight", r"weighs?", _NUMBER),
)
_HELP = re.compile(
    r"(?:(?:currently|now|still|also|recently|just|presently|has|have|is|am|was|been|used to|no longer"
    r"|does not|do not|not|previously|formerly)\b ?)*",
    re.IGNORECASE,
)
_PATTERNS = tuple((verb, re.compile(rf"{verb.verb}(?:\b|$)", re.IGNORECASE)) for verb in _VERBS)
_OVER = re.compile(r"\b(?:no longer|used to|previously|formerly|any ?more)\b", re.IGNORECASE)
_BOUNDED = re.compile(
    r"\b(?:during|week(?:end|day)s?|summers?|winters?|springs?|autumns?|part[- ]time|half|when|while|if"
    r"|sometimes|often|mostly|temporarily|until|except|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|for (?:a|the|two|three|\d+) (?:days?|weeks?|months?|summer|semester))\b",
    re.IGNORECASE,
)
_ADDING = re.compile(
    r"^,? ?(?:with|near|close to|since|in|on|at|as|for|where|which|who|from|because|by|together)\b",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(r"^favou?rite ([\w' -]+)$")
_YEARS = re.compile(r"^years?(?: old)?$")
_NEW = re.compile(r"^(?:new|current|present) ")
_IS = re.compile(r" (?:(?:is|are)(?: now)?(?: called| named)?|has changed to|changed to|became) |: ")
_BEFORE_VALUE = re.compile(r"^(?:called|named|in|at|on|the|an?|now) ", re.IGNORECASE)
_PLURAL = ("live ", "work ", "reside ")
_LONGEST_RELATION = 3
"""Words: "best friend Anna"."""
_NO_NAMES = frozenset(("a", "an", "the", "not", "unknown"))
_NAMED_THINGS = ("car", "doctor", "therapist", "lawyer", "gym", "bank", "school", "university", "insurance")
"""Of which most people have one: another name for it is a contradiction, not news."""
_GUESSED = frozenset(("rent", "salary", *_NAMED_THINGS))
_VALUES = {
    "home": _PLACE,
    "hometown": _PLACE,
    "birthplace": _PLACE,
    "employer": _NAME,
    "name": _NAME,
    "birthday": _DATE,
    "address": _DATE,
    "job": _ROLE,
}


def slot_of(statement: Statement) -> Slot | None:
    """The slot that a sentence fills; None where it plainly fills none."""
    text = statement.text
    if ACCUSTOMED.search(text):
        return None
    first, _, rest = text.partition(" ")
    if first == "user's" or (first.endswith("'s") and first[0].isupper()):
        return _of_possessive("" if first == "user's" else first[:-2], rest)
    if first == "user":
        return _of_verb("", rest, named=True)
    if first.casefold() in _ATTRIBUTES | _ONE_PERSON | {"favorite": "", "favourite": ""}:
        return _of_possessive("", text)
    name = _NAME.match(text)
    of_name = _of_verb(name.group(), text[name.end() :].lstrip(), named=True) if name else None
    return of_name or _of_verb("", text, named=False)


def _of_possessive(owner: str, text: str) -> Slot | None:
    """Of "user's dog's name is Rex": what stands behind the owner."""
    chain, _, what = text.rpartition("'s ")
    subject = " ".join(part for part in (owner, *chain.replace("'s", "").split()) if part)
    told = _IS.search(what)
    noun = _NEW.sub("", what[: told.start()].strip().casefold()) if told else ""
    if told is not None:
        value = what[told.end() :].strip()
        if favourite := _FAVOURITE.match(noun):
            return _filled(subject, " ".join(("favourite", *stems(favourite[1].split()))), value)
        if noun in _NAMED_THINGS:
            return _filled(subject, noun, value, reading=_NAME)
        if noun in _ATTRIBUTES:
            return _filled(subject, _ATTRIBUTES[noun], value)
        if noun in _ONE_PERSON and _NAME.match(value):
            return _filled(" ".join((subject, _ONE_PERSON[noun])).strip(), "name", value)
    return _of_relation(subject, what)


def _of_relation(subject: str, what: str) -> Slot | None:
    """Of "user's sister Anna lives in Rome": somebody told by what they are, and a verb."""
    words = what.split(" ")
    for count in range(1, min(_LONGEST_RELATION, len(words) - 1) + 1):
        whose = " ".join((subject, *words[:count])).strip()
        if found := _of_verb(whose, " ".join(words[count:]), named=True):
            return found
    return None


def _of_verb(subject: str, text: str, *, named: bool) -> Slot | None:
    """Of "lives in Paris with Anna"; `named` where it was said who does."""
    helped = _HELP.match(text)
    start = helped.end() if helped else 0
    words = text[:start].casefold()
    for verb, pattern in _PATTERNS:
        found = pattern.match(text, start)
        if (
            found is None
            or (subject and found.group().casefold().startswith(_PLURAL))
            or (verb.needs and not re.search(verb.needs, words) and (named or words))
        ):
            continue
        over = _OVER.search(text) is not None
        if ("not " in words and not over) or ("was " in words and not verb.attribute.startswith("birth")):
            return None
        filled = _filled(subject, verb.attribute, text[found.end() :].strip(), reading=verb.value)
        if filled is not None:
            return replace(filled, over=over or verb.over, moved=verb.moved)
    return None


def _filled(
    subject: str, attribute: str, text: str, *, reading: re.Pattern[str] | None = None
) -> Slot | None:
    if reading is None or attribute in _NAMED_THINGS:
        text = _BEFORE_VALUE.sub("", text)
    reading = reading or _VALUES.get(attribute, _WORDS)
    found = reading.match(text)
    if found is None or (attribute == "name" and found.group().casefold() in _NO_NAMES):
        return None
    rest = _YEARS.sub("", text[found.end() :].strip())
    whose = subject.rpartition(" ")[2]
    certain = not subject or whose.casefold() in _ONE_PERSON or whose[0].isupper()
    if attribute.endswith("name") and not certain:
        return None
    return Slot(
        subject.casefold(),
        attribute,
        found.group().casefold().strip(" '\""),
        certain=certain and attribute not in _GUESSED,
        sole=not rest or _ADDING.match(rest) is not None,
        bounded=_BOUNDED.search(rest) is not None,
        rest=rest,
    )
