"""What artifacts say about themselves: how they are opened, forgotten and exported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

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
from bethink.clock import checked_id
from bethink.errors import BadInput
from bethink.feature import Feature, OpenFeature, RetentionRule, Surroundings
from bethink.record_texts import JointTexts, RecordLines, RecordTexts, of_document
from bethink.store import DeleteAll, Store

if TYPE_CHECKING:
    from bethink.principal import Principal

_PAGE: Final = 20
"""Versions are long: so many are held at once."""


def _artifact(document: Mapping[str, Any]) -> Artifact:
    artifact = of_document(document, Artifact)
    checked_id(artifact.id)
    checked_id(artifact.conversation)
    return checked(artifact)


def _version(document: Mapping[str, Any]) -> ArtifactVersion:
    version = of_document(document, ArtifactVersion)
    checked_id(version.artifact)
    checked_id(version.conversation)
    checked_content(version.content)
    if version.number < 1 or version.id != version_id(version.artifact, version.number):
        raise BadInput("This is no version of an artifact: its id is another's.")
    return version


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
            RecordLines(
                store=at.store,
                collection=ARTIFACTS,
                kind="artifact",
                parse=_artifact,
                order=None,
            ).form,
            RecordLines(
                store=at.store,
                collection=ARTIFACT_VERSIONS,
                kind="artifact_version",
                parse=_version,
                order=None,
                at="at",
                page=_PAGE,
            ).form,
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
