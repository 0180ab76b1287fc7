"""Files read by this process, as the one with the limits reads them."""

from __future__ import annotations

from bethink.documents.reading.messages import Ended, Extracted, Failed, Opened, PageRead, ReadingJob, kind_of
from bethink.documents.reading.reader import read


def extracted(content: bytes, name: str = "file", media_type: str = "", *, seconds: float = 20) -> Extracted:
    """All pages of a file; one that fails has none, and its note says why."""
    kind = kind_of(name, media_type, content)
    assert kind is not None
    pages: dict[int, str] = {}
    labels: dict[int, str] = {}
    count, note, title = 0, "", ""
    for told in read(content, ReadingJob(kind, name, 1, 10_000, seconds, 2**30)):
        match told:
            case Opened(count, kind, title):
                pass
            case PageRead(number, text, label):
                pages[number] = text
                labels |= {number: label} if label else {}
            case Ended(remarks, cut):
                note = f"{remarks} {cut}".strip()
            case Failed(note):
                pass
    return Extracted(count, pages, note, kind, title, labels)


def whole(read: Extracted) -> str:
    """All that was read, on one line."""
    return " ".join(" ".join(read.pages.values()).split())
