"""What changed on either side since the last time: pages, their lines, facts. `reconcile` works on it.

Only what may have changed is read: the facts of the log's newest steps, the
pages of the vault's newest changes, and what belongs to one of them. All of it
is read the first time, and where the log does not tell what was changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, NoSuchPage, TooLarge
from bethink.forgetting.announcements import announced_of
from bethink.memory import FACTS, STEPS, Fact
from bethink.memory.facts import MARK
from bethink.memory.writer import REVISION, REVISIONS
from bethink.mirror.lines import (
    FOLDER,
    LINES,
    MIRRORS,
    ONE,
    REFUSALS,
    MirrorLine,
    MirrorState,
    PageSnapshot,
    RefusedLine,
    shown_in,
)
from bethink.store import Scan, Store, Versioned, items_of, records_of
from bethink.vault.files.paths import is_conflict_copy

if TYPE_CHECKING:
    from bethink.mirror.lines import LineItem
    from bethink.vault import Vault

Hand = Literal["person", "agent", "stranger", "import"]
"""Who wrote a line; a `stranger` is a model that had read words from outside, or a page from there."""
_PAGE: Final = 1_000
_LONGEST_CHAIN: Final = 100
"""Corrections of corrections that are followed to what a fact became."""
_LATEST: Final = 20


@dataclass(slots=True)
class ChangeSet:
    """What may have changed. `lines` are by their ids, `facts` by theirs, `pages` by their paths.

    `next` is how far both sides are compared once this is done. `is_anew` where all was asked for.
    """

    now: MirrorState
    version: int
    next: MirrorState
    is_whole: bool
    is_anew: bool = False
    pages: dict[str, PageSnapshot] = field(default_factory=dict[str, PageSnapshot])
    lines: dict[str, Versioned[MirrorLine]] = field(default_factory=dict[str, "Versioned[MirrorLine]"])
    facts: dict[str, Fact] = field(default_factory=dict[str, "Fact"])
    touched: list[str] = field(default_factory=list[str])
    marked: defaultdict[str, list[tuple[PageSnapshot, LineItem]]] = field(
        default_factory=lambda: defaultdict[str, list[tuple[PageSnapshot, "LineItem"]]](list)
    )

    @property
    def is_idle(self) -> bool:
        """Whether nothing changed since the last time."""
        return self.next == self.now and not self.is_whole


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads both sides of an owner."""

    store: Store
    vault: Vault

    async def state(self, owner: str) -> Versioned[MirrorState]:
        """How far both sides were compared; of version 0 where they never were."""
        (found,) = await self.store.get(MIRRORS, owner, [ONE])
        return found or Versioned(MirrorState(id=ONE), 0)

    async def changes(self, owner: str, *, at: int, whole: bool) -> ChangeSet:
        """What the numbers say: nothing is read yet but the log."""
        state = await self.state(owner)
        (revision,) = await self.store.get(REVISIONS, owner, [REVISION])
        counted = 0 if revision is None else revision.version
        forgotten = (await announced_of(self.store, owner)).record.ended
        change, _ = await self.vault.changed_since(owner, 2**62)
        now = state.record
        following = msgspec.structs.replace(now, change=change, revision=counted, ended=forgotten)
        is_over = now.paused and not await self.store.count(owner, LINES, {"state": "held"})
        delta = ChangeSet(now, state.version, following, whole or is_over or not state.version, whole)
        if counted != now.revision and not delta.is_whole:
            delta.touched, last = await self._touched(owner, now.at)
            # What was forgotten is in no step, but took its lines along. A clock may have been put back.
            only_forgotten = counted - now.revision == forgotten - now.ended
            delta.is_whole = last <= now.at and not only_forgotten
        if not delta.is_idle:
            (steps,) = await self.store.scan(owner, Scan(STEPS, order="at", reverse=True, limit=1))
            last = steps.items[0].record.at if steps.items else 0
            delta.next = msgspec.structs.replace(following, at=last, looked=at)
        return delta

    async def fill(self, owner: str, delta: ChangeSet) -> None:
        """Read all that may have changed."""
        if delta.is_whole:
            first = await self.all_lines(owner)
        else:
            # Those of facts that changed, and those that wait for their owner.
            wheres = [{"fact": id} for id in dict.fromkeys(delta.touched)]
            first = await self._many(owner, [*wheres, {"state": "held"}, {"state": "conflict"}])
        _, changed = await self.vault.changed_since(owner, delta.now.change)
        paths = {page.path for page in changed}
        known = await self.vault.pages(owner)
        # Of twins one went: its lines stand in the other now, which did not change.
        gone = {page.version for page in changed if page.state == "gone" and page.version}
        paths |= {path for path, page in known.items() if page.version in gone}
        if delta.is_whole:
            paths |= {path for path in known if path.startswith(FOLDER)}
            active = Scan(FACTS, {"state": "active"}, order="created_at", limit=_PAGE)
            async for fact in records_of(self.store, owner, active):
                delta.facts[fact.id] = fact
            delta.touched = [*delta.facts]
        if not delta.version and not first:
            # No page can hold a line that anybody mirrored.
            paths = {path for path in paths if path.startswith(FOLDER)}
        wanted = paths | self._take(delta, first)
        while wanted := wanted - delta.pages.keys():
            wanted = await self._look_at(owner, delta, wanted)
        await self._read_facts(
            owner, delta, [*delta.touched, *(one.record.fact for one in delta.lines.values())]
        )

    async def page(self, owner: str, path: str) -> PageSnapshot:
        """A page as it is now, and the lines in it."""
        try:
            page = await self.vault.read(owner, path)
        except NoSuchPage:
            return PageSnapshot(path)
        except (BadInput, TooLarge):
            return PageSnapshot(path, odd=True)
        if (MARK not in page.text and not path.startswith(FOLDER)) or is_conflict_copy(path):
            return PageSnapshot(path, page.version, page.text)
        marked, unmarked = await anyio.to_thread.run_sync(shown_in, page.text)
        items = unmarked if path.startswith(FOLDER) else ()
        return PageSnapshot(path, page.version, page.text, marked, items, untrusted=page.untrusted)

    async def current(self, owner: str, delta: ChangeSet, id: str) -> Fact | None:
        """What is in use of a fact: itself, what corrected it or what it had corrected; or None."""
        visited: set[str] = set()
        fact = delta.facts.get(id)
        while fact is not None and fact.id not in visited and len(visited) < _LONGEST_CHAIN:
            if fact.state in {"active", "suggested"}:
                return fact
            visited.add(fact.id)
            if fact.superseded_by is not None:
                await self._read_facts(owner, delta, [fact.superseded_by])
                fact = delta.facts.get(fact.superseded_by)
                continue
            await self._read_facts(owner, delta, fact.supersedes)
            old = (delta.facts.get(one) for one in fact.supersedes)
            return next((one for one in old if one is not None and one.state == "active"), None)
        return None

    async def hand(self, owner: str, snapshot: PageSnapshot, since: int) -> Hand:
        """Whose hand changed a page since a moment: the least trusted of all."""
        found = await self.vault.versions.history(owner, snapshot.path, limit=_LATEST)
        lately = [one for one in found if one.at >= since]
        hands = {one.by for one in lately}
        is_laid_in = any(one.by == "outside" and one.what == "created" for one in lately)
        if snapshot.untrusted and (is_laid_in or hands & {"agent", "import"}):
            return "stranger"
        if "agent" in hands:
            return "agent"
        return "import" if "import" in hands else "person"

    async def is_reverted(self, owner: str, snapshot: PageSnapshot) -> bool:
        """Whether a page says again what it said before, as one that was brought back from a copy."""
        found = await self.vault.versions.history(owner, snapshot.path)
        return any(one.content == snapshot.version for one in found[1:])

    async def refusals(self, owner: str, path: str) -> list[Versioned[RefusedLine]]:
        """The lines of a page that became no facts."""
        return [one async for one in items_of(self.store, owner, Scan(REFUSALS, {"path": path}, limit=_PAGE))]

    async def lines_of(self, owner: str, facts: Sequence[str]) -> list[Versioned[MirrorLine]]:
        """The lines of these facts."""
        return await self._many(owner, [{"fact": id} for id in facts])

    async def all_lines(self, owner: str, **where: str) -> list[Versioned[MirrorLine]]:
        """The lines with these keys."""
        return [one async for one in items_of(self.store, owner, Scan(LINES, {**where}, limit=_PAGE))]

    async def _look_at(self, owner: str, delta: ChangeSet, paths: Collection[str]) -> set[str]:
        """Read pages, and know their lines; the paths of other pages that belong to them."""
        ids: set[str] = set()
        for path in sorted(paths):
            delta.pages[path] = snapshot = await self.page(owner, path)
            for shown in snapshot.marked:
                delta.marked[shown.id].append((snapshot, shown))
                ids.add(shown.id)
        found = await self._many(owner, [{"path": path} for path in paths])
        unknown = sorted(ids - delta.lines.keys() - {one.record.id for one in found})
        found += [one for one in await self.store.get(LINES, owner, unknown) if one is not None]
        return self._take(delta, found)

    def _take(self, delta: ChangeSet, found: Iterable[Versioned[MirrorLine]]) -> set[str]:
        """Know these lines; the paths where they are."""
        paths: set[str] = set()
        for one in found:
            delta.lines.setdefault(one.record.id, one)
            if one.record.state != "gone":
                paths.add(one.record.path)
        return paths

    async def _many(self, owner: str, wheres: Sequence[dict[str, str]]) -> list[Versioned[MirrorLine]]:
        scans = [Scan(LINES, where, limit=_PAGE) for where in wheres]
        found: list[Versioned[MirrorLine]] = []
        for scan, page in zip(scans, await self.store.scan(owner, *scans), strict=True):
            found += page.items
            if page.cursor is not None:
                found += [one async for one in items_of(self.store, owner, replace(scan, after=page.cursor))]
        return found

    async def _touched(self, owner: str, since: int) -> tuple[list[str], int]:
        """The facts of the steps since a moment, and the moment of the last one."""
        ids: dict[str, None] = {}
        last = 0
        async for step in records_of(self.store, owner, Scan(STEPS, order="at", low=since, limit=_PAGE)):
            ids |= dict.fromkeys(one.id for one in step.facts)
            last = step.at
        return [*ids], last

    async def _read_facts(self, owner: str, delta: ChangeSet, ids: Iterable[str]) -> None:
        missing = [id for id in dict.fromkeys(ids) if id not in delta.facts]
        for start in range(0, len(missing), _PAGE):
            for one in await self.store.get(FACTS, owner, missing[start : start + _PAGE]):
                if one is not None:
                    delta.facts[one.record.id] = one.record
