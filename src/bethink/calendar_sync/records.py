"""What is kept of calendar servers: accounts, what both sides had when they last agreed, and conflicts.

And of feeds and of Bethink's own calendar server. Texts of calendars stand in conflicts alone, where they are
both sides of one; all else is names, etags and digests.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

import msgspec

from bethink.store import Collection, Record

Form = Literal["VEVENT", "VTODO"]
Sends = Literal["all", "changes", "nothing"]
LinkState = Literal["linked", "refused_here", "refused_there", "left"]


class SyncedCalendar(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar of an account. `href` is its path; `forms` are what it takes of ours.

    `ctag` and `sync_token` are what its server said when all of it was here; "" if something may not be.
    """

    href: str
    name: str
    forms: tuple[Form, ...]
    on: bool = True
    read_only: bool = False
    ctag: str = ""
    sync_token: str = ""


class CalendarAccount(Record, frozen=True, kw_only=True):
    """A user of a calendar server; `password` is sealed.

    `sends` is what of ours goes there: `all` that no other account has, `changes` of what came from there, or
    `nothing`. `pending_deletions` is how many went there at once, more than are believed without being asked.
    Times are microseconds UTC.
    """

    name: str
    url: str
    user: str
    password: bytes
    created_at: int
    sends: Sends = "all"
    interval_minutes: int = 5
    paused: bool = False
    calendars: tuple[SyncedCalendar, ...] = ()
    error: str = ""
    failures: int = 0
    next_at: int = 0
    synced_at: int = 0
    pending_deletions: int = 0


class RemoteLink(Record, frozen=True, kw_only=True):
    """What is here and there the same thing: `href` there, `uid` here, and the etags when both agreed.

    An empty etag says that the side may be newer than the other one knows. `why` is the sentence of a side
    that refused it.
    """

    account: str
    calendar: str
    href: str
    uid: str
    form: Form
    here: str = ""
    there: str = ""
    state: LinkState = "linked"
    why: str = ""


class SyncConflict(Record, frozen=True, kw_only=True):
    """Both sides changed: the `there` text and its etag, None if it was deleted there.

    `here` is what was here when it was found, None if it was deleted; what is here now is shown beside it.
    """

    account: str
    calendar: str
    href: str
    uid: str
    form: Form
    at: int
    title: str
    here: str | None
    there: str | None
    there_etag: str

    def link(self, here: str) -> RemoteLink:
        """The link that both sides have once it is settled; `here` is the etag of this one."""
        names = ("id", "account", "calendar", "href", "uid", "form")
        return RemoteLink(**{name: getattr(self, name) for name in names}, here=here, there=self.there_etag)


class Feed(Record, frozen=True, kw_only=True):
    """A calendar to subscribe to; `digest` is that of its token, which is kept nowhere."""

    name: str
    digest: str
    forms: tuple[Form, ...]
    created_at: int
    used_at: int = 0


class ServedObject(Record, frozen=True, kw_only=True):
    """What clients of Bethink's own calendar server were told of an object: its `name` in the address.

    Its id is a digest of form and name. `number` counts changes of a form: who knows those up to one is told
    the later ones. Without an etag it is gone.
    """

    form: Form
    uid: str
    name: str
    etag: str
    number: int


class ServedHead(Record, frozen=True, kw_only=True):
    """The last number of a form's changes."""

    number: int


ACCOUNTS: Final = Collection("calendar_accounts", CalendarAccount, ("next_at",), searchable=False)
LINKS: Final = Collection(
    "calendar_links",
    RemoteLink,
    ("account", "uid"),
    scans=(("account",), ("uid",)),
    searchable=False,
)
CONFLICTS: Final = Collection(
    "calendar_conflicts", SyncConflict, ("account", "at"), scans=(("account",), ("at",)), searchable=False
)
FEEDS: Final = Collection("calendar_feeds", Feed, searchable=False)
SERVED: Final = Collection(
    "calendar_served",
    ServedObject,
    ("form", "uid", "number"),
    scans=(("form", "number"), ("uid",)),
    searchable=False,
)
SERVED_HEADS: Final = Collection("calendar_served_heads", ServedHead, searchable=False)


def link_id(account: str, href: str) -> str:
    """The id of what stands at a path of an account."""
    return digest(account, href)


def digest(*parts: str) -> str:
    """The same for the same texts."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
