"""Files of conversations: uploaded, made by tools, deleted and forgotten with what they belong to."""

from __future__ import annotations

import fcntl
from pathlib import Path

import anyio
import pytest

from bethink.blobs import Blobs
from bethink.blobs.directory import DirectoryBlobs
from bethink.errors import BadInput, JustForgotten, TooLarge, UnknownId
from bethink.events import ToolFinished
from bethink.files import MAX_FILES
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.memory import NewFact
from bethink.messages import ToolMessage, UserMessage
from bethink.principal import Principal
from bethink.tool import NewFile, ToolContext, ToolOutput, tool
from tests.door import open_door
from tests.house import House, open_house, ports_of
from tests.unit.test_web_memories import kept

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG\r\n\x1a\n and more"


@tool(effect="read", label="Draw")
async def draw(context: ToolContext, name: str = "chart.png") -> ToolOutput:
    """Draw a chart."""
    kept = await context.keep(NewFile(name, "image/png", PICTURE))
    held = await context.files()
    return ToolOutput(", ".join(f"{file.name} {file.size}" for file in held), attachments=(kept,))


@tool(effect="read", label="Tell")
async def tell_all(context: ToolContext) -> str:
    """Tell a lot."""
    return "a line of no meaning\n" * 2_000


async def text(house: House, file: str) -> str:
    _, path = await house.app.files.get(house.me, file)
    return await anyio.Path(path).read_text()


async def test_what_a_tool_makes_is_kept_beside_what_the_owner_gave() -> None:
    llm = ScriptedLlm([[ScriptedCall("draw"), ScriptedCall("draw")], "Here it is."])
    async with open_house(llm, tools=[draw]) as house:
        conversation = await house.new()
        given = await house.app.files.add(house.me, conversation, NewFile("data.csv", "text/csv", b"a,b\n"))
        run = await house.app.runs.start(house.me, conversation, "Draw it", files=[given.id])
        finished = [event for event in await house.events(run) if isinstance(event, ToolFinished)]
        assert {one.attachments[0].name for one in finished} == {"chart.png", "chart (2).png"}
        stored = await house.messages(conversation)
        said = stored[0].message
        assert isinstance(said, UserMessage)
        assert said.attachments == (given.attachment,)
        results = [item.message for item in stored if isinstance(item.message, ToolMessage)]
        assert all(result.attachments and "data.csv 4" in result.content for result in results)
        assert "[file: data.csv (text/csv)]" in llm.requests[0].messages[-1].content


async def test_a_result_that_is_too_long_is_kept_whole() -> None:
    llm = ScriptedLlm([[ScriptedCall("tell_all")], "Long."])
    async with open_house(llm, tools=[tell_all], max_tool_result_chars=500) as house:
        conversation = await house.new()
        run = await house.app.runs.start(house.me, conversation, "Tell me")
        (finished,) = [event for event in await house.events(run) if isinstance(event, ToolFinished)]
        assert finished.text.endswith("[cut: 42,000 characters in all, the whole is in the file result.txt]")
        (whole,) = await house.app.files.list(house.me, conversation)
        assert len(await text(house, whole.id)) == 42_000


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\a.txt", "a.txt"),
        ("a\u202egpj.exe", "a_gpj.exe"),
        ("...", "file"),
        ("", "file"),
        ("x" * 300 + ".csv", "x" * 116 + ".csv"),
        ("a\0b\n.txt", "a_b_.txt"),
    ],
)
async def test_a_name_is_made_fit_for_every_system(name: str, kept: str) -> None:
    async with open_house() as house:
        file = await house.app.files.add(house.me, await house.new(), NewFile(name, "text/plain", b"x"))
        assert file.name == kept


async def test_a_file_that_comes_to_a_deleted_conversation_leaves_nothing(tmp_path: Path) -> None:
    ports = ports_of(blobs=DirectoryBlobs(tmp_path))
    async with open_house(ports=ports) as house:
        conversation = await house.new()
        await house.app.runs.delete_conversation(house.me, conversation)
        with pytest.raises(UnknownId):
            await house.app.files.add(house.me, conversation, NewFile("a", "text/plain", b"x"))
        assert contents(tmp_path) == []
        assert await house.app.files.list(house.me, conversation) == []


async def test_what_does_not_fit_is_refused_with_the_reason() -> None:
    async with open_house(max_file_bytes=1000) as house:
        conversation, files = await house.new(), house.app.files
        with pytest.raises(TooLarge):
            await files.add(house.me, conversation, NewFile("a", "text/plain", b"x" * 1001))
        for number in range(MAX_FILES):
            await files.add(house.me, conversation, NewFile(f"{number}", "text/plain", b""))
        with pytest.raises(BadInput, match="500 files"):
            await files.add(house.me, conversation, NewFile("one more", "text/plain", b""))


