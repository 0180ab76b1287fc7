"""What is asked to be forgotten, and what that comes to. Read by `forgetting`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.across.redaction import redaction_of
from bethink.across.traces import MessageCut
from bethink.clock import to_datetime, to_us
from bethink.conversations import KIND as TURN
from bethink.conversations import MESSAGES
from bethink.errors import BadInput
from bethink.memory import FACTS, KIND
from bethink.messages import ToolMessage
from bethink.store import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bethink.across.recall import Recall
    from bethink.principal import Principal
    from bethink.store import Store

MAX_FOUND = 100
_FOUND = 20
_PAGE = 500
_TOKEN = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to forget, in one way.

    The facts with these `ids`; or what answers `query`, the best `k` of it; or
    what was learnt `since` (inclusive) and `until` (exclusive); or `everything`.
    """

    ids: Sequence[str] = ()
    query: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    everything: bool = False
    k: int = _FOUND

    def check(self) -> None:
        """Refuse what names nothing, or two things.

        Raises:
            BadInput: the sentence says what to name.
        """
        named = (bool(self.ids), self.query is not None, bool(self.since or self.until), self.everything)
        if sum(named) != 1 or not (self.query is None or self.query.strip()):
            message = "Say what to forget in one way: ids, a query, since and until, or all."
            raise BadInput(message)
        if not 1 <= self.k <= MAX_FOUND:
            message = f"k is {self.k}: give a number from 1 to {MAX_FOUND}."
            raise BadInput(message)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is wanted, as it is kept: ids of facts, and parts of messages."""

    facts: tuple[str, ...] = ()
    cuts: tuple[MessageCut, ...] = ()

    def token(self, at: int) -> str:
        """Stands for exactly this, chosen at a moment; tells nothing of it."""
        named = "\n".join((*self.facts, "", *(f"{cut.message} {cut.spans}" for cut in self.cuts)))
        return f"{at:x}-{hashlib.blake2b(named.encode(), digest_size=8).hexdigest()}"


def is_token(text: str) -> bool:
    """Whether this looks like the token of a preview."""
    return _TOKEN.fullmatch(text) is not None


def moment_of(token: str) -> int:
    """When the choice of a token was made, in microseconds UTC.

    Raises:
        BadInput: this is no token.
    """
    if (match := _TOKEN.fullmatch(token)) is None:
        message = "This is no preview's token: ask for a preview and confirm with its own."
        raise BadInput(message)
    return int(match[1], 16)


@dataclass(frozen=True, slots=True)
class Choosing:
    """Finds what is wanted; a question finds what scores `min_score` and more."""

    store: Store
    recall: Recall
    min_score: float

    async def chosen(self, principal: Principal, wanted: Wanted, at: int) -> Chosen:
        """What is wanted of all that was there at a moment.

        Raises:
            BadInput: `wanted` is not fit; a time has no zone.
        """
        wanted.check()
        if wanted.query is not None:
            return await self._answering(principal, wanted.query, k=wanted.k, at=at)
        if wanted.ids:
            found = await self.store.get(FACTS, principal.owner, list(dict.fromkeys(wanted.ids)))
            return Chosen(tuple(fact.record.id for fact in found if fact is not None))
        since = 0 if wanted.since is None else _us(wanted.since)
        until = at + 1 if wanted.until is None else min(_us(wanted.until), at + 1)
        return Chosen(await self._learnt(principal.owner, since, until))

    async def _answering(self, principal: Principal, query: str, *, k: int, at: int) -> Chosen:
        kinds = {KIND, TURN} & set(self.recall.kinds)
        hits = await self.recall.search(principal, query, k, kinds=kinds, until=to_datetime(at + 1))
        sure = [hit for hit in hits if hit.score >= self.min_score]
        about = redaction_of([query, *(hit.text for hit in sure if hit.kind == KIND)])
        said = await self.store.get(
            MESSAGES, principal.owner, sorted(hit.id for hit in sure if hit.kind == TURN)
        )
        cuts = [
            MessageCut(one.record.id, one.version, tuple(about.spans(one.record.message.content, close=True)))
            for one in said
            if one is not None and not isinstance(one.record.message, ToolMessage)
        ]
        facts = sorted(hit.id for hit in sure if hit.kind == KIND)
        return Chosen(tuple(facts), tuple(cut for cut in cuts if cut.spans))

    async def _learnt(self, owner: str, since: int, until: int) -> tuple[str, ...]:
        ids: list[str] = []
        cursor: str | None = None
        while True:
            scan = Scan(FACTS, order="created_at", low=since, high=until, limit=_PAGE, after=cursor)
            page = await self.store.scan(owner, scan)
            ids += [item.record.id for item in page.items]
            if (cursor := page.cursor) is None:
                return tuple(ids)


def _us(moment: datetime) -> int:
    try:
        return to_us(moment)
    except ValueError as error:
        message = f"{moment.isoformat()} has no time zone: add one, such as Z for UTC."
        raise BadInput(message) from error
