"""The tools of the vault: read, listed, changed exactly, and code over it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bethink.errors import BethinkError
from bethink.events import Event, MemoryChanged
from bethink.sandbox.interpreters import InterpreterOptions, Interpreters, Workplaces
from bethink.telemetry import Supervisor
from bethink.tool import Foretold, ToolContext, ToolOutput
from bethink.tools.vault import code_tool, vault_tools
from bethink.tools.vault_access import VaultAccess
from bethink.tools.vault_code import VaultCode
from bethink.vault.filters.rules import FilterRule
from tests.house import House, open_house
from tests.sample_vaults import client_success, healthcare, lay_out

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

JANE = "# Jane\n- city: Oslo\n- sister: [[entities/nora|Nora]]\n"
PAGES = {
    "user.md": "# Me\n- friend: [[jane]]\n",
    "entities/jane.md": JANE,
    "entities/nora.md": "# Nora\n- age: 41\n",
}


@dataclass
class Bench:
    house: House
    root: Path
    events: list[Event] = field(default_factory=list[Event])

    async def call(self, name: str, **arguments: object) -> ToolOutput:
        """What a tool answers; an error is an answer, too."""
        desk = VaultAccess(self.house.app.visibility.views)
        tools = {tool.name: tool for tool in vault_tools(desk)}
        context = ToolContext(self.house.me, "", "", "", emit=self.events.append)
        try:
            output = await tools[name].handler(context, **arguments)
        except BethinkError as error:
            return ToolOutput(str(error), error=error.code)
        assert not isinstance(output, Foretold)
        return output if isinstance(output, ToolOutput) else ToolOutput(output)

    async def undo_last(self) -> None:
        token = next(event.undo for event in reversed(self.events) if isinstance(event, MemoryChanged))
        assert token is not None
        await self.house.app.vault.undo(self.house.me, token)


@asynccontextmanager
async def bench(tmp_path: Path, pages: dict[str, str] = PAGES) -> AsyncGenerator[Bench]:
    lay_out(pages, tmp_path / "vault")
    async with open_house(data_dir=tmp_path) as house:
        yield Bench(house, tmp_path / "vault")


@pytest.mark.requirement("R117", "R118")
async def test_pages_are_read_listed_and_followed(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        assert (await at.call("read_file", file_path="entities/jane.md")).text == JANE
        assert (await at.call("read_file", file_path="/entities/jane")).memories == ("entities/jane.md",)
        assert (await at.call("list_directory")).text == "entities/\nuser.md (24 bytes)"
        assert "entities/nora.md" in (await at.call("list_directory", path="entities/")).text
        followed = await at.call("go_to_link", link="[[jane|my friend]]", from_path="user.md")
        assert followed.text == f"[entities/jane.md]\n{JANE}"
        assert "leads to no page" in (await at.call("go_to_link", link="[[nobody]]")).text


async def test_a_long_page_comes_in_parts_that_make_the_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number} {'x' * 90}\n" for number in range(1000))
    async with bench(tmp_path, {"user.md": text}) as at:
        parts, start = list[str](), 1
        while True:
            part = (await at.call("read_file", file_path="user.md", start_line=start)).text
            assert len(part) < 17_000
            said, _, note = part.rpartition("\n[lines ")
            parts.append(said)
            if "start_line=" not in note:
                break
            start = int(note.rpartition("=")[2].rstrip("]"))
        assert "\n".join(parts) == text.rstrip("\n")
        assert (await at.call("read_file", file_path="user.md", start_line=5000)).error == "bad_input"


@pytest.mark.parametrize("path", ["../secret.md", "a/../../b.md", ".obsidian/app.md", "note.txt", ""])
async def test_no_path_leads_out_of_the_vault(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.md").write_text("kept from all")
    async with bench(tmp_path) as at:
        for name in ("read_file", "create_file", "delete_file"):
            output = await at.call(name, file_path=path)
            assert output.error in {"bad_input", "no_such_page"}
            assert "kept from all" not in output.text


@pytest.mark.requirement("U12")
async def test_an_exact_text_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    odd = "\ufeff# Jane\r\n- city: Oslo\r\n- city_before: Oslo, then Bergen"
    async with bench(tmp_path, {"entities/jane.md": odd}) as at:
        page = at.root / "entities" / "jane.md"
        twice = await at.call(
            "update_file", file_path="entities/jane.md", old_content="Oslo", new_content="Rome"
        )
        assert (twice.error, "2 times" in twice.text, "lines 2, 3" in twice.text) == ("bad_input", True, True)
        never = await at.call(
            "update_file", file_path="entities/jane.md", old_content="Rome", new_content="x"
        )
        assert "does not occur" in never.text
        nothing = await at.call("update_file", file_path="entities/jane.md", old_content="", new_content="x")
        assert nothing.error == "bad_input"
        assert page.read_bytes().decode() == odd
        done = await at.call(
            "update_file",
            file_path="entities/jane.md",
            old_content="city: Oslo\r",
            new_content="city: Rome\r",
        )
        assert done.text == "Changed entities/jane.md."
        assert page.read_bytes().decode() == odd.replace("city: Oslo\r", "city: Rome\r")
        await at.undo_last()
        assert page.read_bytes().decode() == odd


async def test_pages_are_made_written_and_deleted_and_all_of_it_taken_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        assert (await at.call("create_file", file_path="entities/new.md", content="# New\n")).error is None
        again = await at.call("create_file", file_path="entities/new.md", content="other")
        assert again.error == "conflict"
        assert "update_file" in again.text
        assert (await at.call("write_file", file_path="user.md", content="# I\n")).text == "Changed user.md."
        assert "already" in (await at.call("write_file", file_path="user.md", content="# I\n")).text
        await at.undo_last()
        assert (at.root / "user.md").read_text() == PAGES["user.md"]
        assert (await at.call("delete_file", file_path="entities/jane.md")).error is None
        assert not (at.root / "entities" / "jane.md").exists()
        await at.undo_last()
        assert (at.root / "entities" / "jane.md").read_text() == JANE
        kinds = [event.change for event in at.events if isinstance(event, MemoryChanged)]
        assert kinds == ["added", "superseded", "retracted"]


@asynccontextmanager
async def coding(at: Bench, tmp_path: Path) -> AsyncGenerator[VaultCode]:
    places, options = Workplaces(tmp_path / "code"), InterpreterOptions()
    async with Interpreters(places, tmp_path, options).opened(Supervisor().supervise) as interpreters:
        yield VaultCode(
            VaultAccess(at.house.app.visibility.views), interpreters, timeout_s=20, output_chars=8_000
        )


async def ran(at: Bench, code: VaultCode, source: str) -> ToolOutput:
    context = ToolContext(at.house.me, "", "", "", emit=at.events.append)
    try:
        output = await code.run(context, source)
        assert not isinstance(output, Foretold)
        return output
    except BethinkError as error:
        if error.code == "sandbox_unavailable" and os.environ.get("CI") != "true":
            pytest.skip(str(error))
        return ToolOutput(str(error), error=error.code)


@pytest.mark.requirement("R121", "U12", "C18", "R117")
async def test_code_reads_and_changes_pages_by_mem_agents_functions(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, coding(at, tmp_path) as code:
        output = await ran(
            at, code, 'exists = check_if_file_exists("user.md")\ntext = go_to_link("[[nora]]")'
        )
        assert output.text == "{'exists': True, 'text': '# Nora\\n- age: 41\\n'}"
        assert output.memories == ("entities/nora.md",)
        tree = await ran(at, code, "list_files()")
        assert "└── user.md" in tree.text
        assert code_tool(code, 30).parameters["required"] == ["code"]
        output = await ran(
            at,
            code,
            'one = update_file("entities/nora.md", "- age: 41", "- age: 42")\n'
            'two = update_file("entities/nora.md", "nothing", "x")\n'
            'create_file("projects/boat.md", "# Boat\\n")\n'
            'delete_file("entities/jane.md")',
        )
        assert "'one': True" in output.text
        assert "occurs 0 times" in output.text
        for note in (
            "[changed: entities/nora.md]",
            "[created: projects/boat.md]",
            "[deleted: entities/jane.md]",
        ):
            assert note in output.text
        assert (at.root / "entities" / "nora.md").read_text() == "# Nora\n- age: 42\n"
        assert not (at.root / ".bethink").exists()
        await at.undo_last()
        assert (at.root / "entities" / "jane.md").read_text() == JANE


@pytest.mark.requirement("R121")
async def test_code_that_fails_says_where_and_code_that_is_none_is_not_run(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, coding(at, tmp_path) as code:
        output = await ran(at, code, 'text = read_file("user.md")\nprint("seen")\n1 / 0')
        assert output.error == "code_failed"
        assert 'File "<code>", line 3' in output.text
        assert "seen" in output.text
        assert "not valid Python" in (await ran(at, code, 'create_file("early.md", "x")\ntext = (')).text
        assert not (at.root / "early.md").exists()
        output = await ran(at, code, 'open("note.txt", "w").write("x"); open("a.md", "wb").write(b"\\xff")')
        assert "[note.txt is not kept" in output.text
        assert "no UTF-8" in output.text
        outside = tmp_path / "outside.txt"
        outside.write_text("kept from code")
        output = await ran(at, code, f"import io\nio.open({str(outside)!r}).read()")
        assert output.error == "code_failed"
        assert "kept from code" not in output.text


async def test_of_a_large_vault_only_what_is_needed_is_laid_out(tmp_path: Path) -> None:
    pages = {f"entities/page_{number}.md": f"# Page {number}\n" for number in range(600)}
    async with bench(tmp_path, PAGES | pages) as at, coding(at, tmp_path) as code:
        output = await ran(
            at, code, 'text = read_file("entities/page_7.md")\nsize = get_size("entities/page_8.md")'
        )
        assert output.text == "{'text': '# Page 7\\n', 'size': 9}"
        output = await ran(at, code, 'n = sum(len(read_file(f"entities/page_{i}.md")) for i in range(600))')
        assert output.text == f"{{'n': {sum(map(len, pages.values()))}}}"
        output = await ran(at, code, 'n = 1\ncreate_file("entities/page_" + str(599) + ".md", "new")')
        assert "[changed: entities/page_599.md]" in output.text


async def test_what_was_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with bench(tmp_path) as at, coding(at, tmp_path) as code:
        seen = await code.desk.read(at.house.me, "user.md")
        (at.root / "user.md").write_text("# By hand\n")
        context = ToolContext(at.house.me, "", "", "")
        with pytest.raises(BethinkError) as raised:
            await code.desk.write(context, seen.path, "# By code\n", if_version=seen.version)
        assert raised.value.code == "conflict"
        assert (at.root / "user.md").read_text() == "# By hand\n"


def test_two_sample_vaults_hold_some_dozens_of_pages() -> None:
    for vault in (healthcare(), client_success()):
        assert len(vault) > 24
        assert "user.md" in vault


def test_the_tools_say_what_they_are(tmp_path: Path) -> None:
    del tmp_path
    tool = code_tool(VaultCode(None, None, 1, 1), 30)  # pyright: ignore[reportArgumentType] - never called
    assert "exactly once" in " ".join(tool.description.split())


NAMED = {
    "user.md": "[[Jay]]\n",
    "entities/jane.md": "---\naliases: [Jay, J. Doe]\n---\n# Jane\n- age: 64\n",
    "private/bob.md": "---\naliases: [Bobby]\n---\n# Bob\n",
}


async def test_a_link_by_another_name_leads_to_its_page(tmp_path: Path) -> None:
    async with bench(tmp_path, NAMED) as at:
        await at.house.app.vault.sync(at.house.me.owner)
        followed = await at.call("go_to_link", link="[[jay|her]]", from_path="user.md")
        assert followed.memories == ("entities/jane.md",)
        owner, filters = replace(at.house.me, audience="web"), at.house.app.visibility.filters
        await filters.add(owner, FilterRule(path="private"))
        await filters.add(owner, FilterRule(field="aliases", path="entities/jane.md"))
        for hidden in ("[[Bobby]]", "[[Jay]]"):
            assert "leads to no page" in (await at.call("go_to_link", link=hidden)).text


async def test_code_follows_a_link_by_another_name(tmp_path: Path) -> None:
    async with bench(tmp_path, NAMED) as at, coding(at, tmp_path) as code:
        assert "age: 64" in (await ran(at, code, 'text = go_to_link("[[j. doe]]")')).text
