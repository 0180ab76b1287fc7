"""Export and import at the doors, and the old memory file that other programs read."""

from __future__ import annotations

import io
import json
import stat
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel, ConfigDict

from bethink.errors import BadInput
from bethink.export.records import ExportHeader, FactBatch, KeptFact
from bethink.export.service import FORMATS
from bethink.memory import Fact, NewFact
from tests.command_line import CommandLine
from tests.door import open_door
from tests.fakes import NoEmbeddings
from tests.house import House, open_house, ports_of
from tests.unit.test_portability import everything, exported, imported

ROOM = (
    '{"memories":[{"data":{"id":1735689600,"content":"User lives in Paris, France","importance":0.9,'
    '"category":"personal_info","topics":["location","geography"]},"embedding":[0.023,-0.145]},'
    '{"data":{"id":1735689600,"content":"User likes tea","importance":0.5,"category":"taste","topics":[]},'
    '"embedding":[]}],"updated_at":"2025-12-31T12:00:00Z","last_deduplicated_at":null}'
)


class OldData(BaseModel):
    """Spec 002, "MemoryData", as its reader has it; and the two around it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: int
    content: str
    importance: float
    category: str
    topics: list[str]


class OldMemory(BaseModel):
    model_config = ConfigDict(extra="forbid")

    data: OldData
    embedding: list[float]


class OldCollection(BaseModel):
    model_config = ConfigDict(extra="forbid")

    memories: list[OldMemory]
    updated_at: datetime
    last_deduplicated_at: datetime | None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CLEAN = TEXT.map(lambda text: NewFact(f"x{text}").checked().content)


@given(
    CLEAN.flatmap(lambda text: st.sampled_from([text, text[1:].strip() or text])),
    CLEAN,
    st.lists(CLEAN, max_size=3),
)
@pytest.mark.parametrize("name", ["jsonl", "md", "csv"])
def test_any_text_comes_back_as_it_was(name: str, content: str, category: str, topics: list[str]) -> None:
    said = NewFact(content, category, topics=tuple(dict.fromkeys(topics))).checked()
    fact = Fact(
        id="i",
        content=said.content,
        category=said.category,
        topics=said.topics,
        digest="",
        weight=0,
        created_at=1,
        state="superseded" if len(content) % 2 else "active",
    )
    format = FORMATS[name]
    writer = format.writer()
    file = writer.head(ExportHeader("test", "now", 1)) + writer.facts(FactBatch([fact])) + writer.tail()
    assert list(format.read(io.BytesIO(file.encode()))) == [KeptFact(file.count("\n"), fact)]


@pytest.mark.anyio
@pytest.mark.requirement("R42", "C2")
async def test_the_old_memory_file_is_read_with_its_integer_ids() -> None:
    async with open_house() as house:
        report = await imported(house, ROOM.encode())
        assert (report.format, report.restored, report.refused) == ("data.json", 2, 0)
        facts = {fact.content: fact for fact in (await everything(house)).values()}
        paris = facts["User lives in Paris, France"]
        assert (paris.importance, paris.category, paris.topics) == (
            0.9,
            "personal_info",
            ("location", "geography"),
        )
        assert (paris.legacy_id, paris.created_at) == (1735689600, 1735689600_000_000)
        assert facts["User likes tea"].legacy_id == paris.legacy_id
        assert facts["User likes tea"].id != paris.id
        assert (await imported(house, ROOM.encode())).known == 2
        await house.app.memory.retract(house.me, paris.id)
        assert (await imported(house, ROOM.encode())).differing == 1
        ((found, _),) = await house.app.memory.search(house.me, "tea", k=1)
        assert found.content == "User likes tea"


@pytest.mark.anyio
@pytest.mark.requirement("R42")
async def test_the_old_memory_file_is_written_so_that_its_reader_reads_it() -> None:
    async with open_house() as house, open_house() as other:
        await imported(house, ROOM.encode())
        gone = await house.app.memory.add(house.me, NewFact("Gone"))
        await house.app.memory.retract(house.me, gone.fact.id)
        house.clock.advance(0.5)
        for content in ("Has a dog", "Has a cat"):
            await house.app.memory.add(house.me, NewFact(content, topics=("pets",)))
        file = await exported(house, "data.json")
        old = OldCollection.model_validate_json(file)
        assert {memory.data.content for memory in old.memories} == {
            "User lives in Paris, France",
            "User likes tea",
            "Has a dog",
            "Has a cat",
        }
        ids = [memory.data.id for memory in old.memories]
        assert ids[:2] == [1735689600, 1735689601]
        assert len(set(ids)) == 4
        width = house.app.ports.embeddings.model.dimensions
        assert {len(memory.embedding) for memory in old.memories} == {width}
        assert (await imported(other, file)).restored == 4
        assert OldCollection.model_validate_json(await exported(other, "data.json")).memories == old.memories


@pytest.mark.anyio
async def test_bad_memories_of_the_old_file_are_named_by_their_number() -> None:
    good = json.loads(ROOM)
    memory = good["memories"][1]
    changes = ({"id": 2**70}, {"id": "x"}, {"content": ""}, {"importance": 3}, {"content": None})
    good["memories"] = [{**memory, "data": {**memory["data"], **change}} for change in changes]
    good["memories"] += [5, memory, {"data": {"id": 3, "content": "A counter"}}]
    async with open_house() as house:
        report = await imported(house, json.dumps(good).encode())
        assert [bad.line for bad in report.bad] == [1, 2, 3, 4, 5, 6]
        facts = {fact.legacy_id: fact for fact in (await everything(house)).values()}
        assert set(facts) == {1735689600, 3}
        assert facts[3].created_at == 1767182400_000_000, "the file's own date"
        for file in (b'{"memories": 5}', b'{"memories": [', b'{"memories": [], "updated_at": "then"}'):
            with pytest.raises(BadInput):
                await imported(house, file)


@pytest.mark.anyio
async def test_without_vectors_there_is_no_old_memory_file() -> None:
    async with open_door(ports=ports_of(embeddings=NoEmbeddings())) as door:
        answer = await door.http.get("/memories/export", params={"format": "data.json"})
        assert (answer.status_code, answer.json()["type"]) == (
            503,
            "urn:bethink:error:embeddings_unavailable",
        )


async def kept(house: House) -> None:
    for content in ("Lives in Paris", "Likes tea"):
        await house.app.memory.add(house.me, NewFact(content))


@pytest.mark.anyio
async def test_a_browser_gets_a_file_and_brings_it_back() -> None:
    async with open_door() as door, open_door() as other:
        await kept(door.house)
        for name, (ending, media) in {
            "jsonl": ("jsonl", "application/x-ndjson"),
            "md": ("md", "text/markdown; charset=utf-8"),
            "csv": ("csv", "text/csv; charset=utf-8; header=present"),
            "data.json": ("json", "application/json"),
        }.items():
            file = await door.http.get("/memories/export", params={"format": name})
            assert file.headers["content-type"] == media
            named = f'attachment; filename="bethink-memory-2026-02-02.{ending}"'
            assert file.headers["content-disposition"] == named
            assert (await door.http.post("/memories/import", content=file.content)).json()["known"] == 2
        file = (await door.http.get("/memories/export")).content
        preview = await other.http.post("/memories/import", params={"preview": True}, content=file)
        assert (preview.json()["restored"], preview.json()["preview"]) == (2, True)
        report = (await other.http.post("/memories/import", content=file + b"{}\n")).json()
        assert {name: value for name, value in report.items() if name not in {"id", "undo"}} == snapshot(
            {
                "format": "jsonl",
                "lines": 3,
                "restored": 2,
                "said": 0,
                "added": 0,
                "merged": 0,
                "known": 0,
                "differing": 0,
                "refused": 1,
                "bad": [
                    {"line": 4, "reason": "there is no `content`: give the fact's sentence under that name."}
                ],
                "preview": False,
            }
        )
        assert report["undo"] == f"import:{report['id']}"
        assert await everything(other.house) == await everything(door.house)
        undone = await other.http.post("/memories/undo", json={"token": report["undo"]})
        assert (undone.json()["change"], undone.json()["count"]) == ("retracted", 2)


@pytest.mark.anyio
async def test_a_browser_gets_everything_in_one_file() -> None:
    async with open_door() as door, open_door() as other:
        await kept(door.house)
        await door.house.say("I sail on Sundays")
        file = await door.http.get("/memories/export", params={"conversations": True})
        report = (await other.http.post("/memories/import", content=file.content)).json()
        assert (report["restored"], report["said"], report["refused"]) == (2, 3, 0)
        (item,) = (await other.http.get("/conversations")).json()["items"]
        said = (await other.http.get(f"/conversations/{item['id']}")).json()["messages"]
        assert [message["role"] for message in said] == ["user", "assistant"]
        refused = await door.http.get("/memories/export", params={"conversations": True, "format": "csv"})
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:bethink:error:bad_input")


@pytest.mark.anyio
async def test_the_web_door_takes_files_up_to_a_size() -> None:
    async with open_door(max_import_bytes=13_000_000) as door:
        padding = b" " * 12_999_970 + b"\n"
        file = padding + b'{"content": "Likes tea"}\n'
        taken = (await door.http.post("/memories/import", params={"format": "jsonl"}, content=file)).json()
        assert (taken["added"], taken["bad"][0]["reason"]) == snapshot((1, "the line is longer than 8 MB."))
        refused = await door.http.post("/memories/import", content=b"x" * 13_000_001)
        assert (refused.status_code, refused.json()["type"]) == (413, "urn:bethink:error:too_large")
        for params, content in (({"format": "xml"}, b"x"), ({}, b""), ({}, b"prose"), ({}, b"\xff\xfex\x00")):
            answer = await door.http.post("/memories/import", params=params, content=content)
            assert answer.status_code == 422
            assert answer.json()["detail"]


def test_the_command_line_writes_a_file_and_takes_it_in(plain: CommandLine, tmp_path: Path) -> None:
    plain("memory", "add", "--lines", "-", piped="User likes tea.\nUser has a dog.\n")
    file = tmp_path / "memory.md"
    written = plain("memory", "export", "--output", str(file))
    assert (written.code, written.out) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "- User likes tea. <!--" in file.read_text()
    assert plain("memory", "export", "--output", str(file)).code == 2, "nothing is overwritten"
    assert list(tmp_path.glob("*.part")) == []
    plain("memory", "forget", "--all", "--yes")
    again = plain("memory", "import", str(file))
    assert again.out == snapshot("""\
