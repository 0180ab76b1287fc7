"""`/vault`: the routes of the vault. One router here; each file beside has some of its routes."""

from __future__ import annotations

from fastapi import APIRouter

from bethink.web.vault import check, filters, pages, search

router = APIRouter()
for part in (check, filters, pages, search):
    router.routes += part.router.routes
