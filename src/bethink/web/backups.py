"""`/backups`: which there are, and making one. For administrators: a backup holds everybody's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from pydantic import Field

from bethink.backups.service import BackupService
from bethink.clock import to_datetime
from bethink.web.deps import Caller, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.backups.repository import Backup

router = APIRouter(tags=["backups"])


class BackupShown(ResponseModel):
    """One backup."""

    id: str
    at: Timestamp | None = Field(description="Null for one that cannot be read.")
    reason: Literal["asked", "scheduled", "upgrade"] | None
    version: str | None = Field(description="Of the Bethink that made it.")
    files: int
    bytes: int = Field(description="Of all that is in it; what backups share is on the disk once.")
    encrypted: bool
    verified_at: Timestamp | None
    fault: str | None = Field(description="What is wrong with it; null for one that is whole.")
    goes_at: Timestamp | None = Field(description="When it goes by itself; null if it stays until removed.")


class BackupsShown(ResponseModel):
    """All backups, the newest first."""

    backups: list[BackupShown]
    last_good: str | None = Field(description="Id of the newest that was verified and is whole.")
    running: bool = Field(description="Whether one is being made or verified.")
    fault: str | None = Field(description="Why the last one failed; null if it did not.")
    next_at: Timestamp | None = Field(description="When the next is made by itself; null if none is.")
    folder: str


@router.get("/backups", responses=documented(403))
async def list_backups(app: Served, _: Caller) -> BackupsShown:
    """The backups, and whether one is being made."""
    return await _shown(app.features.of(BackupService))


@router.post("/backups", status_code=202, responses=documented(403))
async def start_backup(app: Served, _: Caller) -> BackupsShown:
    """Have a backup made and verified; `running` says until when, and `fault` whether it failed."""
    service = app.features.of(BackupService)
    service.ask()
    return await _shown(service)


async def _shown(service: BackupService) -> BackupsShown:
    backups = await service.list()
    due = service.due_at(backups)
    good = next((one.id for one in backups if one.is_good), None)
    return BackupsShown(
        backups=[_one(service, one, backups) for one in backups],
        last_good=good,
        running=await service.is_busy(),
        fault=service.fault,
        next_at=to_datetime(due) if due is not None else None,
        folder=str(service.repository.root),
    )


def _one(service: BackupService, backup: Backup, backups: Sequence[Backup]) -> BackupShown:
    header, checked = backup.header, backup.checked
    unread = {} if header else {"at": None, "reason": None, "version": None, "files": 0, "bytes": 0}
    return BackupShown.of(
        header,
        **unread,
        id=backup.id,
        encrypted=header is not None and header.is_sealed,
        verified_at=checked and checked.at,
        fault=backup.fault,
        goes_at=service.goes_at(backup, backups),
    )
