"""Texts as they are compared, whoever wrote them how: what is searched and what is sought fold alike."""

from __future__ import annotations

import unicodedata
from typing import Final

LEAST_BYTES: Final = 3
"""A shorter text has no gram: every page may hold it."""


def folded(text: str) -> str:
    """The text as it is compared: without case, in Unicode's form NFC."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).casefold()


def sought_in(text: str) -> str:
    """What the grams of a page are taken from: its folded text, and as it stands where that differs."""
    plain = text.casefold()
    known = folded(text)
    return plain if known == plain else f"{known}\0{plain}"
