"""Where a place lies, by the vault's own word. `reader` asks, to say less exactly where somebody is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_CHARS: Final = 100
_LINK: Final = re.compile(r"\[\[([^\[\]|#\n]+)")
_FACT: Final = re.compile(
    r"[ \t]*(?:[-*+] )?(?:region|state|province|county|country) ?:{1,2} *(\S[^\n]*)", re.IGNORECASE
)


def names_of(value: str) -> Iterator[str]:
    """The names by which a page about the place of this value may be found."""
    plain = value.strip()
    if not plain or len(plain) > _MOST_CHARS or "\n" in plain:
        return
    if (link := _LINK.search(plain)) is not None:
        yield link[1].strip()
        return
    for name in (plain, plain.partition(",")[0].strip()):
        yield name
        yield "_".join(name.casefold().split())


def region_in(text: str) -> str | None:
    """What a page says of the region of its place, the nearest first; None where it says nothing."""
    for line in text.splitlines():
        match = _FACT.match(line)
        if match is not None:
            return _LINK.sub(r"\1", match[1]).replace("]]", "").strip() or None
    return None
