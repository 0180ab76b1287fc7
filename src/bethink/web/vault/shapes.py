"""What the vault's routes take and give. `vault` and `vault_history` use them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import front_matter
from bethink.web.deps import Body
from bethink.web.problems import Problem

if TYPE_CHECKING:
    from bethink.vault import Change, Entry, Page, PageRecord

MAX_PATH = 2_000

PathField = Annotated[
    str, Field(min_length=1, max_length=MAX_PATH, description="Relative to the vault, ending in `.md`.")
]
IfVersion = Annotated[
    str | None,
    Field(max_length=100, description="The version that was read; an empty one for a page that must be new."),
]


class VaultEntry(BaseModel):
    """A page or a folder."""

    path: str
    is_folder: bool
    size: int = Field(description="In bytes; 0 for a folder.")
    changed_at: datetime | None
    problem: str | None = Field(description="Why the file is not read, in words.")


class VaultTree(BaseModel):
    """All folders and pages, folders first, each by path."""

    items: list[VaultEntry]
    change: int = Field(description="What `GET /vault/changes` counts from.")
    pages: int
    bytes: int
    watching: bool = Field(description="Whether changes of the files are noticed as they happen.")


class VaultNews(BaseModel):
    """What became of pages since a change: those that are there as they are now, and those that went."""

    items: list[VaultEntry]
    gone: list[str]
    change: int


class VaultPage(BaseModel):
    """A page. `version` goes back with a change of it, so that nobody's work is overwritten."""

    path: str
    text: str
    version: str
    size: int
    changed_at: datetime
    problems: list[str] = Field(description="What of it cannot be read as it is meant, in words.")


class VaultChange(BaseModel):
    """What became of a page; `undo` takes it back, and is null where nothing changed.

    `before` and `after` are its versions, null where there is no page.
    """

    path: str
    before: str | None
    after: str | None
    undo: str | None
    moved_from: str | None


class VaultConflict(Problem):
    """A page was changed by somebody else: nothing was written. Both texts are here."""

    current: VaultPage | None = Field(description="The page as it is now; null where it is gone.")
    yours: str | None = Field(description="The text that was not written.")


class PageBody(Body):
    """What a page should hold, exactly."""

    text: str
    if_version: IfVersion = None
    note: Annotated[str, Field(max_length=500, description="Why, for the history.")] = ""


def entry_of(entry: Entry) -> VaultEntry:
    """An entry as JSON."""
    return VaultEntry(
        path=entry.path,
        is_folder=entry.is_folder,
        size=entry.size,
        changed_at=to_datetime(entry.changed) if entry.changed else None,
        problem=entry.trouble,
    )


def record_of(record: PageRecord, problem: str | None) -> VaultEntry:
    """What is known of a page as JSON."""
    return VaultEntry(
        path=record.path,
        is_folder=False,
        size=record.size,
        changed_at=to_datetime(record.changed) if record.changed else None,
        problem=problem,
    )


def page_of(page: Page) -> VaultPage:
    """A page as JSON."""
    fault = front_matter(parse(page.text)).fault
    return VaultPage(
        path=page.path,
        text=page.text,
        version=page.version,
        size=page.size,
        changed_at=to_datetime(page.changed),
        problems=[] if fault is None else [f"Front matter: {fault}"],
    )


def change_of(change: Change) -> VaultChange:
    """A change as JSON."""
    return VaultChange(
        path=change.path,
        before=change.before,
        after=change.after,
        undo=change.undo,
        moved_from=change.moved_from,
    )
