"""`/artifacts`: what was made beside conversations, and its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from bethink.artifacts.records import MAX_CONTENT_CHARS, MAX_LANGUAGE_CHARS, MAX_TITLE_CHARS, Author, Format
from bethink.artifacts.service import ArtifactDraft, ArtifactPatch, Artifacts
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Cursor,
    Items,
    KnownTime,
    Limit,
    ResponseModel,
    Served,
    Timestamp,
    seen,
)
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.artifacts.records import Artifact, ArtifactVersion
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/artifacts", tags=["artifacts"])

_Title = Annotated[str, Field(max_length=MAX_TITLE_CHARS)]
_Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARS)]
_Number = Annotated[int, Field(ge=1, description="The number of a version.")]


class NewArtifact(Body):
    """An artifact to keep."""

    title: _Title
    format: Format
    language: str = Field(default="", max_length=MAX_LANGUAGE_CHARS, description="Of code.")
    content: _Content
    conversation: str


class ArtifactEdit(Body):
    """What of an artifact to change; its text becomes another version."""

    title: _Title | None = None
    content: _Content | None = None
    restore: _Number | None = Field(default=None, description="The number of the version to have again.")
    version: _Number | None = Field(default=None, description="Refused if this is not the newest any more.")
    trashed: bool | None = Field(
        default=None, description="Into the trash, where it is in no list and stays for 30 days; or back."
    )


class ArtifactShown(ResponseModel):
    """One artifact, without its text."""

    id: str
    title: str
    format: Format
    language: str
    conversation: str
    version: int = Field(description="The number of its newest version.")
    untrusted: bool = Field(description="It was made while words from outside stood in the run.")
    created_at: Timestamp
    updated_at: Timestamp
    trashed_at: KnownTime = Field(description="Since when it is in the trash; null if it is not.")


class ArtifactOpen(ArtifactShown):
    """One version of an artifact with its text."""

    content: str
    number: int = Field(description="The number of this version.")
    by: Author


class ArtifactList(Items[ArtifactShown]):
    """Artifacts, what changed last first."""

    cursor: str | None


class ArtifactVersionShown(ResponseModel):
    """A version, without its text."""

    number: int
    by: Author
    at: Timestamp
    chars: int


class ArtifactVersions(Items[ArtifactVersionShown]):
    """The versions that are kept, the newest first."""


@router.get("")
async def list_artifacts(
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    conversation: Annotated[str | None, Query(description="Only those made beside this one.")] = None,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ArtifactList:
    """Artifacts, what changed last first."""
    page = await app.features.of(Artifacts).list(caller, conversation, limit=limit, after=cursor)
    items = [_shown(item.record, hidden) for item in page.items]
    return ArtifactList(items=items, cursor=page.cursor)


@router.post("", status_code=201, dependencies=[SEES_ALL], responses=documented(404))
async def add_artifact(body: NewArtifact, app: Served, caller: Caller) -> ArtifactShown:
    """Keep something of an answer as an artifact."""
    draft = ArtifactDraft(**body.model_dump())
    return _shown(await app.features.of(Artifacts).create(caller, draft, by="owner"))


@router.get("/{artifact}", responses=documented(404))
async def get_artifact(
    artifact: str,
    app: Served,
    caller: Caller,
    hidden: CallerFilter,
    version: Annotated[int | None, Query(ge=1, description="Its newest, unless told.")] = None,
) -> ArtifactOpen:
    """An artifact with the text of one version."""
    artifacts = app.features.of(Artifacts)
    found = await artifacts.get(caller, artifact)
    return _open(found, await artifacts.version(caller, artifact, version), hidden)


@router.patch("/{artifact}", dependencies=[SEES_ALL], responses=documented(404))
async def edit_artifact(artifact: str, body: ArtifactEdit, app: Served, caller: Caller) -> ArtifactOpen:
    """Change its title or its text, or have an earlier version again: each change is a version."""
    artifacts = app.features.of(Artifacts)
    changed = await artifacts.update(caller, artifact, ArtifactPatch(**body.model_dump()), by="owner")
    return _open(changed, await artifacts.version(caller, artifact, changed.version))


@router.delete("/{artifact}", status_code=204, dependencies=[SEES_ALL], responses=documented(404))
async def delete_artifact(artifact: str, app: Served, caller: Caller) -> None:
    """Remove it with all its versions."""
    await app.features.of(Artifacts).delete(caller, artifact)


@router.get("/{artifact}/versions", responses=documented(404))
async def list_artifact_versions(artifact: str, app: Served, caller: Caller) -> ArtifactVersions:
    """The versions that are kept, the newest first."""
    found = await app.features.of(Artifacts).versions(caller, artifact)
    items = [ArtifactVersionShown.of(version, chars=len(version.content)) for version in found]
    return ArtifactVersions(items=items)


def _shown(artifact: Artifact, hidden: ReaderFilter | None = None) -> ArtifactShown:
    return ArtifactShown.of(artifact, title=seen(artifact.title, hidden))


def _open(artifact: Artifact, version: ArtifactVersion, hidden: ReaderFilter | None = None) -> ArtifactOpen:
    shown, content = _shown(artifact, hidden).model_dump(), seen(version.content, hidden)
    return ArtifactOpen(**shown, content=content, number=version.number, by=version.by)
