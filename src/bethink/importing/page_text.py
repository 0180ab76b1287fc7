"""A conversation as a page of the vault, or as several where it is long. `service` calls it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.clock import to_datetime
from bethink.importing.conversations import ORIGINS
from bethink.importing.items import Sheet, Words
from bethink.importing.names import snake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.importing.items import Talk, Turn
    from bethink.importing.records import Topic

_MOST_BYTES = 900_000
"""Of a page: a little less than a file of the vault may have."""
_CUT = "\n\n[The message goes on; a page holds no more.]"


@dataclass(frozen=True, slots=True)
class TopicLink:
    """A topic's name and the page that lists its members."""

    name: str
    path: str


def topic_path(source: str, name: str) -> str:
    """Where the page of a topic is."""
    return f"imported/{source}/topics/{snake(name)}.md"


def sheets_of(
    talk: Talk, source: str, topics: Sequence[TopicLink], *, conversation: str | None = None
) -> list[Sheet]:
    """The pages of a conversation: what was looked at last of it, with its topics."""
    title = talk.title or "Untitled conversation"
    began = talk.created_at or next((turn.at for turn in talk.turns if turn.at), None)
    day = f"{to_datetime(began):%Y-%m-%d}" if began else ""
    stem = "_".join(filter(None, (day.replace("-", "_"), snake(title))))
    # The pages of one folder have a bound together: a folder for each month stays below it.
    month = day[:7].replace("-", "_") or "undated"
    head = _head(title, source, day, topics=topics, conversation=conversation)
    parts = _parts([_said(turn, source) for turn in talk.line()], _MOST_BYTES - len(head.encode()))
    sheets: list[Sheet] = []
    for number, part in enumerate(parts, 1):
        more = "" if number == 1 else f"_part_{number}"
        name = title if number == 1 else f"{title} ({number})"
        sheets.append(
            Sheet(
                key=f"talk:{talk.key}{more}",
                path=f"imported/{source}/{month}/{stem}{more}.md",
                title=name,
                text=f"{head}# {name}\n\n{_links(topics)}{part}\n",
                at=talk.updated_at,
                untrusted=True,
            )
        )
    return sheets


def topic_sheet(source: str, topic: Topic, members: Sequence[tuple[str, str]]) -> Sheet:
    """The page of a topic, with links to its members, pairs of path and title."""
    lines = [f"- [[{path}|{_label(title)}]]" for path, title in sorted(set(members))]
    told, size = list[str](), 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > _MOST_BYTES:
            told.append(f"- and {len(lines) - len(told):,} more")
            break
        told.append(line)
    name = topic.name
    text = f"# {name}\n\n- keywords: {', '.join(topic.keywords)}\n\n## Members\n\n" + "\n".join(told) + "\n"
    return Sheet(f"topic:{name}", topic_path(source, name), name, text)


def _head(title: str, source: str, day: str, *, topics: Sequence[TopicLink], conversation: str | None) -> str:
    """The front matter: JSON's texts are YAML's, too."""
    fields = {
        "title": json.dumps(title, ensure_ascii=False),
        "source": source,
        "created": day,
        "conversation": conversation or "",
        "topics": json.dumps([topic.name for topic in topics], ensure_ascii=False) if topics else "",
    }
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value) + "---\n"


def _links(topics: Sequence[TopicLink]) -> str:
    if not topics:
        return ""
    return "Topics: " + ", ".join(f"[[{topic.path}|{_label(topic.name)}]]" for topic in topics) + "\n\n"


def _label(text: str) -> str:
    """A text as what a link shows."""
    return " ".join(text.replace("[", "(").replace("]", ")").replace("|", "/").split())


def _said(turn: Turn, source: str) -> str:
    who = "You" if turn.role == "user" else ORIGINS.get(source, source)
    when = f" · {to_datetime(turn.at):%Y-%m-%d %H:%M}" if turn.at else ""
    told: list[str] = []
    for piece in turn.pieces:
        if isinstance(piece, Words):
            told.append(piece.text.strip("\n"))
        else:
            told.append(f"*Used {_label(piece.name)}.*")
    told += [f"*File: {_label(file.name)}*" for file in turn.files]
    body = "\n\n".join(filter(None, told))
    return f"## {who}{when}\n\n{body}" if body else ""


def _parts(said: Sequence[str], most: int) -> list[str]:
    """The messages in as few parts as hold them."""
    parts: list[list[str]] = [[]]
    size = 0
    for one in filter(None, said):
        cut = one
        if len(one.encode()) > most:
            cut = one.encode()[: most - len(_CUT)].decode("utf-8", "ignore") + _CUT
        length = len(cut.encode()) + 2
        if size + length > most and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(cut)
        size += length
    return ["\n\n".join(part) for part in parts]