async def test_nothing_of_one_owner_is_another_s() -> None:
    async with open_house() as house:
        conversation, files = await house.new(), house.app.files
        file = await files.add(house.me, conversation, NewFile("a", "text/plain", b"x"))
        stranger = Principal("stranger")
        assert await files.list(stranger, conversation) == []
        with pytest.raises(UnknownId):
            await files.get(stranger, file.id)
        with pytest.raises(UnknownId):
            await files.attachments(house.me, await house.new(), [file.id])


async def test_a_conversation_goes_with_its_files(tmp_path: Path) -> None:
    ports = ports_of(blobs=DirectoryBlobs(tmp_path))
    async with open_house(ports=ports) as house:
        gone, stays = await house.new(), await house.new()
        for conversation in (gone, stays):
            await house.app.files.add(
                house.me, conversation, NewFile("a", "text/plain", conversation.encode())
            )
        await house.app.runs.delete_conversation(house.me, gone)
        assert contents(tmp_path) == [stays]


def contents(root: Path) -> list[str]:
    return [path.read_text(errors="replace") for path in root.rglob("*") if path.is_file()]


async def test_a_file_that_says_what_is_forgotten_goes_whole(tmp_path: Path) -> None:
    ports = ports_of(blobs=DirectoryBlobs(tmp_path))
    async with open_house(ports=ports) as house:
        conversation = await house.new()
        fact = await house.app.memory.add(house.me, NewFact("User is allergic to Brazil nuts"))
        said = "Plans.\n\nThe user is allergic to Brazil nuts, so no cake.\n"
        for name, content in (
            ("notes.md", said.encode()),
            ("wide.txt", said.encode("utf-16")),
            ("long.csv", b"a line of no meaning\n" * 70_000 + said.encode()),
            ("one line.json", b"x " * 700_000 + b'"the user is allergic to Brazil nuts" ' + b"y " * 700_000),
            ("Allergic to Brazil nuts.pdf", b"%PDF \0"),
            ("other.md", b"Plans for a cake."),
        ):
            file = NewFile(name, "application/octet-stream", content)
            await house.app.files.add(house.me, conversation, file)
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        assert sorted(contents(tmp_path)) == ["%PDF \0", "Plans for a cake."]
        names = [file.name for file in await house.app.files.list(house.me, conversation)]
        assert names == ["forgotten.pdf", "other.md"]


async def test_a_large_file_that_is_no_text_stays_whatever_is_forgotten() -> None:
    async with open_house() as house:
        conversation = await house.new()
        fact = await house.app.memory.add(house.me, NewFact("User is allergic to Brazil nuts"))
        await house.app.files.add(house.me, conversation, NewFile("a.mp4", "video/mp4", bytes(22_000_000)))
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        assert len(await house.app.files.list(house.me, conversation)) == 1


async def test_a_message_forgets_the_name_of_its_file() -> None:
    async with open_house(ScriptedLlm(["I see."])) as house:
        conversation = await house.new()
        fact = await house.app.memory.add(house.me, NewFact("User is allergic to Brazil nuts"))
        new = NewFile("User is allergic to Brazil nuts.pdf", "application/pdf", b"%PDF \0")
        file = await house.app.files.add(house.me, conversation, new)
        await house.events(await house.app.runs.start(house.me, conversation, "See", files=[file.id]))
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        said = (await house.messages(conversation))[0].message
        assert isinstance(said, UserMessage)
        assert [attached.name for attached in said.attachments] == ["[forgotten]"]


async def test_a_file_whose_content_never_came_holds_up_nobody(tmp_path: Path) -> None:
    ports = ports_of(blobs=DirectoryBlobs(tmp_path))
    async with open_house(ports=ports) as house:
        conversation = await house.new()
        for name in ("a", "b"):
            await house.app.files.add(house.me, conversation, NewFile(name, "text/plain", name.encode()))
        file = (await house.app.files.list(house.me, conversation))[0]
        await anyio.Path(DirectoryBlobs(tmp_path).path(house.me.owner, file.id)).unlink()
        assert [held.name for held in await house.app.files.held(house.me, conversation)] == ["b"]


async def test_a_run_that_lives_keeps_no_file_of_what_was_forgotten() -> None:
    caught: list[BaseException] = []

    @tool(effect="read", label="Write")
    async def write(context: ToolContext) -> str:
        """Write a file."""
        await house.app.forgetting.forget(house.me, [fact.fact.id])
        try:
            await context.keep(NewFile("a.txt", "text/plain", b"Allergic to Brazil nuts, the user is."))
        except JustForgotten as error:
            caught.append(error)
        await context.keep(NewFile("b.txt", "text/plain", b"Nothing of it."))
        return "done"

    llm = ScriptedLlm([[ScriptedCall("write")], "Done."])
    async with open_house(llm, tools=[write]) as house:
        fact = await house.app.memory.add(house.me, NewFact("User is allergic to Brazil nuts"))
        conversation = await house.new()
        await house.events(await house.app.runs.start(house.me, conversation, "Write it down"))
        assert [file.name for file in await house.app.files.list(house.me, conversation)] == ["b.txt"]
    assert len(caught) == 1


