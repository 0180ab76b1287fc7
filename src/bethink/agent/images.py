"""Which of the owner's pictures a model is shown, and what it is told of the others.

`agent/completion` looks before each step, `agent/context` puts into the request what was seen.
Contents are read anew each time: what was deleted meanwhile is not shown again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import UnknownId
from bethink.llm import Picture
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bethink.files import Files
    from bethink.messages import Attachment, Message
    from bethink.principal import Principal

PICTURE_TOKENS: Final = 1600
"""Of one picture, at most: what Anthropic's models take for the largest that they read."""
MAX_PICTURES: Final = 8
MAX_PICTURE_BYTES: Final = 5_000_000
"""What every provider takes."""
MAX_BYTES: Final = 20_000_000
"""Of all pictures of a request."""

_HEAD_BYTES: Final = 12
_BLIND = "a picture that you cannot see: say so plainly where it matters"
_OLD = "a picture that you are not shown: there is no room for it"
_LARGE = f"a picture of more than {MAX_PICTURE_BYTES // 1_000_000} MB, too large for you to be shown"
_NO_PICTURE = "not shown to you: it is no PNG, JPEG, GIF or WebP"
_GONE = "not shown to you: it is not there any more"


@dataclass(frozen=True, slots=True)
class ImageCollection:
    """Pictures by their attachments' addresses, the newest first; `notes` say why others are not shown."""

    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture], repr=False)
    notes: Mapping[str, str] = field(default_factory=dict[str, str])

    def within(self, tokens: int) -> ImageCollection:
        """The newest of the pictures, as many as `tokens` have room for."""
        kept = dict(islice(self.pictures.items(), max(0, tokens // PICTURE_TOKENS)))
        if len(kept) == len(self.pictures):
            return self
        return ImageCollection(
            kept, {**self.notes, **{url: _OLD for url in self.pictures if url not in kept}}
        )

    def tokens_of(self, message: Message) -> int:
        """About how many tokens the pictures of a message take."""
        if not self.pictures or not isinstance(message, UserMessage):
            return 0
        return PICTURE_TOKENS * sum(file.url in self.pictures for file in message.attachments)

    def named(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The messages, where the owner's name the files that came with them."""
        for message in messages:
            if isinstance(message, UserMessage) and message.attachments:
                names = "\n".join(map(self._name, message.attachments))
                yield msgspec.structs.replace(message, content=f"{message.content}\n\n{names}")
            else:
                yield message

    def _name(self, file: Attachment) -> str:
        note = self.notes.get(file.url)
        return f"[file: {file.name} ({file.media_type}){f'; {note}' if note else ''}]"


NO_IMAGES: Final = ImageCollection()


async def collect_images(
    files: Files, principal: Principal, messages: Sequence[Message], *, sees: bool
) -> ImageCollection:
    """The pictures that the owner sent with these messages, as far as a model may be shown them."""
    sent = [
        file
        for message in reversed(messages)
        if isinstance(message, UserMessage)
        for file in message.attachments
        if file.media_type.startswith("image/")
    ]
    if not sent:
        return NO_IMAGES
    if not sees:
        return ImageCollection(notes={file.url: _BLIND for file in sent})
    pictures: dict[str, Picture] = {}
    notes: dict[str, str] = {}
    room = MAX_BYTES
    for file in sent:
        if file.url in pictures or file.url in notes:
            continue
        if len(pictures) == MAX_PICTURES or room <= 0:
            notes[file.url] = _OLD
            continue
        shown = await _shown(files, principal, file)
        if isinstance(shown, str):
            notes[file.url] = shown
        elif len(shown.content) > room:
            notes[file.url], room = _OLD, 0
        else:
            pictures[file.url] = shown
            room -= len(shown.content)
    return ImageCollection(pictures, notes)


def kind_of(content: bytes) -> str | None:
    """The media type of a picture, by how it begins; None for what models do not read."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:_HEAD_BYTES] == b"WEBP":
        return "image/webp"
    return None


async def _shown(files: Files, principal: Principal, file: Attachment) -> Picture | str:
    """The picture, or why it is not shown."""
    try:
        kept, path = await files.get(principal, file.url.rpartition("/")[2])
        if kept.size > MAX_PICTURE_BYTES:
            return _LARGE
        content = await anyio.to_thread.run_sync(_read, path)
    except (UnknownId, OSError):
        return _GONE
    media_type = kind_of(content)
    return _NO_PICTURE if media_type is None else Picture(media_type, content)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_PICTURE_BYTES)
