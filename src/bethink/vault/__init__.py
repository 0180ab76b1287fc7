"""The vault: a folder of Markdown pages that people edit, the agent maintains and recall searches."""

from __future__ import annotations

from bethink.vault.files.bulk import Became, Unwanted, Wanted
from bethink.vault.files.erasure import Erase
from bethink.vault.files.page_writer import How
from bethink.vault.files.parts import Items, Part, title_of
from bethink.vault.files.records import (
    KIND,
    OWN_KIND,
    PAGES,
    VAULTS,
    By,
    Change,
    Entry,
    Page,
    PageRecord,
    PageVersion,
)
from bethink.vault.service import USER_PAGE, Vault

__all__ = [
    "KIND",
    "OWN_KIND",
    "PAGES",
    "USER_PAGE",
    "VAULTS",
    "Became",
    "By",
    "Change",
    "Entry",
    "Erase",
    "How",
    "Items",
    "Page",
    "PageRecord",
    "PageVersion",
    "Part",
    "Unwanted",
    "Vault",
    "Wanted",
    "title_of",
]
