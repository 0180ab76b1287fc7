"""Invented lives in ten languages, made by seed from what people say (`*.toml`). `bench.life` lives them.

A life tells of home, work, a dog, a birth year, food, a sister and a hobby, amid small talk; it changes two
of them, corrects two, has one forgotten, and says seven things that are not so: hypotheticals, dreams, what
others claim, a pasted mail, a text to translate, fiction and sarcasm. Months later it is asked, also what it
never told.

Every list of a file has two halves: the first has the wordings of even seeds, which were looked at while
building, the second those of odd ones, which are held out. `{0}` is the value; what stands between bars are
the words that a fact rests on; behind `=>` stands the fact if the usual one of its topic is worded otherwise.
This module imports nothing of Bethink: other memories can live the lives, too.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LIVES: Final = 200
_HERE: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "de", "fr", "es", "pl", "it", "pt", "zh", "ja", "hi")
_TOPICS: Final = ("home", "job", "dog", "born", "food", "sister", "hobby")
_YEARS: Final = range(1941, 2007)
_WITH_BEFORE, _WITH_AFTER = 0.5, 0.3
"""How often something else stands before and behind what is told."""

Does = Literal["add", "replace", "correct", "forget", "none"]
"""What a memory is to do with what is said: of a trap, nothing."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message: its `topic` or kind of trap, the words that a fact rests on, the fact and its value."""

    does: Does
    topic: str
    text: str
    quote: str
    fact: str
    value: str
    old: str = ""
    """The value that holds no more."""
    about: str = "user"


@dataclass(frozen=True, slots=True)
class Question:
    """Something that is asked, and the value that answers; "" if it was never told."""

    text: str
    value: str
    old: str = ""


@dataclass(frozen=True, slots=True)
class Life:
    """What is said, in order, and what is asked at the end."""

    seed: int
    language: str
    is_held_out: bool
    said: Sequence[Said]
    questions: Sequence[Question]


def lives(count: int = LIVES) -> list[Life]:
    """So many lives, two of a language after the other, one of each half."""
    return [_life(LANGUAGES[seed // 2 % len(LANGUAGES)], seed) for seed in range(count)]


def words_of(language: str) -> Mapping[str, Any]:
    """What people say in a language: the file of it."""
    return tomllib.loads((_HERE / f"{language}.toml").read_text(encoding="utf-8"))


def has(content: str, value: str) -> bool:
    """Whether a text has a value, in any of its forms: inflected languages change how a name ends."""
    stem = value[:-2] if value.isascii() and value.isalpha() and len(value) > _SHORT else value
    return stem.casefold() in content.casefold()


_SHORT: Final = 6


@dataclass(frozen=True, slots=True)
class _Teller:
    """What one life may say: its half of the wordings."""

    words: Mapping[str, Any]
    half: int
    rng: random.Random

    def one_of(self, kinds: Sequence[str]) -> str:
        middle = len(kinds) // 2
        return self.rng.choice(kinds[middle:] if self.half else kinds[:middle])

    def values(self, topic: str, count: int) -> list[str]:
        if topic == "born":
            return [str(year) for year in self.rng.sample(_YEARS, count)]
        return self.rng.sample(self.words[topic]["values"], count)

    def says(self, topic: str, kind: str, value: str, *, does: Does, old: str = "") -> Said:
        """A message of one topic."""
        is_trap = does == "none"
        told = self.words["traps" if is_trap else topic]
        usual = self.words["home"]["fact"] if is_trap else told["fact"]
        words, _, fact = self.one_of(told[kind]).partition(" => ")
        words, fact = words.format(value), (fact or usual).format(value)
        plain = words.replace("|", "")
        text = plain if is_trap else self._amid_others(plain)
        about = told.get("about", "user")
        return Said(does, kind if is_trap else topic, text, words.split("|")[1], fact, value, old, about)

    def _amid_others(self, text: str) -> str:
        """The message with something else around it."""
        before = self.one_of(self.words["before"]) if self.rng.random() < _WITH_BEFORE else ""
        after = self.one_of(self.words["after"]) if self.rng.random() < _WITH_AFTER else ""
        space = "" if self.words["before"][0].endswith("。") else " "
        return space.join(filter(None, (before, text, after)))


def _life(language: str, seed: int) -> Life:
    words = words_of(language)
    rng = random.Random(seed)  # noqa: S311 - it only varies lives
    teller = _Teller(words, seed % 2, rng)
    home, later, sister, *elsewhere = rng.sample(words["cities"], len(words["cities"]))
    (job, new_job), (wrong, right) = teller.values("job", 2), teller.values("dog", 2)
    (late, born), (food,), (hobby,) = (
        teller.values("born", 2),
        teller.values("food", 1),
        teller.values("hobby", 1),
    )
    told_first = (home, job, wrong, late, food, sister, hobby)
    values: dict[str, str] = dict(zip(_TOPICS, told_first, strict=True))
    told = [teller.says(topic, "told", value, does="add") for topic, value in values.items()]
    traps = [
        teller.says("traps", kind, city, does="none")
        for kind, city in zip(words["traps"], elsewhere, strict=True)
    ]
    later_said = [
        teller.says("home", "change", later, does="replace", old=home),
        teller.says("job", "change", new_job, does="replace", old=job),
        teller.says("dog", "fix", right, does="correct", old=wrong),
        teller.says("born", "fix", born, does="correct", old=late),
        teller.says("hobby", "forget", hobby, does="forget", old=hobby),
    ]
    for group in (told, traps, later_said):
        rng.shuffle(group)
    now = values | {"home": later, "job": new_job, "dog": right, "born": born}
    return Life(
        seed,
        language,
        bool(seed % 2),
        [*_amid(told, traps[:3], rng), *_amid(later_said, traps[3:], rng)],
        [*_questions(teller, now, values)],
    )


def _questions(teller: _Teller, now: Mapping[str, str], before: Mapping[str, str]) -> Iterator[Question]:
    """What was told, but for what was to be forgotten, and what was never told."""
    for topic in (one for one in _TOPICS if one != "hobby"):
        old = before[topic] if before[topic] != now[topic] else ""
        yield Question(teller.one_of(teller.words[topic]["asked"]), now[topic], old)
    never = teller.words["never"]
    middle = len(never) // 2
    for text in never[middle:] if teller.half else never[:middle]:
        yield Question(text, "")


def _amid(said: list[Said], others: list[Said], rng: random.Random) -> list[Said]:
    """The messages in order, with others at any place between."""
    mixed = list(said)
    for one in others:
        mixed.insert(rng.randint(0, len(mixed)), one)
    return mixed
