"""Text in pictures and scanned pages, recognised: `pip install 'bethink[ocr]'`. `pdf` and `reader` ask."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bethink.documents.reading.messages import (
    FOREIGN,
    NEEDS_OCR,
    Document,
    UnfitError,
    recognises_text,
)
from bethink.internet.decoding import visible

if TYPE_CHECKING:
    from collections.abc import Callable


def recogniser() -> Callable[[object], str] | None:
    """What gives the text in a picture of Pillow's, lines in reading order; None if it is not installed."""
    if not recognises_text():
        return None
    return None


def read_image(content: bytes) -> Document:
    """The text in a picture.

    Raises:
        UnfitError: it is damaged, or nothing here recognises text.
    """
    recognise = recogniser()
    if recognise is None:
        raise UnfitError(f"It is an image: {NEEDS_OCR}")
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            text = recognise(image.convert("L"))
    except (UnidentifiedImageError, Image.DecompressionBombError, *FOREIGN) as error:
        raise UnfitError("This image is damaged: it cannot be opened.") from error
    note = "Its text was recognised and may have errors." if text.strip() else "No text was recognised in it."
    return Document([visible(text)], note=note)
