"""What of a page says a forgotten fact, and the page without it. `forgetting` hands it to the vault.

A sentence goes that says it in nearly its own words, as in conversations where
the fact was not known; a line `- name: value` also where it has all the words
that give the fact away, on the page about whom the fact is; and a line that is
the fact's own view, by its `^id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from bethink.errors import BadInput
from bethink.forgetting.page_lines import LineMatchers
from bethink.redaction import Span, without
from bethink.vault import USER_PAGE, title_of
from bethink.vault.files.erasure import PageText
from bethink.vault.files.records import CONTENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bethink.principal import Principal
    from bethink.redaction import Cut, Redaction
    from bethink.store import Store
    from bethink.vault import Erase
    from bethink.vault.filters.views import VaultViews


class PageCut(msgspec.Struct, frozen=True):
    """What is to go of one content of pages, whose SHA-256 is `content`, by its places alone."""

    content: str
    spans: tuple[Span, ...]


_NAMELESS: Final = "forgotten.md"


async def cut_out(store: Store, owner: str, cuts: Sequence[PageCut]) -> list[str]:
    """What the cuts name, as it stands in the contents that are kept."""
    found = await store.get(CONTENTS, owner, [cut.content for cut in cuts])
    return [
        text[start:end]
        for cut, one in zip(cuts, found, strict=True)
        if one is not None and (text := one.record.inflated.decode())
        for start, end in cut.spans
    ]


async def told_to(views: VaultViews, principal: Principal, erase: Erase) -> list[PageText]:
    """What would go out of pages, as far as this reader sees them."""
    told: list[PageText] = []
    for said in await views.vault.said(principal.owner, erase):
        try:
            page = await views.read(principal, said.path)
        except BadInput:
            continue
        if parts := erase(said.path, page.text)[1]:
            told.append(PageText(said.path, parts))
    return told


def erase_of(gone: Redaction, lines: Collection[str]) -> Erase:
    """Takes out of pages all that `gone` names, and the facts' lines with these ids.

    It keeps what it looked at: one for many pages, in one thread at a time.
    """
    sieves = LineMatchers(gone, frozenset(lines))

    def erase(path: str, text: str) -> Cut:
        name = "" if path == USER_PAGE else title_of(path)
        return without(text, _merged([span for sieve in sieves.of(name) for span in sieve.spans(text)]))

    return erase


def rename_of(gone: Redaction, path: str) -> str | None:
    """The path of a page without what its name says of it; None where it says nothing."""
    if not gone.says(title_of(path), close=False):
        return None
    folder = path.rpartition("/")[0]
    return f"{folder}/{_NAMELESS}" if folder else _NAMELESS


def _merged(spans: list[Span]) -> list[Span]:
    """The same without overlaps, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
