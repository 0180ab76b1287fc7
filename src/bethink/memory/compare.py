"""How two facts stand to each other, told by their words. The gate of memory asks; needs no model.

Nearness of meaning alone decides nothing: "likes" and "does not like spicy
food" have a cosine of 0.92. Same is what says the same in every word that
counts, or fills the same slot with the same value; what is not proved to be
one of the others is different, and both are kept.

`origin_of` tells whose word a fact is that a model wants to store, by where its words come from:
`tools/memory` asks before it lets anything through the gate as the owner's statement. What was recalled
in the same run is known already; what nobody said, or a text that was pasted, waits for the owner's review.
Once words from outside stand in the run, so does all that one statement of the owner's does not say word
for word: an order can be put in other words, in any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from bethink.assertions import parted
from bethink.memory.slots import Slot, fit, slot_of
from bethink.memory.terms import MAX_CHARS, Statement, Term, dates, is_date, read, words
from bethink.search.analysis import STOP_WORDS, word_set

if TYPE_CHECKING:
    from bethink.tool import Evidence


Verdict = Literal["same", "refines", "contradicts", "different"]


@dataclass(frozen=True, slots=True)
class Relation:
    """How a new fact stands to an old one, and why.

    `fuller` names the one that says all of the other and more, where one
    refines the other. `replaces` tells that the new one takes the place of the
    old: of a slot that has one value, or because it says that the old is over.
    """

    verdict: Verdict
    reason: str
    fuller: Literal["old", "new"] | None = None
    replaces: bool = False


@dataclass(frozen=True)
class FactReading:
    """A fact's sentence, read: made once, compared with many."""

    content: str
    statement: Statement

    @cached_property
    def slot(self) -> Slot | None:
        """The slot that it fills."""
        return slot_of(self.statement) if len(self.content) <= MAX_CHARS else None


_READINGS_KEPT = 4_096
"""Some eight megabytes once so many were read; an import reads each fact several times with fewer."""

_LEAST_COSINE = 0.3
"""Two statements of the same words in another order of meaning are nearer than this."""
_DIFFERENT = Relation("different", "they speak of different things")


def reading(content: str) -> FactReading:
    """What `compared` needs of a fact."""
    return FactReading(content, read(content))


class FactReadings:
    """Readings made lately: a fact that is near many others is read once for all of them."""

    def __init__(self) -> None:
        self._of = lru_cache(_READINGS_KEPT)(reading)

    def of(self, content: str) -> FactReading:
        """As `reading`."""
        return self._of(content)

    def clear(self) -> None:
        """Keep none: some of what was read is to be forgotten."""
        self._of.cache_clear()


def relation(old: str, new: str, cosine: float | None = None) -> Relation:
    """How `new` stands to `old`; `cosine` is how near they are in meaning, None where unknown."""
    return compared(reading(old), reading(new), cosine)


def compared(old: FactReading, new: FactReading, cosine: float | None = None) -> Relation:
    """As `relation`, of what was read before."""
    if old.content == new.content:
        return Relation("same", "the very same words")
    if max(len(old.content), len(new.content)) > MAX_CHARS:
        return _DIFFERENT
    if new.slot and old.slot and old.slot.key == new.slot.key:
        return _of_slots(old.slot, new.slot)
    if cosine is not None and cosine < _LEAST_COSINE:
        return _DIFFERENT
    return _of_words(old.statement, new.statement)


def _of_slots(old: Slot, new: Slot) -> Relation:
    stands = fit(old, new)
    is_bounded = old.bounded or new.bounded
    if stands == "open":
        return Relation("different", f"it cannot be told whether the {new.attribute} is the same")
    if stands != "apart" and old.over is new.over:
        return _agreeing(old, new, fuller={"fuller": "new", "emptier": "old"}.get(stands))
    if is_bounded or (stands == "apart" and (old.over or new.over)):
        return Relation("different", f"the {new.attribute} of another time")
    if stands == "apart":
        reason = f"the {new.attribute} is {new.value}, not {old.value}"
        return Relation("contradicts", reason, replaces=new.certain and old.sole and new.sole)
    if old.over:
        return Relation("contradicts", f"the {new.attribute} is {new.value} again")
    return Relation("contradicts", f"{new.value} is no longer the {new.attribute}", replaces=old.sole)


