"""Cases of what is told and corrected: update, as-of, cascade, absence. Part of `bench.trust`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.trust_stage import DAY_S, Case, Stage
from bethink.errors import BethinkError
from bethink.memory import NewFact
from bethink.recall.service import answering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.recall.service import Hit

_SLOTS: tuple[tuple[str, str, str, str, tuple[str, str], tuple[str, str]], ...] = (
    (
        "home",
        "User lives in {}.",
        "User moved to {}.",
        "Where does the user live?",
        ("Paris", "Lyon"),
        ("Oslo", "Graz"),
    ),
    (
        "employer",
        "User works at {}.",
        "User now works at {}.",
        "Where does the user work?",
        ("Initech", "Globex"),
        ("Acme", "Hooli"),
    ),
    (
        "phone",
        "User's phone number is {}.",
        "User's new phone number is {}.",
        "What is the user's phone number?",
        ("0151 2233", "0170 9988"),
        ("555-0101", "555-0199"),
    ),
    (
        "colour",
        "User's favourite colour is {}.",
        "User's favourite colour is now {}.",
        "What is the user's favourite colour?",
        ("green", "purple"),
        ("orange", "teal"),
    ),
    (
        "dentist",
        "User's dentist is Dr {}.",
        "User's new dentist is Dr {}.",
        "Who is the user's dentist?",
        ("Weiss", "Okafor"),
        ("Lindt", "Marsh"),
    ),
    (
        "partner",
        "User's partner is called {}.",
        "User's partner is now {}.",
        "What is the name of the user's partner?",
        ("Jo", "Kim"),
        ("Alex", "Robin"),
    ),
    (
        "manager",
        "User's manager is {}.",
        "User's new manager is {}.",
        "Who is the user's manager?",
        ("Ms Adler", "Mr Bloom"),
        ("Mrs Croft", "Mr Dunn"),
    ),
    (
        "job",
        "User works as a {}.",
        "User now works as a {}.",
        "What does the user do for a living?",
        ("nurse", "teacher"),
        ("baker", "pilot"),
    ),
    (
        "shoe size",
        "User's shoe size is {}.",
        "User's shoe size is now {}.",
        "What is the user's shoe size?",
        ("42", "43"),
        ("38", "39"),
    ),
    (
        "team",
        "User's favourite team is {}.",
        "User's favourite team is now {}.",
        "Which team does the user like most?",
        ("Lazio", "Napoli"),
        ("Ajax", "Celtic"),
    ),
    (
        "surname",
        "User's surname is {}.",
        "User's surname is now {}.",
        "What is the user's surname?",
        ("Keller", "Brandt"),
        ("Moreau", "Lang"),
    ),
)

_DERIVED = (
    (
        "User works at {}.",
        "Initech",
        "Globex",
        "User's commute takes 20 minutes.",
        "How long is the commute?",
    ),
    ("User lives in {}.", "Paris", "Lyon", "User's station is called Bastille.", "Which station is it?"),
    ("User's partner is called {}.", "Jo", "Kim", "User spends Easter at the sea.", "Where is Easter spent?"),
    ("User's dentist is Dr {}.", "Weiss", "Lindt", "User's check-up is in May.", "When is the check-up?"),
    ("User's car is a {}.", "Fiat", "Volvo", "User pays 40 euros for a tank.", "What does a tank cost?"),
    (
        "User's manager is {}.",
        "Ms Adler",
        "Mr Bloom",
        "User hands in reports on Friday.",
        "When are reports due?",
    ),
    ("User's surname is {}.", "Keller", "Lang", "User signs with a K.", "How does the user sign?"),
)

_PERSON = (
    ("User's name is Alice Moreau.", "What is the user's name?"),
    ("User works as an architect.", "What is the user's profession?"),
    ("User has a cat called Miso.", "What is the cat called?"),
    ("User is allergic to walnuts.", "Which allergy does the user have?"),
    ("User plays the cello.", "Which instrument does the user play?"),
    ("User grew up in Marseille.", "Where did the user grow up?"),
    ("User drinks coffee without sugar.", "How does the user take coffee?"),
    ("User runs ten kilometres every Sunday.", "What does the user do on Sundays?"),
    ("User's brother Paul lives in Montreal.", "Where does the user's brother live?"),
    ("User is reading a book about octopuses.", "What is the user reading?"),
    ("User wants to learn Portuguese.", "Which language does the user want to learn?"),
    ("User's flat is on the fourth floor.", "On which floor is the flat?"),
)
_UNKNOWN = (
    "What is the user's blood type?",
    "Which bank does the user use?",
    "What is the number plate of the car?",
    "How tall is the user?",
    "Who cuts the user's hair?",
    "What is the wifi password?",
    "Which political party does the user vote for?",
    "When did the grandmother die?",
    "What is the capital of Mongolia?",
    "How much does the user earn?",
    "Which insurance does the user have?",
    "What was the wedding dress like?",
    "Who won the chess tournament?",
    "Which medicine is taken in the morning?",
    "What is the shoe size?",
    "Which printer was bought?",
    "When is the tax return due?",
    "What is the recipe for the lentil soup?",
    "Who is the landlord?",
    "Which university did the user attend?",
    "What does the tattoo show?",
    "How old is the tortoise?",
)


def fact_cases() -> Iterator[Case]:
    """All of them."""
    for slot, said, said_anew, question, *pairs in _SLOTS:
        for pair, pattern in zip(pairs, (said, said_anew), strict=True):
            old, new = (said.format(pair[0]), pair[0]), (pattern.format(pair[1]), pair[1])
            name = f"{slot}: {pair[0]} to {pair[1]}"
            yield Case("update", name, partial(_updated, old=old, new=new, question=question))
            yield Case("as-of", name, partial(_as_of, old=old, new=new, question=question))
    for pattern, old, new, derived, question in _DERIVED:
        base, other = pattern.format(old), pattern.format(new)
        for change in ("told anew", "edited", "retracted"):
            cascaded = partial(_cascaded, base=base, other=other, change=change)
            check = partial(cascaded, derived=derived, question=question)
            yield Case("cascade", f"{change}: {base}", check)
    for content, question in _PERSON:
        yield Case("absence", f"known: {question}", partial(_known, content=content, question=question))
    for question in _UNKNOWN:
        yield Case("absence", f"unknown: {question}", partial(_unknown, question=question))


async def _updated(stage: Stage, *, old: tuple[str, str], new: tuple[str, str], question: str) -> str | None:
    """The new value answers, the old one does not, and is kept as the past."""
    await stage.tell(old[0])
    stage.clock.advance(30 * DAY_S)
    await stage.tell(new[0])
    hits = await stage.ask(question)
    if not hits or new[1] not in hits[0].text:
        return f"answered {_texts(hits)}"
    if stale := [hit.text for hit in hits if old[1] in hit.text and hit.doubt is None]:
        return f"the old value stands unquestioned: {stale[0]}"
    return None if any(old[1] in fact.content for fact in await stage.facts()) else "the past is gone"


async def _as_of(stage: Stage, *, old: tuple[str, str], new: tuple[str, str], question: str) -> str | None:
    """A moment's question is answered from what held then."""
    await stage.tell(old[0])
    stage.clock.advance(15 * DAY_S)
    then = stage.now
    stage.clock.advance(15 * DAY_S)
    await stage.tell(new[0])
    stage.clock.advance(DAY_S)
    before, after = await stage.ask(question, as_of=then), await stage.ask(question, as_of=stage.now)
    if not before or old[1] not in before[0].text or any(new[1] in hit.text for hit in before):
        return f"then: {_texts(before)}"
    if not after or new[1] not in after[0].text:
        return f"now: {_texts(after)}"
    return None


