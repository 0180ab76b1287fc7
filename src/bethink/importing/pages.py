"""Pages of an export become pages of the vault: each once, and anew where only the export's changed.

What is about to be written is noted first with its version, so that a page that
stands there when an import was cut short is known as this import's own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.errors import BadInput, BethinkError, Conflict, NoSuchPage, StorageError, TooLarge
from bethink.importing.conversations import Outcome
from bethink.importing.items import Left
from bethink.importing.records import GROWN, TAKEN, Grown, Taken
from bethink.store import Put, Scan
from bethink.vault import How, Wanted
from bethink.vault.files.paths import twin_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bethink.importing.items import Sheet
    from bethink.importing.records import Marks
    from bethink.principal import Principal
    from bethink.store import Change as StoreChange
    from bethink.store import Store, Versioned
    from bethink.vault import Change, Page, Vault

_MOST_NAMES = 1_000


@dataclass(slots=True)
class _Plan:
    """A page that is to be written: where, and of which version it is there; "" where it must be new."""

    sheet: Sheet
    row: Versioned[Taken] | None
    path: str
    becomes: Literal["new", "known", "grown"]
    if_version: str = ""
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Sheets:
    """Takes pages in for one owner, as one import; with `preview` it only says what it would."""

    store: Store
    vault: Vault
    principal: Principal
    batch: str
    source: str
    marks: Marks
    preview: bool = False

    async def take(self, sheets: Sequence[Sheet]) -> Outcome:
        """Take them in, all that may be; durable when it returns.

        Raises:
            StorageError: they cannot be kept.
        """
        owner, outcome = self.principal.owner, Outcome()
        ids = [self._row_id(sheet) for sheet in sheets]
        rows = await self.store.get(TAKEN, owner, ids)
        pages = await self.store.scan(
            owner, *[Scan(TAKEN, {"same": self.marks.of(sheet.text)}, limit=2) for sheet in sheets]
        )
        plans: dict[str, _Plan] = {}
        for id, sheet, row, page in zip(ids, sheets, rows, pages, strict=True):
            others = [item.record for item in page.items if item.record.batch != self.batch]
            if id in plans:
                outcome.counts["duplicates"] += 1
                continue
            try:
                plan = await self._plan(sheet, row, others, outcome=outcome, taken=plans)
            except (TooLarge, Conflict) as error:
                outcome.left.append(Left(sheet.title, error.message, whole="page"))
                continue
            if plan is not None:
                plans[id] = plan
        if not self.preview:
            await self._write([*plans.values()], outcome)
        for plan in plans.values():
            if not plan.is_refused:
                outcome.counts[plan.becomes] += 1
        return outcome

    async def _plan(
        self,
        sheet: Sheet,
        row: Versioned[Taken] | None,
        others: Sequence[Taken],
        *,
        outcome: Outcome,
        taken: Mapping[str, _Plan],
    ) -> _Plan | None:
        """What is to be done about a page; None where that is nothing."""
        if row is None:
            for other in others:
                if other.kind == "page" and await self._page(other.place) is not None:
                    outcome.counts["duplicates"] += 1
                    outcome.places[sheet.key] = other.place
                    return None
            return await self._begin(sheet, None, outcome=outcome, taken=taken)
        page = await self._page(row.record.place)
        outcome.places[sheet.key] = row.record.place
        if page is None:
            return await self._begin(sheet, row, outcome=outcome, taken=taken)
        if row.record.digest == self.marks.of(sheet.text) or page.text == sheet.text:
            outcome.counts["known"] += 1
            return None
        if self.marks.of(page.version) != row.record.written:
            outcome.counts["kept"] += 1
            outcome.left.append(
                Left(row.record.place, "It was changed here since, and stays so.", is_fault=False)
            )
            return None
        return _Plan(sheet, row, row.record.place, "grown", if_version=page.version)

    async def _begin(
        self, sheet: Sheet, row: Versioned[Taken] | None, *, outcome: Outcome, taken: Mapping[str, _Plan]
    ) -> _Plan:
        wanted = row.record.place if row else sheet.path
        path, is_there = await self._place(wanted, sheet, {twin_key(plan.path) for plan in taken.values()})
        outcome.places[sheet.key] = path
        return _Plan(sheet, row, path, "known" if is_there else "new")

    async def _write(self, plans: Sequence[_Plan], outcome: Outcome) -> None:
        """Note what is about to be written, then write it: all in one go."""
        await self._note([plan for plan in plans if plan.becomes != "grown"])
        writes = [plan for plan in plans if plan.becomes != "known" and not plan.is_refused]
        became = await self.vault.write_many(self.principal, [self._wanted(plan) for plan in writes])
        grown: list[StoreChange] = []
        for plan, change in zip(writes, became, strict=True):
            if isinstance(change, StorageError):
                raise change
            if isinstance(change, BethinkError):
                plan.is_refused = True
                outcome.left.append(Left(plan.sheet.title, change.message, whole="page"))
            elif plan.becomes == "grown" and plan.row is not None:
                grown += self._grown(plan.sheet, plan.row, change)
        if grown:
            await self.store.commit(self.principal.owner, grown)

    async def _note(self, plans: Sequence[_Plan]) -> None:
        owner, rows = self.principal.owner, [self._noted(plan) for plan in plans]
        try:
            if rows:
                await self.store.commit(owner, rows)
        except Conflict:
            # One of them was forgotten meanwhile, say: the others are noted all the same.
            for plan, row in zip(plans, rows, strict=True):
                try:
                    await self.store.commit(owner, [row])
                except Conflict:
                    plan.is_refused = True

    def _noted(self, plan: _Plan) -> StoreChange:
        # Of a page that was there nothing is ours to take away.
        is_theirs = plan.becomes == "known" and plan.row is None
        written = "" if is_theirs else self._version(plan.sheet.text)
        return Put(TAKEN, self._row(plan.sheet, plan.path, written), plan.row.version if plan.row else 0)

    def _wanted(self, plan: _Plan) -> Wanted:
        again = " again" if plan.becomes == "grown" else ""
        # Notes of another program may hold what it clipped from anywhere.
        untrusted = plan.sheet.untrusted or self.vault.settings.trust == "untrusted"
        how = How("import", f"Imported{again} from {self.source}", untrusted or None)
        return Wanted(plan.path, plan.sheet.text, how, plan.if_version)

    def _grown(self, sheet: Sheet, row: Versioned[Taken], change: Change) -> list[StoreChange]:
        now = msgspec.structs.replace(
            self._row(sheet, row.record.place, self._version(sheet.text)), batch=row.record.batch
        )
        grown = Grown(
            id=f"{self.batch}:{now.id}", batch=self.batch, before=row.record, undo=change.undo or ""
        )
        return [Put(TAKEN, now, row.version), Put(GROWN, grown)]

    async def _place(self, path: str, sheet: Sheet, taken: Collection[str]) -> tuple[str, bool]:
        """A path that no other page has or is about to have, and whether the very same page is there."""
        stem = path.removesuffix(".md")
        for number in range(1, _MOST_NAMES):
            name = path if number == 1 else f"{stem}_{number}.md"
            if twin_key(name) in taken:
                continue
            page = await self._page(name)
            if page is None or page.text == sheet.text:
                return name, page is not None
        message = f"There are {_MOST_NAMES:,} pages named like {path}."
        raise Conflict(message)

    async def _page(self, path: str) -> Page | None:
        try:
            return await self.vault.read(self.principal.owner, path)
        except NoSuchPage:
            return None
        except TooLarge:
            raise
        except BadInput as error:
            raise Conflict(error.message) from error

    def _row_id(self, sheet: Sheet) -> str:
        return self.marks.id(self.source, "page", sheet.key)

    def _version(self, text: str) -> str:
        """The mark of what the vault calls the version of a page with this text."""
        return self.marks.of(hashlib.sha256(text.encode()).hexdigest())

    def _row(self, sheet: Sheet, path: str, written: str) -> Taken:
        return Taken(
            id=self._row_id(sheet),
            batch=self.batch,
            kind="page",
            place=path,
            digest=self.marks.of(sheet.text),
            same=self.marks.of(sheet.text),
            written=written,
        )