def _agreeing(old: Slot, new: Slot, *, fuller: str | None) -> Relation:
    """Of equal values, one maybe with more words: what follows them decides."""
    if old.bounded or new.bounded or not (old.sole and new.sole):
        both = Relation("different", "one of them says something else besides")
        return both if old.rest.casefold() != new.rest.casefold() or fuller else _SAME
    if old.rest.casefold() == new.rest.casefold():
        return {"new": _NEW_IS_FULLER, "old": _OLD_IS_FULLER}.get(fuller or "", _SAME)
    if new.rest and not old.rest and fuller != "old":
        return _NEW_IS_FULLER
    if old.rest and not new.rest and fuller != "new":
        return _OLD_IS_FULLER
    return Relation("different", "each says something that the other does not")


_SAME = Relation("same", "they say the same in other words")
_NEW_IS_FULLER = Relation("refines", "the new one says all of the old one and more", fuller="new")
_OLD_IS_FULLER = Relation("refines", "the old one says all of the new one and more", fuller="old")


def _of_words(old: Statement, new: Statement) -> Relation:
    if old.past is not new.past and not (old.over or new.over):
        return _DIFFERENT
    if old.terms and new.terms and _equal(old, new):
        if old.denied is new.denied:
            return _SAME if old.over is new.over and _deny_alike(old, new) else _DIFFERENT
        ended = new.over and not old.over
        reason = "it is so no longer" if ended else "one denies what the other says"
        return Relation("contradicts", reason, replaces=ended)
    if old.denials or new.denials:
        return _DIFFERENT
    if _adds(old, new):
        return _NEW_IS_FULLER
    if _adds(new, old):
        return _OLD_IS_FULLER
    return _counted(old, new)


_WHERE = frozenset(("in", "on", "at", "of"))
_ORDERED = word_set("""
    from to than befor after with over under until with for about by instead but or becaus if when while
    then first second last respect
""")


def _equal(old: Statement, new: Statement) -> bool:
    if old.keys != new.keys:
        return _equal_lists(old, new)
    return _led_alike(old.terms, new.terms)


def _led_alike(old: Sequence[Term], new: Sequence[Term]) -> bool:
    """Whether equal terms are owned by the same and written alike, and nothing leads elsewhere."""
    for place, (a, b) in enumerate(zip(old, new, strict=True)):
        one, other = a.before.split(), b.before.split()
        if _owner(one, place) != _owner(other, place) and "" not in {
            _owner(one, place),
            _owner(other, place),
        }:
            return False
        if [mark for mark in one if mark[0] == "~"] != [mark for mark in other if mark[0] == "~"]:
            return False
        here, there = _WHERE.intersection(one), _WHERE.intersection(other)
        if here != there and here and there:
            return False
    return True


_BEING = frozenset(("is", "am", "are", "was", "were", "user"))


def _owner(before: Sequence[str], place: int) -> str:
    """Whose a term is, by what stands before it; "" for the first where it is not said."""
    if "user's" in before:
        return "user's"
    if place == 0:
        # "Mother of Eve" may be either; "is mother of Eve" is said of the owner.
        return "nobody's" if _BEING.intersection(before) else ""
    return "'s" if "'s" in before else "nobody's"


def _deny_alike(old: Statement, new: Statement) -> bool:
    """Whether two statements of equal terms deny the same of them.

    "Has no car" is "does not have a car"; where there are several clauses or
    several denials, each has to be in its place.
    """
    if old.denials == new.denials:
        # Of a list in another order, what is denied has to stand before it.
        return old.keys == new.keys or all(place <= _first_apart(old, new) for place in old.denials)
    if old.keys != new.keys or len(old.denials) != 1 or len(new.denials) != 1:
        return False
    place, beside = sorted((old.denials[0], new.denials[0]))
    joined = _CLAUSES & {*old.keys} or any("," in term.before for term in (*old.terms, *new.terms))
    return (
        not joined and beside - place == 1 and old.keys[place] != "like" and old.keys[beside:][:1] != ("to",)
    )


