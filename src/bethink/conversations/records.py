"""What is kept of conversations: the records, what of them is searchable, and where their lines part.

Two collections hold all of it. A `Conversation` is small; a `StoredMessage` has
the `branch` that it belongs to and its `position` on that branch's line, so
that the messages of the active line are found by (conversation, branch,
position) alone: `line` tells the ranges, from the record, and a
conversation that was never edited has one range, branch 0. What was said in a
finished turn is searchable (`turn_of`): a message and what it is found by are
one record, deleted together.

A conversation is a tree of messages. Each message belongs to one branch and has
the position that it takes on its line, counted from the conversation's first
message. A branch holds only what is its own: before its `start` its line is
that of the branch it left (`parent`). So nothing is ever copied or moved, and
another line is made active by writing one number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.events import ClaimKind, ContextFilled, Mark, StopReason, Usage
from bethink.feature import ASSISTANT, OWNER
from bethink.index import IndexItem
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage
from bethink.store import Change, Collection, Delete, DeleteAll, Put, Record

MAX_BRANCHES = 500
"""Of one conversation: all are on its record, about 30 bytes each, which every turn writes."""


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Messages of one branch that follow one another: positions `start` (inclusive) to `end` (exclusive)."""

    branch: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Siblings:
    """The branches that hold another message at the same place, this one's too, oldest first."""

    branches: tuple[int, ...]
    index: int


def line(held: Conversation, branch: int | None = None) -> list[MessageRange]:
    """The stretches of a branch's line, the active one's by default, from its end to its beginning."""
    here: int | None = held.branch if branch is None else branch
    stretches: list[MessageRange] = []
    end: int | None = None
    while here is not None:
        one = branch_of(held, here)
        last = one.count if end is None else min(end, one.count)
        if last > one.start:
            stretches.append(MessageRange(here, one.start, last))
        here, end = one.parent, one.start
    return stretches


def branch_of(held: Conversation, number: int) -> Branch:
    """The branch with that number.

    Raises:
        UnknownId: the conversation has none.
    """
    if not held.branches and number == 0:
        return Branch(parent=None, start=0, count=held.count)
    if not 0 <= number < len(held.branches):
        raise UnknownId(f"This conversation has no branch {number}.")
    return held.branches[number]


def is_on_line(held: Conversation, stored: StoredMessage) -> bool:
    """Whether the message stands on the active line."""
    if not held.branches:
        return stored.branch == 0
    return any(one.branch == stored.branch and one.start <= stored.position < one.end for one in line(held))


def siblings(held: Conversation, stored: StoredMessage) -> Siblings | None:
    """What else was said in the message's place; None if there was only one thing."""
    parent = _before(held, stored.branch, stored.position)
    others = [
        number
        for number, one in enumerate(held.branches)
        if (number == parent and one.start < stored.position < one.count)
        or (one.parent == parent and one.start == stored.position < one.count)
    ]
    if len(others) < 2:  # noqa: PLR2004 - itself and another
        return None
    return Siblings(tuple(others), others.index(stored.branch))


def edited(held: Conversation, stored: StoredMessage) -> Conversation:
    """The record with a new branch made active that goes on in place of the message.

    Raises:
        BadInput: the conversation has `MAX_BRANCHES` already.
    """
    return _parted(held, _before(held, stored.branch, stored.position), stored.position)


def continued(held: Conversation, stored: StoredMessage) -> Conversation:
    """The record with a branch made active that goes on behind the message.

    That is the message's own branch if it is the last one there, and else a new one.

    Raises:
        BadInput: the conversation has `MAX_BRANCHES` already.
    """
    if stored.position + 1 == branch_of(held, stored.branch).count:
        return switched(held, stored.branch)
    return _parted(held, stored.branch, stored.position + 1)


def switched(held: Conversation, branch: int) -> Conversation:
    """The record with another branch made active.

    Raises:
        UnknownId: the conversation has no such branch.
    """
    return msgspec.structs.replace(held, branch=branch, count=branch_of(held, branch).count)


