"""What a provider sent, as a picture: by its first bytes, not by what it is said to be."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from bethink.errors import InvalidResponse

_MARKS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def media_type_of(content: bytes) -> str:
    """The kind of picture.

    Raises:
        InvalidResponse: it is none that a browser shows.
    """
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    for mark, media_type in _MARKS:
        if content.startswith(mark):
            return media_type
    raise InvalidResponse("The provider of pictures sent something that is no picture.")


def decoded(text: str) -> bytes:
    """A picture that came as text in base64, perhaps as a `data:` address.

    Raises:
        InvalidResponse: it is not base64.
    """
    try:
        return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidResponse("The provider of pictures sent a damaged picture.") from error
