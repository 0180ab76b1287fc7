"""Files between DIAL and a conversation: what people attach becomes its files, what tools make theirs."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from bethink.dial.core import file_name, url_in
from bethink.errors import BadInput, BethinkError
from bethink.tool import NewFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.app import App
    from bethink.dial.core import Core
    from bethink.dial.history import File
    from bethink.dial.sessions import DialSession
    from bethink.messages import Attachment

_FOLDER: Final = "bethink"
_ANY: Final = "application/octet-stream"


@dataclass(slots=True)
class DialAttachments:
    """The files of one request; `failures` are those that could not be had, each with why."""

    app: App
    session: DialSession
    core: Core
    home: str
    most: int
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _taken: int = 0

    async def take(self, conversation: str, files: Sequence[File]) -> list[str]:
        """Ids of the conversation's files that these are; what was taken before is not taken again."""
        ids: list[str] = []
        for file in files:
            key = _key(file)
            if key not in self.session.files:
                try:
                    self.session.files[key] = await self._taken_in(conversation, file)
                except BethinkError as error:
                    self.failures.append((_name(file), str(error)))
                    continue
            ids.append(self.session.files[key])
        return list(dict.fromkeys(ids))

    async def upload(self, attachment: Attachment) -> str:
        """See `render.Upload`: the file, in the user's data of this application."""
        id = attachment.url.rpartition("/")[2]
        file, path = await self.app.files.get(self.session.principal, id)
        content = await anyio.Path(path).read_bytes()
        url = url_in(self.home, _FOLDER, id[-12:], file.name)
        await self.core.put(url, content, file.media_type)
        return url

    async def _taken_in(self, conversation: str, file: File) -> str:
        self._taken += 1
        if self._taken > self.most:
            raise BadInput(f"More than {self.most} files are attached: this one was left out.")
        new = await self._read(file)
        return (await self.app.files.add(self.session.principal, conversation, new)).id

    async def _read(self, file: File) -> NewFile:
        """The file's content.

        Raises:
            BethinkError: it cannot be had; the sentence says why.
        """
        name = _name(file)
        if file.data is not None:
            return NewFile(name, file.type or "text/markdown", _decoded(file))
        url = file.url or ""
        if not url.startswith("files/"):
            raise BadInput("It does not lie in DIAL's storage: only files from there are read.")
        held = await self.core.get(url, max_bytes=self.app.files.max_bytes)
        if held is None:
            raise BadInput("It is not there any more.")
        return NewFile(name, file.type or held.media_type or _ANY, held.content)


def _key(file: File) -> str:
    if file.url is not None:
        return file.url
    return hashlib.sha256((file.data or "").encode("utf-8", "replace")).hexdigest()


def _name(file: File) -> str:
    return file.title or (file_name(file.url) if file.url else "") or "attachment"


def _decoded(file: File) -> bytes:
    """What stands in a message itself: text as it is, the rest in base64, or as it is if it is none."""
    data = file.data or ""
    if (file.type or "text/markdown").startswith("text/"):
        return data.encode("utf-8", "replace")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data.encode("utf-8", "replace")
