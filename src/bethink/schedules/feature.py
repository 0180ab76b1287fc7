"""What schedules say about themselves: how they are found, forgotten and exported, and what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import checked_id, rfc3339, time_of, with_times
from bethink.feature import DocumentForm, Feature, OpenFeature, Recallable, RecallKind
from bethink.record_texts import RecordTexts
from bethink.schedules.records import (
    DELIVERIES,
    DELIVERY_SETTINGS,
    NOTICES,
    PUSH_SUBSCRIPTIONS,
    REMINDER_MARKS,
    SCHEDULE_RUNS,
    SCHEDULES,
    WATCHED_PAGES,
    Schedule,
)
from bethink.schedules.service import KIND, Schedules, checked, item_of
from bethink.store import Put, Scan, pages_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bethink.feature import Surroundings
    from bethink.principal import Principal
    from bethink.store import Store

_IMPORTANCE = 0.5
_PAGE = 500


def schedule_texts(store: Store) -> RecordTexts[Schedule]:
    """What schedules say."""
    return RecordTexts(
        store=store,
        collection=SCHEDULES,
        kind="schedules",
        one="schedule",
        name=lambda schedule: schedule.title,
        fields=lambda schedule: {"title": schedule.title, "text": schedule.text, "url": schedule.url},
        sentences=frozenset(("title", "text")),
        rewrite=lambda schedule, left: msgspec.structs.replace(schedule, **left),
        index=item_of,
        others=[SCHEDULE_RUNS, NOTICES, DELIVERIES, WATCHED_PAGES],
    )


def _form(store: Store) -> DocumentForm:
    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(store, owner, Scan(SCHEDULES, order="created_at", limit=_PAGE)):
            found = [msgspec.to_builtins(item.record) for item in page]
            yield [{"kind": KIND, **with_times(schedule, rfc3339)} for schedule in found]

    def parse(document: Mapping[str, Any]) -> Schedule:
        schedule = msgspec.convert(with_times(dict(document), time_of), Schedule)
        checked_id(schedule.id)
        return checked(schedule)

    async def restore(owner: str, schedules: Sequence[Schedule], is_preview: bool) -> Sequence[str]:  # noqa: FBT001 - as DocumentForm has it
        here = await store.get(SCHEDULES, owner, [schedule.id for schedule in schedules])
        new = [one for one, known in zip(schedules, here, strict=True) if known is None]
        if new and not is_preview:
            await store.commit(owner, [Put(SCHEDULES, one, 0, item_of(one)) for one in new])
        return [
            "said" if known is None else "known" if known.record == one else "differing"
            for one, known in zip(schedules, here, strict=True)
        ]

    return DocumentForm(
        kind=KIND, export=export, parse=parse, restore=restore, made_at=lambda schedule: schedule.created_at
    )


def _open(at: Surroundings) -> OpenFeature:
    schedules = Schedules(at.store, at.bus, at.clock, at.new_id)

    async def resolve(principal: Principal, ids: Sequence[str]) -> list[Recallable | None]:
        found = await at.store.get(SCHEDULES, principal.owner, ids)
        return [item and _recallable(item.record) for item in found]

    texts = schedule_texts(at.store)
    return OpenFeature(
        service=schedules,
        recall=[RecallKind(name=KIND, resolve=resolve)],
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[_form(at.store)],
    )


def _recallable(schedule: Schedule) -> Recallable:
    return Recallable(
        f"{schedule.title}\n{schedule.text}" if schedule.text != schedule.title else schedule.title,
        schedule.created_at,
        _IMPORTANCE,
        source=f"schedule:{schedule.id}",
        untrusted=schedule.untrusted,
    )


FEATURE = Feature(
    name="schedules",
    open=_open,
    collections=(
        SCHEDULES,
        SCHEDULE_RUNS,
        NOTICES,
        DELIVERIES,
        WATCHED_PAGES,
        DELIVERY_SETTINGS,
        PUSH_SUBSCRIPTIONS,
        REMINDER_MARKS,
    ),
    counted={"schedules": ("schedule", SCHEDULES)},
    routes=("bethink.web.schedules",),
)
