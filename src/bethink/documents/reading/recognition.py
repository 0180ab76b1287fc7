"""Text in images and scanned pages, recognised by Tesseract. `pdf` and `reader` call it; the extra `ocr`.

The extra brings English; if the distribution's data of languages are installed, such as Debian's
`tesseract-ocr-deu`, those languages are read.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from bethink.documents.reading.messages import (
    FOREIGN,
    NEEDS_OCR,
    FileText,
    UnfitError,
    language_data,
    recognises_text,
)
from bethink.internet.decoder import visible

_MOST_LANGUAGES: Final = 3
"""Each takes its time."""
_NOT_LANGUAGES: Final = frozenset({"osd", "equ"})
_LARGEST: Final = 4_000
"""Dots of an edge: a page of A3 at 240 dots an inch."""
_MAX_FRAMES: Final = 500
_DAMAGED: Final = "This image is damaged: it cannot be opened."


def recogniser() -> Callable[[Any], str] | None:
    """What gives the text in an image of Pillow's, lines in reading order; None if it is not installed."""
    place = language_data() if recognises_text() else None
    if place is None:
        return None
    tesserocr: Any = import_module("tesserocr")
    names = {file.stem for file in place.glob("*.traineddata")} - _NOT_LANGUAGES
    found = sorted(names, key=lambda name: (name != "eng", name))
    engine = tesserocr.PyTessBaseAPI(path=str(place), lang="+".join(found[:_MOST_LANGUAGES]))

    def recognise(image: Any) -> str:  # noqa: ANN401 - Pillow's
        engine.SetImage(image)
        return str(engine.GetUTF8Text())

    return recognise


def read_image(content: bytes, seconds: float) -> FileText:
    """The text in an image; a page each if it has several, as scanners make them.

    Raises:
        UnfitError: it is damaged, or nothing here recognises text.
    """
    end = time.monotonic() + seconds
    recognise = recogniser()
    if recognise is None:
        raise UnfitError(f"It is an image: {NEEDS_OCR}")
    pillow: Any = import_module("PIL.Image")
    pages: list[str] = []
    note = "Its text was recognised and may have errors."
    try:
        with pillow.open(io.BytesIO(content)) as image:
            frames = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
            for number in range(min(frames, _MAX_FRAMES)):
                if time.monotonic() > end:
                    note += f" Reading ended before page {number + 1}: there was no time for more."
                    break
                image.seek(number)
                image.draft("L", (_LARGEST, _LARGEST))
                frame = image.convert("L")
                frame.thumbnail((_LARGEST, _LARGEST))
                pages.append(visible(recognise(frame)).strip())
    except (pillow.DecompressionBombError, *FOREIGN) as error:
        raise UnfitError(_DAMAGED) from error
    return FileText(pages, note=note if any(pages) else "No text was recognised in it.")
