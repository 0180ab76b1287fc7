"""What a feature says about itself, once; recall, forgetting, export and all doors walk over features.

A feature's package holds one `Feature`: what is known before anything is opened (collections, which modules
are its faces). `app` opens each with the `Surroundings`, and gets its service with the hooks that the rooms
above call (`OpenFeature`). Nothing outside the list in `features` names a feature.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from bethink.forgettable import Forgettable, Removal

if TYPE_CHECKING:
    from bethink.blobs import Blobs
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.embeddings import Embeddings
    from bethink.events import StopReason
    from bethink.ical.lines import Component
    from bethink.index import Index
    from bethink.internet import Internet
    from bethink.principal import AccountHolder, OnBehalfOf, Principal
    from bethink.redaction import Redaction
    from bethink.secrets_at_rest import SecretBox
    from bethink.settings import Settings
    from bethink.settings.live import Part
    from bethink.store import Change, Collection, Store

T = TypeVar("T")

OWNER, ASSISTANT = "owner", "assistant"
"""Speakers who have no name."""
_LABEL_CHARS: Final = 60
_MARKS: Final = re.compile(r"[|#*`]|-{3,}")
"""What Markdown writes between words."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fact came from. `id` is the conversation's or import's, `message` the message's.

    `said` is what it said where the fact was put in fuller words since. Where filters restrained
    who said it, `by` is their audience, and `under` the number of the newest of those filters.
    """

    kind: Literal["conversation", "tool", "import", "person"]
    id: str | None = None
    message: str | None = None
    at: int = 0
    said: str | None = None
    by: str | None = None
    under: int = 0


@dataclass(frozen=True, slots=True)
class Recallable:
    """What a feature gives of a candidate: enough to rank and to show it.

    Times are microseconds UTC; `valid_until` is None while it holds. `source`
    names where it came from, `title` does so for a person, `doubt` says in a few words why it may not hold,
    `position` is a message's place in its conversation, `superseded_by` the id
    of the fact that took its place. What is `untrusted` came from outside. What
    `is_part` says less than what the index holds; what is searched stands `below` its headings.
    `said_by` are a fact's sources, `about` is whom it is about, if that is known.
    """

    text: str
    at: int
    importance: float
    source: str | None
    title: str | None = None
    conversation: str | None = None
    speaker: str | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    doubt: str | None = None
    position: int | None = None
    superseded_by: str | None = None
    untrusted: bool = False
    is_part: bool = False
    below: str = ""
    said_by: tuple[Source, ...] = ()
    about: str | None = None

    @property
    def searched(self) -> str:
        """What of it may be searched for."""
        return f"{self.below}\n{self.text}" if self.below else self.text

    def saying(self, text: str) -> Recallable:
        """The same, showing no more than this text."""
        return replace(self, text=text, is_part=True)


Resolve: TypeAlias = "Callable[[Principal, Sequence[str]], Awaitable[Sequence[Recallable | None]]]"
"""The recallables of one kind's ids, in their order; None for what is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphItem:
    """A thing of a feature as the graph shows it: what it is called, what it says, and what it leads to.

    `kind` is recall's, `source` names it in citations, `items` are the ids of its index items. `whole` is the
    node that holds it and what that is called; the node's kind stands before the colon of its id, `page` is
    the number of its page there. `names` are what it is called, beside what its text names; `links` are the
    nodes that it leads to, `before` and `behind` those that stand beside it.
    """

    id: str
    kind: str
    label: str
    text: str
    source: str
    items: tuple[str, ...]
    whole: tuple[str, str] | None = None
    page: int | None = None
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    before: str | None = None
    behind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphKind:
    """How things of a kind stand in the graph.

    `newest` gives at most so many that changed last, and how many there are in all: those of these wholes
    (`IndexItem.part_of`) only, if any are named. `of_items` gives those that index items are of, by the
    items' ids; `of_nodes` those that are or stand in these nodes, whatever other nodes are named.
    """

    newest: Callable[[Principal, int, frozenset[str] | None], Awaitable[tuple[Sequence[GraphItem], int]]]
    of_items: Callable[[Principal, Sequence[str]], Awaitable[Mapping[str, GraphItem]]]
    of_nodes: Callable[[Principal, Sequence[str]], Awaitable[Sequence[GraphItem]]]


