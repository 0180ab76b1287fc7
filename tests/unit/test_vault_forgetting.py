"""What is forgotten is in no file of the vault, in no version of a page, and is found no more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import NotAllowed, UnknownId
from bethink.forgetting.selection import ForgetRequest
from bethink.memory import NewFact
from bethink.memory.facts import mark_of
from bethink.ports import open_ports
from bethink.principal import LOCAL_OWNER, Principal
from bethink.settings import Settings, VaultSettings
from bethink.vault.filters.rules import FilterRule
from tests.traces import left_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

FACT = "User was a clerk at Zembrovia under Quillfeather"


@asynccontextmanager
async def opened(directory: Path) -> AsyncGenerator[tuple[App, Principal]]:
    settings = Settings(data_dir=directory, vault=VaultSettings(mirror=False))
    async with (
        open_ports(settings) as ports,
        open_app(settings, replace(ports, embeddings=HashingEmbeddings(), llm=None)) as app,
    ):
        yield app, await app.accounts.authenticate(audience="test")


@pytest.mark.requirement("C22")
async def test_nothing_is_left_in_files_versions_and_what_is_searched(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        vault = app.vault
        page = "# Work\nI was a clerk at Zembrovia under Quillfeather. It rained.\n- pet: Rex\n"
        await vault.write(me, "user.md", page, by="person", note="Clerk at Zembrovia under Quillfeather")
        later = await vault.write(me, "user.md", f"{page}- city: Oslo\n", by="agent")
        await vault.write(me, "notes/clerk_at_zembrovia_under_quillfeather.md", "Nothing.\n", by="person")
        await vault.write(me, "gone.md", "A clerk at Zembrovia under Quillfeather!\n", by="person")
        deleted = await vault.delete(me, "gone.md", by="person")
        outside = vault.root(LOCAL_OWNER) / "notes" / "outside.md"
        outside.write_text("As a clerk at Zembrovia, under Quillfeather.\r\n\r\nRain", newline="")
        await vault.sync(LOCAL_OWNER)
        fact = (await app.memory.add(me, NewFact(FACT))).fact
        preview = await app.forgetting.preview(me, await app.forgetting.meant(me, fact.id))
        assert [told.path for told in preview.pages] == ["notes/outside.md", "user.md"]
        receipt = await app.forgetting.forget(me, [fact.id])
        assert len(receipt.pages) == 3
        assert "3 pages of the vault" in receipt.summary
        assert any("hidden folders" in told for told in receipt.outside)
        assert left_of(("zembrovia", "quillfeather"), tmp_path) == []
        user = await vault.read(LOCAL_OWNER, "user.md")
        assert user.text == "# Work\n[forgotten] It rained.\n- pet: Rex\n- city: Oslo\n"
        assert outside.read_bytes() == b"[forgotten]\r\n\r\nRain"
        assert {*await vault.pages(LOCAL_OWNER)} == {"user.md", "notes/outside.md", "notes/forgotten.md"}
        # Who follows the vault is not told the name that a page had.
        assert await vault.left_since(LOCAL_OWNER, 0) == []
        for path in ("user.md", "notes/outside.md", "gone.md", "notes/forgotten.md"):
            for version in await vault.history(LOCAL_OWNER, path):
                body = await vault.versions.content(LOCAL_OWNER, version.content) or b""
                assert b"zembrovia" not in body.lower()
                assert "zembrovia" not in f"{version.note} {version.path} {version.was}".lower()
        for token in (later.undo, deleted.undo):
            with pytest.raises(UnknownId):
                await vault.undo(me, token or "")
        assert await app.recall.search(me, "Zembrovia Quillfeather clerk", kinds={"page"}) == []
        assert not (await vault.sync(LOCAL_OWNER)).is_news
        assert await vault.faults(LOCAL_OWNER) == []


PAGES = ("entities/jane_doe.md", "user.md", "entities/acme.md")


async def test_lines_that_tell_it_by_name_and_value_and_views_of_the_fact_go(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        vault = app.vault
        facts = [
            (await app.memory.add(me, NewFact(content))).fact.id
            for content in ("Jane Doe works at Zembrovia", "User prefers quillfeather tea", "User likes rain")
        ]
        await vault.write(
            me,
            "entities/jane_doe.md",
            "- employer: Zembrovia\n- city: Oslo\n- likes: quillfeather\n",
            by="person",
        )
        await vault.write(
            me,
            "user.md",
            f"- drink: Quillfeather\n- weather: wet ^{mark_of(facts[2])}\n- pet: Rex ^a1\n",
            by="person",
        )
        await vault.write(me, "entities/acme.md", "- rival: Zembrovia\n", by="person")
        await app.forgetting.forget(me, facts)
        texts = {path: (await vault.read(LOCAL_OWNER, path)).text for path in PAGES}
        assert texts == {
            "entities/jane_doe.md": "[forgotten]\n- city: Oslo\n- likes: quillfeather\n",
            "user.md": "[forgotten]\n- pet: Rex ^a1\n",
            "entities/acme.md": "- rival: Zembrovia\n",
        }


async def test_files_that_are_too_large_to_be_pages_are_reached_and_others_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        vault = app.vault
        await vault.begin(me)
        root = vault.root(LOCAL_OWNER)
        said = "I was a clerk at Zembrovia under Quillfeather.\n"
        (root / "large.md").write_text(said + "x" * 1_000_001)
        (root / "latin.md").write_bytes(b"caf\xe9\n")
        await vault.sync(LOCAL_OWNER)
        fact = (await app.memory.add(me, NewFact(FACT))).fact
        receipt = await app.forgetting.forget(me, [fact.id])
        assert left_of(("zembrovia",), tmp_path) == []
        assert receipt.outside[-1].startswith("1 files of the vault")
        assert (root / "latin.md").read_bytes() == b"caf\xe9\n"


async def test_an_owner_without_a_vault_gets_none_by_forgetting(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        fact = (await app.memory.add(me, NewFact(FACT))).fact
        receipt = await app.forgetting.forget(me, [fact.id])
        assert receipt.pages == ()
        assert not app.vault.root(LOCAL_OWNER).exists()


async def test_what_only_pages_say_is_forgotten_by_a_question(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        vault = app.vault
        page = "# Work\nI was a clerk at Zembrovia under Quillfeather.\n\nIt rained for weeks.\n"
        change = await vault.write(me, "notes/work.md", page, by="person")
        await vault.write(me, "notes/tea.md", "# Tea\nI like tea.\n", by="person")
        wanted = ForgetRequest(query="clerk at Zembrovia under Quillfeather")
        preview = await app.forgetting.preview(me, wanted)
        assert [(told.path, told.parts) for told in preview.pages] == [
            ("notes/work.md", ("I was a clerk at Zembrovia under Quillfeather.",))
        ]
        receipt = await app.forgetting.confirm(me, wanted, preview.token)
        assert receipt
        assert (await vault.read(LOCAL_OWNER, "notes/work.md")).text == (
            "# Work\n[forgotten]\n\nIt rained for weeks.\n"
        )
        assert left_of(("zembrovia", "quillfeather"), tmp_path) == []
        with pytest.raises(UnknownId):
            await vault.undo(me, change.undo or "")
        assert (await app.forgetting.preview(me, wanted)).is_empty


async def test_whoever_is_not_to_see_all_is_shown_no_preview(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, me):
        page = "# Work\nI was a clerk at Zembrovia under Quillfeather.\n"
        await app.vault.write(me, "notes/work.md", page, by="person")
        fact = (await app.memory.add(me, NewFact(FACT))).fact
        wanted = await app.forgetting.meant(me, fact.id)
        stranger = replace(me, audience="mcp-http:claude")
        assert len((await app.forgetting.preview(stranger, wanted)).pages) == 1
        await app.visibility.filters.add(replace(me, audience="web"), FilterRule(path="notes/*"))
        with pytest.raises(NotAllowed):
            await app.forgetting.preview(stranger, wanted)
        assert len((await app.forgetting.preview(replace(me, audience="web"), wanted)).pages) == 1
