"""Forgetting for good: whatever was kept of facts, wherever it was kept.

Doors, the command line, slash commands and tools forget through here. After it
the facts and all their versions are in no record, no index and no journal, what
said them in conversations reads "[forgotten]", and no file of the store holds a
trace. What is to go is written down first, by ids alone, so that a forgetting
which was cut short is finished at the next start.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from bethink.errors import BadInput, BethinkError, Conflict, NotAllowed
from bethink.forgetting.announcements import INTENTS, Announcements, ForgetIntent
from bethink.forgetting.occurrences import OccurrenceFinder, Occurrences, texts_of
from bethink.forgetting.pages import cut_out, erase_of, excerpts_of, rename_of
from bethink.forgetting.selection import (
    CONVERSATIONS,
    ForgetRequest,
    FullSelection,
    KindCount,
    MessageExcerpt,
    PageExcerpt,
    Preview,
    Receipt,
    Selection,
    holding,
    moment_of,
    outside,
)
from bethink.memory import FACTS, Fact, Memory
from bethink.messages import UserMessage
from bethink.principal import OWN_EYES, Principal
from bethink.redaction import Redaction, redaction_of
from bethink.store import UNSCRUBBED, Change, Delete, Put, Scan, Store, owners_of, retry_conflicts, scrub
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.feature import Features
    from bethink.forgettable import Forgettable, Removal, TextPlace
    from bethink.forgetting.selection import Selector
    from bethink.vault.filters.views import VaultViews

_LINES = 5
"""Of each kind that a person ticks, what a preview shows."""
_ALWAYS = "facts"
_ALL = re.compile(
    r"(?P<asked>(?:please )?(?:forget|delete|erase|remove) )?"
    r"(?:everything|all|(?:all(?: of)? )?(?:my|your) (?:data|memor(?:y|ies)))"
    r"(?: (?:that )?(?:you )?(?:know|have|remember|about me|of me|on me))*[.!]?",
    re.IGNORECASE,
)
"""The words in which people ask for all of it (spec 002, "Data control")."""
_NOT_WHOLE = (
    "Forgetting covers all data, and a filter hides some of it from you: only the owner can do it,"
    " on their page or in their terminal."
)
_log = log("forgetting")


class RunRecords(Protocol):
    """What is being said now, and what is kept of runs; `app` wires `agent/removal`."""

    async def write(self, owner: str) -> None:
        """Have all that was said so far kept, so that it is found."""
        ...

    async def heed_forgetting(self, owner: str) -> None:
        """Have no run of the owner keep what is announced from now on, in whichever process it lives."""
        ...

    async def forget(self, owner: str, found: Occurrences) -> Sequence[Change]:
        """The changes by which nothing of it is left in what is kept of runs and requests."""
        ...

    async def scrub(self, owner: str) -> None:
        """Remove what was read of files, and what code made: nobody can say what is in them."""
        ...

    @property
    def forgettable(self) -> Forgettable:
        """What conversations tell of themselves; `clear` is how all of them go."""
        ...

    async def clear(self, owner: str, spare: str | None, *, keep: bool) -> None:
        """Take what was said out of recall or, if not kept, remove it, but for what `spare` says now."""
        ...


class FactLines(Protocol):
    """What shows facts outside memory, line by line; `app` wires the mirror's."""

    async def of(self, owner: str, facts: Collection[str]) -> Sequence[str]:
        """The ids of the lines that show these facts, or showed them last."""
        ...

    def without(self, lines: Sequence[str]) -> Sequence[Change]:
        """The changes by which nothing is known of these lines."""
        ...


