"""What is kept of artifacts: what each is, and its text, a record for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.errors import BadInput
from bethink.store import Collection, DeleteAll, Record

if TYPE_CHECKING:
    from bethink.store import Change

Format = Literal["html", "svg", "markdown", "mermaid", "csv", "code"]
"""What an artifact is shown as."""
Author = Literal["assistant", "owner"]

MAX_TITLE_CHARS: Final = 160
MAX_CONTENT_CHARS: Final = 400_000
"""A long document, and a page that draws a game; what is longer is a file."""
MAX_LANGUAGE_CHARS: Final = 40


class Artifact(Record, frozen=True, kw_only=True):
    """One artifact. `version` is the number of its newest version; times are microseconds UTC.

    `language` is that of code, else "". An `untrusted` one was made in a run with words from outside. One in
    the trash has the time at which it went there, else 0.
    """

    title: str
    format: Format
    language: str
    conversation: str
    version: int
    untrusted: bool = False
    created_at: int
    updated_at: int
    trashed_at: int = 0


class ArtifactVersion(Record, frozen=True, kw_only=True):
    """The text of one version; its id is the artifact's with its number."""

    artifact: str
    conversation: str
    number: int
    content: str
    by: Author
    at: int


ARTIFACTS: Final = Collection(
    "artifacts",
    Artifact,
    ("conversation", "updated_at"),
    scans=(("conversation", "updated_at"), ("updated_at",)),
    searchable=False,
)
ARTIFACT_VERSIONS: Final = Collection(
    "artifact_versions",
    ArtifactVersion,
    ("artifact", "conversation", "number"),
    scans=(("artifact", "number"), ("conversation",)),
    searchable=False,
)


def version_id(artifact: str, number: int) -> str:
    """The id of a version."""
    return f"{artifact}:{number}"


def artifacts_removal(conversation: str) -> list[Change]:
    """The changes by which a conversation has no artifacts any more."""
    where = {"conversation": conversation}
    return [DeleteAll(ARTIFACTS, where), DeleteAll(ARTIFACT_VERSIONS, where)]


def checked(artifact: Artifact) -> Artifact:
    """The artifact, fit to be kept.

    Raises:
        BadInput: its title is empty or too long, or its language is none.
    """
    title, language = " ".join(artifact.title.split()), artifact.language.strip().lower()
    if not 0 < len(title) <= MAX_TITLE_CHARS:
        raise BadInput(f"The title of an artifact has 1 to {MAX_TITLE_CHARS} characters.")
    if len(language) > MAX_LANGUAGE_CHARS or "\0" in title + language:
        raise BadInput("This is not the name of a language.")
    if artifact.version < 1:
        raise BadInput("The versions of an artifact count from 1.")
    return msgspec.structs.replace(artifact, title=title, language=language)


def checked_content(content: str) -> str:
    """The text of a version, fit to be kept.

    Raises:
        BadInput: it is empty or too long.
    """
    if not content.strip() or len(content) > MAX_CONTENT_CHARS:
        raise BadInput(f"An artifact has 1 to {MAX_CONTENT_CHARS:,} characters.")
    if "\0" in content:
        raise BadInput("A NUL character cannot be kept.")
    return content
