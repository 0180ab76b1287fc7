"""The tools over artifacts: what is made for the user beside the conversation, and changed there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

from pydantic import BaseModel, Field

from bethink.artifacts.records import MAX_CONTENT_CHARS, MAX_TITLE_CHARS, Artifact, Format
from bethink.artifacts.service import ArtifactDraft, ArtifactPatch, Artifacts
from bethink.errors import BadInput
from bethink.tool import Tool, ToolContext, ToolOutput, tool, tools_in

if TYPE_CHECKING:
    from bethink.feature import Surroundings

_artifact_tool = partial(tool, effect="write", rare=True, family="artifacts")
_MADE = (
    "artifact", "artefakt", "web page", "website", "webpage", "html", "svg", "mermaid", "diagram", "chart",
    "drawing", "draw", "game", "app", "mockup", "prototype", "dashboard", "animation", "simulation",
    "write a document", "write a report", "write an essay", "csv",
    "webseite", "diagramm", "zeichne", "zeichnung", "spiel", "animation", "schreib dokument",
    "schreib bericht",
)  # fmt: skip
_CHANGED = (*_MADE, "change", "make it", "instead", "bigger", "smaller", "ändere", "mach es", "statt")
"""What people say who want a tool."""
_SHOWN_CHARS = 20_000
"""Of an artifact whose text is another than the model thinks: enough for all but the longest."""
_FORMATS = frozenset(get_args(Format))


class ArtifactOut(BaseModel):
    """An artifact; `version` is its newest."""

    id: str
    title: str
    format: Literal["html", "svg", "markdown", "mermaid", "csv", "code"]
    version: int


def tools_of(at: Surroundings) -> list[Tool]:
    """`create_artifact` and `update_artifact`."""
    return tools_in(ArtifactTools(at.features.of(Artifacts)))


@dataclass(frozen=True, slots=True)
class ArtifactTools:
    """The tools over an owner's artifacts."""

    artifacts: Artifacts

    @_artifact_tool(label="Make “{title}”", output=ArtifactOut, cues=_MADE)
    async def create_artifact(
        self,
        context: ToolContext,
        title: Annotated[str, Field(max_length=MAX_TITLE_CHARS, description="Short title")],
        kind: Annotated[
            str,
            Field(max_length=40, description="html (one file), svg, markdown, mermaid, csv, or a language"),
        ],
        content: Annotated[str, Field(max_length=MAX_CONTENT_CHARS, description="All of it")],
    ) -> ToolOutput:
        """Show something long or visual beside the chat, where the user can run, edit and keep it."""
        name = kind.strip().lower()
        is_known = name in _FORMATS and name != "code"
        draft = ArtifactDraft(
            title=title,
            format=cast("Format", name) if is_known else "code",
            language="" if is_known or name == "code" else name,
            content=content,
            conversation=context.conversation,
            untrusted=context.is_untrusted,
        )
        return _output("Made", await self.artifacts.create(context.principal, draft, by="assistant"))

    @_artifact_tool(label="Change artifact {id}", output=ArtifactOut, cues=_CHANGED)
    async def update_artifact(
        self,
        context: ToolContext,
        id: Annotated[str, Field(max_length=100, description="Id of the artifact")],
        old: Annotated[str, Field(description="Exact text to replace; stands there once")] = "",
        new: Annotated[str, Field(max_length=MAX_CONTENT_CHARS, description="In its place")] = "",
        content: Annotated[str, Field(max_length=MAX_CONTENT_CHARS, description="Or all of it anew")] = "",
    ) -> ToolOutput:
        """Change an artifact; the version before it is kept."""
        me = context.principal
        patch = ArtifactPatch(content=content) if content else ArtifactPatch(replaces=(old, new))
        try:
            return _output("Changed", await self.artifacts.update(me, id, patch, by="assistant"))
        except BadInput as error:
            artifact, now = await self.artifacts.get(me, id), await self.artifacts.version(me, id)
            text = f"{error.message} It says now:\n{now.content[:_SHOWN_CHARS]}"
            return ToolOutput(text, error=error.code, untrusted=artifact.untrusted)


def _output(head: str, artifact: Artifact) -> ToolOutput:
    text = f"{head} “{artifact.title}” (artifact:{artifact.id}?version={artifact.version})"
    structured = {
        "id": artifact.id,
        "title": artifact.title,
        "format": artifact.format,
        "version": artifact.version,
    }
    return ToolOutput(text, structured=structured)
