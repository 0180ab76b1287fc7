"""What an owner asked of their memory, and nothing was found: to be answered once.

The words are the question's own, so they go with the message that asked it, and are forgotten, exported and
put back like everything else. What was answered or dismissed is not asked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from bethink.clock import checked_id
from bethink.conversations.records import MESSAGES
from bethink.errors import BadInput, UnknownId
from bethink.feature import Feature, OpenFeature, RetentionRule, Surroundings
from bethink.forgettable import FORGOTTEN
from bethink.record_texts import RecordLines, RecordTexts, of_document
from bethink.store import Collection, Delete, Put, Record, Scan, items_of, pages_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.store import Change, Store

KIND: Final = "question"
MOST_CHARS: Final = 300
_MOST: Final = 200
"""Questions of one owner; of more, the oldest go."""
_SAID: Final = "said"

QuestionState = Literal["open", "answered", "dismissed"]


class OpenQuestion(Record, frozen=True, kw_only=True):
    """A question, by the id of the message that asked it; `fact` answers it, `digest` finds its words."""

    schema: int = 1
    text: str
    digest: str
    at: int
    conversation: str
    state: QuestionState = "open"
    fact: str | None = None


QUESTIONS: Final = Collection(
    "open_questions",
    OpenQuestion,
    ("at", "state", "digest"),
    scans=(("at",), ("state", "at"), ("digest",)),
    searchable=False,
)


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """The questions of all owners; every call acts for one principal."""

    store: Store

    async def note(self, principal: Principal, question: OpenQuestion) -> None:
        """Keep a question, unless the same was asked before, whatever became of it."""
        owner, same = principal.owner, Scan(QUESTIONS, {"digest": question.digest}, limit=1)
        newest = Scan(QUESTIONS, order="at", reverse=True)
        if (await self.store.scan(owner, same))[0].items:
            return
        kept = [item.record.id async for item in items_of(self.store, owner, newest)]
        gone: list[Change] = [Delete(QUESTIONS, id) for id in kept[_MOST - 1 :]]
        await self.store.commit(owner, [Put(QUESTIONS, question), *gone])

    async def open(self, principal: Principal) -> list[OpenQuestion]:
        """Those that wait for an answer and whose message is there, the newest first."""
        scan = Scan(QUESTIONS, {"state": "open"}, order="at", reverse=True)
        found = [item.record async for item in items_of(self.store, principal.owner, scan)]
        there = await self.store.get(MESSAGES, principal.owner, [one.id for one in found])
        return [one for one, message in zip(found, there, strict=True) if message is not None]

    async def get(self, principal: Principal, id: str) -> OpenQuestion:
        """One that is open.

        Raises:
            UnknownId: there is no such question, or it was decided already.
        """
        (found,) = await self.store.get(QUESTIONS, principal.owner, [id])
        if found is None or found.record.state != "open":
            raise UnknownId(_GONE)
        return found.record

    @retry_conflicts
    async def close(self, principal: Principal, id: str, *, fact: str | None = None) -> OpenQuestion:
        """Take a question as answered by a fact, or as dismissed.

        Raises:
            UnknownId: there is no such question, or it was decided already.
        """
        (found,) = await self.store.get(QUESTIONS, principal.owner, [id])
        if found is None or found.record.state != "open":
            raise UnknownId(_GONE)
        state: QuestionState = "dismissed" if fact is None else "answered"
        now = msgspec.structs.replace(found.record, state=state, fact=fact)
        await self.store.commit(principal.owner, [Put(QUESTIONS, now, found.version)])
        return now

    async def clean(self, owner: str) -> int:
        """Remove what was asked in messages that are gone; how many those were."""
        count = 0
        async for page in pages_of(self.store, owner, Scan(QUESTIONS, order="at")):
            ids = [item.record.id for item in page]
            there = await self.store.get(MESSAGES, owner, ids)
            gone: list[Change] = [
                Delete(QUESTIONS, id) for id, message in zip(ids, there, strict=True) if message is None
            ]
            if gone:
                await self.store.commit(owner, gone)
            count += len(gone)
        return count


def question_of(text: str, *, message: str, conversation: str, at: int) -> OpenQuestion:
    """The record of what was asked."""
    words = " ".join(text.split())
    return OpenQuestion(id=message, text=words, digest=_digest(words), at=at, conversation=conversation)


def _digest(words: str) -> str:
    said = words.casefold().strip(" ?？!.¿¡")
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _parsed(document: Mapping[str, Any]) -> OpenQuestion:
    found = of_document(document, OpenQuestion)
    checked_id(found.id)
    if not 0 < len(found.text) <= MOST_CHARS:
        raise BadInput(f"A question has 1 to {MOST_CHARS} characters.")
    return msgspec.structs.replace(found, schema=1, digest=_digest(found.text))


def _left(record: OpenQuestion, left: Mapping[str, str]) -> OpenQuestion:
    text = left.get(_SAID, record.text)
    # What is forgotten is not to be asked again by its digest either.
    state = "dismissed" if FORGOTTEN in text else record.state
    return msgspec.structs.replace(record, text=text, state=state, digest=_digest(text))


def _open(at: Surroundings) -> OpenFeature:
    async def clean(owner: str) -> None:
        await questions.clean(owner)

    questions = OpenQuestions(at.store)
    texts = RecordTexts(
        store=at.store,
        collection=QUESTIONS,
        kind="questions",
        one="question without an answer",
        name=lambda one: one.text,
        fields=lambda one: {_SAID: one.text},
        sentences=frozenset((_SAID,)),
        rewrite=_left,
    )
    return OpenFeature(
        service=questions,
        forgettable=texts.forgettable,
        cut=texts.cut,
        clean=clean,
        retention=[
            RetentionRule(
                of=(QUESTIONS,),
                log="questions went with their messages",
                drop=lambda principal: questions.clean(principal.owner),
            )
        ],
        documents=[
            RecordLines(
                store=at.store,
                collection=QUESTIONS,
                kind=KIND,
                parse=_parsed,
                order="at",
                at="at",
                told=lambda _: None,
            ).form
        ],
    )


_GONE: Final = "There is no such question: it was answered or dismissed already."

FEATURE: Final = Feature(name="questions", open=_open, collections=(QUESTIONS,))