2 lines of md:
          2  restored
""")
    assert plain.facts() == {"User likes tea.", "User has a dog."}
    piped = plain("memory", "export", "--format", "csv")
    assert piped.out.count("\n") == 3
    assert plain("memory", "import", "-", "--json", piped=piped.out).documents[0]["known"] == 2


def test_the_command_line_takes_conversations_along(plain: CommandLine, tmp_path: Path) -> None:
    plain("memory", "add", "User likes tea.")
    plain("chat", "I sail on Sundays")
    file = tmp_path / "everything.jsonl"
    assert plain("memory", "export", "--conversations", "--output", str(file)).code == 0
    assert plain("memory", "import", str(file)).out == snapshot("""\
4 lines of jsonl:
          4  known already
""")
    elsewhere = replace(
        plain,
        environment={**plain.environment, "BETHINK_DATA_DIR": str(tmp_path / "elsewhere")},
    )
    assert elsewhere("memory", "import", str(file)).out == snapshot("""\
4 lines of jsonl:
          1  restored
          3  conversations and messages restored
""")
    assert plain("memory", "export", "--conversations", "--format", "md").code == 2


def test_the_command_line_names_bad_lines(plain: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"content": "User likes tea."}\nnonsense\n{"content": "User has a dog."}\n')
    would = plain("memory", "import", str(file), "--dry-run")
    assert would.code == 2
    assert would.out == snapshot("""\
3 lines of jsonl would be:
          2  new
          1  not taken
""")
    assert plain.facts() == set()
    ended = plain("memory", "import", str(file))
    assert ended.err.startswith("line 2: this is not JSON: JSON is malformed: invalid character (byte 4).\n")
    assert plain.facts() == {"User likes tea.", "User has a dog."}
    token = ended.err.split()[-1]
    assert "2 memories" in plain("memory", "undo", token).out
    assert plain.facts() == set()
    many = plain("memory", "import", "-", "--format", "jsonl", piped="x\n" * 103)
    assert many.err.splitlines()[-1] == "and 3 more lines like these"


@pytest.mark.parametrize(
    "words",
    [
        ("import", "/nowhere/at/all"),
        ("import", "."),
        ("import", "-"),
        ("import", "-", "--format", "xml"),
        ("export", "--format", "xml"),
        ("export", "--format", "data.json"),
        ("export", "--output", "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_read_or_written_is_said(plain: CommandLine, words: tuple[str, ...]) -> None:
    ended = plain("memory", *words)
    assert ended.code in {1, 2}
    assert ended.err
    assert "Traceback" not in ended.err
