"""What artifacts say about themselves: how they are opened, forgotten and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from bethink.artifacts.records import (
    ARTIFACT_VERSIONS,
    ARTIFACTS,
    Artifact,
    ArtifactVersion,
    checked,
    checked_content,
    version_id,
)
from bethink.artifacts.service import Artifacts
from bethink.clock import checked_id, rfc3339, time_of, with_times
from bethink.errors import BadInput
from bethink.feature import DocumentForm, Feature, OpenFeature, RetentionRule
from bethink.record_texts import JointTexts, RecordTexts
from bethink.store import Collection, DeleteAll, Put, Record, Scan, Store, pages_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from bethink.feature import Surroundings
    from bethink.principal import Principal

R = TypeVar("R", bound=Record)
_PAGE: Final = 20
"""Versions are long: so many are held at once."""


def _artifact(document: Mapping[str, Any]) -> Artifact:
    artifact = msgspec.convert(document, Artifact)
    checked_id(artifact.id)
    checked_id(artifact.conversation)
    return checked(artifact)


def _version(document: Mapping[str, Any]) -> ArtifactVersion:
    version = msgspec.convert(document, ArtifactVersion)
    checked_id(version.artifact)
    checked_id(version.conversation)
    checked_content(version.content)
    if version.number < 1 or version.id != version_id(version.artifact, version.number):
        raise BadInput("This is no version of an artifact: its id is another's.")
    return version


def _form(
    store: Store,
    collection: Collection[R],
    *,
    kind: str,
    read: Callable[[Mapping[str, Any]], R],
    made_at: Callable[[R], int],
) -> DocumentForm:
    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(store, owner, Scan(collection, limit=_PAGE)):
            records = [msgspec.to_builtins(item.record) for item in page]
            yield [{"kind": kind, **with_times(record, rfc3339)} for record in records]

    async def restore(owner: str, records: Sequence[R], is_preview: bool) -> list[str]:  # noqa: FBT001 - as DocumentForm has it
        here = await store.get(collection, owner, [record.id for record in records])
        new = [record for record, known in zip(records, here, strict=True) if known is None]
        if new and not is_preview:
            await store.commit(owner, [Put(collection, record, 0) for record in new])
        return [
            "said" if known is None else "known" if known.record == record else "differing"
            for record, known in zip(records, here, strict=True)
        ]

    return DocumentForm(
        kind=kind,
        export=export,
        parse=lambda document: read(with_times(dict(document), time_of)),
        restore=restore,
        made_at=made_at,
    )


def _texts(store: Store) -> JointTexts:
    artifacts = RecordTexts(
        store=store,
        collection=ARTIFACTS,
        kind="artifacts",
        one="artifact",
        name=lambda artifact: artifact.title,
        fields=lambda artifact: {"title": artifact.title},
        sentences=frozenset(("title",)),
        rewrite=lambda artifact, left: msgspec.structs.replace(artifact, **left),
        others=[ARTIFACT_VERSIONS],
        along=lambda artifact: [DeleteAll(ARTIFACT_VERSIONS, {"artifact": artifact.id})],
    )
    versions = RecordTexts(
        store=store,
        collection=ARTIFACT_VERSIONS,
        kind="artifacts",
        one="artifact",
        name=lambda version: f"version {version.number}",
        fields=lambda version: {"content": version.content},
        sentences=frozenset(("content",)),
        rewrite=lambda version, left: msgspec.structs.replace(version, **left),
    )
    return JointTexts((artifacts, versions))


def opened(at: Surroundings, is_there: Callable[[Principal, str], Awaitable[bool]]) -> OpenFeature:
    """Artifacts at work; `is_there` says whether an owner has a conversation."""
    texts = _texts(at.store)
    artifacts = Artifacts(at.store, at.clock, at.new_id, is_there)
    return OpenFeature(
        service=artifacts,
        retention=[
            RetentionRule(of=(ARTIFACTS,), log="artifacts left the trash for good", drop=artifacts.purge)
        ],
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[
            _form(at.store, ARTIFACTS, kind="artifact", read=_artifact, made_at=lambda one: one.created_at),
            _form(
                at.store,
                ARTIFACT_VERSIONS,
                kind="artifact_version",
                read=_version,
                made_at=lambda version: version.at,
            ),
        ],
    )


FEATURE: Final = Feature(
    name="artifacts",
    collections=(ARTIFACTS, ARTIFACT_VERSIONS),
    counted={"artifacts": ("artifact", ARTIFACTS)},
    tools="bethink.tools.artifacts",
    routes=("bethink.web.artifacts",),
    commands="bethink.cli.artifacts",
    mcp_summary="What was made for the user: pages, drawings, documents, tables, code.",
)
