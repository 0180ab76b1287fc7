"""What the files of a data directory still hold: read as bytes, so that no record's end hides anything.

Files that pack others are unpacked: members of ZIP archives and what PDF and others deflate.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)


def left_of(words: Iterable[str], directory: Path) -> list[str]:
    """The files in which one of the words stands, in any case, with the word.

    A server may run meanwhile: what it removes while the files are read is gone, and holds nothing.
    """
    files = (Path(folder, name) for folder, _, names in os.walk(directory) for name in names)
    found: list[str] = []
    for path in sorted(files):
        content = b""
        with suppress(FileNotFoundError):
            content = path.read_bytes() if path.is_file() else content
        parts = [part.lower() for part in _parts(content)]
        found += [
            f"{word} in {path.name}"
            for word in words
            if any(word.casefold().encode(code) in part for part in parts for code in ("utf-8", "utf-16-le"))
        ]
    return found


def _parts(content: bytes) -> Iterator[bytes]:
    yield content
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for name in packed.namelist():
                yield from _parts(packed.read(name))
                yield re.sub(rb"<[^>]*>", b"", packed.read(name))
    elif content.startswith(b"%PDF-"):
        for found in _STREAM.finditer(content):
            with suppress(zlib.error):
                yield zlib.decompress(found[1])