def grown(held: Conversation, count: int, branch: int | None = None) -> Conversation:
    """The record with `count` messages on the line of a branch, the active one by default."""
    number = held.branch if branch is None else branch
    return msgspec.structs.replace(
        held,
        count=count if number == held.branch else held.count,
        branches=_counted(held, number, count),
    )


def appended(
    held: Conversation, messages: Sequence[StoredMessage], *, at: int, active_run: str | None
) -> Conversation:
    """The conversation's record after `messages` were added behind the last one of the active line.

    One that is in the trash comes back if its owner goes on in it.
    """
    title, titled, named_by = held.title, held.titled, held.named_by
    first = next((stored.message for stored in messages if isinstance(stored.message, UserMessage)), None)
    if first is not None and held.archived == TRASHED:
        held = msgspec.structs.replace(held, archived=LISTED, trashed_at=0)
    if not titled and first is not None:
        title, titled, named_by = title_from(first.content), True, "words"
    return msgspec.structs.replace(
        grown(held, held.count + len(messages)),
        title=title,
        titled=titled,
        named_by=named_by,
        updated_at=at,
        active_run=active_run,
    )


def _before(held: Conversation, branch: int, position: int) -> int | None:
    """The branch that holds what stands before a message; None at the beginning."""
    if position == 0:
        return None
    one = branch_of(held, branch)
    return branch if position > one.start else one.parent


def _parted(held: Conversation, parent: int | None, start: int) -> Conversation:
    """A branch that has said nothing yet is taken if there is one, so that trying costs none."""
    new = Branch(parent=parent, start=start, count=start)
    branches: Sequence[Branch] = held.branches or (branch_of(held, 0),)
    if new in branches:
        number = branches.index(new)
    elif len(branches) >= MAX_BRANCHES:
        raise BadInput(
            f"This conversation has {MAX_BRANCHES} branches: start a new conversation, or delete this one."
        )
    else:
        number, branches = len(branches), (*branches, new)
    return msgspec.structs.replace(held, branch=number, branches=tuple(branches), count=start)


def _counted(held: Conversation, number: int, count: int) -> tuple[Branch, ...]:
    if not held.branches:
        return ()
    branches = list(held.branches)
    branches[number] = msgspec.structs.replace(branches[number], count=count)
    return tuple(branches)


NEW_TITLE = "New chat"
KIND = "turn"
"""Of messages, in the index and in recall."""
LOOKUP_KIND = "lookup"
"""In the index, of messages that only looked something up (`StoredMessage.lookup`)."""
WITHDRAWN_KIND = "withdrawn"
"""In the index, of messages that were taken out of recall: only a search in conversations finds them."""
_TITLE_CHARS = 60
_MAX_TITLE_CHARS = 200
MAX_SYSTEM_CHARS = 20_000
LISTED, ARCHIVED, TRASHED = 0, 1, 2
"""Where a conversation stands (`Conversation.archived`)."""
SUMMARIES = -1
"""The branch of what is no part of any line: summaries of earlier parts, made anew when they are gone."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a conversation from where it left another: see `branches`.

    Its own messages have the positions `start` (inclusive) to `count` (exclusive); what stands before
    them belongs to `parent`, a branch's number, None for a line that began by itself.
    """

    parent: int | None
    start: int
    count: int


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests of one job cost together; `cost_usd` is None if no price is known."""

    job: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False


class Conversation(Record, frozen=True, kw_only=True):
    """One conversation. Times are microseconds UTC.

    `count` is how many messages its active line has, the next message's
    position too. `active_run` is the run that is answering, or that waits for an approval.
    `outside` says that something from outside was read in it.

    `branch` is the number of the branch that is active, `branches` are all of
    them in the order of their numbers; empty while there is none but 0. `named_by`
    says whether the title is its first words, the model's or a person's. `spent`
    is what its requests to models cost, by job. `model` and `system` are what its runs
    use beside the settings; `system` is never part of its messages. One that is
    `temporary` is not listed, not searched and not recalled from, and is
    removed a day after its last change. `origin` names the program where it was
    held, "" for one of Bethink's own; `caller_id` is what the program calls it that stores
    its turns or talks in it. `archived` says where it stands: in the list, the archive or, since
    `trashed_at`, in the trash, where it is not searched and not recalled from. What is `pinned` stands
    before all others. It is `unread` if an answer ended that nobody has looked at.
    """

    title: str
    created_at: int
    updated_at: int
    count: int = 0
    archived: int = 0
    titled: bool = False
    active_run: str | None = None
    project: str | None = None
    outside: bool = False
    branch: int = 0
    branches: tuple[Branch, ...] = ()
    named_by: Literal["", "words", "model", "person"] = ""
    spent: tuple[Spending, ...] = ()
    model: str | None = None
    system: str = ""
    temporary: int = 0
    origin: str = ""
    caller_id: str | None = None
    pinned: int = 0
    unread: bool = False
    trashed_at: int = 0


class RecalledRef(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was given to the model; its text stays where it is kept, a passage's at `source`."""

    id: str
    kind: str
    score: float
    source: str | None = None
    near: bool = False
    pasted: bool = False


