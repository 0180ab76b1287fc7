"""`/vault`: the routes of the vault. One router here; each file beside has some of its routes."""

from __future__ import annotations

from fastapi import APIRouter

from bethink.web.vault import ask, changes, check, filters, history, pages, search

router = APIRouter()
for part in (ask, check, filters, pages, history, search, changes):
    router.include_router(part.router)
