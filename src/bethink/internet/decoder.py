"""Bytes of a page into text, within bounds: its content encoding first, then its characters.

`pages` calls it in a thread: ten megabytes take some ten milliseconds.
"""

from __future__ import annotations

import codecs
import re
import zlib

from bethink.errors import WebError

_DECLARED = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE
)
_LOOKED_AT = 4_096
"""A page declares its characters near its beginning, or not at all."""
_ACCIDENTS = 10
"""Of so many characters beyond ASCII, one may be damaged before a text counts as written otherwise."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_ASCII = frozenset({"utf-16", "utf-16-le", "utf-16-be", "iso2022_jp"})
"""Their bytes can pass for UTF-8, so that what the page declares decides."""
_KNOWN = re.compile(
    r"utf-(?:8|16|16-le|16-be)|iso8859-\d+|cp(?:125\d|866|874|932|949)|koi8-[ru]|mac-(?:roman|cyrillic)"
    r"|gb2312|gbk|gb18030|big5|euc_jp|shift_jis|iso2022_jp|euc_kr|ascii"
)
"""The web's own (https://encoding.spec.whatwg.org) by Python's names: some of Python's others take
time that grows with the square of the text."""
_HIDDEN = dict.fromkeys(
    (
        *(*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)),  # controls
        *(0x200B, 0xFEFF, *range(0x2060, 0x206A)),  # without width
        *range(0x202A, 0x202F),  # other directions
        *range(0xE0000, 0xE0080),  # tags: ASCII over again, unseen
    )
)
"""Characters that a person does not see and a model does: how words are hidden in plain sight."""


def decompressed(content: bytes, encoding: str, limit: int) -> bytes:
    """A body without its content encoding, never more than `limit` bytes of it.

    Raises:
        WebError: it is larger, or damaged.
    """
    match encoding:
        case "gzip" | "x-gzip":
            windows = [zlib.MAX_WBITS | 16]
        case "deflate":
            # Some servers leave out the header that the standard asks for.
            windows = [zlib.MAX_WBITS, -zlib.MAX_WBITS]
        case _:
            return content
    for window in windows:
        unpacking = zlib.decompressobj(window)
        try:
            plain = unpacking.decompress(content, limit)
        except zlib.error:
            continue
        if unpacking.unconsumed_tail:
            raise WebError(f"Unpacked, this is larger than {limit:,} bytes.")
        return plain
    raise WebError("What the server sent is damaged: it cannot be unpacked.")


def decoded(content: bytes, charset: str | None) -> str:
    """A page's text. `charset` is what its server says, which is often not what it is."""
    for mark, name in _BOMS:
        if content.startswith(mark):
            return visible(content[len(mark) :].decode(name, "replace"))
    found = _DECLARED.search(content[:_LOOKED_AT])
    declared = [_known(charset), _known(found[1].decode("ascii", "replace") if found else None)]
    first = [name for name in declared if name in _NOT_ASCII]
    for name in (*first, "utf-8", *declared):
        try:
            if name:
                return visible(content.decode(name))
        except UnicodeError:
            continue
    # What is no UTF-8 in it may be an accident: a cut, one foreign quotation.
    text = content.decode("utf-8", "replace")
    if text.count("\ufffd") * _ACCIDENTS < len(text) - len(text.encode("ascii", "ignore")):
        return visible(text)
    legacy = next((name for name in declared if name and name != "utf-8"), "cp1252")
    return visible(content.decode(legacy, "replace"))


def visible(text: str) -> str:
    """A text without the characters that nobody sees, its ends of lines alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_HIDDEN)


def _known(charset: str | None) -> str | None:
    try:
        name = codecs.lookup((charset or "").strip("\"' ")).name
    except (LookupError, ValueError):
        return None
    # What the web calls Latin-1 has always been Windows' superset of it.
    name = "cp1252" if name in {"iso8859-1", "ascii"} else name
    return name if _KNOWN.fullmatch(name) else None
