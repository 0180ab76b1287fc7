"""Documents read within the walls of the sandbox: the same text, and nothing in reach of a parser."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bethink.documents.reading.extraction import Extraction, fault_of
from bethink.errors import DocumentError
from bethink.sandbox import MIB, Limits
from bethink.sandbox.choice import Walls
from bethink.tool import NewFile
from tests.contract.sandboxes import EVERY, sandbox_named
from tests.door import called
from tests.house import House, open_house
from tests.papers import letter, pdf

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_LIMITS = Limits(timeout_s=20, memory_bytes=512 * MIB, disk_bytes=0, output_chars=100_000)
PAPERS = {
    "report.pdf": pdf(["One", "below"], ["Two"], table=[["Year", "Profit"], ["2024", "7"]]),
    "letter.docx": letter(),
    "page.html": b"<html><body><article><h1>Title</h1><p>What it says.</p></article></body></html>",
    "table.csv": b"a,b\n1,2\n",
    "latin.txt": "Stra\u00dfe, caf\u00e9, na\u00efve".encode("latin-1"),
}


@pytest.mark.parametrize("wall", EVERY)
async def test_within_the_walls_every_kind_is_read_as_without(tmp_path: Path, wall: str) -> None:
    sandbox_named(wall)
    walls = Walls(wall, tmp_path / "data", fault_of)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    confined = Extraction(20, walls=walls)
    for name, content in PAPERS.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert await confined.read(path, name, "a/b") == await Extraction(20).read(path, name, "a/b")
    assert confined.state == f"Documents are read in {wall}."


@pytest.mark.parametrize("wall", EVERY)
async def test_a_parser_that_a_file_took_over_reaches_nothing(tmp_path: Path, wall: str) -> None:
    sandbox = sandbox_named(wall)
    canary = tmp_path / "canary"
    canary.write_text("a key")
    with canary.open("rb") as source:
        for path in (canary, "/etc/passwd", f"/proc/{os.getpid()}/environ", "/proc/self/environ", tmp_path):
            for command in (("base64", "-e", str(path)), ("tokenize", str(path))):
                assert await sandbox.read(source, command, _LIMITS) == b""
        assert await sandbox.read(source, ("zipfile", "-c", "written.zip", "/dev/null"), _LIMITS) == b""
        assert await sandbox.read(source, ("http.server", "0"), _LIMITS) == b""
        source.seek(0)
        assert await sandbox.read(source, ("base64", "-e", "-"), _LIMITS) == b"YSBrZXk=\n"


@pytest.mark.parametrize("wall", EVERY)
async def test_a_document_that_takes_all_memory_ends_within_its_own(tmp_path: Path, wall: str) -> None:
    sandbox_named(wall)
    walls = Walls(wall, tmp_path / "data", fault_of)  # pyright: ignore[reportArgumentType] - one of `EVERY`
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.write(b"word " * 2_000)
        file.truncate(400 * MIB)
    with pytest.raises(DocumentError, match="memory"):
        await Extraction(20, memory=200 * MIB, walls=walls).read(path, "large.txt", "text/plain")


async def test_what_a_parser_says_is_believed_only_as_far_as_it_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_named("landlock")
    walls = Walls("landlock", tmp_path / "data", fault_of)
    path = tmp_path / "a.txt"
    path.write_text("What it says.")
    extraction = Extraction(20, walls=walls)
    assert (await extraction.read(path, "a.txt", "a/b")).pages == {1: "What it says."}
    monkeypatch.setattr("bethink.documents.reading.extraction._MODULE", "this")
    with pytest.raises(DocumentError, match="cannot be read"):
        await extraction.read(path, "a.txt", "a/b")


@asynccontextmanager
async def house_with_a_pdf(tmp_path: Path) -> AsyncGenerator[tuple[House, str]]:
    async with open_house(data_dir=tmp_path / "data") as house:
        conversation = await house.new()
        await house.app.files.add(
            house.me, conversation, NewFile("report.pdf", "application/pdf", PAPERS["report.pdf"])
        )
        yield house, conversation


async def test_health_says_where_documents_are_read_once_one_was(tmp_path: Path) -> None:
    sandbox_named("landlock")
    async with house_with_a_pdf(tmp_path) as (house, conversation), called(house) as http:
        before = (await http.get("/health")).json()["parts"]["documents"]
        assert before == {
            "status": "ok",
            "message": "No document has been read yet: then its sandbox is tried.",
            "waiting": 0,
            "failed": 0,
        }
        (held,) = await house.app.files.held(house.me, conversation)
        await house.app.passages.extraction.read(held.path, held.name, held.media_type)
        after = (await http.get("/health")).json()["parts"]["documents"]
        assert after["message"] in {"Documents are read in bubblewrap.", "Documents are read in landlock."}


async def test_without_a_wall_documents_are_read_all_the_same_and_health_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bethink.sandbox.choice._ALL", ())
    async with house_with_a_pdf(tmp_path) as (house, conversation), called(house) as http:
        (held,) = await house.app.files.held(house.me, conversation)
        extracted = await house.app.passages.extraction.read(held.path, held.name, held.media_type)
        assert "Year" in extracted.pages[1]
        part = (await http.get("/health")).json()["parts"]["documents"]
        assert part["message"].startswith("Documents are read in a process of their own, without a sandbox")
