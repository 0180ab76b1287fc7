"""Health, numbers, log, history and consolidation, at the web door and in the terminal."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from bethink.memory import NewFact
from tests.command_line import CommandLine, masked
from tests.door import open_door
from tests.unit.test_consolidation import TEA, put_back


@pytest.mark.anyio
async def test_duplicates_are_shown_merged_and_brought_back_over_http() -> None:
    async with open_door() as door:
        kept, gone = await put_back(door.house, *TEA)
        body = {"preview": True, "share": 1.0, "threshold": 0.3}
        preview = (await door.http.post("/memories/consolidate", json=body)).json()
        assert [merge["kept"]["id"] for merge in preview["merges"]] == [kept.id]
        assert [fact["id"] for fact in preview["merges"][0]["gone"]] == [gone.id]
        assert (preview["facts"], preview["waiting"], preview["undo"]) == (2, 0, None)
        done = (await door.http.post("/memories/consolidate", json={**body, "preview": False})).json()
        assert done["merges"][0]["kept"]["id"] == kept.id
        merged = (await door.http.get(f"/memories/{gone.id}")).json()
        assert (merged["state"], merged["superseded_by"]) == ("merged", kept.id)
        undone = (await door.http.post("/memories/undo", json={"token": done["undo"]})).json()
        assert (undone["change"], undone["count"]) == ("restored", 2)
        for bad in ({"threshold": 0}, {"share": 2}, {"shares": 1}):
            assert (await door.http.post("/memories/consolidate", json=bad)).status_code == 422


@pytest.mark.anyio
async def test_the_log_is_told_page_by_page_over_http() -> None:
    async with open_door() as door:
        memory = door.house.app.memory
        for content in ("Likes tea", "Has a dog", "Is tall"):
            await memory.add(door.house.me, NewFact(content))
            door.house.clock.advance(1)
        page = (await door.http.get("/memories/log", params={"limit": 2})).json()
        assert [step["memory"]["content"] for step in page["items"]] == ["Is tall", "Has a dog"]
        assert page["items"][0]["undo"] == f"added:{page['items'][0]['memory']['id']}"
        rest = (await door.http.get("/memories/log", params={"cursor": page["cursor"]})).json()
        assert [(step["change"], step["count"]) for step in rest["items"]] == [("added", 1)]
        await door.house.app.forgetting.forget(door.house.me, [rest["items"][0]["memory"]["id"]])
        rest = (await door.http.get("/memories/log", params={"cursor": page["cursor"]})).json()
        assert rest["items"][0]["memory"] is None


@pytest.mark.anyio
async def test_health_and_numbers_are_told_over_http() -> None:
    async with open_door() as door:
        assert (await door.http.get("/memories/health")).json() == {"findings": []}
        await put_back(door.house, *TEA)
        (duplicates, orphans) = (await door.http.get("/memories/health")).json()["findings"]
        assert (duplicates["trouble"], duplicates["count"]) == ("duplicates", 1)
        assert len(orphans["examples"]) == 2
        numbers = (await door.http.get("/memories/stats")).json()
        assert (numbers["facts"], numbers["states"]) == (2, {"active": 2})


@pytest.mark.anyio
async def test_memories_are_listed_by_project_and_by_doubt() -> None:
    async with open_door() as door:
        memory = door.house.app.memory
        await memory.add(door.house.me, NewFact("Uses Rust", project="engine"))
        for content in ("Likes spicy food", "Does not like spicy food"):
            await memory.add(door.house.me, NewFact(content))
        for params, count in (({"project": "engine"}, 1), ({"doubted": True}, 2), ({"project": "x"}, 0)):
            found = (await door.http.get("/memories", params=params)).json()
            assert (len(found["items"]), found["total"]) == (count, count)
        found = await door.http.get("/memories", params={"query": "food", "doubted": True})
        assert len(found.json()["items"]) == 2


def twins(plain: CommandLine) -> None:
    lines = ('{"kind":"bethink_memory","schema":1}', *(line(n, text) for n, text in enumerate(TWINS)))
    assert plain("memory", "import", "-", piped="\n".join(lines)).code == 0


TWINS = ("User likes tea.", "The user likes tea.", "User has a dog.")


def line(n: int, content: str) -> str:
    return f'{{"kind":"fact","id":"f{n}","content":"{content}","created_at":"2026-01-0{n + 1}T00:00:00Z"}}'


def test_the_terminal_shows_what_is_wrong_and_mends_it(plain: CommandLine) -> None:
    assert plain("memory", "health").out == "No problems found.\n"
    twins(plain)
    shown = plain("memory", "health").out
    assert "say the same as another" in shown
    assert "bethink memory consolidate --preview" in shown
    assert {one["trouble"] for one in plain("memory", "health", "--json").documents} == {
        "duplicates",
        "vectors",
    }
    assert "say the same" in plain("doctor").out
    would = plain("memory", "consolidate", "--preview", "--share", "1")
    assert would.out == snapshot("""\
User likes tea.  (f0)
  <- The user likes tea.  (f1)
Would be merged into others: 1 of 3 memories
""")
    assert plain.facts() == set(TWINS)
    done = plain("memory", "consolidate", "--share", "1")
    assert masked(done.err) == snapshot("undo: bethink memory undo consolidated:<1>\n")
    assert plain.facts() == {"User likes tea.", "User has a dog."}
    assert [line.split()[0] for line in plain("memory", "history", "f0").out.splitlines()] == ["f0", "f1"]
    assert plain("memory", "undo", done.err.split()[-1]).code == 0
    assert plain.facts() == set(TWINS)
    (document,) = plain("memory", "consolidate", "--share", "1", "--json").documents
    assert [merge["kept"]["id"] for merge in document["merges"]] == ["f0"]
    assert document["undo"].startswith("consolidated:")


def test_the_terminal_shows_the_log_and_the_numbers(plain: CommandLine) -> None:
    assert plain("memory", "log").err == "Nothing was changed yet.\n"
    id = plain.added("User likes tea.", "--category", "preferences")
    plain("memory", "retract", id)
    log = plain("memory", "log")
    assert masked(log.out) == snapshot("""\
<date>  Retracted: User likes tea.
<date>  Remembered: User likes tea.
""")
    assert f"retracted:{id}" in log.err
    assert [step["change"] for step in plain("memory", "log", "--json").documents] == ["retracted", "added"]
    plain.added("User has a dog.", "--pin")
    numbers = plain("memory", "stats").out
    assert "2  memories, 1 pinned, 0 in doubt" in numbers
    assert "by state:\n        1  retracted\n        1  active\n" in numbers
    assert "in use, by category:\n        1  general\n" in numbers
    assert "MB on disk" in numbers
    (document,) = plain("memory", "stats", "--json").documents
    assert document["categories"] == {"general": 1}
    assert plain("memory", "list", "--doubted").err == "No memories match.\n"
    assert plain("memory", "list", "--project", "x").err == "No memories match.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("consolidate", "--threshold", "0"),
        ("consolidate", "--share", "7"),
        ("consolidate", "--share", "much"),
        ("log", "--limit", "0"),
        ("history", "nothing"),
        ("undo", "consolidated:nothing"),
        ("undo", "import:nothing"),
    ],
)
def test_what_makes_no_sense_is_bad_input(plain: CommandLine, words: tuple[str, ...]) -> None:
    ended = plain("memory", *words)
    assert ended.code == 2
    assert "Traceback" not in ended.err
