"""A task in one line: "Call Bruna tomorrow at 5 #family !high +garden"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from bethink.errors import BadInput
from bethink.tasks.due import due_fields
from bethink.tasks.records import MAX_TAG, MAX_TITLE, PRIORITIES
from bethink.when.meanings import Recurrence
from bethink.when.moments import SaidLine, extracted

if TYPE_CHECKING:
    from datetime import datetime

MAX_CHARS: Final = 1_000
_TAG: Final = re.compile(rf"(?<!\S)#([\w][\w/-]{{0,{MAX_TAG - 1}}})(?!\S)")
_PRIORITY: Final = re.compile(rf"(?<!\S)!({'|'.join(PRIORITIES)})(?!\S)", re.IGNORECASE)
_PROJECT: Final = re.compile(r"(?<!\S)\+(?:\"([^\"]{1,200})\"|([^\W\d][\w/-]{0,199}))(?!\S)")


def read_line(line: str, now: datetime) -> SaidLine:
    """The task that a line says. `#` leads to a tag, `!` to a priority, `+` to a project; a time is in words.

    Raises:
        BadInput: nothing is left to be its title.
        Ambiguous, NotUnderstood: its time has several meanings, or there is no such one.
    """
    if len(line) > MAX_CHARS:
        raise BadInput(f"A line has at most {MAX_CHARS:,} characters: put the rest into the description.")
    signs, _ = signs_of(line)
    found = extracted(line, now)
    fields: dict[str, Any] = dict(signs)
    _, title = signs_of(found.rest)
    if not title:
        raise BadInput(
            f"The line says when, and not what: write it like “Call Bruna {found.phrase or 'tomorrow'}”."
        )
    if len(title) > MAX_TITLE:
        raise BadInput(f"The title is {len(title):,} characters long, at most {MAX_TITLE} are kept.")
    words = ""
    if (meant := found.understood) is not None:
        fields |= due_fields(meant, fields)
        words = meant.words if isinstance(meant, Recurrence) else f"due {meant.words}"
    return SaidLine({"title": title, **fields}, words)


def signs_of(line: str) -> tuple[dict[str, Any], str]:
    """The tags, priority and project of a line, and the line without them."""
    fields: dict[str, Any] = {}
    if tags := _TAG.findall(line):
        fields["tags"] = list(dict.fromkeys(tags))
    if priorities := _PRIORITY.findall(line):
        fields["priority"] = priorities[-1].lower()
    if projects := _PROJECT.findall(line):
        fields["project"] = (projects[-1][0] or projects[-1][1]).strip()
    for sign in (_TAG, _PRIORITY, _PROJECT):
        line = sign.sub(" ", line)
    return fields, " ".join(line.split())
