"""What one message of a ChatGPT export says, whatever kind of content it is. `chatgpt` calls it."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.importing.fields import listed, mapping, one_line, text
from bethink.importing.items import Given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bethink.importing.archive import Archive

_FILE_ID = re.compile(r"file[-_][A-Za-z0-9]+")
_MARKS = re.compile("\ue200[^\ue201]{0,500}\ue201|[\ue000-\uf8ff]|\u3010\\d+[^\u3011]{0,200}\u3011")
"""Citations as the page of ChatGPT finds them in its texts: characters of private use, and 【4†source】."""
_UNSEEN = frozenset({"user_editable_context", "model_editable_context", "reasoning_recap"})
_CALLS = frozenset({"code", "text", "multimodal_text"})
_TO_ALL = frozenset({"", "all", "assistant"})
_MAX_RESULT = 100_000
_MAX_NAMES_BYTES = 8_000_000
_PICTURES = "picture that is not in the export"
_SOUNDS = "recording (its words are kept where they were written down)"


@dataclass(frozen=True, slots=True)
class Content:
    """What a message says. `calls` names the tool that it asks, `name` the one that it comes from."""

    role: str
    text: str = ""
    name: str = ""
    calls: str = ""
    thoughts: str = ""
    failed: bool = False
    files: tuple[Given, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def says_something(self) -> bool:
        """Whether anything of it is to be kept."""
        return bool(self.text.strip() or self.files or self.calls or self.thoughts)


@dataclass(frozen=True, slots=True)
class Assets:
    """The export's files by the ids under which messages name them."""

    members: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def of(cls, archive: Archive) -> Assets:
        """Those of an archive; where it says what they were called, with those names."""
        members: dict[str, str] = {}
        for entry in archive.entries:
            if match := _FILE_ID.search(entry.rpartition("/")[2]):
                members.setdefault(match[0], entry)
        return cls(members, _names(archive))

    def given(self, pointer: str, name: str = "", media_type: str = "") -> Given | None:
        """The file that a pointer leads to."""
        match = _FILE_ID.search(pointer)
        member = self.members.get(match[0]) if match else None
        if match is None or member is None:
            return None
        base = member.rpartition("/")[2]
        called = one_line(name or self.names.get(base, "") or base, 120)
        guessed = media_type or mimetypes.guess_type(called)[0] or "application/octet-stream"
        return Given(match[0], called, guessed, member)


def _names(archive: Archive) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in archive.named(r"conversation_asset_file_names\.json"):
        try:
            parsed: object = msgspec.json.decode(archive.content(name, _MAX_NAMES_BYTES) or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        found |= {key: text(value) for key, value in mapping(parsed).items() if text(value)}
    return found


def content_of(message: dict[str, object], assets: Assets) -> Content | None:
    """What the message says; None for what its people never saw."""
    role = text(mapping(message.get("author")).get("role"))
    metadata, content = mapping(message.get("metadata")), mapping(message.get("content"))
    kind = text(content.get("content_type"))
    if metadata.get("is_visually_hidden_from_conversation") is True or kind in _UNSEEN:
        return None
    if role not in {"user", "assistant", "tool"}:
        return None
    if kind == "thoughts":
        return Content(role, thoughts=_thoughts(content)) if role == "assistant" else None
    said, files, lost = _parts(content, kind, assets)
    attached, missing = _attachments(metadata, assets, {one.key for one in files})
    files, lost = (*files, *attached), (*lost, *missing)
    if role == "tool":
        name = text(mapping(message.get("author")).get("name")) or "tool"
        return Content(role, said[:_MAX_RESULT], name, failed=kind == "system_error", files=files, lost=lost)
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in _TO_ALL and kind in _CALLS:
        return Content(role, _code(content) or said, calls=recipient, files=files, lost=lost)
    if role == "assistant":
        said = _MARKS.sub("", said)
    return Content(role, said, files=files, lost=lost)


def _code(content: dict[str, object]) -> str:
    return text(content.get("text")).strip()


def _thoughts(content: dict[str, object]) -> str:
    thoughts = map(mapping, listed(content.get("thoughts")))
    told = (text(one.get("content")) or text(one.get("summary")) for one in thoughts)
    return "\n\n".join(filter(None, told))


_Parts = tuple[str, tuple[Given, ...], tuple[str, ...]]


def _parts(content: dict[str, object], kind: str, assets: Assets) -> _Parts:
    """A content's text, its files, and what of it is not in the export."""
    if (told := _PLAIN.get(kind)) is not None:
        return told(content), (), ()
    said: list[str] = []
    files: list[Given] = []
    lost: list[str] = []
    for part in listed(content.get("parts")):
        if isinstance(part, str):
            said.append(text(part))
            continue
        members = mapping(part)
        if pointer := _pointer(members):
            given = assets.given(pointer) if "image" in _kind_of(members) else None
            if given is not None:
                files.append(given)
            else:
                lost.append(_SOUNDS if "audio" in _kind_of(members) else _PICTURES)
        elif (words := text(members.get("text"))) or not members:
            said.append(words)
        else:
            lost.append(f"part of the kind {one_line(_kind_of(members) or 'unknown', 40)}")
    if not said and not files and not lost:
        said.append(next((text(content.get(key)) for key in ("text", "result") if content.get(key)), ""))
        if not said[0] and kind not in {"text", "multimodal_text", ""}:
            lost.append(f"message of the kind {one_line(kind, 40)}")
    return "\n\n".join(filter(None, (one.strip("\n") for one in said))), tuple(files), tuple(lost)


def _kind_of(part: dict[str, object]) -> str:
    return text(part.get("content_type"))


def _pointer(part: dict[str, object]) -> str:
    inner = mapping(part.get("audio_asset_pointer"))
    return text(part.get("asset_pointer")) or text(inner.get("asset_pointer"))


def _attachments(
    metadata: dict[str, object], assets: Assets, known: set[str]
) -> tuple[tuple[Given, ...], tuple[str, ...]]:
    files: list[Given] = []
    lost: list[str] = []
    for one in map(mapping, listed(metadata.get("attachments"))):
        id, name = text(one.get("id")), text(one.get("name"))
        given = assets.given(id, name, text(one.get("mime_type")) or text(one.get("mimeType")))
        if given is None:
            match = _FILE_ID.search(id)
            if match is None or match[0] not in known:
                lost.append(f"file {one_line(name, 80)!r}, which is not in the export" if name else "file")
        elif given.key not in known:
            files.append(given)
    return tuple(files), tuple(lost)


def _fenced(content: dict[str, object]) -> str:
    code, language = text(content.get("text")), text(content.get("language"))
    if not code.strip():
        return ""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{'' if language == 'unknown' else language}\n{code.strip(chr(10))}\n{fence}"


def _page(content: dict[str, object]) -> str:
    head = " ".join(filter(None, (text(content.get("title")), text(content.get("url")))))
    told = text(content.get("text")) or text(content.get("snippet"))
    return "\n".join(filter(None, (head, told)))


_PLAIN: dict[str, Callable[[dict[str, object]], str]] = {
    "code": _fenced,
    "execution_output": lambda content: text(content.get("text")),
    "tether_quote": _page,
    "sonic_webpage": _page,
    "tether_browsing_display": lambda content: text(content.get("result")) or text(content.get("summary")),
    "tether_browsing_code": _fenced,
    "system_error": lambda content: ": ".join(
        filter(None, (text(content.get("name")), text(content.get("text"))))
    ),
}
