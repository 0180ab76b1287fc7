"""What imports keep, without what is forgotten: names in reports, and where things are. For `service`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.importing.records import GROWN, IMPORTS, TAKEN
from bethink.redaction import FORGOTTEN
from bethink.store import Delete, Put, Scan
from bethink.store.reading import items_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.importing.records import Problem, Report, Taken, Topic
    from bethink.redaction import Redaction
    from bethink.store import Change, Store

_PAGE = 500


async def forgotten(store: Store, owner: str, gone: Redaction) -> Sequence[Change]:
    """The changes by which nothing that is kept of imports says it any more."""
    changes: list[Change] = []
    async for held in items_of(store, owner, Scan(IMPORTS, limit=_PAGE)):
        record = held.record
        now = msgspec.structs.replace(
            record,
            name=_text(record.name, gone),
            preview=record.preview and _report(record.preview, gone),
            report=record.report and _report(record.report, gone),
        )
        if now != record:
            changes.append(Put(IMPORTS, now, held.version))
    # A page whose name says it is not known again: its name here must not stay.
    changes += [
        Delete(TAKEN, taken.record.id, taken.version)
        async for taken in items_of(store, owner, Scan(TAKEN, limit=_PAGE))
        if _is_named(taken.record, gone)
    ]
    changes += [
        Delete(GROWN, grown.record.id, grown.version)
        async for grown in items_of(store, owner, Scan(GROWN, limit=_PAGE))
        if _is_named(grown.record.before, gone)
    ]
    return changes


def _is_named(taken: Taken, gone: Redaction) -> bool:
    return taken.kind == "page" and _says(taken.place, gone)


def _report(report: Report, gone: Redaction) -> Report:
    return msgspec.structs.replace(
        report,
        problems=tuple(_problem(one, gone) for one in report.problems),
        topics=tuple(_topic(one, gone) for one in report.topics),
    )


def _problem(problem: Problem, gone: Redaction) -> Problem:
    return msgspec.structs.replace(problem, name=_text(problem.name, gone), why=_text(problem.why, gone))


def _topic(topic: Topic, gone: Redaction) -> Topic:
    if _says(" ".join((topic.name, *topic.keywords)), gone):
        return msgspec.structs.replace(topic, name=FORGOTTEN, keywords=())
    return topic


def _text(text: str, gone: Redaction) -> str:
    return FORGOTTEN if _says(text, gone) else text


def _says(text: str, gone: Redaction) -> bool:
    return gone.says_in(text.replace("_", " ").replace("/", " "), close=False)
