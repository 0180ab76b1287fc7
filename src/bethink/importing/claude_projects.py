"""What a Claude export holds beside conversations: projects with documents, and memories, as pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.importing.fields import listed, mapping, moment, one_line, text
from bethink.importing.items import Left, Sheet
from bethink.importing.json_stream import Broken
from bethink.importing.names import Names, file_name
from bethink.importing.objects import objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.importing.archive import Archive
    from bethink.importing.items import Item

ROOT = "imported/claude"
_PROSE = ("md", "markdown", "txt", "")
_PROJECTS = r"(projects|projects/[^/]+)\.json"
_MEMORIES = r"(memories|memories/[^/]+)\.json"


def projects(archive: Archive) -> Iterator[Item]:
    """A page a project, a page a document, a page a memory."""
    names, folders = Names(), dict[str, str]()
    for found, member in _objects(archive, _PROJECTS):
        if isinstance(found, Broken):
            yield Left(member, found.why)
            continue
        yield from _project(found, names, folders)
    for found, member in _objects(archive, _MEMORIES):
        if isinstance(found, Broken):
            yield Left(member, found.why)
            continue
        yield from _memories(found, names, folders)


def _objects(archive: Archive, pattern: str) -> Iterator[tuple[dict[str, object] | Broken, str]]:
    for member in archive.named(pattern):
        for found in objects(archive, member, alone=True):
            yield found, member


def _project(found: dict[str, object], names: Names, folders: dict[str, str]) -> Iterator[Item]:
    title = one_line(text(found.get("name")) or "Untitled project", 120)
    folder = names.free(f"{ROOT}/projects/{file_name(title)}")
    key = text(found.get("uuid")) or folder
    folders[key] = folder
    docs = list(_documents(found, folder, names))
    told = [f"# {title}"]
    for heading, member in (("About", "description"), ("Instructions", "prompt_template")):
        if said := text(found.get(member)).strip():
            told.append(f"## {heading}\n\n{said}")
    if docs:
        told.append("## Documents\n\n" + "\n".join(f"- [[{doc.path}|{doc.title}]]" for doc in docs))
    if len(told) > 1:
        page = "\n\n".join(told) + "\n"
        yield Sheet(f"project:{key}", f"{folder}/about.md", title, page, moment(found.get("updated_at")))
    yield from docs


def _documents(found: dict[str, object], folder: str, names: Names) -> Iterator[Sheet]:
    for place, one in enumerate(map(mapping, listed(found.get("docs")))):
        content = text(one.get("content"))
        if not content.strip():
            continue
        name = one_line(text(one.get("filename")) or f"document {place + 1}", 120)
        stem, _, ending = name.rpartition(".") if "." in name else (name, "", "")
        said = content if ending.lower() in _PROSE else f"# {name}\n\n{fenced(content, ending.lower())}\n"
        yield Sheet(
            key=f"document:{text(one.get('uuid')) or f'{folder}:{place}'}",
            path=names.free(f"{folder}/{file_name(stem or name)}.md"),
            title=name,
            text=said if said.endswith("\n") else said + "\n",
            at=moment(one.get("created_at")),
        )


def _memories(found: dict[str, object], names: Names, folders: dict[str, str]) -> Iterator[Sheet]:
    account = text(found.get("account_uuid"))
    if said := text(found.get("conversations_memory")).strip():
        path = names.free(f"{ROOT}/memory.md")
        yield Sheet(f"memory:{account}", path, "Memory", f"# What Claude remembered\n\n{said}\n")
    for project, memory in mapping(found.get("project_memories")).items():
        if said := text(memory).strip():
            path = names.free(f"{folders.get(project, f'{ROOT}/projects/{file_name(project)}')}/memory.md")
            yield Sheet(f"memory:{project}", path, "Memory", f"# What Claude remembered\n\n{said}\n")
    for place, one in enumerate(map(mapping, listed(found.get("memory_files")))):
        name = one_line(text(one.get("path")) or text(one.get("name")) or f"memory {place + 1}", 120)
        if said := text(one.get("content")).strip():
            path = names.free(f"{ROOT}/memories/{file_name(name.rpartition('/')[2].removesuffix('.md'))}.md")
            yield Sheet(f"memory:{account}:{name}", path, name, said + "\n")


def fenced(content: str, language: str = "") -> str:
    """A text as a block of code, whatever it holds."""
    fence = "```"
    while fence in content:
        fence += "`"
    return f"{fence}{language}\n{content.strip(chr(10))}\n{fence}"
