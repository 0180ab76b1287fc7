"""The vault: a folder of Markdown pages that people edit, the agent maintains and recall searches."""

from __future__ import annotations

from bethink.vault.files.erasure import Erase
from bethink.vault.files.page_writer import Authorship, BulkResult, PageToDelete, PageToWrite
from bethink.vault.files.parts import Items, PagePart, title_of
from bethink.vault.files.records import (
    KIND,
    OWN_KIND,
    PAGES,
    VAULTS,
    By,
    Change,
    CurrentPage,
    ListedFile,
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
    "Authorship",
    "BulkResult",
    "By",
    "Change",
    "CurrentPage",
    "Erase",
    "Items",
    "ListedFile",
    "PagePart",
    "PageRecord",
    "PageToDelete",
    "PageToWrite",
    "PageVersion",
    "Vault",
    "title_of",
]