class ChangedRef(msgspec.Struct, frozen=True, kw_only=True):
    """A change of memory made in a run; what changed stays where it is kept."""

    change: str
    ids: tuple[str, ...]
    undo: str | None = None


class UnbackedRef(msgspec.Struct, frozen=True, kw_only=True):
    """A claim in the message's text that nothing backs: its kind, and the sentence from `start` to `end`."""

    claim: ClaimKind
    start: int
    end: int


class StoredMessage(Record, frozen=True, kw_only=True):
    """A message at its place in a conversation: a `position` on the line of its `branch`.

    `speaker` names who said it in a conversation that came from elsewhere. `aside`
    is what belongs to a slash command: no talk, so not recalled. An answer is
    `untrusted` for which something from outside was read. In a `lookup` the owner
    only asked what is remembered, and the answer told that, or that nothing is: it
    is no knowledge, and recall ranks it below all that is. What is `withdrawn` stands
    there to be read: it is neither recalled nor told to a model. What the owner said is `learnt` once facts
    were looked for in it. `stop_reason`,
    `note` (what went wrong, for a person), `recalled`, `used`, `unbacked`,
    `changed` and `usage` are what a run left on its last assistant message. The
    `filled` is how much of the model's window was taken. A summary (on the branch
    `SUMMARIES`) `covers` the lines of that branch before its `position`. The
    places of `used` and `unbacked` are characters of its text: what changes the
    text drops them. `metadata` is what a program said of the turn that it stored, with
    each of its messages.
    """

    conversation: str
    position: int
    branch: int = 0
    at: int
    run: str
    message: Message
    speaker: str | None = None
    aside: bool = False
    untrusted: bool = False
    lookup: bool = False
    withdrawn: bool = False
    learnt: bool = False
    stop_reason: StopReason | None = None
    note: str | None = None
    recalled: tuple[RecalledRef, ...] = ()
    used: tuple[Mark, ...] = ()
    unbacked: tuple[UnbackedRef, ...] = ()
    changed: tuple[ChangedRef, ...] = ()
    usage: tuple[Usage, ...] = ()
    filled: ContextFilled | None = None
    covers: int | None = None
    metadata: tuple[tuple[str, str], ...] = ()


class Sighting(Record, frozen=True, kw_only=True):
    """That a memory was shown in a conversation: recalled, found or told there.

    What was said of it then is found by this when it is forgotten. `fact` is
    the fact, or the message of another conversation.
    """

    fact: str
    conversation: str


SIGHTINGS = Collection(
    "sightings", Sighting, ("fact", "conversation"), scans=(("fact",), ("conversation",)), searchable=False
)
CONVERSATIONS = Collection(
    "conversations",
    Conversation,
    ("archived", "updated_at", "project", "temporary", "pinned"),
    scans=(
        ("temporary", "archived", "updated_at"),
        ("temporary", "archived", "project", "updated_at"),
        ("temporary", "archived", "pinned", "updated_at"),
        ("temporary", "updated_at"),
    ),
    searchable=False,
)
MESSAGES = Collection(
    "messages",
    StoredMessage,
    ("conversation", "position", "branch"),
    scans=(("conversation", "position"), ("conversation", "branch", "position")),
)


_NAMED = re.compile(r"\n\nAbout: (?:the collection |the page )?“")


