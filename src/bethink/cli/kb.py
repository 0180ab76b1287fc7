"""`bethink kb`: build, search, export and import knowledge bases."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bethink.cli.commands import YES, Commands, arg, at_most
from bethink.cli.document_lines import file_endings
from bethink.cli.exits import Exit
from bethink.cli.terminal import UNASKED, counted, one_line
from bethink.errors import BadInput, EmbeddingsUnavailable

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.app import App
    from bethink.cli.session import Session
    from bethink.documents.kb_build import BuildProgress
    from bethink.documents.knowledge_bases import BaseSummary, KnowledgeBases, ListedBase
    from bethink.documents.library import PassageHit

_EPILOG = """\
examples:
  bethink kb build --input ./docs --name handbook
  bethink kb build --input ./docs --name handbook --update --export handbook.tar.gz
  bethink kb search handbook "how much leave do I have?"
  bethink kb search handbook.tar.gz "how much leave do I have?"
  bethink kb import handbook.tar.gz

`kb-build` and `kb-search` do the same as `bethink kb build` and `bethink kb search`."""
_SHOWN: Final = 20
_LIMIT: Final = 5
_SURE: Final = 0.3
_ENDING: Final = ".tar.gz"
COMMANDS = Commands(_EPILOG)


def _bases(session: Session) -> KnowledgeBases:
    from bethink.documents.service import Documents

    return session.app.features.of(Documents).bases


@COMMANDS.add(
    "build",
    arg("--input PATH+", "files, and folders with all below them", default=[]),
    arg("--name NAME", "the base's name; the first folder's or file's by default"),
    arg("--extensions LIST", "only files of folders with these endings: .md,.pdf"),
    arg("--json_input --json-input FILE", "a JSON list of documents with `id` and `text`"),
    arg("--config FILE", "YAML of kb-mcp-server; what has no effect here is said"),
    arg("--update", "also remove documents whose files are gone"),
    arg("--export FILE", "write the base to this archive (.tar.gz)"),
    json="the report",
)
def _build(session: Session, options: Namespace) -> Exit | None:
    """Build a base from files, or bring it up to date."""
    from bethink.documents.kb_build import BaseBuilder, BuildSources
    from bethink.documents.service import Documents

    if not options.input and options.json_input is None:
        raise BadInput("Say what to build from: --input PATH, or --json_input FILE.")
    screen, documents = session.screen, session.app.features.of(Documents)
    name = _name(session, options)
    sources = BuildSources(
        paths=tuple(map(Path, options.input)),
        extensions=file_endings(options.extensions),
        texts=options.json_input and Path(options.json_input),
    )
    builder = BaseBuilder(
        library=documents.library,
        ingest=documents.ingest,
        principal=session.principal,
        tell=lambda progress: screen.status(_progress(progress)),
    )
    report = session.call(builder.build, name, sources, update=options.update)
    screen.status("")
    summary = session.mine(documents.bases.get, name)
    counts = ("added", "changed", "unchanged", "removed", "left")
    said = ", ".join(f"{count:,} {word}" for word in counts if (count := getattr(report, word)))
    screen.result(report, f"{one_line(report.name)}: {_size(summary)} ({said or 'nothing new'})")
    for one in report.failed[:_SHOWN]:
        screen.remark(f"{one.name}: {one.why}", "red")
    if (more := len(report.failed) - _SHOWN) > 0:
        screen.remark(f"and {more:,} more; --json lists them")
    if report.note:
        screen.remark(report.note, "yellow")
    if options.export:
        _export_to(session, name, options.export, originals=False)
    return Exit.FAILED if report.is_empty else None


def _name(session: Session, options: Namespace) -> str:
    """What the base is called: as it is named, as the configuration names it, or as its first source."""
    named = None
    if options.config is not None:
        from bethink.documents.kb_config import read_config

        config = read_config(Path(options.config))
        named = config.name
        for line in config.remarks:
            session.screen.remark(f"{options.config}: {line}", "yellow")
    first = Path(options.input[0] if options.input else options.json_input)
    return options.name or named or Path(os.path.abspath(first)).stem or "documents"  # noqa: PTH100 - "." has no name


def _progress(progress: BuildProgress) -> str:
    of = f" {progress.done:,} of {progress.of:,}" if progress.of else ""
    return f"{progress.stage}{of} …"


def _size(one: BaseSummary) -> str:
    counts = {"document": one.documents, "page": one.pages, "passage": one.passages}
    return ", ".join(counted(count, noun) for noun, count in counts.items())


@COMMANDS.add(
    "search",
    arg("name NAME", "the base's name, or an archive's file"),
    arg("query QUERY", "a question or words"),
    at_most(_LIMIT, "passages", 100),
    arg("--graph", "also what hangs together with what was found"),
    arg(
        "--min_similarity --min-similarity SHARE",
        f"only passages that answer at least so surely, 0 to 1 ({_SURE})",
        type=float,
        default=_SURE,
    ),
)
def _search(session: Session, options: Namespace) -> None:
    """Find the passages of a base that answer a question."""
    if not 0 <= options.min_similarity <= 1:
        raise BadInput(f"--min_similarity is {options.min_similarity}: give a number from 0 to 1.")
    path = Path(options.name)
    hits = (
        session.call(_found_in_archive, session.app, path, options)
        if path.is_file()
        else session.mine(_bases(session).search, options.name, options.query, **_asked(options))
    )
    for hit in hits:
        place = f"page {hit.page}" if hit.content.pages > 1 else ""
        quoted = [f"      {line}".rstrip() for line in hit.text.strip().splitlines()]
        head = ", ".join(filter(None, (one_line(hit.document.name), one_line(hit.label) or place)))
        session.screen.result(_hit(hit), f"{hit.score:.2f}  {head}", *quoted, "")
    if not hits:
        session.screen.remark("Nothing in this base answers that.")


def _asked(options: Namespace) -> dict[str, Any]:
    return {
        "limit": options.limit,
        "graph": options.graph,
        "min_similarity": options.min_similarity,
    }


async def _found_in_archive(app: App, path: Path, options: Namespace) -> list[PassageHit]:
    """What an archive answers, opened in memory: nothing of it stays."""
    import anyio.to_thread

    from bethink.app import open_app
    from bethink.documents.service import Documents
    from bethink.documents.work_folders import work_folder
    from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
    from bethink.ports import Ports

    index = MemoryIndex()
    ports = Ports(MemoryStore(index), index, MemoryBus(), app.ports.embeddings, None)
    opening = work_folder(app.features.of(Documents).bases.work)
    folder = await anyio.to_thread.run_sync(opening.__enter__)
    try:
        settings = app.settings.model_copy(update={"data_dir": folder})
        async with open_app(settings, ports, beside=app) as opened:
            principal = await opened.accounts.authenticate(audience="cli")
            bases = opened.features.of(Documents).bases
            report = await bases.import_archive(principal, path)
            return await bases.search(principal, report.name, options.query, **_asked(options))
    finally:
        await anyio.to_thread.run_sync(opening.__exit__, None, None, None)


def _hit(hit: PassageHit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "document": hit.document.name,
        "page": hit.page,
        "heading": hit.heading,
        "text": hit.text,
        "score": round(hit.score, 4),
        "source": hit.source,
    }


@COMMANDS.add("list", json="each base")
def _list(session: Session, _: Namespace) -> None:
    """List the bases."""
    found = session.mine(_bases(session).list)
    for one in found:
        size = counted(one.documents, "document")
        session.screen.result(_base(one), f"{one_line(one.base.name)}  {size}")
    if not found:
        session.screen.remark("There is no knowledge base: `bethink kb build` makes one.")


def _base(one: ListedBase) -> dict[str, Any]:
    return {
        "id": one.base.id,
        "name": one.base.name,
        "description": one.base.description,
        "documents": one.documents,
    }


@COMMANDS.add("show", arg("name NAME", "the base's name"), json="each document")
def _show(session: Session, options: Namespace) -> None:
    """List the documents of a base."""
    for one in session.mine(_bases(session).documents, options.name):
        content, name = one.content, one_line(one.document.name)
        value = {
            "id": one.document.id,
            "name": one.document.name,
            "stage": content.stage,
            "pages": content.pages,
            "passages": content.passages,
            "tags": one.document.tags,
            "place": one.document.origin.place,
            "error": content.error,
        }
        state = f"{content.stage}  {content.error}" if content.stage != "ready" else ""
        session.screen.result(value, f"{name}  {counted(content.pages, 'page')}  {state}".rstrip())


@COMMANDS.add("delete", arg("name NAME", "the base's name"), YES, json="the report")
def _delete(session: Session, options: Namespace) -> Exit | None:
    """Delete a base with its documents."""
    screen, bases = session.screen, _bases(session)
    one = session.mine(bases.get, options.name)
    question = f"Delete {one_line(one.base.name)} with {_size(one)}? [y/N] "
    if not screen.confirmed(question, yes=options.yes, refusal=UNASKED):
        return Exit.FAILED
    count = session.mine(bases.remove, options.name)
    screen.result({"removed": count}, f"Deleted {one_line(one.base.name)}: {counted(count, 'document')}.")
    return None


@COMMANDS.add(
    "export",
    arg("name NAME", "the base's name"),
    arg("file FILE?", "the archive to write (NAME.tar.gz)"),
    arg("--with-originals", "with the files themselves, not only their text"),
    json="the report",
)
def _export(session: Session, options: Namespace) -> None:
    """Write a base to an archive that another machine can import."""
    _export_to(session, options.name, options.file, originals=options.with_originals)


def _export_to(session: Session, name: str, file: str | None, *, originals: bool) -> None:
    path = Path(file or f"{name.replace('/', '_')}{_ENDING}")
    if not path.name.endswith((_ENDING, ".tgz")):
        path = path.with_name(f"{path.name}{_ENDING}")
    report = session.mine(_bases(session).export_file, name, path, originals=originals)
    value = {"file": str(path), "counts": report.counts, "note": report.note}
    held = f"{counted(report.counts.documents, 'document')}, {counted(report.counts.passages, 'passage')}"
    session.screen.result(value, f"{path}: {held}, {path.stat().st_size / 1e6:,.1f} MB")
    if report.note:
        session.screen.remark(report.note, "yellow")


async def _load_model(app: App) -> None:
    """So that what is imported is embedded, if it must be."""
    with suppress(EmbeddingsUnavailable):
        await app.ports.embeddings.load()


@COMMANDS.add(
    "import",
    arg("file FILE", "an archive that `export` wrote"),
    arg("--name NAME", "what to call the base here"),
    json="the report",
)
def _import(session: Session, options: Namespace) -> None:
    """Take in an archive as a new base, once it was verified."""
    session.call(_load_model, session.app)
    report = session.mine(_bases(session).import_archive, Path(options.file), name=options.name)
    held = f"{counted(report.counts.documents, 'document')}, {counted(report.counts.passages, 'passage')}"
    session.screen.result(report, f"{one_line(report.name)}: {held}")
    if report.note:
        session.screen.remark(report.note, "yellow")
