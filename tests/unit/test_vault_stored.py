"""The vault over a real database, and through a whole app: recall finds pages by path and heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink.clock import FakeClock, Ids
from bethink.dial.sessions import open_ephemeral_app
from bethink.engines.sqlite.store import open_database
from bethink.errors import NotAllowed
from bethink.principal import LOCAL_OWNER
from bethink.settings import Settings, VaultSettings
from bethink.vault import Vault
from tests.house import open_house
from tests.vaults import ME

pytestmark = pytest.mark.anyio


async def test_a_database_keeps_pages_versions_and_contents(tmp_path: Path) -> None:
    clock = FakeClock()
    settings = Settings(data_dir=tmp_path, vault=VaultSettings(max_file_bytes=10_000))
    for start in (True, False):
        async with open_database(tmp_path) as database:
            vault = Vault.of(settings, database.store, clock, new_id=Ids(clock))
            if start:
                await vault.write(ME, "a.md", "one", by="person")
                await vault.write(ME, "a.md", "two", by="agent", note="why")
                await vault.write(ME, "b.md", "other", by="agent")
                await vault.delete(ME, "b.md", by="agent")
                continue
            assert {*await vault.pages(LOCAL_OWNER)} == {"a.md"}
            assert not (await vault.sync(LOCAL_OWNER)).is_news
            second, first = await vault.history(LOCAL_OWNER, "a.md")
            assert (first.by, second.note) == ("person", "why")
            await vault.restore(ME, "a.md", first.id)
            gone, _ = await vault.history(LOCAL_OWNER, "b.md")
            await vault.undo(ME, f"page:{gone.id}")
            assert (await vault.read(LOCAL_OWNER, "b.md")).text == "other"


async def test_recall_finds_a_page_and_names_its_path_and_heading(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        text = "# Work\n- employer: Zembrovia\n# Home\n- city: Oslo\n"
        await house.app.vault.write(house.me, "entities/jane_doe.md", text, by="person")
        hits = await house.app.recall.search(house.me, "Who is the employer of Jane Doe?", 3)
        assert (hits[0].kind, hits[0].source) == ("page", "vault:entities/jane_doe.md#Work")
        assert hits[0].text == "- employer: Zembrovia"


async def test_the_house_for_dial_has_no_vault(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.begin(house.me)
        async with open_ephemeral_app(house.app) as second:
            assert not await second.vault.exists(LOCAL_OWNER)
            with pytest.raises(NotAllowed):
                await second.vault.read(LOCAL_OWNER, "user.md")


async def test_front_matter_and_both_kinds_of_headings_are_searched(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        text = "---\naliases: [Zembrovia]\n---\nTrip\n====\n\nTo Oslo.\n\n## Hotel ##\nThe Thistledown.\n"
        await house.app.vault.write(house.me, "a.md", text, by="person")
        found = {
            words: [hit.source for hit in await house.app.recall.search(house.me, words, 1)]
            for words in ("Zembrovia", "Oslo", "Thistledown")
        }
        assert found == {
            "Zembrovia": ["vault:a.md"],
            "Oslo": ["vault:a.md#Trip"],
            "Thistledown": ["vault:a.md#Trip#Hotel"],
        }
