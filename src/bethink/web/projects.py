"""`/projects`: what conversations that belong together are told, and what memory and documents they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from bethink.projects import ProjectEdit, Projects
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.projects import ProjectState

router = APIRouter(prefix="/projects", tags=["projects"])
_Name = Annotated[str, Field(max_length=200)]
_Instructions = Annotated[str, Field(max_length=20_000)]
_Memory = Literal["all", "own"]
_Collections = Annotated[
    list[Annotated[str, Field(max_length=255)]],
    Field(max_length=50, description="Collections of documents, by id: your own, or shared with you."),
]


class ProjectCollection(ResponseModel):
    """A collection of documents that a project uses; `shared` if it is another user's."""

    id: str
    name: str
    shared: bool


class ProjectShown(ResponseModel):
    """One project. Conversations, facts, documents and tasks name it by its id."""

    id: str
    name: str
    instructions: str = Field(description="Told to the model in every conversation of the project.")
    memory: _Memory = Field(
        description="`own`: answers read only what belongs to the project; so does what they remember."
    )
    collections: list[ProjectCollection] = Field(
        description="Where its answers look for documents unless others are named; without any, everywhere."
    )
    created_at: Timestamp


class ProjectList(Items[ProjectShown]):
    """All projects, in the order in which they were made."""


class ProjectDraft(Body):
    """A project to make. Its id is its name."""

    name: _Name
    instructions: _Instructions = ""
    memory: _Memory = "all"
    collections: _Collections = Field(default_factory=list)


class ProjectPatch(Body):
    """What to change; what is left out stays."""

    name: _Name | None = None
    instructions: _Instructions | None = None
    memory: _Memory | None = None
    collections: _Collections | None = None


@router.get("")
async def list_projects(app: Served, caller: Caller) -> ProjectList:
    """All projects."""
    return ProjectList(items=[_shown(one) for one in await app.features.of(Projects).list(caller)])


@router.post("", status_code=201, responses=documented(404, 409))
async def create_project(body: ProjectDraft, app: Served, caller: Caller) -> ProjectShown:
    """A new project."""
    edit = ProjectEdit(**body.given("name"))
    return _shown(await app.features.of(Projects).create(caller, body.name, edit))


@router.patch("/{project:path}", responses=documented(404))
async def change_project(project: str, body: ProjectPatch, app: Served, caller: Caller) -> ProjectShown:
    """Rename a project, or change what its answers are told and read; its id stays."""
    edit = ProjectEdit(**body.given())
    return _shown(await app.features.of(Projects).change(caller, project, edit))


@router.delete("/{project:path}", status_code=204, responses=documented(404))
async def remove_project(project: str, app: Served, caller: Caller) -> None:
    """Remove a project; its conversations stay, in none."""
    await app.features.of(Projects).remove(caller, project)


def _shown(state: ProjectState) -> ProjectShown:
    return ProjectShown.of(state.project, collections=state.collections)
