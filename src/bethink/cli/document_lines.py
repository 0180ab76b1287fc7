"""Documents, passages, collections and folders as lines and as JSON, and endings of files in options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.cli.terminal import counted, one_line, rfc3339

if TYPE_CHECKING:
    from bethink.cli.session import Session
    from bethink.documents.folders import FolderState
    from bethink.documents.model import DocumentState, PassageHit
    from bethink.documents.records import Content, DocumentCollection


def file_endings(text: str | None) -> frozenset[str]:
    """The endings of files that an option lists: ".md,pdf"."""
    words = (word.strip().lower() for word in (text or "").split(","))
    return frozenset(f".{word.removeprefix('.')}" for word in words if word)


def folder_as_data(state: FolderState) -> dict[str, Any]:
    """A watched folder for programs."""
    folder = state.folder
    return {
        "id": folder.id,
        "path": folder.path,
        "collection": folder.collection,
        "extensions": folder.extensions,
        "files": state.files,
        "failed": state.failed,
        "paused": folder.paused,
        "missing": folder.is_missing,
        "note": folder.note,
        "synced_at": rfc3339(folder.synced_at),
    }


def folder_line(state: FolderState) -> str:
    """A watched folder: its id, how it is, its path, how many files it has."""
    folder = state.folder
    how = "paused" if folder.paused else "missing" if folder.is_missing else "watched"
    failed = f", {state.failed:,} not readable" if state.failed else ""
    note = f"  {one_line(folder.note)}" if folder.note else ""
    return f"{folder.id}  {how:<7}  {one_line(folder.path)}  {counted(state.files, 'file')}{failed}{note}"


def document_as_data(state: DocumentState) -> dict[str, Any]:
    """A document for programs."""
    document, content = state.document, state.content
    return {
        "id": document.id,
        "name": document.name,
        "title": content.title,
        "kind": content.kind,
        "size": content.size,
        "stage": content.stage,
        "pages": content.pages,
        "passages": content.passages,
        "note": content.note,
        "error": content.error,
        "content": content.id,
        "pending": state.next
        and {"content": state.next.id, "stage": state.next.stage, "error": state.next.error},
        "collection": document.collection,
        "project": document.project,
        "tags": document.tags,
        "place": document.origin.place,
        "created_at": rfc3339(document.created_at),
        "updated_at": rfc3339(document.updated_at),
    }


def document_line(state: DocumentState) -> str:
    """Id, stage, name and size; why it is not ready."""
    document, content = state.document, state.next or state.content
    about = [counted(content.pages, "page") if content.pages else "", *(f"#{tag}" for tag in document.tags)]
    why = content.error or content.note
    line = "  ".join(filter(None, (document.id, f"{content.stage:<8}", one_line(document.name), *about)))
    return f"{line}  {one_line(why)}" if why else line


def document_details(session: Session, state: DocumentState) -> list[str]:
    """A document for a person, a line for each thing that is known of it."""
    document, content = state.document, state.content
    told = {
        "name": document.name,
        "title": content.title,
        "id": document.id,
        "stage": _stage(content),
        "format": f"{content.kind or content.media_type}, {content.size:,} bytes",
        "pages": f"{content.pages:,}, {counted(content.passages, 'passage')}",
        "newer": state.next and _stage(state.next),
        "note": content.note,
        "tags": ", ".join(document.tags),
        "from": document.origin.place,
        "changed": session.local(document.updated_at),
    }
    return [f"{name + ':':<10} {one_line(str(value))}" for name, value in told.items() if value]


def _stage(content: Content) -> str:
    return f"{content.stage}: {content.error}" if content.error else content.stage


def passage_as_data(hit: PassageHit) -> dict[str, Any]:
    """A passage for programs."""
    return {
        "id": hit.id,
        "document": hit.document.id,
        "name": hit.document.name,
        "page": hit.page,
        "label": hit.label,
        "heading": hit.heading,
        "text": hit.text,
        "score": round(hit.score, 4),
        "source": hit.source,
    }


def collection_as_data(one: DocumentCollection, count: int) -> dict[str, Any]:
    """A collection for programs, with how many documents it has."""
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "documents": count,
        "created_at": rfc3339(one.created_at),
    }
