"""`bethink documents`: add documents, search them, keep them in collections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from bethink.cli.commands import YES, Commands, arg, at_most
from bethink.cli.document_lines import (
    collection_as_data,
    document_as_data,
    document_details,
    document_line,
    file_endings,
    folder_as_data,
    folder_line,
    passage_as_data,
)
from bethink.cli.exits import Exit
from bethink.cli.terminal import counted, new_file, one_line, rfc3339
from bethink.errors import BadInput, EmbeddingsUnavailable, WebError

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.documents.model import NewDocument
    from bethink.documents.records import Document, DocumentCollection
    from bethink.documents.service import Documents
    from bethink.principal import Principal

_EPILOG = """\
examples:
  bethink documents add lease.pdf ~/Papers --collection papers --tags home,2026 --wait
  bethink documents search "when is the rent due?"
  bethink documents show lease.pdf --page 2
  bethink documents collections share papers bob --writes

A DOCUMENT is its id, or its name if only one has it. A running `bethink serve` reads what is added; without
one, `--wait` reads it now. Ctrl-C loses nothing that was added."""
_SHOWN: Final = 20
_LOOK_S: Final = 0.1
_BAR: Final = 24
_PASSAGES: Final = 5
_ONE: Final = "each document"
_URLS: Final = ("http://", "https://")
_UNASKED: Final = "There is no terminal to ask: --yes removes without asking."
_WORKING: Final = ("waiting", "reading", "indexing")
COMMANDS = Commands(_EPILOG)
_DOCUMENT = arg("document DOCUMENT", "its id or name")
_COLLECTION = arg("--collection NAME", "only of this collection")
_WAIT = arg("--wait", "wait until they are read")


def _documents(session: Session) -> Documents:
    from bethink.documents.service import Documents

    return session.app.features.of(Documents)


def _named(session: Session, wanted: str) -> Document:
    from bethink.documents.names import document_named

    return session.call(document_named, session.app.library, session.principal, wanted)


# --- adding -----------------------------------------------------------------


@dataclass(slots=True)
class _Added:
    """What became of what was named: the documents, what could not be added and why, what is not read."""

    documents: list[Document] = field(default_factory=list["Document"])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    left: int = 0


@COMMANDS.add(
    "add",
    arg("paths PATH+", "files, folders with all below them, and addresses of the web"),
    arg("--collection NAME", "put them into this collection, which is made if there is none"),
    arg("--project NAME", "the project they belong to"),
    arg("--tags TAG,TAG", "tags", default=""),
    arg("--extensions LIST", "of folders only files with these endings: .md,.pdf"),
    _WAIT,
    json="each document",
)
def _add(session: Session, options: Namespace) -> Exit | None:
    """Add files, folders and pages of the web; what is known already is not read again."""
    from bethink.documents.model import NewDocument

    screen = session.screen
    place = NewDocument(
        name="",
        content=b"",
        collection=options.collection and _collection_for(session, options.collection),
        project=options.project,
        tags=tuple(options.tags.split(",")),
    )
    sources = [*_sources(options.paths, options.extensions)]
    known = _known(session, place.collection)
    added = _Added()
    extraction = _documents(session).ingest.extraction
    for done, (source, is_named) in enumerate(sources):
        screen.status(f"{_bar(done, len(sources))}  adding {one_line(str(source), 60)}")
        if not is_named and session.call(extraction.kind, Path(source), Path(source).name, "") is None:
            added.left += 1
        else:
            _add_one(session, source, place, known=known, added=added)
    screen.status("")
    return _ended(session, options, added)


def _ended(session: Session, options: Namespace, added: _Added) -> Exit | None:
    """Wait if that is asked for, and tell what became of all."""
    if options.wait:
        _wait(session, [one.newest for one in added.documents])
    _tell_added(session, added)
    return Exit.FAILED if added.failed else None


def _add_one(
    session: Session,
    source: str | Path,
    place: NewDocument,
    *,
    known: dict[str, Document],
    added: _Added,
) -> None:
    from dataclasses import replace

    from bethink.documents.records import Origin

    library = session.app.library
    try:
        if isinstance(source, str):
            documents, internet = _documents(session), session.app.ports.internet
            document = session.mine(documents.add_address, internet, address=source, place=place)
        else:
            path = os.path.abspath(source)  # noqa: PTH100 - a link stays what it is called
            new = replace(place, name=source.name, content=source, origin=Origin(place=path))
            before = known.get(path)
            document = (
                session.mine(library.add, new)
                if before is None
                else session.mine(library.replace, before.id, new)
            )
    except (BadInput, WebError) as error:
        added.failed.append((str(source), error.message))
    except OSError as error:
        added.failed.append((str(source), f"It cannot be read: {error.strerror}."))
    else:
        added.documents.append(document)


def _sources(paths: Sequence[str], extensions: str | None) -> Iterator[tuple[str | Path, bool]]:
    """What is to be added, in order: files of folders one by one; and whether it was named itself.

    Raises:
        BadInput: a path is not there.
    """
    from bethink.documents.kb_build import files_below

    endings = file_endings(extensions)
    for path in paths:
        if path.startswith(_URLS):
            yield path, True
        else:
            yield from files_below(Path(path), endings)


def _known(session: Session, collection: str | None) -> dict[str, Document]:
    """The documents of files in a collection, or in none, by the paths of their files."""
    from bethink.documents.model import Scope

    held = session.mine(session.app.library.in_scope, Scope(collection=collection))
    mine = [one for one in held if one.folder is None and one.origin.kind == "upload" and one.origin.place]
    return {one.origin.place: one for one in mine if one.collection == collection}


def _collection_for(session: Session, name: str) -> str:
    from bethink.errors import UnknownId

    library = session.app.library
    try:
        return session.mine(library.collection, name).id
    except UnknownId:
        return session.mine(library.create_collection, name).id


def _wait(session: Session, contents: Sequence[str]) -> None:
    """Show how far these contents are until all are read, or cannot be, and are found by meaning, too."""
    note = session.call(_finish, _documents(session), session.principal, contents, tell=session.screen.status)
    session.screen.status("")
    if note:
        session.screen.remark(note, "yellow")


async def _finish(
    documents: Documents, principal: Principal, contents: Sequence[str], *, tell: Callable[[str], None]
) -> str:
    """What is to be said of the end."""
    ingest, library = documents.ingest, documents.library
    waiting, total = list(dict.fromkeys(contents)), len({*contents})
    library.added.set()
    while waiting:
        found = [await library.content(principal, id) for id in waiting[:_SHOWN]]
        at_work = next((one for one in found if one.stage in _WORKING[1:]), found[0])
        left = [one.id for one in found if one.stage in _WORKING]
        is_stuck, waiting = len(left) == len(found), left + waiting[_SHOWN:]
        pages = f", page {at_work.done:,} of {at_work.pages:,}" if at_work.pages else ""
        tell(f"{_bar(total - len(waiting), total)}  {at_work.stage} {one_line(at_work.name, 50)}{pages}")
        if is_stuck:
            await anyio.sleep(_LOOK_S)
    try:
        await ingest.embeddings.load()
    except EmbeddingsUnavailable as error:
        return f"They are found by words only: {error.message}"
    ingest.ask_vectors(principal.owner)
    while await ingest.index.missing_vectors(principal.owner, ingest.embeddings.model, 1):
        tell(f"{_bar(total, total)}  making them found by meaning")
        await anyio.sleep(_LOOK_S)
    return ""


def _tell_added(session: Session, added: _Added) -> None:
    screen = session.screen
    states = [session.mine(session.app.library.state, one.id) for one in added.documents]
    for state in states:
        screen.result(document_as_data(state), document_line(state))
        read = state.next or state.content
        if read.stage == "failed":
            added.failed.append((state.document.name, read.error))
    waiting = sum((state.next or state.content).stage in _WORKING for state in states)
    for name, why in added.failed:
        screen.note(why if why.startswith(Path(name).name) else f"{one_line(name)}: {why}", "red")
    if added.left:
        screen.remark(f"{counted(added.left, 'file')} of no format that is read: left out")
    if waiting:
        screen.remark(
            f"{counted(waiting, 'document')} to be read: a running `bethink serve` does, or --wait here."
        )


def _bar(done: int, total: int) -> str:
    share = done / total if total else 1.0
    full = round(_BAR * share)
    return f"{'█' * full}{'░' * (_BAR - full)} {done:,} of {total:,}"


# --- looking ----------------------------------------------------------------


@COMMANDS.add(
    "list",
    arg("--query TEXT", "found in names and titles"),
    _COLLECTION,
    arg("--tag TAG", "only with this tag"),
    arg("--kind KIND", "only this format, such as pdf"),
    arg("--stage STAGE", "only these: waiting, reading, indexing, ready, failed or cancelled"),
    arg("--project NAME", "only this project"),
    at_most(_SHOWN, "documents", 500),
    json="each document",
)
def _list(session: Session, options: Namespace) -> None:
    """List documents, the one that changed last first."""
    from bethink.documents.model import DocumentQuery

    inside = options.collection and session.mine(session.app.library.collection, options.collection).id
    wanted = DocumentQuery(
        text=options.query,
        collection=inside,
        project=options.project,
        tag=options.tag,
        kind=options.kind,
        stage=options.stage,
    )
    found = session.mine(session.app.library.list, wanted, limit=options.limit)
    for state in found.items:
        session.screen.result(document_as_data(state), document_line(state))
    if not found.items:
        session.screen.remark("No document fits: `bethink documents add` adds some.")
    if found.cursor is not None:
        session.screen.remark("There are more: --limit shows more of them.")


@COMMANDS.add(
    "show",
    _DOCUMENT,
    arg("--page N", "what this page says", type=int),
    arg("--version CONTENT", "of this version (see `versions`)"),
    json="each document",
)
def _show(session: Session, options: Namespace) -> None:
    """Show a document, or what a page of it says."""
    library, document = session.app.library, _named(session, options.document)
    if options.page is None:
        state = session.mine(library.state, document.id)
        session.screen.result(document_as_data(state), *document_details(session, state))
        return
    version = session.mine(library.version, document.id, options.version)
    number = options.page
    pages = session.mine(library.pages, version.id, first=number, last=number) if number > 0 else []
    if not pages:
        raise BadInput(f"{document.name} has {counted(version.pages, 'page')}: there is no page {number:,}.")
    value = {"number": number, "of": version.pages, "label": pages[0].label, "text": pages[0].text}
    session.screen.result(value, pages[0].text)


@COMMANDS.add(
    "search",
    arg("query QUERY+", "a question or words"),
    at_most(_PASSAGES, "passages", 100),
    _COLLECTION,
    arg("--tag TAG", "only with this tag"),
    arg("--kind KIND", "only this format, such as pdf"),
    arg("--document DOCUMENT", "only this document"),
    json="each passage",
)
def _search(session: Session, options: Namespace) -> None:
    """Find the passages that answer a question, each with its document and page."""
    from bethink.documents.model import Scope

    library, screen = session.app.library, session.screen
    scope = Scope(
        collection=options.collection and session.mine(library.collection, options.collection).id,
        tags=(options.tag,) if options.tag else (),
        kinds=(options.kind,) if options.kind else (),
        documents=(_named(session, options.document).id,) if options.document else None,
    )
    hits = session.mine(library.search, " ".join(options.query), options.limit, scope=scope)
    for hit in hits:
        heading = f" › {one_line(hit.heading)}" if hit.heading else ""
        head = f"{hit.score:.2f}  {one_line(hit.title)}{heading}"
        lines = [f"      {line}" for line in hit.text.strip().splitlines()]
        screen.result(passage_as_data(hit), head, *lines, "")
    if not hits:
        screen.note("Nothing in your documents answers this.")
    if warning := session.app.recall.warning:
        screen.note(f"warning: {warning}", "yellow")


@COMMANDS.add("versions", _DOCUMENT, json="each version")
def _versions(session: Session, options: Namespace) -> None:
    """List the versions of a document, the oldest first."""
    document = _named(session, options.document)
    for one in document.versions:
        is_current = one.content == document.content
        value = {"content": one.content, "at": rfc3339(one.at), "current": is_current}
        mark = "  current" if is_current else ""
        session.screen.result(value, f"{one.content}  {session.local(one.at)}{mark}")


@COMMANDS.add(
    "export",
    _DOCUMENT,
    arg("output FILE", "the new file, or a folder for it"),
    arg("--version CONTENT", "this version (see `versions`)"),
    json="each file",
)
def _export(session: Session, options: Namespace) -> None:
    """Write the original file of a document to a new file."""
    library, document = session.app.library, _named(session, options.document)
    version = session.mine(library.version, document.id, options.version)
    original = session.mine(library.original, version.id)
    path = Path(options.output)
    path = path / document.name if path.is_dir() else path
    with new_file(path) as file, original.open("rb") as source:
        shutil.copyfileobj(source, file)
    session.screen.result({"path": str(path), "bytes": version.size}, f"{path}: {version.size:,} bytes")


@COMMANDS.add("status", json="the report")
def _status(session: Session, _: Namespace) -> None:
    """Say how much there is, and how far it is read."""
    status = session.mine(_documents(session).status)
    words = ("ready", "waiting", "reading", "indexing", "failed")
    stages = ", ".join(f"{count:,} {word}" for word in words if (count := getattr(status, word)))
    room = f" of {status.quota_bytes / 1e6:,.0f}" if status.quota_bytes else ""
    lines = [
        f"files:     {stages or 'none'}; {status.bytes / 1e6:,.1f}{room} MB",
        f"passages:  {status.passages:,}; {status.without_vector:,} found by words only as yet",
        f"reader:    {status.reader}",
    ]
    session.screen.result(status, *lines)


# --- changing ---------------------------------------------------------------


@COMMANDS.add("rename", _DOCUMENT, arg("name NAME", "its new name"), json=_ONE)
def _rename(session: Session, options: Namespace) -> None:
    """Give a document another name."""
    _change(session, options.document, name=options.name)


@COMMANDS.add("tag", _DOCUMENT, arg("tags TAG*", "its tags from now on; none takes all away"), json=_ONE)
def _tag(session: Session, options: Namespace) -> None:
    """Give a document other tags."""
    _change(session, options.document, tags=tuple(options.tags))


@COMMANDS.add(
    "move",
    _DOCUMENT,
    arg("collection COLLECTION?", "where to; none takes it out of its own"),
    json=_ONE,
)
def _move(session: Session, options: Namespace) -> None:
    """Put a document into another collection."""
    _change(session, options.document, collection=options.collection)


def _change(session: Session, wanted: str, **changes: Any) -> None:  # noqa: ANN401 - of a `DocumentEdit`
    from bethink.documents.model import DocumentEdit

    document = _named(session, wanted)
    session.mine(session.app.library.change, document.id, DocumentEdit(**changes))
    _show_one(session, document.id)


def _show_one(session: Session, id: str) -> None:
    state = session.mine(session.app.library.state, id)
    session.screen.result(document_as_data(state), document_line(state))


@COMMANDS.add("replace", _DOCUMENT, arg("path FILE", "its newer version"), _WAIT, json=_ONE)
def _replace(session: Session, options: Namespace) -> Exit | None:
    """Give a document a newer version; the ones of before are kept, and citations still lead to them."""
    from bethink.documents.model import NewDocument

    path = Path(options.path)
    if not path.is_file():
        raise BadInput(f"{path} is no file.")
    document = _named(session, options.document)
    new = NewDocument(name=document.name, content=path)
    after = session.mine(session.app.library.replace, document.id, new)
    return _ended(session, options, _Added([after]))


@COMMANDS.add("remove", arg("documents DOCUMENT+", "ids or names"), YES, json="each document")
def _remove(session: Session, options: Namespace) -> Exit | None:
    """Remove documents for good, with what was read of them."""
    screen = session.screen
    found = [_named(session, wanted) for wanted in options.documents]
    names = ", ".join(one_line(one.name) for one in found[:_SHOWN])
    question = f"Remove {counted(len(found), 'document')} for good ({names})? [y/N] "
    if not screen.confirmed(question, yes=options.yes, refusal=_UNASKED):
        return Exit.FAILED
    for one in found:
        session.mine(session.app.library.remove, one.id)
        screen.result({"id": one.id, "name": one.name}, f"{one_line(one.name)}: removed")
    return None


@COMMANDS.add(
    "retry", arg("documents DOCUMENT*", "ids or names; none for all that failed"), _WAIT, json="each document"
)
def _retry(session: Session, options: Namespace) -> Exit | None:
    """Read documents again that could not be read, or whose reading was cancelled."""
    from bethink.documents.model import DocumentQuery

    library = session.app.library
    found = [_named(session, wanted) for wanted in options.documents]
    if not options.documents:
        failed = session.mine(library.list, DocumentQuery(stage="failed"), limit=500)
        found = [state.document for state in failed.items]
    for one in found:
        session.mine(_documents(session).ingest.retry, one.newest)
    return _ended(session, options, _Added(found))


@COMMANDS.add("cancel", _DOCUMENT, json=_ONE)
def _cancel(session: Session, options: Namespace) -> None:
    """Stop the reading of a document, or of its newer version."""
    document = _named(session, options.document)
    session.mine(_documents(session).ingest.cancel, document.newest)
    _show_one(session, document.id)


# --- collections ------------------------------------------------------------

COMMANDS.group("collections", "documents that belong together")


@COMMANDS.add("collections list", json="each collection")
def _collections(session: Session, _: Namespace) -> None:
    """List the collections."""
    library = session.app.library
    found = session.mine(library.collections)
    for one in found:
        count = session.mine(library.count, one.id)
        line = f"{one_line(one.name)}  {counted(count, 'document')}"
        session.screen.result(collection_as_data(one, count), line)
    if not found:
        session.screen.remark("There are no collections: `bethink documents collections add` makes one.")


@COMMANDS.add(
    "collections add",
    arg("name NAME", "its name"),
    arg("--description TEXT", "what is in it", default=""),
    json="each collection",
)
def _add_collection(session: Session, options: Namespace) -> None:
    """Make a collection."""
    made = session.mine(session.app.library.create_collection, options.name, options.description)
    _show_collection(session, made, f"{one_line(made.name)}: made")


def _show_collection(session: Session, one: DocumentCollection, told: str) -> None:
    session.screen.result(collection_as_data(one, session.mine(session.app.library.count, one.id)), told)


@COMMANDS.add(
    "collections rename",
    arg("collection COLLECTION", "its id or name"),
    arg("name NAME", "its new name"),
    json="each collection",
)
def _rename_collection(session: Session, options: Namespace) -> None:
    """Give a collection another name."""
    library = session.app.library
    held = session.mine(library.collection, options.collection)
    after = session.mine(library.change_collection, held.id, name=options.name)
    _show_collection(session, after, one_line(after.name))


@COMMANDS.add(
    "collections remove",
    arg("collection COLLECTION", "its id or name"),
    arg("--documents", "remove its documents, too"),
    YES,
    json="each collection",
)
def _remove_collection(session: Session, options: Namespace) -> Exit | None:
    """Remove a collection; its documents stay unless --documents is given."""
    library = session.app.library
    held = session.mine(library.collection, options.collection)
    count = session.mine(library.count, held.id)
    with_them = (
        f" with {counted(count, 'document')} for good" if options.documents else "; its documents stay"
    )
    question = f"Remove {one_line(held.name)}{with_them}? [y/N] "
    if not session.screen.confirmed(question, yes=options.yes, refusal=_UNASKED):
        return Exit.FAILED
    gone = session.mine(library.remove_collection, held.id, documents=options.documents)
    value = {"id": held.id, "name": held.name, "documents_removed": gone}
    session.screen.result(value, f"{one_line(held.name)}: removed, {counted(gone, 'document')} with it")
    return None


@COMMANDS.add(
    "collections share",
    arg("collection COLLECTION", "its id or name"),
    arg("user USER", "with whom: a user's name"),
    arg("--writes", "they may also add to it, and change what is in it"),
    json="each collection",
)
def _share(session: Session, options: Namespace) -> None:
    """Have another user see a collection, and what is in it."""
    library = session.app.library
    held = session.mine(library.collection, options.collection)
    after = session.mine(library.sharing.share, held.id, options.user, writes=options.writes)
    how = "to read and to write" if options.writes else "to read"
    _show_collection(session, after, f"{one_line(after.name)}: shared with {one_line(options.user)} {how}")


@COMMANDS.add(
    "collections unshare",
    arg("collection COLLECTION", "its id or name"),
    arg("user USER", "with whom no more: a user's name"),
    json="each collection",
)
def _unshare(session: Session, options: Namespace) -> None:
    """Have a user not see a collection any more."""
    library = session.app.library
    held = session.mine(library.collection, options.collection)
    after = session.mine(library.sharing.unshare, held.id, options.user)
    told = f"{one_line(after.name)}: not shared with {one_line(options.user)} any more"
    _show_collection(session, after, told)


# --- folders ----------------------------------------------------------------

_FOLDER = arg("folder FOLDER", "its id or path")


@COMMANDS.add(
    "watch",
    arg("path PATH", "a folder of this machine"),
    arg("--collection NAME", "put its documents into this collection, which is made if there is none"),
    arg("--extensions LIST", "only files with these endings: .md,.pdf"),
    json="each folder",
)
def _watch(session: Session, options: Namespace) -> None:
    """Watch a folder: its files are documents, and stay as the files are."""
    folders = _documents(session).folders
    inside = options.collection and _collection_for(session, options.collection)
    endings = [one for one in (options.extensions or "").split(",") if one.strip()]
    path = os.path.abspath(options.path)  # noqa: PTH100 - a link stays what it is called
    made = session.mine(folders.add, path, collection=inside, extensions=endings)
    state = session.mine(folders.sync, made.id)
    session.screen.result(folder_as_data(state), folder_line(state))
    session.screen.remark("`bethink serve` follows it while it runs.")


COMMANDS.group("folders", "folders that are watched")


@COMMANDS.add("folders list", json="each folder")
def _folders(session: Session, _: Namespace) -> None:
    """List the watched folders."""
    found = session.mine(_documents(session).folders.list)
    for state in found:
        session.screen.result(folder_as_data(state), folder_line(state))
    if not found:
        session.screen.remark("No folder is watched: `bethink documents watch` watches one.")


@COMMANDS.add("folders sync", _FOLDER, json="each folder")
def _sync(session: Session, options: Namespace) -> None:
    """Look at a folder now."""
    state = session.mine(_documents(session).folders.sync, _folder_named(session, options.folder))
    session.screen.result(folder_as_data(state), folder_line(state))


@COMMANDS.add("folders remove", _FOLDER, arg("--documents", "remove its documents, too"), json="each folder")
def _unwatch(session: Session, options: Namespace) -> None:
    """Watch a folder no more; its documents stay unless --documents is given."""
    id = _folder_named(session, options.folder)
    gone = session.mine(_documents(session).folders.remove, id, documents=options.documents)
    value = {"id": id, "documents_removed": gone}
    session.screen.result(value, f"not watched any more; {counted(gone, 'document')} removed with it")


def _folder_named(session: Session, wanted: str) -> str:
    for state in session.mine(_documents(session).folders.list):
        if wanted == state.folder.id or Path(wanted).resolve() == Path(state.folder.path):
            return state.folder.id
    raise BadInput(f"{wanted} is not watched: `bethink documents folders list` lists those that are.")