async def test_files_go_up_and_come_down_over_http() -> None:
    async with open_door(ScriptedLlm(["I see."]), max_file_bytes=1000) as door:
        conversation = await door.new()
        url = f"/conversations/{conversation}/files"
        up = await door.http.post(url, files={"file": ("a b.html", b"<script>", "text/html")})
        assert up.status_code == 201
        file = up.json()
        assert (file["name"], file["media_type"], file["size"]) == ("a b.html", "text/html", 8)
        assert (await door.http.get(url)).json()["items"] == [file]
        down = await door.http.get(file["url"])
        assert (down.content, down.headers["content-type"]) == (b"<script>", "application/octet-stream")
        assert down.headers["content-disposition"] == "attachment; filename*=utf-8''a%20b.html"
        assert "sandbox" in down.headers["content-security-policy"]
        picture = await door.http.post(url, files={"file": ("p.png", PICTURE, "image/png")})
        shown = await door.http.get(picture.json()["url"])
        assert (shown.headers["content-type"], shown.content) == ("image/png", PICTURE)
        said = {"message": {"role": "user", "content": "See", "attachments": [file["id"]]}, "stream": False}
        assert (await door.http.post(f"/conversations/{conversation}/chat", json=said)).status_code == 200
        messages = (await door.http.get(f"/conversations/{conversation}")).json()["messages"]
        assert messages[0]["attachments"] == [
            {"name": "a b.html", "media_type": "text/html", "url": file["url"]}
        ]


async def test_an_answer_in_one_piece_names_the_files_too() -> None:
    llm = ScriptedLlm([[ScriptedCall("draw")], "Here it is."])
    async with open_door(llm, tools=[draw]) as door:
        answer = (await door.chat(await door.new(), "Draw it")).json()
        ((file,),) = [run["attachments"] for run in answer["tools_run"]]
        assert (file["name"], file["media_type"]) == ("chart.png", "image/png")
        assert (await door.http.get(file["url"])).content == PICTURE


async def test_an_upload_that_cannot_be_taken_is_told_why() -> None:
    async with open_door(None, max_file_bytes=1000) as door:
        conversation = await door.new()
        url = f"/conversations/{conversation}/files"
        large = await door.http.post(url, files={"file": ("a", b"x" * 1001, "text/plain")})
        huge = await door.http.post(url, files={"file": ("a", b"x" * 100_000, "text/plain")})
        text_field = await door.http.post(url, data={"file": "text"})
        nowhere = await door.http.post("/conversations/none/files", files={"file": ("a", b"x", "text/plain")})
        missing = await door.http.get("/files/none")
        said = {"message": {"role": "user", "content": "See", "attachments": ["none"]}}
        unknown = await door.http.post(f"/conversations/{conversation}/chat", json=said)
    statuses = [answer.status_code for answer in (large, huge, text_field, nowhere, missing, unknown)]
    assert statuses == [413, 413, 422, 404, 404, 404]


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return DirectoryBlobs(tmp_path / "files")


async def test_contents_are_for_nobody_else_and_leave_no_parts(blobs: Blobs, tmp_path: Path) -> None:
    assert await blobs.ids("alice") == []
    await blobs.write("alice", "one", b"1")
    await blobs.write("alice", "one", b"2")
    await blobs.write("bob/..", "two", b"3")
    assert (await blobs.ids("alice"), await blobs.ids("bob/..")) == (["one"], ["two"])
    assert await anyio.Path(await blobs.opened("alice", "one")).read_bytes() == b"2"
    assert modes(tmp_path / "files") == {0o600, 0o700}
    await blobs.delete("alice", ["one", "none"])
    assert await blobs.ids("alice") == []


def parts(data: Path) -> list[str]:
    return [path.name for path in data.rglob("*.part")]


@pytest.mark.parametrize("by", ["forgetting", "deleting the conversation"])
async def test_what_an_upload_that_was_cut_short_has_left_goes_too(by: str) -> None:
    async with open_door(ScriptedLlm([])) as door:
        house, conversation = door.house, await door.new()
        await kept(door, "User's password hint is Mirabelle")
        file = await house.app.files.add(house.me, conversation, NewFile("a.txt", "text/plain", b"tea"))
        _, path = await house.app.files.get(house.me, file.id)
        for name in (file.id, "never-known"):
            await anyio.Path(path.with_name(f"{name}.part")).write_bytes(b"Mirabelle")
        other = await house.app.files.add(house.me, await door.new(), NewFile("b.txt", "text/plain", b"tea"))
        with path.with_name(f"{other.id}.part").open("wb") as live:
            fcntl.flock(live, fcntl.LOCK_EX)
            if by == "forgetting":
                preview = (await door.http.post("/memories/forget", json={"query": "password hint"})).json()
                body = {"query": "password hint", "confirm": preview["token"]}
                assert (await door.http.post("/memories/forget", json=body)).json()["forgotten"] == 1
            else:
                await door.http.delete(f"/conversations/{conversation}")
            assert await anyio.to_thread.run_sync(parts, path.parent) == [f"{other.id}.part"]


def modes(root: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in (root, *root.rglob("*"))}
