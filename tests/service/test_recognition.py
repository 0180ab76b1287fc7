"""Text in images, recognised by the real Tesseract in the walled process: with the extra `ocr` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink.documents.model import NewDocument
from bethink.documents.reading.messages import recognises_text
from bethink.documents.service import Documents
from tests.service.test_library_killed import opened
from tests.unit.test_reading_formats import sample

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not recognises_text(), reason="the extra `ocr` is not installed"),
]


@pytest.mark.parametrize(("kind", "layout"), [("png", "plain"), ("pdf", "scanned")])
async def test_what_an_image_shows_is_found(tmp_path: Path, kind: str, layout: str) -> None:
    file, content = sample(kind, layout)
    async with opened(tmp_path) as (app, me):
        document = await app.library.add(me, NewDocument(name=f"a.{kind}", content=content))
        await app.features.of(Documents).ingest.finish(me, [document.content])
        read = await app.library.content(me, document.content)
        assert (read.stage, "recognised" in read.note) == ("ready", True), read
        pages = await app.library.pages(me, document.content)
        seen = {word.strip(".,").casefold() for page in pages for word in page.text.split()}
        shown = {
            word.strip(".,").casefold()
            for page in file.pages
            for sentence in page.sentences
            for word in sentence.split()
        }
        assert len(shown & seen) > 0.9 * len(shown)
        (hit, *_) = await app.library.search(me, file.pages[0].sentences[0])
        assert hit.page == 1