def title_from(text: str) -> str:
    """A title from the first words of a message: one line, cut at a word.

    The line in which the page names what a message is about (`ui/src/run/named.ts`) is no part of it.
    """
    line = " ".join(_NAMED.split(text, 1)[0].split())
    if len(line) <= _TITLE_CHARS:
        return line or NEW_TITLE
    return line[:_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def turn_of(conversation: Conversation, stored: StoredMessage) -> IndexItem | None:
    """What a message is found by: its text with its date; None if it is not to be found.

    That are tools' results, calls, slash commands, everything of a run that
    has not ended, and everything of a temporary conversation: `conversation` is
    the record beside which the message is committed. The vector is filled in
    later (`maintenance.background`). One with metadata is a whole by itself, so that a search
    can be bounded to those with some metadata.
    """
    if conversation.temporary:
        return None
    text = "" if isinstance(stored.message, ToolMessage) else stored.message.content
    calls = isinstance(stored.message, AssistantMessage) and stored.message.tool_calls
    if stored.aside or calls or not text.strip() or conversation.active_run == stored.run:
        return None
    return IndexItem(
        kind=WITHDRAWN_KIND if stored.withdrawn else LOOKUP_KIND if stored.lookup else KIND,
        text=_told(stored, text),
        at=stored.at,
        conversation=stored.conversation,
        project=conversation.project,
        speaker=speaker_of(stored),
        part_of=stored.id if stored.metadata else None,
    )


def _told(stored: StoredMessage, text: str) -> str:
    """The text with its date and, if it has a name, its speaker, in the form that embeds best."""
    date = f"{to_datetime(stored.at):%-d %B %Y}"
    return f'{stored.speaker} ({date}): "{text}"' if stored.speaker else f"{date}: {text}"


def speaker_of(stored: StoredMessage) -> str:
    """Who said it: a name, else `OWNER` or `ASSISTANT`."""
    return stored.speaker or (OWNER if isinstance(stored.message, UserMessage) else ASSISTANT)


def removal(conversation: str) -> list[Change]:
    """The changes that remove a conversation with all its messages; `agent/stored_runs` commits them."""
    return [
        DeleteAll(MESSAGES, {"conversation": conversation}),
        DeleteAll(SIGHTINGS, {"conversation": conversation}),
        Delete(CONVERSATIONS, conversation),
    ]


def sighting(fact: str, conversation: str) -> Put[Sighting]:
    """Remembers that a fact or message was shown in the conversation; doing so again changes nothing."""
    return Put(SIGHTINGS, Sighting(id=f"{conversation}:{fact}", fact=fact, conversation=conversation))


def checked_content(content: str, max_chars: int) -> str:
    """What a person typed, fit to be kept.

    Control characters other than line breaks and tabs are dropped: they mean
    nothing in a message, and some of them (NUL) break what reads it later.

    Raises:
        TooLarge: longer than `max_chars`.
        BadInput: nothing is left.
    """
    if len(content) > max_chars:
        raise TooLarge(
            f"The message has {len(content):,} characters; at most {max_chars:,} are accepted. Attach a file."
        )
    kept = "".join(
        char for char in content if char in "\n\t" or (char >= " " and not "\x7f" <= char <= "\x9f")
    )
    text = kept.encode("utf-8", "ignore").decode()
    if not text.strip():
        raise BadInput("The message is empty: write something.")
    return text


def checked_title(title: str) -> str:
    """A title as one line.

    Raises:
        BadInput: it is empty or longer than 200 characters.
    """
    line = " ".join(title.split())
    if not 0 < len(line) <= _MAX_TITLE_CHARS:
        raise BadInput(f"A title has 1 to {_MAX_TITLE_CHARS} characters.")
    return line


def checked_system(system: str) -> str:
    """A conversation's own system prompt, as it is kept.

    Raises:
        BadInput: it is longer than `MAX_SYSTEM_CHARS`.
    """
    kept = system.replace("\0", "").strip()
    if len(kept) > MAX_SYSTEM_CHARS:
        raise BadInput(
            f"A system prompt has at most {MAX_SYSTEM_CHARS:,} characters; this one has {len(kept):,}."
        )
    return kept
