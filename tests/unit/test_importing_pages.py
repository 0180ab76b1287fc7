"""Notes of other programs become pages of the vault, and conversations do where it is wanted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import NoSuchPage
from bethink.forgetting.selection import ForgetRequest
from bethink.importing.records import Import, ImportOptions
from bethink.memory import NewFact
from bethink.store import Collection, R, RecordPage, Scan, Versioned
from tests.exports import (
    asked_and_answered,
    chatgpt_talk,
    claude_message,
    claude_talk,
    node,
    packed,
    zipped,
)
from tests.house import House, open_house, ports_of

pytestmark = pytest.mark.anyio
PAGES = ImportOptions(into="vault", topics="none")
PLAN, ROW, BASE, SUB = "a" * 32, "b" * 32, "c" * 32, "d" * 32


async def pages(house: House) -> dict[str, str]:
    return {
        entry.path: (await house.app.vault.read(house.me.owner, entry.path)).text
        for entry in await house.app.vault.listed(house.me.owner, deep=True)
        if entry.path.endswith(".md")
    }


def notion_export() -> dict[str, object]:
    top = "Export-0f8fad5b-d9cb-469f-a165-70867728950e"
    return {
        f"{top}/Plan {PLAN}.md": (
            f"# Plan\n\nSee [the sub](Plan%20{PLAN}/Sub%20{SUB}.md), [Tasks](Tasks%20{BASE}.csv), "
            f"[web](https://www.notion.so/Sub-{SUB}) and ![pic](Plan%20{PLAN}/pic.png).\n"
        ),
        f"{top}/Plan {PLAN}/Sub {SUB}.md": f"# Sub\n\nBack to [up](../Plan%20{PLAN}.md).\n",
        f"{top}/Plan {PLAN}/pic.png": b"\x89PNG",
        f"{top}/Tasks {BASE}.csv": "Name,Due date\nBuy bread,May 3\n",
        f"{top}/Tasks {BASE}_all.csv": "\ufeffName,Due date\nBuy bread,May 3\nSell | swap,\n",
        f"{top}/Tasks {BASE}/Buy bread {ROW}.md": "# Buy bread\n\nDue date: May 3\nDone: No\n\nRye.\n",
    }


@pytest.mark.requirement("U12")
async def test_notions_pages_get_readable_names_wikilinks_facts_and_tables(tmp_path: Path) -> None:
    path = zipped(tmp_path / "notion.zip", {"ExportBlock-1-Part-1.zip": packed(notion_export())})
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, PAGES)
        assert done.source == "notion"
        found = await pages(house)
        assert found["imported/notion/Plan.md"] == (
            "# Plan\n\nSee [[imported/notion/Plan/Sub.md|the sub]], [[imported/notion/Tasks.md|Tasks]], "
            "[[imported/notion/Plan/Sub.md|web]] and ![pic](Plan/pic.png).\n"
        )
        root = house.app.vault.root(house.me.owner)
        assert (root / "imported/notion/Plan/pic.png").read_bytes() == b"\x89PNG"
        assert found["imported/notion/Plan/Sub.md"] == "# Sub\n\nBack to [[imported/notion/Plan.md|up]].\n"
        assert found["imported/notion/Tasks/Buy bread.md"] == (
            "# Buy bread\n\n- due_date: May 3\n- done: No\n\nRye.\n"
        )
        assert found["imported/notion/Tasks.md"] == (
            "# Tasks\n\n| Name | Due date |\n| --- | --- |\n"
            "| [[imported/notion/Tasks/Buy bread.md\\|Buy bread]] | May 3 |\n| Sell \\| swap |  |\n"
        )
        assert done.report is not None
        assert done.report.files == 1
        assert not done.report.problems


def obsidian_folder(root: Path) -> Path:
    for name, text in {
        ".obsidian/app.json": "{}",
        ".obsidian/templates.json": '{"folder": "Forms"}',
        "Forms/Day.md": "{{date}}",
        "People/Jane Doe.md": "---\ntags: [friend]\n---\n\n# Jane\r\n\r\n[[John]] and `[[People/John]]`.\r\n",
        "John.md": "See [[People/Jane Doe|her]], ![[photo.png]] and [[Jane Doe]].",
        "photo.png": "png",
    }.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return root


async def test_an_obsidian_folder_comes_as_it_is_and_its_links_go_on_leading(tmp_path: Path) -> None:
    folder = obsidian_folder(tmp_path / "Notes")
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, folder, PAGES)
        assert done.source == "obsidian"
        found = await pages(house)
        assert (
            found["imported/obsidian/People/Jane Doe.md"].encode()
            == (folder / "People/Jane Doe.md").read_bytes()
        )
        assert found["imported/obsidian/John.md"] == (
            "See [[imported/obsidian/People/Jane Doe|her]], ![[photo.png]] and [[Jane Doe]]."
        )
        assert len(found) == 2
        assert done.report is not None
        assert {one.why.split(":")[0] for one in done.report.problems} == {
            "Templates",
            "Settings and other hidden files",
        }
        root = house.app.vault.root(house.me.owner)
        assert (root / "imported/obsidian/photo.png").read_bytes() == b"png"


PNG = b"\x89PNG\r\n\x1a\n picture"


def vault_with_files() -> dict[str, object]:
    return {
        "My vault/.obsidian/app.json": "{}",
        "My vault/Daily/Monday.md": (
            "![[photo.png]] ![[files/deep/plan.pdf]] ![a](files/photo.png) ![b](near.png)\n"
            "[[files/deep/plan.pdf]]\n"
        ),
        "My vault/Daily/near.png": PNG,
        "My vault/files/photo.png": PNG,
        "My vault/files/deep/plan.pdf": b"%PDF-1.7",
        "My vault/files/../../escape.png": PNG,
        "My vault/files/large.bin": bytes(3_000_000),
    }


async def test_files_of_an_obsidian_vault_come_along_and_pages_lead_to_them(tmp_path: Path) -> None:
    path = zipped(tmp_path / "vault.zip", vault_with_files())
    async with open_house(data_dir=tmp_path / "data", max_file_bytes=1_000_000) as house:
        importing, root = house.app.importing, house.app.vault.root(house.me.owner)
        seen = await importing.preview(house.me, path, PAGES)
        assert seen.preview is not None
        assert seen.preview.files == 3
        assert not root.exists()
        done = await importing.run(house.me, path, PAGES)
        assert (await pages(house))["imported/obsidian/Daily/Monday.md"] == (
            "![[imported/obsidian/files/photo.png]] ![[imported/obsidian/files/deep/plan.pdf]] "
            "![a](imported/obsidian/files/photo.png) ![b](near.png)\n"
            "[[imported/obsidian/files/deep/plan.pdf]]\n"
        )
        at = root / "imported/obsidian"
        there = sorted(one.relative_to(at).as_posix() for one in at.rglob("*") if one.is_file())
        assert there == ["Daily/Monday.md", "Daily/near.png", "files/deep/plan.pdf", "files/photo.png"]
        assert done.report is not None
        assert done.report.files == 3
        assert [one.name for one in done.report.problems if "larger" in one.why] == ["files/large.bin"]
        page = "imported/obsidian/Daily/Monday.md"
        for source in ("near.png", "imported/obsidian/files/photo.png"):
            picture = await house.app.vault.picture(house.me.owner, source, page)
            assert picture is not None
            assert picture.body == PNG
        # Deleted here, it does not come back; what another file's place is stays that one's.
        (at / "Daily/near.png").unlink()
        await importing.run(house.me, path, PAGES)
        assert not (at / "Daily/near.png").exists()
        (at / "files/photo.png").write_bytes(b"drawn over")
        await importing.undo(house.me, done.id)
        left = [one.relative_to(at).as_posix() for one in at.rglob("*") if one.is_file()]
        assert left == ["files/photo.png"]
        again = await importing.run(house.me, path, PAGES)
        assert (at / "files/photo.png").read_bytes() == b"drawn over"
        assert again.report is not None
        assert any("Another file" in one.why for one in again.report.problems)


async def test_what_is_forgotten_takes_the_imported_files_that_are_named_so(tmp_path: Path) -> None:
    members = {"Notes/a.md": "# A", "Notes/zebra ada.pdf": b"%PDF", "Notes/other.pdf": b"%PDF"}
    path = zipped(tmp_path / "notes.zip", members)
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, PAGES)
        added = await house.app.memory.add(house.me, NewFact("zebra ada"))
        await house.app.forgetting.forget(house.me, [added.fact.id])
        at = house.app.vault.root(house.me.owner) / "imported/markdown/Notes"
        assert sorted(one.name for one in at.iterdir()) == ["a.md", "other.pdf"]


async def test_forgetting_all_pages_takes_the_imported_files_too(tmp_path: Path) -> None:
    path = zipped(tmp_path / "notes.zip", {"Notes/a.md": "# A", "Notes/plan.pdf": b"%PDF"})
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, PAGES)
        root = house.app.vault.root(house.me.owner)
        assert (root / "imported/markdown/Notes/plan.pdf").exists()
        await house.app.forgetting.forget_all(house.me, ForgetRequest(everything=True, kinds=("pages",)))
        assert not [one for one in (root / "imported").rglob("*") if one.is_file()]


async def test_plain_markdown_keeps_its_folders_and_names_that_differ_in_case_only(tmp_path: Path) -> None:
    path = zipped(tmp_path / "notes.zip", {"Ideas/One.md": "# Uno", "Ideas/one.md": "# Eins", "CON.md": "x"})
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, PAGES)
        assert done.source == "markdown"
        assert await pages(house) == {
            "imported/markdown/Ideas/One.md": "# Uno",
            "imported/markdown/Ideas/one_2.md": "# Eins",
            "imported/markdown/CON_.md": "x",
        }


async def test_folders_that_differ_in_case_or_unicode_only_become_one(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "notes.zip",
        {
            "Caf\u00e9/a.md": "# 1",
            "CAFE\u0301/a.md": "# 2",
            "caf\u00e9/Deep/b.md": "# 3",
            "Cafe\u0301/deep/c.md": "# 4",
        },
    )
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, PAGES)
        assert done.report is not None
        assert done.report.pages.left == 0
        assert await pages(house) == {
            "imported/markdown/Caf\u00e9/a.md": "# 1",
            "imported/markdown/Caf\u00e9/a_2.md": "# 2",
            "imported/markdown/Caf\u00e9/Deep/b.md": "# 3",
            "imported/markdown/Caf\u00e9/Deep/c.md": "# 4",
        }


async def test_what_lies_in_the_folder_is_taken_in_before_pages_are_added(tmp_path: Path) -> None:
    path = zipped(tmp_path / "notes.zip", {"Ideas/One.md": "# Uno"})
    async with open_house(data_dir=tmp_path / "data") as house:
        there = house.app.vault.root(house.me.owner) / "imported/markdown/Ideas/left.md"
        there.parent.mkdir(parents=True)
        there.write_text("# Left by an import that was cut short")
        await house.app.importing.run(house.me, path, PAGES)
        known = await house.app.vault.pages(house.me.owner)
        assert {*known} == {"imported/markdown/Ideas/left.md", "imported/markdown/Ideas/One.md"}


async def test_pages_twice_change_nothing_a_newer_one_replaces_and_an_edit_here_stays(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# {name}")
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, folder, PAGES)
        again = await house.app.importing.run(house.me, folder, PAGES)
        assert again.report is not None
        assert (again.report.pages.known, again.report.pages.new) == (3, 0)

        (folder / "a.md").write_text("# a, newer")
        (folder / "b.md").write_text("# b, newer")
        await house.app.vault.write(house.me, "imported/markdown/b.md", "# b, by hand", by="person")
        done = await house.app.importing.run(house.me, folder, PAGES)
        assert done.report is not None
        tally = done.report.pages
        assert (tally.grown, tally.kept, tally.known) == (1, 1, 1)
        assert await pages(house) == {
            "imported/markdown/a.md": "# a, newer",
            "imported/markdown/b.md": "# b, by hand",
            "imported/markdown/c.md": "# c",
        }


async def test_an_import_is_taken_back_whole_but_for_what_was_changed_since(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([asked_and_answered(f"Talk {n}", f"Question {n}", "Yes") for n in range(3)]))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, ImportOptions(into="both", topics="none"))
        talks = [item.record for item in (await house.app.conversations.list(house.me)).items]
        first, *_ = sorted(await pages(house))
        from bethink.conversations.service import PastMessage

        await house.app.conversations.take_over(house.me, talks[0].id, [PastMessage("More", 1)])
        await house.app.vault.write(house.me, first, "# Mine now", by="person")
        undone = await house.app.importing.undo(house.me, done.id)
        assert undone.state == "undone"
        assert undone.report is not None
        assert (undone.report.conversations.new, undone.report.conversations.kept) == (2, 1)
        assert (undone.report.pages.new, undone.report.pages.kept) == (2, 1)
        assert [item.record.id for item in (await house.app.conversations.list(house.me)).items] == [
            talks[0].id
        ]
        assert await pages(house) == {first: "# Mine now"}


async def test_pages_that_cannot_be_read_any_more_stay_when_an_import_is_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.md").write_text(f"# {name}")
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, folder, PAGES)
        vault = house.app.vault
        root = vault.root(house.me.owner) / "imported" / "markdown"
        (root / "b.md").write_bytes(b"\xff\xfe")
        (root / "c.md").write_bytes(b"x" * (vault.settings.max_file_bytes + 1))
        undone = await house.app.importing.undo(house.me, done.id)
        assert undone.report is not None
        assert (undone.report.pages.new, undone.report.pages.kept) == (2, 2)
        assert sorted(file.name for file in root.iterdir()) == ["b.md", "c.md"]


async def test_taking_back_a_later_import_brings_back_what_the_first_had(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"

    def write(*nodes: dict[str, object]) -> None:
        path.write_text(json.dumps([chatgpt_talk("T", list(nodes), id="t")]))

    async with open_house(data_dir=tmp_path / "data") as house:
        both = ImportOptions(into="both", topics="none")
        write(node("q", None, "user", "One"), node("a", "q", "assistant", "Two"))
        await house.app.importing.run(house.me, path, both)
        (before,) = (await house.app.conversations.list(house.me)).items
        had = await pages(house)
        write(
            node("q", None, "user", "One"),
            node("a", "q", "assistant", "Two"),
            node("b", "q", "assistant", "Too"),
        )
        done = await house.app.importing.run(house.me, path, both)
        await house.app.importing.undo(house.me, done.id)
        (after,) = (await house.app.conversations.list(house.me)).items
        assert (after.record.branches, after.record.count) == (before.record.branches, before.record.count)
        assert [one.message.content for one in await house.messages(after.record.id)] == ["One", "Two"]
        assert await pages(house) == had


async def test_a_conversation_is_a_page_with_its_topics_and_a_topic_lists_its_members(tmp_path: Path) -> None:
    talks = [
        *(
            asked_and_answered(f"Lisbon {n}", "Lisbon tram in Lisbon?", "The Lisbon tram 28.")
            for n in range(3)
        ),
        *(
            asked_and_answered(f"Bread {n}", "Sourdough bread rises?", "Sourdough bread rests.")
            for n in range(3)
        ),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.run(house.me, path, ImportOptions(into="vault"))
        assert done.report is not None
        names = [topic.name for topic in done.report.topics]
        assert any(name.startswith("Lisbon") for name in names)
        found = await pages(house)
        page = found["imported/chatgpt/2024_05/2024_05_01_lisbon_0.md"]
        assert page.startswith('---\ntitle: "Lisbon 0"\nsource: chatgpt\ncreated: 2024-05-01\n')
        assert "## You · 2024-05-01 08:00\n\nLisbon tram in Lisbon?" in page
        (topic,) = [text for name, text in found.items() if "/topics/lisbon" in name]
        assert "[[imported/chatgpt/2024_05/2024_05_01_lisbon_0.md|Lisbon 0]]" in topic
        again = await house.app.importing.run(house.me, path, ImportOptions(into="vault"))
        assert again.report is not None
        assert (again.report.pages.new, again.report.pages.grown) == (0, 0)
        assert await pages(house) == found


async def test_topics_by_meaning_are_the_same_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(12):
        about = ("whale song ocean", "bread oven flour")[n % 2]
        (folder / f"{n}.md").write_text(f"# {about.split()[0]} {n}\n\n{about} {about}")
    async with open_house(data_dir=tmp_path / "data") as house:
        told = [
            (await house.app.importing.preview(house.me, folder, ImportOptions(topics="meaning"))).preview
            for _ in range(2)
        ]
        assert told[0] is not None
        assert told[0] == told[1]
        assert sum(topic.count for topic in told[0].topics) >= 10
        assert not await house.app.vault.exists(house.me.owner)


async def test_claudes_projects_and_memories_become_pages(tmp_path: Path) -> None:
    project = {
        "uuid": "p",
        "name": "House: roof",
        "description": "The roof",
        "prompt_template": "Be brief",
        "docs": [
            {"uuid": "d", "filename": "tiles.py", "content": "x = 1", "created_at": "2025-01-01T00:00:00Z"}
        ],
    }
    memory = [{"conversations_memory": "Likes slate.", "project_memories": {"p": "Roof by May."}}]
    path = zipped(
        tmp_path / "claude.zip",
        {
            "conversations.json": [claude_talk("Hi", [claude_message("a", "human", "Hello")])],
            "projects/p.json": project,
            "memories.json": memory,
            "users.json": [{"email_address": "ann@example.org"}],
        },
    )
    async with open_house(data_dir=tmp_path / "data") as house:
        await house.app.importing.run(house.me, path, PAGES)
        found = await pages(house)
        assert (
            "[[imported/claude/projects/House roof/tiles.md|tiles.py]]"
            in found["imported/claude/projects/House roof/about.md"]
        )
        assert found["imported/claude/projects/House roof/tiles.md"] == "# tiles.py\n\n```py\nx = 1\n```\n"
        assert "Likes slate." in found["imported/claude/memory.md"]
        assert "Roof by May." in found["imported/claude/projects/House roof/memory.md"]
        assert not any("ann@example.org" in text for text in found.values())


async def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([asked_and_answered("T", "Question", "Yes")] * 2))
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.preview(house.me, path, ImportOptions(into="both"))
        assert done.preview is not None
        tally = done.preview.conversations
        assert (tally.new, tally.duplicates, done.preview.messages) == (1, 1, 2)
        assert (await house.app.conversations.list(house.me)).items == ()
        assert await house.app.importing.list(house.me) == []
        with pytest.raises(NoSuchPage):
            await house.app.vault.read(house.me.owner, "imported/chatgpt/2024_05_01_t.md")


async def test_what_was_cut_short_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([asked_and_answered(f"Talk {n}", f"Question {n}", "Yes") for n in range(150)]))

    class Killed(Exception):
        pass

    def kill(report: object) -> None:
        del report
        raise Killed

    async with open_house(data_dir=tmp_path / "data") as house:
        both = ImportOptions(into="both", topics="none")
        with pytest.raises(Killed):
            await house.app.importing.run(house.me, path, both, tell=kill)
        (stopped,) = await house.app.importing.list(house.me)
        assert stopped.state == "stopped"
        done = await house.app.importing.run(house.me, path, both)
        assert done.report is not None
        assert (done.report.conversations.known, done.report.conversations.new) == (64, 86)
        assert (done.report.pages.known, done.report.pages.new) == (64, 86)
        assert await house.app.conversations.count(house.me) == 150
        assert len(await pages(house)) == 150


class _EndingStore(MemoryStore):
    """A store in which, once, something ends after its record was read and before that is given."""

    end: Callable[[], Awaitable[None]] | None = None

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        found = await super().get(collection, owner, ids)
        await self._ended()
        return found

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        found = await super().scan(owner, *scans)
        await self._ended()
        return found

    async def _ended(self) -> None:
        end, self.end = self.end, None
        if end is not None:
            await end()


@pytest.mark.parametrize("door", ["get", "list"])
async def test_an_import_that_ends_while_it_is_looked_at_is_not_said_to_be_stopped(door: str) -> None:
    ports = ports_of()
    assert isinstance(ports.index, MemoryIndex)
    store = _EndingStore(ports.index)
    async with open_house(ports=replace(ports, store=store)) as house:
        imports, work = house.app.importing, ExitStack()
        reading = Import(
            id="photos", at=1, state="reading", source="", name="photos.zip", process=imports.bus.process
        )
        work.enter_context(imports.working("photos"))
        await imports.keep(house.me, reading)

        async def end() -> None:
            failed = msgspec.structs.replace(reading, state="failed", error="This is not a known export.")
            await imports.keep(house.me, failed)
            work.close()

        store.end = end
        seen = await imports.get(house.me, "photos") if door == "get" else (await imports.list(house.me))[0]
    assert (seen.state, seen.error) == ("failed", "This is not a known export.")