_CLAUSES = frozenset(("and", "but", "or", "becaus", "if", "when", "while", "so", "than", "as"))


def _pairs(old: Statement, new: Statement) -> zip[tuple[Term, Term]]:
    return zip(old.terms, new.terms, strict=True)


def _first_apart(old: Statement, new: Statement) -> int:
    return next(place for place, (a, b) in enumerate(_pairs(old, new)) if a.key != b.key)


def _equal_lists(old: Statement, new: Statement) -> bool:
    """Tea and coffee, coffee and tea. Of two lists in one sentence nobody can tell which goes with which."""
    if len(old.terms) != len(new.terms) or old.keys.count("and") != 1 or _ORDERED & {*old.keys}:
        return False
    begin = _first_apart(old, new)
    return _items(old.terms[begin:]) == _items(new.terms[begin:])


def _items(terms: Sequence[Term]) -> set[tuple[str, ...]]:
    items: list[list[str]] = [[]]
    for term in terms:
        if term.key == "and":
            items.append([])
            continue
        if "," in term.before:
            items.append([])
        items[-1].append(term.key)
    return {tuple(item) for item in items if item}


_JOINING = word_set("and with sinc becaus near name call who which where from")
_NARROWING = word_set("""
    onli except but if unless until almost half former when while mayb perhap or than want sometim
    rare without instead as
""")
_ATTITUDES = word_set("like prefer want need plan hope wish allerg avoid eat think believ know say")
_LEAST_TERMS = 2


def _adds(old: Statement, new: Statement) -> bool:
    """Whether `new` is `old` with something behind it that takes nothing back."""
    count = len(old.terms)
    if count < _LEAST_TERMS or count >= len(new.terms) or new.keys[:count] != old.keys:
        return False
    if not _led_alike(old.terms, new.terms[:count]):
        return False
    more = new.terms[count:]
    if _NARROWING & {term.key for term in more}:
        return False
    first = more[0]
    if _ATTITUDES & {*old.keys}:
        return first.key == "becaus"
    led = set(first.before.split())
    return bool(led & (_WHERE | {","})) or first.key in _JOINING


_TIMES = word_set("monday tuesday wednesday thursday friday saturday sunday")
_TIME = re.compile(r"\d+:\d\d|\x01.*")
_COUNT = re.compile(r"-?\d[^:]*")


def _counted(old: Statement, new: Statement) -> Relation:
    """Of statements that differ in one number or time, of what has only one."""
    if len(old.terms) != len(new.terms) or old.past:
        return _DIFFERENT
    apart = [place for place, (a, b) in enumerate(_pairs(old, new)) if a.key != b.key]
    if len(apart) != 1:
        return _DIFFERENT
    place = apart[0]
    one, other = old.keys[place], new.keys[place]
    counts = _COUNT.fullmatch(one) and _COUNT.fullmatch(other)
    times = all(key in _TIMES or _TIME.fullmatch(key) for key in (one, other))
    if counts and place == 1 and old.keys[0] in _MEASURED:
        return Relation("contradicts", f"{other}, not {one}")
    if (counts or times) and _tells_of_one(old, new, place):
        return Relation("contradicts", "another number or time is named for the same")
    return _DIFFERENT


_MEASURED = frozenset(("have", "earn", "weigh", "pay", "cost", "owe"))


def _tells_of_one(old: Statement, new: Statement, place: int) -> bool:
    """Whether the term at this place is what is said of one certain thing: "User's train leaves at 7:40"."""
    if not old.text.casefold().startswith(("the ", "user's ")):
        return False
    what, told, _ = old.text.casefold().partition(" is ")
    if told:
        return new.text.casefold().partition(" is ")[0] == what
    return 0 < place >= len(old.terms) - 2


