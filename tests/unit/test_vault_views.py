"""The vault as a restrained reader sees it: what is hidden is not there, wherever they look."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bethink.errors import Conflict, NoSuchPage, NotAllowed, UnknownId
from bethink.principal import Principal
from bethink.vault.files.page_writer import Authorship
from bethink.vault.filters.rules import FilterRule
from bethink.visibility.service import Visibility
from tests.house import House, open_house
from tests.vaults import ME, Kept, kept_in

pytestmark = pytest.mark.anyio

OWN = replace(ME, audience="web")
AGENT = replace(ME, audience="web/agent")
JANE = "# Jane\n\n- salary: 91234 EUR\n- friend: [[bob]]\n- age: 64\n"


@dataclass(frozen=True, slots=True)
class Guard:
    kept: Kept
    visibility: Visibility

    async def hide(self, **what: object) -> FilterRule:
        return await self.visibility.filters.add(OWN, FilterRule(**what))  # pyright: ignore[reportArgumentType] - by name


async def guard(directory: Path) -> Guard:
    kept = kept_in(directory)
    for path, text in {
        "entities/jane.md": JANE,
        "private/bob.md": "# Bob\n\nplanted\n",
        "private/index.md": "see [[bob]]\n",
        "index.md": "[[jane]] and [[bob]] and [[index]]\n",
    }.items():
        await kept.written(path, text)
    return Guard(kept, Visibility.over(kept.vault))


async def test_a_hidden_page_is_not_there_for_who_must_not_see_it(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.hide(path="private")
    views = one.visibility.views
    assert await views.paths(AGENT) == ["entities/jane.md", "index.md"]
    assert [entry.path for entry in await views.listed(AGENT)] == ["entities", "index.md"]
    assert "private" in [entry.path for entry in await views.listed(OWN)]
    assert (await views.read(AGENT, "index.md")).text == "[[jane]] and  and [[index]]\n"
    said = [
        await _said(views.read(AGENT, path)) for path in ("private/bob.md", "private/nobody.md", "nobody.md")
    ]
    assert len(set(said)) == 1
    said = [await _said(views.history(AGENT, path)) for path in ("private/bob.md", "nobody.md")]
    assert len(set(said)) == 1
    said = [await _said(views.listed(AGENT, folder)) for folder in ("private", "nowhere")]
    assert len(set(said)) == 1
    said = [
        await _said(views.put(AGENT, path, "x", how=Authorship("agent")), NotAllowed)
        for path in ("private/bob.md", "private/nobody.md")
    ]
    assert len(set(said)) == 1
    assert (await views.read(OWN, "private/bob.md")).text == "# Bob\n\nplanted\n"


async def _said(call: object, kind: type[Exception] = NoSuchPage) -> str:
    with pytest.raises(kind) as caught:
        await call  # pyright: ignore[reportGeneralTypeIssues] - a coroutine
    return str(caught.value)


async def test_what_is_seen_can_be_changed_and_what_is_hidden_stays(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.hide(field="salary")
    views = one.visibility.views
    seen = await views.read(AGENT, "entities/jane.md")
    assert "91234" not in seen.text
    assert seen.size == len(seen.text.encode())
    change = await views.put(
        AGENT,
        "entities/jane.md",
        seen.text.replace("64", "65"),
        if_version=seen.version,
        how=Authorship("agent"),
    )
    assert one.kept.file("x", "").parent.joinpath("entities/jane.md").read_text() == JANE.replace("64", "65")
    assert change.after == (await views.read(AGENT, "entities/jane.md")).version
    with pytest.raises(Conflict, match="load it again"):
        await views.put(AGENT, "entities/jane.md", "x", if_version=seen.version, how=Authorship("agent"))
    for refused in (
        views.put(AGENT, "entities/jane.md", "all new\n", how=Authorship("agent")),
        views.delete(AGENT, "entities/jane.md", by="agent"),
        views.move(AGENT, "entities/jane.md", "jane.md", by="agent"),
    ):
        assert "filter" in await _said(refused, NotAllowed)
    assert "91234" in (await views.read(OWN, "entities/jane.md")).text


async def test_a_change_of_the_hidden_alone_is_no_change_for_who_does_not_see_it(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.hide(field="salary", action="mask")
    views = one.visibility.views
    before = await views.read(AGENT, "entities/jane.md")
    await one.kept.written("entities/jane.md", JANE.replace("91234", "97531"))
    assert (await views.read(AGENT, "entities/jane.md")).version == before.version
    await one.kept.written("entities/jane.md", JANE.replace("91234", "97531").replace("64", "65"))
    history = await views.history(AGENT, "entities/jane.md")
    assert len(history) == 2
    assert len(await views.history(OWN, "entities/jane.md")) == 3
    told = "".join(
        [await views.diff(AGENT, "entities/jane.md", version.id) for version in history]
        + [(await views.version(AGENT, "entities/jane.md", version.id)).text for version in history]
        + [str(version) for version in history]
    )
    assert "65" in told
    assert "91234" not in told
    assert "97531" not in told
    raw = await one.kept.vault.history(ME.owner, "entities/jane.md")
    assert not any(version.content and version.content in told for version in raw)


async def test_who_is_restrained_takes_back_only_what_hides_nothing(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.hide(field="salary")
    views = one.visibility.views
    hidden = await one.kept.written("entities/jane.md", JANE.replace("91234", "97531"))
    assert "filter" in await _said(views.undo(AGENT, hidden), NotAllowed)
    seen = await views.read(AGENT, "entities/jane.md")
    change = await views.put(AGENT, "entities/jane.md", seen.text + "more\n", how=Authorship("agent"))
    assert change.undo is not None
    await views.undo(AGENT, change.undo)
    assert "97531" in (await views.read(OWN, "entities/jane.md")).text
    await one.hide(path="private")
    with pytest.raises(UnknownId):
        await views.undo(AGENT, await one.kept.written("private/bob.md", "x"))


async def test_an_edit_cannot_bring_the_hidden_to_light(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.hide(field="salary", action="mask")
    views = one.visibility.views
    seen = await views.read(AGENT, "entities/jane.md")
    text = seen.text.replace("- salary:", "- income:")
    assert "filter" in await _said(
        views.put(AGENT, "entities/jane.md", text, how=Authorship("agent")), NotAllowed
    )


async def test_a_town_becomes_the_region_that_the_vault_names(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    await one.kept.written("places/lyon.md", "- region: the south-east\n")
    await one.kept.written("ann.md", "- home: Lyon\n- work: [[lyon]]\n- born_in: Nowhere\n")
    for name in ("home", "work", "born_in"):
        await one.hide(field=name, action="generalise")
    seen = await one.visibility.views.read(AGENT, "ann.md")
    assert seen.text == "- home: the south-east\n- work: the south-east\n- born_in: [hidden]\n"


async def test_only_the_owner_sees_and_changes_filters(tmp_path: Path) -> None:
    one = await guard(tmp_path)
    rule = await one.hide(path="private")
    filters = one.visibility.filters
    for refused in (
        filters.list(AGENT),
        filters.add(AGENT, FilterRule(path="x")),
        filters.remove(AGENT, rule.id),
        filters.reset(replace(ME, audience="rest:key")),
    ):
        assert (await _said(refused, NotAllowed)).startswith("Filters are seen and changed on the owner")
    second = await one.hide(field="salary")
    assert [one.id for one in await filters.list(OWN)] == ["f1", "f2"]
    await filters.remove(OWN, second.id)
    assert (await one.hide(field="x")).id == "f3"
    assert await filters.reset(OWN) == 2
    with pytest.raises(UnknownId):
        await filters.remove(OWN, "f1")


@asynccontextmanager
async def searched(directory: Path) -> AsyncGenerator[House]:
    async with open_house(data_dir=directory) as house:
        for path, text in {"jane.md": JANE, "private/bob.md": "Bob keeps planted bees.\n"}.items():
            await house.app.vault.write(OWN, path, text, by="person")
        yield house


async def found(house: House, me: Principal, query: str) -> list[str]:
    return [hit.text for hit in await house.app.recall.search(me, query) if hit.score > 0]


async def test_recall_finds_for_each_reader_what_they_may_see(tmp_path: Path) -> None:
    async with searched(tmp_path) as house:
        visibility = house.app.visibility
        assert len(await found(house, AGENT, "91234")) == 1
        await visibility.filters.add(OWN, FilterRule(field="salary"))
        await visibility.filters.add(OWN, FilterRule(path="private"))
        # Before the index has caught up nothing of it is found at all.
        assert not any(
            "Jane" in text or "Bob" in text for text in await found(house, AGENT, "Jane salary 91234 bees")
        )
        assert "91234" in str(await found(house, OWN, "91234"))
        await visibility.indexing.catch_up(ME.owner)
        assert await found(house, AGENT, "91234 salary") == []
        assert await found(house, AGENT, "planted bees") == []
        (text,) = await found(house, AGENT, "age of Jane")
        assert text == "- friend: \n- age: 64"
        assert len(await found(house, OWN, "age of Jane")) == 1
        assert "91234" in str(await found(house, OWN, "91234"))
        await visibility.filters.reset(OWN)
        await visibility.indexing.catch_up(ME.owner)
        assert "91234" in str(await found(house, AGENT, "91234"))
