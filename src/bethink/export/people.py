"""People in an export file, a line for each, as they are kept: without card numbers. `service` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput
from bethink.export.records import Bad, KeptPerson, checked_id, rfc3339, time_of, with_times
from bethink.people import EMAILS, PEOPLE, Email, Person
from bethink.people.fields import checked
from bethink.people.records import email_id
from bethink.store import Put, Scan
from bethink.store.reading import pages_of
from bethink.store.retry import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bethink.export.records import Line
    from bethink.principal import Principal
    from bethink.store import Store

_PAGE = 200
_DIGITS = range(13, 20)
_LAST = 4


async def people_lines(store: Store, principal: Principal) -> AsyncGenerator[list[dict[str, Any]]]:
    """Everybody whose record the owner keeps, in the order in which they came; some lines at a time."""
    scan = Scan(PEOPLE, order="created_at", limit=_PAGE)
    async for page in pages_of(store, principal.owner, scan):
        yield [_document(item.record) for item in page]


def person_from(line: int, document: Mapping[str, Any]) -> Line:
    """The person of an exported document, checked as strictly as a new one; or why there is none."""
    try:
        found = msgspec.convert(with_times(dict(document), time_of), Person)
        checked_id(found.id)
        card = found.credit_card
        if card is not None and not (
            card.digits in _DIGITS and card.last.isdecimal() and len(card.last) == _LAST
        ):
            return Bad(line, "credit_card: only how many digits it has and the last four of them are kept.")
        given = {
            name: value
            for name, value in msgspec.to_builtins(found).items()
            if value is not None and name not in {"id", "created_at", "credit_card", "untrusted"}
        }
        values = checked(given, None, to_datetime(found.created_at).date())
    except (BadInput, msgspec.ValidationError) as error:
        return Bad(line, f"{error}")
    return KeptPerson(line, msgspec.structs.replace(found, **values))


@retry_conflicts
async def put_back(store: Store, owner: str, lines: Sequence[KeptPerson], *, preview: bool) -> list[str]:
    """Put back those who are not here, in one commit; what became of each: "said" for who came back."""
    held = await store.get(PEOPLE, owner, [line.person.id for line in lines])
    taken = await store.get(EMAILS, owner, [email_id(line.person.email) for line in lines])
    outcomes: list[str] = []
    new: dict[str, Person] = {}
    for line, here, email in zip(lines, held, taken, strict=True):
        key = email_id(line.person.email)
        if here is not None:
            outcomes.append("known" if here.record == line.person else "differing")
        elif email is not None or key in new:
            outcomes.append("differing")
        else:
            new[key] = line.person
            outcomes.append("said")
    puts = [Put(PEOPLE, person, if_version=0) for person in new.values()]
    emails = [Put(EMAILS, Email(id=key, person=one.id), if_version=0) for key, one in new.items()]
    if new and not preview:
        await store.commit(owner, [*puts, *emails])
    return outcomes


def _document(person: Person) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(person)
    kept = {name: value for name, value in document.items() if value not in (None, False)}
    return {"kind": "person", **with_times(kept, rfc3339)}
