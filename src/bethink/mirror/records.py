"""What the mirror keeps: which line shows which fact, and what both said when they last agreed.

Of texts only digests are kept, and those only while the fact itself is: what
forgets a fact takes its lines' records along (`service.MirrorLines`).
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

from bethink.store import Collection, Record

_DIGEST_BYTES: Final = 16

State = Literal["kept", "conflict", "held", "gone"]


class MirrorLine(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the vault that shows a fact, under the line's id.

    `kept`: it is at `path`. `conflict`: the line and the fact were both changed,
    and both are in the file. `held`: the line vanished, and its owner is asked.
    `gone`: the line was removed together with its fact; it comes back with it.
    `said` is the digest of what both said when they last agreed; `refused` that
    of what the line says where the memory does not take it, and `why` says why not.
    """

    fact: str
    path: str
    said: str
    state: State = "kept"
    refused: str = ""
    why: str = ""


class RefusedLine(Record, frozen=True, kw_only=True):
    """A line without an id that became no fact, under `refusal_id`; `why` says so without its words."""

    path: str
    why: str


class MirrorState(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One an owner: how far both sides were compared.

    `change` counts the vault's changes, `revision` the facts', `ended` the forgettings among these; `at` is
    the last step of the facts' log. `looked` is when, microseconds UTC. `lost` lines were taken for deletions
    since `lost_at`. While it is `paused` no line is added; `trouble` is why facts have none beside that.
    """

    change: int = 0
    revision: int = 0
    ended: int = 0
    at: int = 0
    looked: int = 0
    lost: int = 0
    lost_at: int = 0
    paused: bool = False
    trouble: str = ""


ONE: Final = "mirror"
LINES = Collection(
    "mirror_lines",
    MirrorLine,
    ("fact", "path", "state"),
    scans=(("fact",), ("path",), ("state",)),
    searchable=False,
)
REFUSALS = Collection("mirror_refusals", RefusedLine, ("path",), scans=(("path",),), searchable=False)
MIRRORS = Collection("meta", MirrorState, searchable=False)


def said(content: str) -> str:
    """Tells two contents apart by every character."""
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def refusal_id(path: str, content: str) -> str:
    """The id under which it is known that a line of a page became no fact."""
    return said(f"{path}\n{content}")
