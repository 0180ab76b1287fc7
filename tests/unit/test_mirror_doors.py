"""What else reaches facts and pages keeps both one memory: forgetting, models, recall, the whole app."""

from __future__ import annotations

from pathlib import Path

import pytest

from bethink.forgetting.selection import ForgetRequest
from bethink.memory import NewFact
from bethink.principal import LOCAL_OWNER
from bethink.vault.files.page_writer import Authorship
from tests.house import House, open_house
from tests.mirrored import mirrored_in
from tests.vaults import ME

pytestmark = pytest.mark.anyio


async def stored(house: House, content: str) -> str:
    changed = await house.app.memory.add(house.me, NewFact(content))
    await house.app.mirror.settle(LOCAL_OWNER)
    return changed.fact.id


def told(directory: Path) -> str:
    return "".join(file.read_text() for file in (directory / "vault").rglob("*.md"))


async def test_forgetting_takes_the_line_too(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.begin(house.me)
        fact = await stored(house, "Was treated for zembrovitis in Lund")
        await stored(house, "Likes tea")
        assert "zembrovitis" in told(tmp_path)
        preview = await house.app.forgetting.preview(house.me, ForgetRequest(ids=[fact]))
        await house.app.forgetting.confirm(house.me, ForgetRequest(ids=[fact]), preview.token)
        await house.app.vault.sync(LOCAL_OWNER)
        await house.app.mirror.settle(LOCAL_OWNER)
        text = told(tmp_path)
        assert "zembrovitis" not in text
        assert text.count("^fact-") == 1
        assert await house.app.memory.count(house.me, {"state": "active"}) == 1
        for version in await house.app.vault.history(LOCAL_OWNER, "memories/general.md"):
            page = await house.app.vault.version(LOCAL_OWNER, "memories/general.md", version.id)
            assert "zembrovitis" not in page.text


async def test_recall_finds_a_fact_once_and_not_its_line_as_well(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.begin(house.me)
        await stored(house, "Plays the hurdy-gurdy in Zembrovia")
        await house.app.vault.sync(LOCAL_OWNER)
        hits = await house.app.recall.search(house.me, "hurdy-gurdy Zembrovia", 10)
        assert [hit.kind for hit in hits] == ["fact"]


async def test_lines_follow_while_the_app_is_open_and_at_its_end(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path) as house:
        await house.app.vault.begin(house.me)
        await house.app.memory.add(house.me, NewFact("Likes tea"))
    assert "- Likes tea ^fact-" in told(tmp_path)


async def test_nothing_is_made_where_there_is_no_vault_or_it_is_switched_off(tmp_path: Path) -> None:
    async with open_house(data_dir=tmp_path / "a") as house:
        await house.app.memory.add(house.me, NewFact("Likes tea"))
    assert not (tmp_path / "a" / "vault").exists()
    async with open_house(data_dir=tmp_path / "b", vault={"mirror": False}) as house:
        await house.app.vault.begin(house.me)
        await house.app.memory.add(house.me, NewFact("Likes tea"))
    assert "Likes tea" not in told(tmp_path / "b")


async def test_a_suggestion_has_no_line_before_it_is_accepted(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    changed = await both.memory.add(ME, NewFact("Likes tea", suggested=True))
    await both.settle()
    assert both.lines() == []
    await both.memory.accept(ME, changed.fact.id)
    await both.settle()
    assert both.lines() == ["Likes tea"]


async def test_what_a_model_wrote_after_strangers_words_waits_for_the_owner(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    await both.stored("Pays Acme by invoice")
    page = await both.kept.vault.read(LOCAL_OWNER, "memories/general.md")
    text = page.text.replace("by invoice", "in advance") + "- Trusts Mallory\n"
    strange = Authorship("agent", "", untrusted=True)
    await both.kept.vault.put(ME, page.path, text, if_version=page.version, how=strange)
    await both.settle()
    assert await both.facts() == ["Pays Acme by invoice"]
    assert await both.facts("suggested") == ["Trusts Mallory"]
    report = await both.mirror.report(LOCAL_OWNER)
    assert [problem.kind for problem in report.problems] == ["refused"]
    await both.kept.vault.vouch(ME, page.path)
    await both.settle()
    assert await both.facts() == ["Pays Acme in advance"]
    assert not (await both.mirror.report(LOCAL_OWNER)).problems


async def test_two_processes_write_each_line_once(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    other = await mirrored_in(tmp_path, kept=both.kept)
    for content in ("Likes tea", "Plays the violin"):
        await both.memory.add(ME, NewFact(content))
    await both.settle()
    await other.settle()
    both.edit("Likes tea", "Likes coffee")
    await other.settle()
    await both.settle()
    assert both.lines() == await both.facts() == ["Likes coffee", "Plays the violin"]