async def _cascaded(
    stage: Stage, *, base: str, other: str, derived: str, question: str, change: str
) -> str | None:
    """What rests on a changed fact is shown with a doubt, which goes once the change is taken back."""
    first = await stage.tell(base)
    await stage.tell(derived, depends_on=(first.fact.id,))
    before = await stage.ask(question)
    if not before or before[0].text != derived or before[0].doubt is not None:
        return f"before: {_texts(before)}, {before and before[0].doubt}"
    match change:
        case "told anew":
            changed = await stage.tell(other)
        case "edited":
            changed = await stage.app.memory.edit(stage.me, first.fact.id, NewFact(other))
        case _:
            changed = await stage.app.memory.retract(stage.me, first.fact.id)
    after = [hit for hit in await stage.ask(question) if hit.text == derived]
    if not after or after[0].doubt is None:
        return "no doubt is shown"
    try:
        await stage.app.memory.undo(stage.me, changed.undo or "")
    except BethinkError as error:
        return f"cannot be taken back: {error}"
    again = [hit for hit in await stage.ask(question) if hit.text == derived]
    return None if again and again[0].doubt is None else "the doubt stays after the change was taken back"


async def _known(stage: Stage, *, content: str, question: str) -> str | None:
    """What is known is found first, and counts as an answer."""
    await _person(stage)
    hits = await stage.ask(question)
    if not hits or hits[0].text != content:
        return f"answered {_texts(hits)}"
    return None if answering([hits[0].score]) else f"scores {hits[0].score}, which is no answer"


async def _unknown(stage: Stage, *, question: str) -> str | None:
    """Nothing that is found counts as an answer to what is not known."""
    await _person(stage)
    hits = await stage.ask(question)
    return f"{hits[0].text} scores {hits[0].score}" if answering([hit.score for hit in hits]) else None


async def _person(stage: Stage) -> None:
    await stage.app.memory.add_many(stage.me, [NewFact(content) for content, _ in _PERSON])


def _texts(hits: list[Hit]) -> str:
    return " | ".join(hit.text for hit in hits[:3]) or "nothing"
