"""One memory, two views: a fact is a line of a page, and an edit of the line is a change of the fact."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bethink.memory import NewFact
from bethink.principal import LOCAL_OWNER
from tests.mirrored import mirrored_in
from tests.vaults import ME, kept_in

pytestmark = pytest.mark.anyio

CITIES = ["Paris", "Rome", "Lisbon", "Oslo", "Vienna", "Prague", "Dublin", "Athens"]


async def test_a_fact_is_a_line_of_its_categorys_page(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    await both.stored("Likes tea", category="preferences")
    text = both.text("memories/preferences.md")
    assert text.startswith("# Preferences\n\n- Likes tea ^fact-")
    assert await both.settle() is None
    assert both.text("memories/preferences.md") == text


async def test_an_edit_of_a_line_supersedes_its_fact(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    old = await both.stored("Plays the violin")
    id = both.text().rpartition("^")[2]
    both.edit("the violin", "the cello")
    await both.settle()
    assert await both.facts() == ["Plays the cello"]
    (was,) = await both.memory.get(ME, [old.id])
    assert was is not None
    assert was.state == "superseded"
    (now,) = await both.memory.get(ME, [was.superseded_by or ""])
    assert now is not None
    assert (now.sources[-1].kind, now.sources[-1].id) == ("person", "vault:memories/general.md")
    assert both.text().rpartition("^")[2] == id


@pytest.mark.parametrize("wrong", [False, True])
async def test_a_line_that_is_changed_back_undoes_the_change_or_the_correction(
    tmp_path: Path, *, wrong: bool
) -> None:
    both = await mirrored_in(tmp_path)
    old = await both.stored("Plays the violin")
    changed = await both.memory.edit(ME, old.id, NewFact("Plays the cello"), wrong=wrong)
    await both.settle()
    assert both.lines() == ["Plays the cello"]
    both.edit("the cello", "the violin")
    await both.settle()
    found = await both.memory.get(ME, [old.id, changed.fact.id])
    assert [one and one.state for one in found] == ["active", "retracted"]
    assert both.lines() == await both.facts() == ["Plays the violin"]


async def test_a_deleted_line_retracts_its_fact_and_both_can_be_brought_back(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Likes tea")
    await both.stored("Plays the violin")
    line = both.cut("Likes tea")
    await both.settle()
    assert await both.facts() == ["Plays the violin"]
    # From the memory's side.
    await both.memory.undo(ME, f"retracted:{fact.id}")
    await both.settle()
    assert both.lines() == await both.facts() == ["Likes tea", "Plays the violin"]
    # From the file's side.
    both.cut("Likes tea")
    await both.settle()
    both.kept.file("memories/general.md", both.text() + line)
    await both.settle()
    assert await both.facts() == ["Likes tea", "Plays the violin"]
    (back,) = await both.memory.get(ME, [fact.id])
    assert back is not None
    assert back.state == "active"


async def test_changes_of_facts_are_told_by_their_lines(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Plays the violin")
    await both.stored("Likes tea")
    changed = await both.memory.edit(ME, fact.id, NewFact("Plays the cello"))
    await both.settle()
    assert both.lines() == ["Likes tea", "Plays the cello"]
    assert changed.undo is not None
    await both.memory.undo(ME, changed.undo)
    await both.settle()
    assert both.lines() == ["Likes tea", "Plays the violin"]
    await both.memory.retract(ME, fact.id)
    await both.settle()
    assert both.lines() == await both.facts() == ["Likes tea"]


async def test_a_new_line_becomes_a_fact_and_gets_its_id(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    both.kept.file("memories/goals.md", "# My goals\n\nSome day:\n\n* Run a marathon\n- [ ] buy shoes\n")
    await both.settle()
    (fact,) = [fact async for page in both.memory.pages(ME) for fact in page]
    assert (fact.content, fact.category, fact.state) == ("Run a marathon", "goals", "active")
    text = both.text("memories/goals.md")
    assert text.startswith("# My goals\n\nSome day:\n\n* Run a marathon ^fact-")
    assert text.endswith("\n- [ ] buy shoes\n")


async def test_a_line_of_a_page_that_another_program_lays_in_waits_for_review(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path, kept=kept_in(tmp_path))
    await both.stored("Likes tea")
    await both.settle()
    both.kept.file("memories/goals.md", "* Banks at Evilbank\n")
    await both.settle()
    assert await both.facts() == ["Likes tea"]
    found = [fact async for page in both.memory.pages(ME) for fact in page if fact.state == "suggested"]
    assert [(fact.content, fact.trust) for fact in found] == [("Banks at Evilbank", "untrusted")]


async def test_a_line_moved_to_another_page_stays_the_facts_line(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Likes tea")
    await both.stored("Plays the violin")
    line = both.cut("Likes tea")
    both.kept.file("entities/me.md", f"# Me\n\n{line}")
    await both.settle()
    assert both.lines() == ["Likes tea", "Plays the violin"]
    await both.memory.edit(ME, fact.id, NewFact("Likes green tea"))
    await both.settle()
    assert "- Likes green tea ^fact-" in both.text("entities/me.md")
    assert len(both.lines()) == 2


async def test_of_a_page_and_its_copy_either_may_go(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    for city in CITIES:
        await both.stored(f"Was in {city}")
    copy = both.kept.file("copy.md", both.text())
    # As old as copies are: what was written this moment is read again by itself, and that is not to help.
    os.utime(copy, (1, 1))
    await both.settle()
    change = (await both.kept.vault.pages(LOCAL_OWNER))["copy.md"].change
    (both.kept.root / "memories" / "general.md").unlink()
    await both.settle()
    assert (await both.kept.vault.pages(LOCAL_OWNER))["copy.md"].change == change
    assert len(await both.facts()) == len(CITIES)
    report = await both.mirror.report(LOCAL_OWNER)
    assert (report.lines, report.is_paused) == (len(CITIES), False)


async def test_what_changed_on_both_sides_stays_visible_until_it_is_decided(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Plays the violin")
    await both.stored("Likes tea")
    await both.memory.edit(ME, fact.id, NewFact("Plays the cello"))
    both.edit("the violin", "the piano")
    await both.settle()
    assert "- Plays the piano ^fact-" in both.text()
    assert "\n  - The memory says: Plays the cello ^fact-" in both.text()
    assert await both.facts() == ["Likes tea", "Plays the cello"]
    report = await both.mirror.report(LOCAL_OWNER)
    assert [problem.kind for problem in report.problems] == ["conflict"]
    before = both.text()
    await both.settle()
    assert both.text() == before
    both.cut("The memory says")
    await both.settle()
    assert await both.facts() == both.lines() == ["Likes tea", "Plays the piano"]
    assert not (await both.mirror.report(LOCAL_OWNER)).problems


async def test_the_memorys_side_wins_a_conflict_where_the_line_is_deleted(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Plays the violin")
    await both.memory.edit(ME, fact.id, NewFact("Plays the cello"))
    both.edit("the violin", "the piano")
    await both.settle()
    both.cut("the piano")
    await both.settle()
    assert await both.facts() == both.lines() == ["Plays the cello"]
    assert "The memory says" not in both.text()
    assert "\n- Plays the cello ^fact-" in both.text()


async def test_a_folder_that_is_gone_retracts_nothing_and_asks(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    for city in CITIES:
        await both.stored(f"Has been to {city}")
    page = both.kept.root / "memories" / "general.md"
    text = page.read_text()
    page.unlink()
    await both.settle()
    assert len(await both.facts()) == len(CITIES)
    report = await both.mirror.report(LOCAL_OWNER)
    assert report.is_paused
    assert {problem.kind for problem in report.problems} == {"held"}
    # While nobody knows where the files are, nothing is written.
    await both.stored("Likes tea")
    assert not page.exists()
    both.kept.file("memories/general.md", text)
    await both.settle()
    assert both.lines() == await both.facts()
    assert not (await both.mirror.report(LOCAL_OWNER)).problems


@pytest.mark.parametrize("answer", ["retract", "restore"])
async def test_the_owner_answers_for_lines_that_vanished(tmp_path: Path, answer: str) -> None:
    both = await mirrored_in(tmp_path)
    for city in CITIES:
        await both.stored(f"Has been to {city}")
    both.kept.file("memories/general.md", "# General\n")
    await both.settle()
    assert len(await both.facts()) == len(CITIES)
    count = await both.mirror.decide(LOCAL_OWNER, answer)  # pyright: ignore[reportArgumentType] - one of the two
    assert count == len(CITIES)
    assert len(await both.facts()) == len(both.lines()) == (len(CITIES) if answer == "restore" else 0)


async def test_a_page_from_a_backup_retracts_nothing(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    await both.stored("Has been to Bergen")
    old = both.text()
    for city in CITIES[:4]:
        await both.stored(f"Has been to {city}")
    both.kept.file("memories/general.md", old)
    await both.settle()
    assert len(await both.facts()) == 5
    assert (await both.mirror.report(LOCAL_OWNER)).is_paused


async def test_a_secret_is_no_fact_and_that_is_said(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    both.kept.file("memories/general.md", "- The password is hunter2-Xk81!\n- Likes tea\n")
    await both.settle()
    assert await both.facts() == ["Likes tea"]
    (problem,) = (await both.mirror.report(LOCAL_OWNER)).problems
    assert problem.kind == "no_fact"
    assert "hunter2" not in problem.why


async def test_many_facts_write_each_page_once(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    await both.memory.add_many(ME, [NewFact(f"{n * 7919:x}{'word ' * 20}{n:x}") for n in range(400)])
    await both.settle()
    assert both.lines() == await both.facts()
    pages = sorted(path for path in await both.kept.vault.pages(LOCAL_OWNER) if path.startswith("memories/"))
    assert len(pages) > 1
    for path in pages:
        assert len(await both.kept.vault.history(LOCAL_OWNER, path)) == 1


@pytest.mark.parametrize(
    "name",
    ["general.sync-conflict-20261122-101112-ABCDEFG.md", "general (Ann's conflicted copy 2026-11-22).md"],
)
async def test_a_copy_that_a_sync_client_left_is_no_second_word_on_a_memory(
    tmp_path: Path, name: str
) -> None:
    both = await mirrored_in(tmp_path)
    await both.stored("Lives in Paris")
    await both.stored("Likes tea")
    rival = both.text().replace("Lives in Paris", "Lives in Rome") + "- Plays chess\n"
    both.edit("Lives in Paris", "Lives in Oslo")
    both.kept.file(f"memories/{name}", rival)
    await both.settle()
    assert await both.facts() == ["Likes tea", "Lives in Oslo"]
    assert both.text(f"memories/{name}") == rival
    # Who takes the copy's place is the page.
    (both.kept.root / "memories" / name).replace(both.kept.root / "memories" / "general.md")
    await both.settle()
    assert await both.facts() == ["Likes tea", "Lives in Rome", "Plays chess"]


async def test_a_line_on_another_page_is_not_written_again_where_the_memory_once_stood(
    tmp_path: Path,
) -> None:
    both = await mirrored_in(tmp_path)
    fact = await both.stored("Plays the violin")
    both.cut("violin")
    await both.memory.edit(ME, fact.id, NewFact("Plays the viola"))
    await both.settle()
    moved = both.kept.file("entities/me.md", both.cut("viola"))
    # What was written just now is read again, and would be known for that.
    os.utime(moved, (1, 1))
    await both.settle()
    both.kept.file("memories/general.md", f"{both.text()}- Has a dog\n")
    await both.settle()
    assert both.lines() == ["Has a dog", "Plays the viola"]


async def test_a_folder_where_a_page_was_stops_no_other_memory(tmp_path: Path) -> None:
    both = await mirrored_in(tmp_path)
    await both.stored("Likes tea")
    page = both.kept.root / "memories" / "general.md"
    page.unlink()
    page.mkdir()
    await both.stored("Sails", category="goals")
    assert both.text("memories/goals.md").startswith("# Goals\n\n- Sails ^fact-")
    assert await both.facts() == ["Likes tea", "Sails"]