@dataclass(slots=True)
class Forgetting:
    """Removes facts of all owners for good; every call acts for one principal.

    All kinds of the `features` may go with everything, if their owner ticks them.
    """

    store: Store
    selector: Selector
    occurrences: OccurrenceFinder
    announcements: Announcements
    run_records: RunRecords = field(repr=False)
    fact_lines: FactLines = field(repr=False)
    memory: Memory = field(repr=False)
    views: VaultViews = field(repr=False)
    clock: Clock
    new_id: Ids
    features: Features = field(repr=False)
    completed: int = 0
    """Since the start, by this process."""

    async def meant(self, principal: Principal, query_or_id: str) -> ForgetRequest:
        """What a person or a model names in one word or more: a fact's id, everything, else a question.

        Raises:
            NotAllowed: a filter hides something from them, and their door is not the owner's own.
        """
        await self._check_sees_all(principal)
        (fact,) = await self.store.get(FACTS, principal.owner, [query_or_id.strip()])
        if fact is not None:
            return ForgetRequest(ids=[fact.record.id])
        if _ALL.fullmatch(query_or_id.strip()):
            return ForgetRequest(everything=True)
        return ForgetRequest(query=query_or_id)

    async def preview(self, principal: Principal, wanted: ForgetRequest) -> Preview:
        """What would go; nothing changes.

        Raises:
            BadInput: `wanted` names nothing, or two things.
            NotAllowed: see `meant`.
        """
        await self._check_sees_all(principal)
        at = self.clock.now_us()
        chosen = await self._chosen(principal, wanted, at)
        found = await self._found(principal.owner, chosen)
        taken = await self._taken(principal.owner, chosen.places)
        lines = await self.fact_lines.of(principal.owner, {fact.record.id for fact in found.facts})
        erase = erase_of(await self._of_pages(principal.owner, found, chosen), lines)
        pages = await excerpts_of(self.views, principal, erase)
        facts, named = [fact.record for fact in found.facts], {*chosen.facts}
        held = {place.id for place in chosen.places}
        return Preview(
            token=chosen.token(at),
            facts=tuple(fact for fact in facts if fact.id in named),
            versions=tuple(fact for fact in facts if fact.id not in named),
            said=tuple(
                MessageExcerpt(
                    message=item.now.id,
                    conversation=item.now.conversation,
                    by_owner=isinstance(item.now.message, UserMessage),
                    at=item.now.at,
                    sentences=item.gone,
                )
                for item in found.messages
            ),
            titles=tuple(one.id for one in found.renamed),
            held=self._held(chosen.places, taken),
            has_more=chosen.has_more,
            records=tuple(one for one in found.records.excerpts if one.id not in held),
            pages=tuple(PageExcerpt(one.path, one.parts) for one in pages),
            whole=chosen.whole,
        )

    async def confirm(self, principal: Principal, wanted: ForgetRequest, token: str) -> Receipt:
        """Forget what a preview of the same showed; `token` is the preview's.

        Raises:
            BadInput: `token` is no preview's.
            Conflict: what would go is no longer what was shown, or see `forget`.
            StorageError: see `forget`.
            NotAllowed: see `meant`.
        """
        await self._check_sees_all(principal)
        at = moment_of(token)
        chosen = await self._chosen(principal, wanted, at)
        if token != chosen.token(at):
            raise Conflict("What would be forgotten has changed since it was shown. Look at it again.")
        return await self._begin(principal.owner, chosen)

    async def forget(self, principal: Principal, ids: Sequence[str]) -> Receipt:
        """Forget the facts with these ids, with all their versions; unknown ids are passed over.

        Raises:
            Conflict: others kept changing what says them; it is completed at the next start.
            StorageError: they are gone from every record, but other readers keep
                traces in the files; the next forgetting or start removes those too.
        """
        return await self._begin(principal.owner, Selection(tuple(ids)))

    async def forget_all(
        self, principal: Principal, wanted: ForgetRequest | None = None, *, is_shown: bool = False
    ) -> Receipt:
        """Forget everything: each fact, whatever its state, and what else is `wanted`.

        `is_shown` says that its owner was shown a preview.

        Raises:
            BadInput: pages are wanted that other programs use: that is shown first.
            NotAllowed: see `meant`.
        """
        await self._check_sees_all(principal)
        chosen = await self._chosen(principal, wanted or ForgetRequest(everything=True), self.clock.now_us())
        shared = [one.shared for one in chosen.whole.counts if one.shared] if chosen.whole else []
        if shared and not is_shown:
            raise BadInput(f"{' '.join(shared)} Ask for a preview and confirm it.")
        return await self._begin(principal.owner, chosen)

    async def _chosen(self, principal: Principal, wanted: ForgetRequest, at: int) -> Selection:
        chosen = await self.selector.chosen(principal, wanted, at)
        if wanted.query is not None:
            holds = holding(wanted.query)
            places = [
                place for one in self._kinds if one.find for place in await one.find(principal.owner, holds)
            ]
            return replace(chosen, places=tuple(places))
        if not wanted.everything:
            return chosen
        ticked = set(wanted.kinds) - {_ALWAYS, CONVERSATIONS}
        if unknown := sorted(ticked - {one.kind for one in self.features.forgettables}):
            names = ", ".join((_ALWAYS, CONVERSATIONS, *(one.kind for one in self.features.forgettables)))
            raise BadInput(f"There is no kind {unknown[0]!r}: there are {names}.")
        owner = principal.owner
        counts = [
            KindCount(
                one.kind,
                one.one,
                one.many,
                count := await one.count(owner),
                tuple(await one.lines(owner, _LINES)) if count else (),
                await one.shared(owner) if one.shared else "",
            )
            for one in self._kinds
        ]
        goes = {CONVERSATIONS, *ticked}
        whole = FullSelection(
            kinds=tuple(one.kind for one in self.features.forgettables if one.kind in ticked),
            conversations=wanted.conversations or "keep",
            asked_in=wanted.asked_in,
            counts=tuple(one for one in counts if one.kind in goes),
            others=tuple(one for one in counts if one.kind not in goes),
        )
        return replace(chosen, whole=whole)

    @property
    def _kinds(self) -> Sequence[Forgettable]:
        # Conversations go by `RunRecords.clear` if everything does.
        return (self.run_records.forgettable, *self.features.forgettables)

    async def _taken(self, owner: str, places: Sequence[TextPlace]) -> dict[str, Removal]:
        named = {place.kind for place in places}
        taken = {
            one.kind: await one.take(owner, [place for place in places if place.kind == one.kind])
            for one in self._kinds
            if one.take and one.kind in named
        }
        return {kind: one for kind, one in taken.items() if one.gone}

    def _held(self, places: Sequence[TextPlace], taken: Mapping[str, Removal]) -> tuple[KindCount, ...]:
        return tuple(
            KindCount(
                one.kind,
                one.one,
                one.many,
                len({place.id for place in places if place.kind == one.kind}),
                tuple(f"{what}: {text}" for what, text in taken[one.kind].gone),
            )
            for one in self._kinds
            if one.kind in taken
        )

    @retry_conflicts
    async def _empty(self, owner: str, places: Sequence[TextPlace]) -> None:
        """Have places hold nothing any more; done again, it finds less."""
        taken = await self._taken(owner, places)
        await self.store.commit(owner, [change for one in taken.values() for change in one.changes])

    async def finish_earlier(self) -> None:
        """Complete what an earlier process did not; what still cannot be is logged, and tried again later."""
        try:
            await self.finish_all()
        except BethinkError as error:
            _log.error("what was being forgotten could not be completed: %s", error)

    async def finish_all(self) -> None:
        """Complete what was begun and cut short, whoever's it is; all of them are tried.

        Raises:
            BethinkError: something could not be completed; it is tried again at the next start.
        """
        failed: BethinkError | None = None
        async for owner in owners_of(self.store, INTENTS, UNSCRUBBED):
            try:
                await self.finish(owner)
            except BethinkError as error:
                failed = error
        if failed is not None:
            raise failed

    async def finish(self, owner: str) -> None:
        """Complete what was begun and cut short, deletions too."""
        for state in ("open", "traces", "done"):
            (page,) = await self.store.scan(owner, Scan(INTENTS, {"state": state}, order="at"))
            for item in page.items:
                await self._complete(owner, item.record)
        if await self.store.count(owner, UNSCRUBBED, {}):
            await self.features.clean(owner)
            await scrub(self.store, owner)

    async def _check_sees_all(self, principal: Principal) -> None:
        """What is forgotten is told by counts and sentences, of what is hidden, too; the owner decides."""
        if principal.door not in OWN_EYES and await self.views.filters.rules_for(principal):
            raise NotAllowed(_NOT_WHOLE)

    async def _begin(self, owner: str, chosen: Selection) -> Receipt:
        await self.finish(owner)
        facts = await self.occurrences.versions(owner, chosen.facts)
        now = self.clock.now_us()
        whole = chosen.whole
        taken = await self._taken(owner, chosen.places)
        held = self._held(chosen.places, taken)
        notes = [note for one in taken.values() for note in one.notes]
        if not (facts or chosen.cuts or chosen.pages or held or (whole and not whole.is_empty)):
            return Receipt(now)
        ids = tuple(fact.record.id for fact in facts)
        intent = ForgetIntent(
            id=self.new_id(),
            at=now,
            state="open",
            facts=ids,
            cuts=chosen.cuts,
            pages=chosen.pages,
            places=chosen.places,
        )
        if whole is not None:
            intent = msgspec.structs.replace(
                intent, kinds=whole.kinds, conversations=whole.conversations, asked_in=whole.asked_in
            )
        await self.announcements.announce(owner, intent.id, [Put(INTENTS, intent, if_version=0)])
        done = await self._complete(owner, intent)
        return replace(
            done,
            has_more=chosen.has_more,
            whole=whole and replace(whole, counts=_unquoted(whole.counts), others=_unquoted(whole.others)),
            held=_unquoted(held),
            outside=(*notes, *done.outside),
        )

    async def _complete(self, owner: str, intent: ForgetIntent) -> Receipt:
        """Do what is left to be done; again where another writer came between."""
        receipt = Receipt(intent.at)
        if intent.state == "open":
            await self._clear(owner, intent)
            async with self.memory.alone(owner):
                await self.announcements.announce(owner, intent.id)
                await self.run_records.heed_forgetting(owner)
                receipt = await self._remove(owner, intent)
        if intent.places:
            await self._empty(owner, intent.places)
        await self.run_records.scrub(owner)
        await self.features.clean(owner)
        remains = (*await scrub(self.store, owner), *await self.features.remains(owner))
        await self.store.commit(owner, [Delete(INTENTS, intent.id)])
        self.completed += 1
        return replace(receipt, outside=(*receipt.outside, *remains), remains=remains)

    async def _clear(self, owner: str, intent: ForgetIntent) -> None:
        """What goes beside facts, if everything does; done again, it finds less."""
        if not intent.conversations:
            return
        clear = retry_conflicts(self.run_records.clear)
        await clear(owner, intent.asked_in, keep=intent.conversations == "keep")
        for one in self.features.forgettables:
            if one.kind in intent.kinds:
                await one.remove(owner)

    @retry_conflicts
    async def _remove(self, owner: str, intent: ForgetIntent) -> Receipt:
        """One commit; no run that is live says it again."""
        found = await self._found(owner, Selection(intent.facts, intent.cuts, places=intent.places))
        going = {fact.record.id for fact in found.facts}
        parting = await self.memory.parting(owner, going)
        lines = await self.fact_lines.of(owner, going)
        redacted = await self.features.redact(owner, found.redaction)
        changes: list[Change] = [
            *self.fact_lines.without(lines),
            Put(INTENTS, msgspec.structs.replace(intent, state="traces")),
            await self.announcements.end(owner, intent.id, at=intent.at, facts=len(going)),
            *found.changes(),
            *await self.run_records.forget(owner, found),
            *redacted.changes,
            *parting,
        ]
        chosen = Selection(intent.facts, intent.cuts, pages=intent.pages)
        of_pages = await self._of_pages(owner, found, chosen)
        rename = cache(partial(rename_of, of_pages))
        async with self.views.vault.erasing(owner, erase_of(of_pages, lines), rename) as erased:
            await self.store.commit(owner, [*changes, *erased.changes])
            erased.done()
        for listener in self.memory.heard:
            listener(owner)
        return Receipt(
            at=intent.at,
            facts=tuple(fact.record.id for fact in found.facts),
            messages=tuple(item.now.id for item in found.messages),
            titles=tuple(one.id for one in found.renamed),
            doubted=tuple(_doubted(parting, going)),
            records=found.records.ids,
            pages=tuple(erased.pages),
            outside=(
                *redacted.notes,
                *outside(has_pages=bool(erased.changes), unreached=len(erased.unreached)),
            ),
        )

    async def _of_pages(self, owner: str, found: Occurrences, chosen: Selection) -> Redaction:
        """What goes out of pages: the facts, and what was said of it in messages and on pages."""
        said = await self.occurrences.said(owner, chosen.cuts)
        on_pages = await cut_out(self.store, owner, chosen.pages)
        texts = [text for fact in found.facts for text in texts_of(fact.record)]
        return redaction_of([*texts, *on_pages, *(text for parts in said.values() for text in parts)])

    async def _found(self, owner: str, chosen: Selection) -> Occurrences:
        await self.run_records.write(owner)
        facts = await self.occurrences.versions(owner, chosen.facts)
        # What says elsewhere what goes of places goes, too.
        taken = await self._taken(owner, chosen.places)
        texts = [text for one in taken.values() for _, text in one.gone]
        return await self.occurrences.of(owner, facts, chosen.cuts, also=texts)


def asks_for_all(said: str) -> bool:
    """Whether a whole message asks to forget everything, such as "Delete my data"."""
    found = _ALL.fullmatch(said.strip())
    return found is not None and found["asked"] is not None


def _unquoted(counts: Sequence[KindCount]) -> tuple[KindCount, ...]:
    """These for a receipt, which quotes nothing."""
    return tuple(replace(one, lines=()) for one in counts)


def _doubted(changes: Sequence[Change], going: Collection[str]) -> Iterator[str]:
    for change in changes:
        match change:
            case Put(record=Fact(id=id, doubts=doubts)):
                if any(doubt.kind == "depends" and doubt.fact in going for doubt in doubts):
                    yield id
            case _:
                pass
