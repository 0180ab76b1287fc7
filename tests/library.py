"""A library whose files are read without a process: texts, a page behind each form feed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from bethink.documents.reading.extraction import Extraction
from bethink.documents.reading.messages import Extracted
from bethink.documents.service import Documents
from bethink.errors import DocumentError
from tests.door import Door
from tests.house import House

UNREADABLE = b"\0unreadable"


@pytest.fixture
def plain_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files read by this process; those that begin like `UNREADABLE` cannot be."""

    async def read(
        _: Extraction, path: Path, name: str, media_type: str, *, first: int = 1, last: int = 1_000_000
    ) -> Extracted:
        del media_type
        content = await anyio.to_thread.run_sync(path.read_bytes)
        if content.startswith(UNREADABLE):
            raise DocumentError(f"{name} cannot be read: it is damaged.")
        pages = content.decode().split("\f")
        return Extracted(
            len(pages), {number: text for number, text in enumerate(pages, 1) if first <= number <= last}
        )

    monkeypatch.setattr(Extraction, "read", read)


async def finished(house: House, *contents: str) -> None:
    """Wait until these contents are read."""
    await house.app.features.of(Documents).ingest.finish(house.me, contents)


async def added(door: Door, content: bytes, name: str = "notes.md", **form: str) -> dict[str, Any]:
    """A document as the door shows it, when it was read."""
    answer = await door.http.post("/documents", files={"file": (name, content)}, data=form)
    assert answer.status_code == 202, answer.text
    return await read(door, answer.json())


async def read(door: Door, shown: dict[str, Any]) -> dict[str, Any]:
    """The same document, when it was read."""
    pending = [shown["pending"]["content"]] if shown["pending"] else []
    await finished(door.house, shown["content"], *pending)
    return (await door.http.get(f"/documents/{shown['id']}")).json()
