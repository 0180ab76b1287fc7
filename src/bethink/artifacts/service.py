"""Makes and changes artifacts. Tools, routes and commands call it; every change is a version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.artifacts.records import (
    ARTIFACT_VERSIONS,
    ARTIFACTS,
    Artifact,
    ArtifactVersion,
    Author,
    Format,
    checked,
    checked_content,
    version_id,
)
from bethink.errors import BadInput, UnknownId
from bethink.store import Delete, DeleteAll, Put, Scan, Store, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.principal import Principal
    from bethink.store import Change, RecordPage, Versioned

MAX_ARTIFACTS: Final = 200
"""Of one conversation."""
TRASH_DAYS: Final = 30
"""After which what is in the trash goes for good."""
_DAY_US: Final = 86_400_000_000
_PAGE: Final = 200
MAX_VERSIONS: Final = 100
"""Of one artifact: the oldest goes when another comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDraft:
    """An artifact to keep."""

    title: str
    format: Format
    content: str
    conversation: str
    language: str = ""
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPatch:
    """What of an artifact changes; what is None stays.

    `replaces` is a part of its text and what comes in its place, `restore` the number of a version to have
    again. What is `trashed` is in no list, and goes for good after 30 days. All is refused if the newest
    version is not `version` any more.
    """

    title: str | None = None
    content: str | None = None
    replaces: tuple[str, str] | None = None
    restore: int | None = None
    version: int | None = None
    trashed: bool | None = None


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The artifacts of all owners; each call acts for one principal. `is_there` knows conversations."""

    store: Store
    clock: Clock
    new_id: Ids
    is_there: Callable[[Principal, str], Awaitable[bool]]

    async def create(self, principal: Principal, draft: ArtifactDraft, *, by: Author) -> Artifact:
        """Keep an artifact. Durable when it returns.

        Raises:
            UnknownId: its conversation is not there.
            BadInput: its title or text is empty or too long, or its conversation has too many.
        """
        now = self.clock.now_us()
        artifact = checked(
            Artifact(
                id=self.new_id(),
                title=draft.title,
                format=draft.format,
                language=draft.language,
                conversation=draft.conversation,
                version=1,
                untrusted=draft.untrusted,
                created_at=now,
                updated_at=now,
            )
        )
        first = self._version(artifact, checked_content(draft.content), by)
        if not await self.is_there(principal, draft.conversation):
            raise UnknownId("Conversation not found: it may have been deleted.")
        here = await self.store.count(principal.owner, ARTIFACTS, {"conversation": draft.conversation})
        if here >= MAX_ARTIFACTS:
            raise BadInput(f"This conversation has {MAX_ARTIFACTS} artifacts already: delete one first.")
        await self.store.commit(
            principal.owner, [Put(ARTIFACTS, artifact, 0), Put(ARTIFACT_VERSIONS, first, 0)]
        )
        return artifact

    async def list(
        self,
        principal: Principal,
        conversation: str | None = None,
        *,
        limit: int = 50,
        after: str | None = None,
    ) -> RecordPage[Artifact]:
        """Those of a conversation, or all, without the trash; what changed last is first.

        A page may have less than `limit` of them, and yet not be the last.
        """
        where = {} if conversation is None else {"conversation": conversation}
        scan = Scan(ARTIFACTS, where, order="updated_at", reverse=True, limit=limit, after=after)
        (page,) = await self.store.scan(principal.owner, scan)
        return replace(page, items=tuple(item for item in page.items if not item.record.trashed_at))

    async def get(self, principal: Principal, id: str) -> Artifact:
        """One of them.

        Raises:
            UnknownId: this owner has none of this id.
        """
        return (await self._held(principal, id)).record

    async def version(self, principal: Principal, id: str, number: int | None = None) -> ArtifactVersion:
        """One version of an artifact, the newest if none is named.

        Raises:
            UnknownId: there is no such artifact or version.
        """
        wanted = (await self.get(principal, id)).version if number is None else number
        (held,) = await self.store.get(ARTIFACT_VERSIONS, principal.owner, [version_id(id, wanted)])
        if held is None:
            raise UnknownId(f"There is no version {wanted} of this artifact any more.")
        return held.record

    async def versions(self, principal: Principal, id: str) -> list[ArtifactVersion]:
        """All that are kept, the newest first.

        Raises:
            UnknownId: this owner has none of this id.
        """
        await self._held(principal, id)
        scan = Scan(ARTIFACT_VERSIONS, {"artifact": id}, order="number", reverse=True, limit=MAX_VERSIONS)
        return [record async for record in records_of(self.store, principal.owner, scan)]

    @retry_conflicts
    async def update(self, principal: Principal, id: str, patch: ArtifactPatch, *, by: Author) -> Artifact:
        """Change its title, or its text as another version; nothing happens if it says that already.

        Raises:
            UnknownId: there is no such artifact, or no version to restore.
            BadInput: as for `create`; or the newest version is another by now; or the text to replace stands
                in it never or more than once.
        """
        held = await self._held(principal, id)
        was = held.record
        if patch.version is not None and patch.version != was.version:
            raise BadInput("The artifact was changed meanwhile. Load it again, then change it.")
        newest = await self.version(principal, id, was.version)
        content = await self._patched(principal, newest, patch)
        is_new = content != newest.content
        at = self.clock.now_us()
        title = was.title if patch.title is None else patch.title
        trashed_at = was.trashed_at if patch.trashed is None else at * patch.trashed
        now = checked(
            msgspec.structs.replace(was, title=title, version=was.version + is_new, trashed_at=trashed_at)
        )
        if now == was:
            return was
        now = msgspec.structs.replace(now, updated_at=at)
        changes: list[Change] = [Put(ARTIFACTS, now, held.version)]
        if is_new:
            changes.append(Put(ARTIFACT_VERSIONS, self._version(now, content, by), 0))
            changes.append(Delete(ARTIFACT_VERSIONS, version_id(now.id, now.version - MAX_VERSIONS)))
        await self.store.commit(principal.owner, changes)
        return now

    async def _patched(self, principal: Principal, newest: ArtifactVersion, patch: ArtifactPatch) -> str:
        """The text of the next version."""
        before = newest.content
        if patch.restore is not None:
            return (await self.version(principal, newest.artifact, patch.restore)).content
        if patch.content is not None:
            return checked_content(patch.content)
        if patch.replaces is None:
            return before
        old, new = patch.replaces
        found = before.count(old) if old else 0
        if found != 1:
            raise BadInput(
                f"The text to replace stands {found} times in the artifact; it has to be there once."
            )
        return checked_content(before.replace(old, new))

    async def purge(self, principal: Principal) -> int:
        """Remove what has been in the trash for its days; of how many artifacts."""
        until = self.clock.now_us() - TRASH_DAYS * _DAY_US
        scan = Scan(ARTIFACTS, order="updated_at", low=0, high=until, limit=_PAGE)
        found = [one async for one in records_of(self.store, principal.owner, scan)]
        gone = [one.id for one in found if 0 < one.trashed_at < until]
        for id in gone:
            await self.delete(principal, id)
        return len(gone)

    async def delete(self, principal: Principal, id: str) -> None:
        """Remove it with its versions.

        Raises:
            UnknownId: this owner has none of this id.
        """
        await self._held(principal, id)
        gone: list[Change] = [Delete(ARTIFACTS, id), DeleteAll(ARTIFACT_VERSIONS, {"artifact": id})]
        await self.store.commit(principal.owner, gone)

    def _version(self, artifact: Artifact, content: str, by: Author) -> ArtifactVersion:
        return ArtifactVersion(
            id=version_id(artifact.id, artifact.version),
            artifact=artifact.id,
            conversation=artifact.conversation,
            number=artifact.version,
            content=content,
            by=by,
            at=self.clock.now_us(),
        )

    async def _held(self, principal: Principal, id: str) -> Versioned[Artifact]:
        (held,) = await self.store.get(ARTIFACTS, principal.owner, [id])
        if held is None:
            raise UnknownId("There is no such artifact. It may have been deleted.")
        return held