Origin = Literal["owner", "recalled", "untrusted", "nobody"]

_MAX_CHARS = 100_000
"""Of each side that is looked through, its end: what was said and fetched last."""
_SUPPORTED = 0.6
"""The share of a statement's words that must be the owner's for it to be theirs."""
_ENGLISH = 0.2
"""The least share of function words in English talk: only there do the words of a paraphrase recur."""
_YES = re.compile(
    r"^(?:yes|yeah|yep|sure|ok(?:ay)?|please do|do (?:it|that|so)|right|correct|exactly|go ahead)\b.{0,40}$",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(r"(?<![^.!?？\n])[^.!?？\n]*+[?？]")
_LINK = re.compile(r"(?<!\S)\S+://\S+|\bwww\.\S+")
_SENTENCE = re.compile(r"(?<![.!\n;])[.!\n;]+(?=\s|$)")
_WORD = re.compile(r"\w+")
_LIGHT = word_set("user and have with to for from want like his her their")


def origin_of(content: str, evidence: Evidence) -> Origin:
    """Where a statement comes from, as far as its words show."""
    keys = _keys(content)
    parts = [parted(text) for text in evidence.said]
    said = [own for own, _ in parts]
    agreed = said and _YES.match(said[-1].strip())
    agreed_to = [evidence.asked.replace("?", ".")] if agreed else []
    missing = keys - _stems([*said, *agreed_to])
    # A plain yes states what was asked.
    if evidence.is_untrusted and is_stated(content, [*said, *agreed_to]):
        return "owner"
    pasted = [others for _, others in (*parts, *map(parted, evidence.recalled)) if others]
    is_theirs = pasted and (keys - _stems(_QUESTION.sub(" ", text) for text in (*said, *agreed_to))) & _stems(
        pasted
    )
    if not missing and not evidence.is_untrusted and not is_theirs:
        return "owner"
    recalled = _stems(evidence.recalled)
    is_unsaid = len(missing) == len(keys)
    if missing & recalled and (
        _is_restated(content, keys, evidence.recalled) or (is_unsaid and keys <= recalled)
    ):
        return "recalled"
    if evidence.is_untrusted:
        return "untrusted"
    return "nobody" if is_theirs or (is_unsaid and _is_english(said)) else "owner"


def is_stated(content: str, said: Iterable[str]) -> bool:
    """Whether one of the texts states all that tells something in a statement, word for word.

    Knows no language: what is put in other words is not stated. Links, and what is only asked, state nothing.
    """
    keys = _keys(content)
    for text in said:
        stated = _QUESTION.sub(" ", _LINK.sub(" ", text[-_MAX_CHARS:]))
        if keys and keys <= _stems([stated]):
            sentences = (part for part in _SENTENCE.split(stated) if keys & _stems([part]))
            return all(relation(part.strip(), content).verdict != "contradicts" for part in sentences)
    return False


def _is_restated(content: str, keys: set[str], recalled: Sequence[str]) -> bool:
    """Whether one memory that was recalled says all of it, or nearly all of its words."""
    for text in recalled:
        told = relation(text, content)
        if told.verdict == "same" or told.fuller == "old":
            return True
        if told.verdict != "contradicts" and len(keys - _stems([text])) <= (1 - _SUPPORTED) * len(keys) / 2:
            return True
    return False


def _keys(content: str) -> set[str]:
    """The words by which it shows where a statement comes from: function words come from anywhere."""
    keys = {key for key in read(content).keys if not is_date(key)} | _stems(dates(content))
    return keys - _LIGHT - STOP_WORDS or keys - _LIGHT


def _stems(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in words(text[-_MAX_CHARS:])}


def _is_english(said: Sequence[str]) -> bool:
    found = [word for text in said for word in _WORD.findall(text[-_MAX_CHARS:].casefold())]
    return sum(word in STOP_WORDS for word in found) >= _ENGLISH * len(found) > 0
