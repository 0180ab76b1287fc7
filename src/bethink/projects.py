"""Projects: what conversations that belong together are told, and what of memory and documents they read.

Conversations, facts, documents and tasks name their project by its id, which is its first name. A word that a
program gives them is a project, too: it has a record once somebody says something of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from bethink.clock import Clock, checked_id
from bethink.errors import BadInput, Conflict, UnknownId
from bethink.feature import Feature, OpenFeature, Surroundings
from bethink.principal import DocumentBounds, Principal
from bethink.record_texts import RecordLines, RecordTexts, of_document
from bethink.store import Collection, Delete, Put, Record, Scan, Store, records_of, retry_conflicts

KIND: Final = "project"
MAX_PROJECTS: Final = 200
MAX_NAME_CHARS: Final = 100
MAX_INSTRUCTION_CHARS: Final = 20_000
MAX_COLLECTIONS: Final = 50
_MAX_ID_CHARS: Final = 100
_GONE: Final = "Project not found: it may have been removed."

MemoryScope = Literal["all", "own"]
"""What answers in a project read: all that is remembered, or what belongs to the project alone."""


class Project(Record, frozen=True, kw_only=True):
    """One project. `created_at` is microseconds UTC.

    If its `memory` is its own, what is remembered in its conversations belongs to it. Its answers look for
    documents in its `collections`, by their ids, if there are any.
    """

    name: str
    created_at: int
    instructions: str = ""
    memory: MemoryScope = "all"
    collections: tuple[str, ...] = ()


PROJECTS = Collection(
    "projects", Project, ("created_at",), scans=(("created_at",),), schema=2, searchable=False
)
"""Schema 2 knows collections; records of schema 1 have none."""


@dataclass(frozen=True, slots=True)
class NamedCollection:
    """A collection of documents that an owner may use: their own, or one that is `shared` with them."""

    id: str
    name: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class ProjectState:
    """A project with those of its collections that are there."""

    project: Project
    collections: tuple[NamedCollection, ...] = ()

    @property
    def bounds(self) -> DocumentBounds | None:
        """Where its answers look for documents; None for everywhere."""
        if self.project.memory == "all" and not self.collections:
            return None
        return DocumentBounds(
            self.project.id,
            frozenset(one.id for one in self.collections),
            names=tuple(one.name for one in self.collections if not one.shared),
            shared=tuple(one.name for one in self.collections if one.shared),
        )


class ProjectEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What changes of a project; what is UNSET stays. `collections` are named by id or by name."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    instructions: str | msgspec.UnsetType = msgspec.UNSET
    memory: MemoryScope | msgspec.UnsetType = msgspec.UNSET
    collections: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Projects:
    """The projects of all owners; every call acts for one principal.

    `leave` has the conversations of a project belong to none; `usable` gives the collections of documents
    that a principal may use.
    """

    store: Store
    clock: Clock
    leave: Callable[[Principal, str], Awaitable[None]]
    usable: Callable[[Principal], Awaitable[Sequence[NamedCollection]]]

    async def list(self, principal: Principal) -> list[ProjectState]:
        """All of them, in the order in which they were made."""
        scan = Scan(PROJECTS, order="created_at", limit=MAX_PROJECTS)
        projects = [project async for project in records_of(self.store, principal.owner, scan)]
        return await self._states(principal, projects)

    async def get(self, principal: Principal, project: str) -> Project | None:
        """A project by its id; None if nobody has said anything of it."""
        (found,) = await self.store.get(PROJECTS, principal.owner, [project])
        return found and found.record

    async def _states(self, principal: Principal, projects: Sequence[Project]) -> list[ProjectState]:
        """Projects as they are shown: a collection that is not there any more is none of theirs."""
        if not any(project.collections for project in projects):
            return [ProjectState(project) for project in projects]
        usable = {one.id: one for one in await self.usable(principal)}
        return [
            ProjectState(project, tuple(usable[id] for id in project.collections if id in usable))
            for project in projects
        ]

    async def create(self, principal: Principal, name: str, edit: ProjectEdit) -> ProjectState:
        """A new project, whose id is its name.

        Raises:
            BadInput: the name or the instructions are not fit, or there are too many.
            Conflict: there is one of this name.
            UnknownId: this owner may use no such collection.
        """
        edit = await self._resolved(principal, edit)
        known = [state.project for state in await self.list(principal)]
        if len(known) >= MAX_PROJECTS:
            raise BadInput(f"There are {MAX_PROJECTS} projects: remove one first.")
        id = checked_name(name)
        taken = {one.name.casefold() for one in known} | {one.id.casefold() for one in known}
        if id.casefold() in taken:
            raise Conflict(f"There is a project “{id}” already: choose another name.")
        project = _edited(Project(id=id, name=id, created_at=self.clock.now_us()), edit)
        await self.store.commit(principal.owner, [Put(PROJECTS, project, if_version=0)])
        return (await self._states(principal, [project]))[0]

    @retry_conflicts
    async def change(self, principal: Principal, project: str, edit: ProjectEdit) -> ProjectState:
        """Change a project.

        Raises:
            UnknownId: this owner has none with that id, or may use no such collection.
            BadInput: the name or the instructions are not fit, or there are too many collections.
        """
        (found,) = await self.store.get(PROJECTS, principal.owner, [project])
        if found is None:
            raise UnknownId(_GONE)
        changed = _edited(found.record, await self._resolved(principal, edit))
        await self.store.commit(principal.owner, [Put(PROJECTS, changed, if_version=found.version)])
        return (await self._states(principal, [changed]))[0]

    async def _resolved(self, principal: Principal, edit: ProjectEdit) -> ProjectEdit:
        """The edit with its collections by their ids, each once."""
        if not edit.collections:
            return edit
        usable = await self.usable(principal)
        ids = {one.name.casefold(): one.id for one in reversed(usable)} | {one.id: one.id for one in usable}
        wanted: dict[str, None] = {}
        for one in edit.collections:
            id = ids.get(one) or ids.get(one.casefold())
            if id is None:
                raise UnknownId(
                    f"There is no collection {one[:_MAX_ID_CHARS]!r}: it may have been removed, "
                    "or is not shared with you any more."
                )
            wanted[id] = None
        return msgspec.structs.replace(edit, collections=tuple(wanted))

    async def remove(self, principal: Principal, project: str) -> None:
        """Remove a project; its conversations stay, in none.

        Raises:
            UnknownId: this owner has none with that id.
        """
        if await self.get(principal, project) is None:
            raise UnknownId(_GONE)
        await self.leave(principal, project)
        await self.store.commit(principal.owner, [Delete(PROJECTS, project)])

    async def inside(self, principal: Principal, id: str) -> tuple[Principal, Project | None]:
        """The principal in a project, bound to what belongs to it if its memory is its own; the project.

        Documents are looked for in its collections, if it has any.
        """
        project = await self.get(principal, id)
        if project is None:
            return replace(principal, project=None, documents=None), None
        (state,) = await self._states(principal, [project])
        own = id if project.memory == "own" else None
        return replace(principal, project=own, documents=state.bounds), project


def checked_name(name: str) -> str:
    """A name as one line.

    Raises:
        BadInput: it is empty or too long.
    """
    line = " ".join(name.split())
    if not 0 < len(line) <= MAX_NAME_CHARS or not line.isprintable():
        raise BadInput(f"The name of a project has 1 to {MAX_NAME_CHARS} characters.")
    return line


def _edited(project: Project, edit: ProjectEdit) -> Project:
    given = msgspec.structs.asdict(edit)
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not msgspec.UNSET}
    if "name" in changes:
        changes["name"] = checked_name(changes["name"])
    if "instructions" in changes:
        changes["instructions"] = changes["instructions"].replace("\0", "").strip()
        if len(changes["instructions"]) > MAX_INSTRUCTION_CHARS:
            raise BadInput(f"Instructions have at most {MAX_INSTRUCTION_CHARS:,} characters.")
    if len(changes.get("collections", ())) > MAX_COLLECTIONS:
        raise BadInput(f"A project has at most {MAX_COLLECTIONS} collections.")
    return msgspec.structs.replace(project, **changes)


def _parsed(document: Mapping[str, Any]) -> Project:
    project = of_document(document, Project)
    checked_name(project.id)
    for collection in project.collections:
        checked_id(collection)
    # What of its collections does not come along is not shown.
    edit = ProjectEdit(name=project.name, instructions=project.instructions, collections=project.collections)
    return _edited(project, edit)


def opened(
    at: Surroundings,
    leave: Callable[[Principal, str], Awaitable[None]],
    usable: Callable[[Principal], Awaitable[Sequence[NamedCollection]]],
) -> OpenFeature:
    """The feature; for `leave` and `usable` see `Projects`."""
    texts = RecordTexts(
        store=at.store,
        collection=PROJECTS,
        kind="projects",
        one="project",
        name=lambda project: project.name,
        fields=lambda project: {"instructions": project.instructions},
        sentences=frozenset(("instructions",)),
        rewrite=lambda project, left: msgspec.structs.replace(project, **left),
        identity=lambda project: (project.id, project.name),
    )
    return OpenFeature(
        service=Projects(at.store, at.clock, leave, usable),
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[RecordLines(store=at.store, collection=PROJECTS, kind=KIND, parse=_parsed).form],
    )


FEATURE: Final = Feature(
    name="projects",
    collections=(PROJECTS,),
    counted={"projects": ("project", PROJECTS)},
    routes=("bethink.web.projects",),
    commands="bethink.cli.projects",
)
