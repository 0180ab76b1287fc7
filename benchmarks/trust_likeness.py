"""Cases of statements that are alike: duplicates, negation, numbers. Part of `bench.trust`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.trust_stage import DAY_S, Case, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.memory import Fact

_SAME = (
    ("User likes tea.", "User likes tea"),
    ("User likes tea.", "user likes TEA!"),
    ("User lives in Paris.", "The user lives in Paris."),
    ("User lives in Paris.", "User  lives\tin Paris ."),
    ("User's name is Alice.", "The user's name is Alice"),
    ("User doesn't eat meat.", "User does not eat meat."),
    ("User has a dog called Rex.", "User has a dog named Rex."),
    ("User is allergic to peanuts.", "The user is allergic to peanuts."),
    ("User works at Initech.", "User works for Initech."),
    ("User’s favourite colour is blue.", "User's favorite color is blue."),
    ("User plays the violin.", "User plays violin."),
    ("User was born in 1984.", "The user was born in 1984."),
)
_APART = (
    ("User's daughter is called Anna.", "User's daughter is called Maria."),
    ("User's name is Alice.", "User's dog's name is Alice."),
    ("User plays tennis with Tom on Monday at 9am.", "User plays tennis with Tom on Tuesday at 9am."),
    ("User visited Rome in May.", "User visited Rome in June."),
    ("User's mother is a doctor.", "User's father is a doctor."),
    ("User likes red wine.", "User likes white wine."),
    ("User is allergic to cats.", "User is allergic to dogs."),
    ("User's sister lives in Berlin.", "User's brother lives in Berlin."),
    ("User speaks Spanish.", "User speaks Portuguese."),
    ("User has read the first volume.", "User has read the second volume."),
)
_NEGATED = (
    ("User likes spicy food.", "User does not like spicy food.", "Does the user like spicy food?"),
    ("User eats meat.", "User doesn't eat meat.", "Does the user eat meat?"),
    ("User drinks alcohol.", "User does not drink alcohol.", "Does the user drink alcohol?"),
    ("User is married.", "User is not married.", "Is the user married?"),
    ("User can swim.", "User cannot swim.", "Can the user swim?"),
    ("User smokes.", "User doesn't smoke.", "Does the user smoke?"),
    ("User has a driving licence.", "User has no driving licence.", "Does the user have a driving licence?"),
    (
        "User wants to be called by phone.",
        "User doesn't want to be called by phone.",
        "May one call by phone?",
    ),
    ("User is allergic to nuts.", "User is not allergic to nuts.", "Is the user allergic to nuts?"),
    ("User enjoys long flights.", "User never enjoys long flights.", "Does the user enjoy long flights?"),
    ("User owns a car.", "User no longer owns a car.", "Does the user own a car?"),
)
_NUMBERS = (
    ("The code of the {} door is {}.", ("office", "4471"), ("house", "4417"), "code of the {} door"),
    ("The locker at the {} is number {}.", ("gym", "118"), ("pool", "181"), "locker at the {}"),
    ("The bus to {} is line {}.", ("work", "31"), ("the cinema", "13"), "bus to {}"),
    ("User's aunt {} was born in {}.", ("Ida", "1951"), ("Eva", "1961"), "When was aunt {} born?"),
    ("The {} bike cost {} euros.", ("red", "450"), ("blue", "540"), "How much did the {} bike cost?"),
    ("The contract with {} ends on {} May.", ("Orange", "12"), ("Allianz", "21"), "contract with {}"),
    ("The class for {} is in room {}.", ("yoga", "204"), ("pottery", "402"), "Which room is for {}?"),
    ("The flight to {} leaves from gate {}.", ("Rome", "17"), ("Oslo", "71"), "gate for {}"),
    ("The recipe for {} is on page {}.", ("soup", "88"), ("cake", "89"), "Which page has the {}?"),
    ("The phone of {} ends in {}.", ("Mia", "0042"), ("Leo", "0024"), "What does {}'s phone end in?"),
)
_MEASURED = (
    ("User weighs {} kg.", "70", "68", "How much does the user weigh?"),
    ("User is {} years old.", "41", "42", "How old is the user?"),
    ("User's rent is {} euros.", "900", "950", "How much is the rent?"),
    ("User has {} children.", "2", "3", "How many children does the user have?"),
    ("User's flat number is {}.", "12", "21", "What is the user's flat number?"),
    (
        "User's best time in the race is {} minutes.",
        "51",
        "49",
        "What is the best time in the race?",
    ),
    ("User's PIN hint is page {}.", "17", "71", "What is the PIN hint?"),
    ("User's train leaves at {}.", "7:40", "8:10", "When does the user's train leave?"),
    ("User's shoe size is {}.", "42", "43", "What is the user's shoe size?"),
    ("User earns {} points a month.", "1,200", "1,300", "How many points a month?"),
)


def likeness_cases() -> Iterator[Case]:
    """All of them."""
    for one, other in _SAME:
        yield Case("duplicates", f"same: {other}", partial(_merged, one=one, other=other))
    for one, other in _APART:
        yield Case("duplicates", f"apart: {other}", partial(_apart, one=one, other=other))
    for yes, no, question in _NEGATED:
        for first, second in ((yes, no), (no, yes)):
            check = partial(_reversed, first=first, second=second, question=question)
            yield Case("negation", f"{first} then {second}", check)
    for pattern, one, other, question in _NUMBERS:
        answers = {question.format(name): pattern.format(name, number) for name, number in (one, other)}
        yield Case("numbers", f"two: {pattern}", partial(_two_numbers, answers=answers))
    for pattern, old, new, question in _MEASURED:
        check = partial(_remeasured, old=pattern.format(old), new=pattern.format(new), question=question)
        yield Case("numbers", f"changed: {pattern}", check)


async def _merged(stage: Stage, *, one: str, other: str) -> str | None:
    """One fact, with the sources of both."""
    await stage.tell(one)
    await stage.tell(other)
    known = await stage.facts("active")
    if len(known) != 1:
        return f"{len(known)} facts: {_contents(known)}"
    return None if len(known[0].sources) > 1 else "the second source is lost"


async def _apart(stage: Stage, *, one: str, other: str) -> str | None:
    """Both are kept, neither as a form of the other; a date may be spelled out behind them."""
    await stage.tell(one)
    await stage.tell(other)
    kept = [fact.content for fact in await stage.facts("active")]
    said = [any(content.startswith(text.rstrip(".")) for content in kept) for text in (one, other)]
    return None if len(kept) == len(said) and all(said) else f"kept {kept}"


async def _reversed(stage: Stage, *, first: str, second: str, question: str) -> str | None:
    """The earlier word is not lost, nor believed beside the later: it is past, or both are in doubt."""
    await stage.tell(first)
    stage.clock.advance(30 * DAY_S)
    await stage.tell(second)
    if {first, second} - {fact.content for fact in await stage.facts()}:
        return f"kept only {_contents(await stage.facts())}"
    return await _not_both(stage, old=first, new=second, question=question)


async def _two_numbers(stage: Stage, *, answers: dict[str, str]) -> str | None:
    """Both are kept, and each question gets its own number."""
    for fact in answers.values():
        await stage.tell(fact)
    if len(known := await stage.facts("active")) != len(answers):
        return f"kept {_contents(known)}"
    for question, fact in answers.items():
        hits = await stage.ask(question)
        if not hits or not hits[0].text.startswith(fact.rstrip(".")):
            return f"{question} answered {[hit.text for hit in hits]}"
    return None


async def _remeasured(stage: Stage, *, old: str, new: str, question: str) -> str | None:
    """The old number is the past, or both are in doubt."""
    await stage.tell(old)
    stage.clock.advance(30 * DAY_S)
    await stage.tell(new)
    if old not in [fact.content for fact in await stage.facts()]:
        return "the old number is gone"
    return await _not_both(stage, old=old, new=new, question=question)


async def _not_both(stage: Stage, *, old: str, new: str, question: str) -> str | None:
    hits = await stage.ask(question)
    if new not in [hit.text for hit in hits]:
        return f"answered {[hit.text for hit in hits]}"
    believed = [hit.text for hit in hits if hit.doubt is None]
    return f"stands unquestioned: {old}" if old in believed else None


def _contents(facts: list[Fact]) -> str:
    return " | ".join(f"{fact.content} ({fact.state})" for fact in facts)