def graph_label(text: str) -> str:
    """How a text is called that has no name."""
    return " ".join(_MARKS.sub(" ", text[: 4 * _LABEL_CHARS]).split())[:_LABEL_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallKind:
    """A kind of index items that recall shows, and how.

    Items of the kind `past` are superseded: searched only for a question about another time. Those of
    `lookups` only asked, or answered what is known anyway: they stand below all else. Those of `own` are
    found only by who sees everything. What `resolve` gives is filtered for its reader, unless it
    `filters_itself`. What is `on_request` answers searches alone: none of it comes into a turn by itself.
    `graph` is how it stands in the graph, if it does.
    """

    name: str
    resolve: Resolve
    past: str = ""
    lookups: str = ""
    own: str = ""
    filters_itself: bool = False
    on_request: bool = False
    statements: bool = False
    graph: GraphKind | None = None


@dataclass(frozen=True, slots=True)
class RecordExcerpt:
    """What would go out of one record: its `kind` as in `Forgettable`, its id, what a person calls it."""

    kind: str
    id: str
    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordCuts:
    """The changes by which records no longer say what is forgotten, and what goes out of which."""

    changes: Sequence[Change] = ()
    excerpts: Sequence[RecordExcerpt] = ()

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The records' ids, by kind."""
        kinds = dict.fromkeys(one.kind for one in self.excerpts)
        return {kind: tuple(one.id for one in self.excerpts if one.kind == kind) for kind in kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentForm:
    """How records of one kind go into an export file, a line of JSON each, and come back from it.

    `kind` marks the lines. `export` gives an owner's documents, some at a time. `parse` makes a record of a
    document, checked as strictly as a new one, and raises `BadInput` or msgspec's `ValidationError`.
    `restore` puts records back in one commit unless it is a preview, and says what became of each:
    "said" (put back), "known" or "differing". `made_at` is when a record was made, microseconds UTC.
    """

    kind: str
    export: Callable[[str], AsyncGenerator[Sequence[Mapping[str, Any]]]]
    parse: Callable[[Mapping[str, Any]], Any]
    restore: Callable[[str, Sequence[Any], bool], Awaitable[Sequence[str]]]
    made_at: Callable[[Any], int]


@dataclass(frozen=True, slots=True)
class ComponentState:
    """That there is a component with this `uid`; its `etag` changes whenever what it says does."""

    uid: str
    etag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentText:
    """A component as unfolded lines, its changed instances behind it.

    `zones` are the time zones that it names; `changed_at` is microseconds UTC.
    """

    uid: str
    etag: str
    lines: Sequence[str]
    zones: frozenset[str] = frozenset()
    changed_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingComponent:
    """What is to be kept: the component with its changed instances, all of one uid, zones by IANA names.

    `if_etag` is the etag of what it replaces, "" if there must be none yet, None if any is replaced. What is
    `untrusted` comes from others than the owner.
    """

    uid: str
    parts: Sequence[Component]
    if_etag: str | None = None
    untrusted: bool = True


@dataclass(frozen=True, slots=True)
class ComponentOutcome:
    """What became of an incoming component.

    It is `new`, `changed`, `known` (it says what is kept), `refused` (`why` says what to mend) or
    `conflict` (there is another one than `if_etag` says). `etag` is that of what is kept.
    """

    kind: Literal["new", "changed", "known", "refused", "conflict"]
    etag: str = ""
    why: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether what came is to be kept."""
        return self.kind in {"new", "changed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentForm:
    """How records of one kind go into iCalendar and back (RFC 5545): `name` is VEVENT or VTODO.

    `states` gives all of an owner's, some at a time, and `texts` what those with some uids say, in their
    order, None for what is gone. `put` keeps what comes and says of each what became of it. `delete` gives
    whether there was one; it raises `Conflict` if it has another etag. `within` gives the uids of what lies
    in a span of time, microseconds UTC.
    """

    name: Literal["VEVENT", "VTODO"]
    states: Callable[[str], AsyncGenerator[Sequence[ComponentState]]]
    texts: Callable[[Principal, Sequence[str]], Awaitable[Sequence[ComponentText | None]]]
    put: Callable[[Principal, Sequence[IncomingComponent]], Awaitable[Sequence[ComponentOutcome]]]
    delete: Callable[[Principal, str, str | None], Awaitable[bool]]
    within: Callable[[Principal, int, int], Awaitable[frozenset[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """What of a feature goes by itself, or is merged, when it is due; housekeeping asks every hour.

    `drop` does what is due of one owner and gives how many records that were: `log` says so behind the
    number. Owners are those who have records in `of`, of any rule.
    """

    of: Sequence[Collection[Any]]
    log: str
    drop: Callable[[Principal], Awaitable[int]]


class HealthFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of trouble: how many records have it, the ids of some, and what mends it."""

    trouble: str
    count: int
    about: str
    mend: str
    examples: tuple[str, ...] = ()


class ItemSearch(Protocol):
    """Recall, as a feature may ask it: its own items by their ids, best first, each with a score 0..1."""

    async def find(
        self,
        principal: Principal,
        query: str,
        k: int,
        *,
        kind: str,
        part_of: frozenset[str] | None = None,
        as_of: int | None = None,
    ) -> Sequence[tuple[str, float]]:
        """At most `k` pairs of an id and its score; `part_of` names the wholes to search, None all.

        `as_of` asks for what held at a moment, microseconds UTC.
        """
        ...


class Widen(Protocol):
    """The graph, as a feature may ask it: what was found of a kind, and what hangs together with that."""

    async def __call__(
        self,
        principal: Principal,
        query: str,
        found: Sequence[tuple[str, float]],
        *,
        kind: str,
        part_of: frozenset[str] | None = None,
    ) -> Sequence[tuple[str, float]]:
        """Pairs of an id and its score, ranked anew; what was `found` if the graph is switched off."""
        ...


FilterFor: TypeAlias = "Callable[[Principal], Awaitable[Any]]"
"""What hides things from a reader, as `visibility` has it; None if nothing is hidden from them."""


async def sees_everything(principal: Principal) -> None:
    """Where nothing is hidden from anybody, such as in a memory without a vault."""
    del principal


DUE_CHANGED = "due.changed"
"""The bus topic on which a feature that has reminders publishes an owner whose reminders changed: after the
commit, once a batch. The scheduler sleeps until the next due time that it knows of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueReminder:
    """A reminder of a record, due `at` (microseconds UTC).

    `id` is the same each time it is asked for, and another one if the record's time changes: it fires once.
    `link` is `kind:id` of the record, such as `task:0193…`. `conversation` is where the record was made: the
    reminder is said there too. What is `untrusted` has words from outside.
    """

    id: str
    at: int
    title: str
    text: str
    link: str
    conversation: str = ""
    untrusted: bool = False


Due: TypeAlias = "Callable[[str, int, int], Awaitable[Sequence[DueReminder]]]"
"""The reminders of an owner that fall due from `begin` on (inclusive) and before `end`, in order."""
NextDue: TypeAlias = "Callable[[str, int], Awaitable[int | None]]"
"""When an owner's next reminder at or after a time falls due, in microseconds UTC; None if there is none."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended: why, what it answered, and the sentence that says what failed.

    An answer is `untrusted` for which something from outside was read.
    """

    reason: StopReason
    text: str = ""
    error: str = ""
    untrusted: bool = False


class UnattendedRuns(Protocol):
    """What a feature does in conversations while nobody watches; what would ask the owner waits for them."""

    async def open(self, principal: Principal, title: str, *, untrusted: bool = False) -> str:
        """A new conversation, by its id; in one that is `untrusted`, words from outside stand from the start.

        Raises:
            BadInput: the title is empty or too long.
        """
        ...

    async def start(
        self, principal: Principal, conversation: str, content: str, *, budget_tokens: int | None = None
    ) -> str:
        """Begin to answer `content` as the owner's message in their conversation; the run's id.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: it is being answered now, or a call in it waits for an approval.
            TooManyRequests: so many of this owner may not run at once.
        """
        ...

    async def end(self, principal: Principal, run: str) -> RunEnd:
        """How the run ended, once it did; the reason `awaiting_approval` if it waits for its owner.

        Raises:
            UnknownId: this owner has no such run, or its events are dropped by now.
        """
        ...

    async def say(
        self,
        principal: Principal,
        conversation: str,
        text: str,
        *,
        changes: Sequence[Change] = (),
        untrusted: bool = False,
    ) -> None:
        """Add a message of the assistant's that no model wrote, in one batch with `changes`.

        Raises:
            UnknownId: this owner has no such conversation.
            Busy: it is being answered now, or a call in it waits for an approval.
            Conflict: the conversation, or what `changes` expect, is not as it was.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a feature may stand on when it is opened.

    `features` are those that stand before it in the list. `widen` adds what the graph leads to. `forget`
    takes facts out for good, once all are open. `ask_vectors` has an owner's items embedded that lack a
    vector, soon. `digest` gives what only this Bethink can make of a text. `find_user` knows users by name or
    id, and `acting` gives who acts for an owner by itself. `unattended` starts runs that nobody watches, once
    all are open. `secrets` seals what only this Bethink may read; `internet` gives the internet as it
    is now, None if the web is off.
    """

    settings: Settings
    store: Store
    index: Index
    embeddings: Embeddings
    blobs: Blobs
    bus: Bus
    clock: Clock
    new_id: Ids
    search: ItemSearch
    widen: Widen
    filter_for: FilterFor
    features: Features
    forget: Callable[[Principal, Sequence[str]], Awaitable[object]]
    ask_vectors: Callable[[str], None]
    digest: Callable[[str], Awaitable[str]]
    find_user: Callable[[str], Awaitable[AccountHolder | None]]
    acting: OnBehalfOf
    unattended: UnattendedRuns
    secrets: SecretBox
    internet: Callable[[], Internet | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask:
    """Work of a feature that runs for ever; what is only wanted while others are `served` waits for that."""

    name: str
    run: Callable[[], Awaitable[None]]
    served: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFeature:
    """A feature at work: its service, and what the rooms above call of it. What it has not, it leaves out.

    `recall` are its kinds of index items; `important` names what of it matters whatever is asked, as pairs
    (kind, id). `forgettable` is how all of it goes, and what holds the words of a question. `cut` takes what
    is forgotten out of its records, wherever that was first found, and shows it; `redact` does so with what
    takes too long for a preview. `clean` removes what no record names any more. `documents` are its lines in
    an export file, `components` those in a calendar. `tasks` run beside everything else. `retention` is what
    goes by itself, `check` what
    needs a look, and `statistics` are numbers by their names. `due` gives reminders, and `next_due` when
    the next one is: who has them publishes `DUE_CHANGED`. `remains` are sentences for the receipt of who
    forgets: where else there may be copies. `parts` are made anew when settings change.
    """

    service: object
    recall: Sequence[RecallKind] = ()
    important: Callable[[Principal, int], Awaitable[Sequence[tuple[str, str]]]] | None = None
    forgettable: Forgettable | None = None
    cut: Callable[[str, Redaction], Awaitable[RecordCuts]] | None = None
    redact: Callable[[str, Redaction], Awaitable[Sequence[Change] | Removal]] | None = None
    clean: Callable[[str], Awaitable[None]] | None = None
    documents: Sequence[DocumentForm] = ()
    components: Sequence[ComponentForm] = ()
    tasks: Sequence[BackgroundTask] = ()
    retention: Sequence[RetentionRule] = ()
    check: Callable[[Principal], Awaitable[Sequence[HealthFinding]]] | None = None
    statistics: Callable[[Principal], Awaitable[Mapping[str, Any]]] | None = None
    due: Due | None = None
    next_due: NextDue | None = None
    remains: Callable[[str], Awaitable[Sequence[str]]] | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What is known of a feature before it is opened.

    `collections` hold its records: engines make their tables from them, and all of them go when their owner
    does. `counted` are those that a person is told the number of, by the words for many and for one;
    `sources` those whose records a fact may name as where it came from, by the kind of that source.
    `tools`, `routes` and `commands` name the modules of its faces, imported when the toolbox, the web
    application or the command line is made: they have `tools_of`, `router` and `register`.
    `mcp_summary` tells MCP clients of the tools whose family has its name, if they ask for it by name where
    it is `mcp_on_request`. `by_parts` are the kinds of its
    index items of which each part has a vector, not the beginning alone.
    """

    name: str
    open: Callable[[Surroundings], OpenFeature] = lambda _at: OpenFeature(service=None)
    collections: tuple[Collection[Any], ...] = ()
    counted: Mapping[str, tuple[str, Collection[Any]]] = field(
        default_factory=dict[str, "tuple[str, Collection[Any]]"]
    )
    sources: Mapping[str, Collection[Any]] = field(default_factory=dict[str, "Collection[Any]"])
    tools: str = ""
    routes: tuple[str, ...] = ()
    commands: str = ""
    mcp_summary: str = ""
    mcp_on_request: bool = False
    by_parts: frozenset[str] = frozenset()


@dataclass(slots=True)
class Features:
    """The open features of an app, in the order of the list."""

    _open: list[tuple[Feature, OpenFeature]] = field(default_factory=list[tuple[Feature, OpenFeature]])

    def add(self, feature: Feature, opened: OpenFeature) -> None:
        """Take in a feature that was opened."""
        self._open.append((feature, opened))

    def __iter__(self) -> Iterator[OpenFeature]:
        """Over the open features."""
        return (opened for _, opened in self._open)

    @property
    def collections(self) -> tuple[Collection[Any], ...]:
        """All that features keep of an owner."""
        return tuple(one for feature, _ in self._open for one in feature.collections)

    @property
    def counted(self) -> dict[str, Collection[Any]]:
        """What a person is told the number of."""
        return {many: one for feature, _ in self._open for many, (_, one) in feature.counted.items()}

    @property
    def sources(self) -> dict[str, Collection[Any]]:
        """Where facts came from, by the kind of their source."""
        return {kind: one for feature, _ in self._open for kind, one in feature.sources.items()}

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is made anew when settings change."""
        return tuple(part for one in self for part in one.parts)

    @property
    def retention(self) -> tuple[RetentionRule, ...]:
        """What goes by itself, in the order in which it goes."""
        return tuple(rule for one in self for rule in one.retention)

    def of(self, service: type[T]) -> T:
        """The service of this type.

        Raises:
            LookupError: no feature has it.
        """
        for one in self:
            if isinstance(one.service, service):
                return one.service
        raise LookupError(service.__name__)

    @property
    def forgettables(self) -> tuple[Forgettable, ...]:
        """The kinds of things that an owner may let go as a whole."""
        return tuple(one.forgettable for one in self if one.forgettable is not None)

    @property
    def reminding(self) -> tuple[Collection[Any], ...]:
        """What the features keep that have reminders: those who have any of it may be reminded."""
        return tuple(one for feature, opened in self._open if opened.due for one in feature.collections)

    async def due(self, owner: str, begin: int, end: int) -> list[DueReminder]:
        """The reminders of all features in a time, see `Due`, in order."""
        found = [due for one in self if one.due for due in await one.due(owner, begin, end)]
        return sorted(found, key=lambda due: (due.at, due.id))

    async def next_due(self, owner: str, after: int) -> int | None:
        """When the next reminder of any feature falls due, see `NextDue`."""
        found = [await one.next_due(owner, after) for one in self if one.next_due]
        return min((at for at in found if at is not None), default=None)

    def tasks(self, *, served: bool) -> list[BackgroundTask]:
        """What runs for ever, or what runs only while others are served."""
        return [task for one in self for task in one.tasks if task.served is served]

    @property
    def documents(self) -> dict[str, DocumentForm]:
        """The forms of lines in an export file, by their kind."""
        return {form.kind: form for one in self for form in one.documents}

    @property
    def components(self) -> dict[str, ComponentForm]:
        """The forms of components in a calendar, by their names."""
        return {form.name: form for one in self for form in one.components}

    @property
    def ephemeral(self) -> frozenset[str]:
        """The names of those whose records no file of facts alone can hold."""
        return frozenset(feature.name for feature, one in self._open if one.documents)

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """What all features' records say of what is forgotten, and how it goes."""
        found = [await one.cut(owner, gone) for one in self if one.cut]
        return RecordCuts(
            [change for one in found for change in one.changes],
            [excerpt for one in found for excerpt in one.excerpts],
        )

    async def redact(self, owner: str, gone: Redaction) -> Removal:
        """The changes by which nothing else of any feature says it, and what the receipt says of them."""
        found = [await one.redact(owner, gone) for one in self if one.redact]
        removals = [one if isinstance(one, Removal) else Removal(one) for one in found]
        return Removal(
            [change for one in removals for change in one.changes],
            notes=[note for one in removals for note in one.notes],
        )

    async def check(self, principal: Principal) -> list[HealthFinding]:
        """What needs a look; nothing if all is well."""
        return [finding for one in self if one.check for finding in await one.check(principal)]

    async def statistics(self, principal: Principal) -> dict[str, Mapping[str, Any]]:
        """The numbers of each feature that has any."""
        return {
            feature.name: await one.statistics(principal) for feature, one in self._open if one.statistics
        }

    async def remains(self, owner: str) -> list[str]:
        """Where else there may be copies of an owner's things, in sentences."""
        return [told for one in self if one.remains for told in await one.remains(owner)]

    async def clean(self, owner: str) -> None:
        """Remove what no record names any more."""
        for one in self:
            if one.clean:
                await one.clean(owner)

    async def important(self, principal: Principal, k: int) -> Sequence[tuple[str, str]]:
        """What matters whatever is asked: at most `k` pairs (kind, id) of each feature."""
        return [pair for one in self if one.important for pair in await one.important(principal, k)]
