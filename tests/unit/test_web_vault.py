"""The vault over HTTP: list, read, write with conflicts told, move, history and ways back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink.memory import NewFact
from bethink.principal import WaitingOwners
from tests.door import Door, open_door

pytestmark = pytest.mark.anyio


async def put(door: Door, path: str, text: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    answer = await door.http.put(f"/vault/pages/{path}", json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    door.house.clock.advance(1)
    return answer.json()


async def text_of(door: Door, path: str) -> str:
    answer = await door.http.get(f"/vault/pages/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()["text"]


async def test_the_first_look_makes_the_vault_with_its_first_page(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        assert not (tmp_path / "vault").exists()
        tree = (await door.http.get("/vault")).json()
        assert [item["path"] for item in tree["items"]] == ["user.md"]
        assert (tmp_path / "vault" / "user.md").exists()
        assert (tree["pages"], tree["bytes"]) == (1, tree["items"][0]["size"])


async def test_the_tree_names_folders_pages_and_what_cannot_be_read(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "entities/jane_doe.md", "# Jane\n")
        (tmp_path / "vault/odd.md").write_bytes(b"\xff\xfe")
        await door.house.app.vault.sync(door.house.me.owner)
        items = {item["path"]: item for item in (await door.http.get("/vault")).json()["items"]}
        assert [*items] == ["entities", "entities/jane_doe.md", "odd.md", "user.md"]
        assert items["entities"]["is_folder"]
        assert "UTF-8" in items["odd.md"]["problem"]
        refused = await door.http.get("/vault/pages/odd.md")
        assert refused.status_code == 422
        assert "UTF-8" in refused.json()["detail"]


async def test_a_page_is_written_for_the_version_that_was_read(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        first = await put(door, "a.md", "one\r\n", if_version="")
        read = await door.http.get("/vault/pages/a.md")
        assert (read.json()["text"], read.headers["etag"]) == ("one\r\n", f'"{first["after"]}"')
        same = await door.http.get("/vault/pages/a.md", headers={"If-None-Match": read.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        second = await put(door, "a.md", "two\n", if_version=first["after"])
        assert second["before"] == first["after"]

        lost = await door.http.put("/vault/pages/a.md", json={"text": "mine\n", "if_version": first["after"]})
        assert lost.status_code == 409
        told = lost.json()
        assert (told["current"]["text"], told["yours"], told["current"]["version"]) == (
            "two\n",
            "mine\n",
            second["after"],
        )
        by_header = await door.http.put(
            "/vault/pages/a.md", json={"text": "mine\n"}, headers={"If-Match": f'"{first["after"]}"'}
        )
        assert (by_header.status_code, by_header.json()["current"]["text"]) == (412, "two\n")
        new = await door.http.put(
            "/vault/pages/a.md", json={"text": "mine\n"}, headers={"If-None-Match": "*"}
        )
        assert new.status_code == 412
        assert await text_of(door, "a.md") == "two\n"


async def test_a_page_that_is_gone_conflicts_with_what_was_written_for_it(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        made = await put(door, "a.md", "one\n")
        (tmp_path / "vault/a.md").unlink()
        lost = await door.http.put("/vault/pages/a.md", json={"text": "two\n", "if_version": made["after"]})
        assert (lost.status_code, lost.json()["current"], lost.json()["yours"]) == (409, None, "two\n")


async def test_an_edit_in_another_program_is_read_and_stands_in_the_history(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "one\n")
        change = (await door.http.get("/vault")).json()["change"]
        (tmp_path / "vault/a.md").write_text("by vim\n")
        assert await text_of(door, "a.md") == "by vim\n"
        news = (await door.http.get("/vault/changes", params={"after": change})).json()
        assert [item["path"] for item in news["items"]] == ["a.md"]
        assert news["change"] > change
        items = (await door.http.get("/vault/history/a.md")).json()["items"]
        assert [item["by"] for item in items] == ["outside", "person"]


async def test_front_matter_that_cannot_be_read_is_told_with_the_page(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "---\n: [\n---\nText\n")
        (problem,) = (await door.http.get("/vault/pages/a.md")).json()["problems"]
        assert problem.startswith("Front matter: ")


async def test_a_page_moves_with_its_history_and_back(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "one\n")
        change = (await door.http.get("/vault")).json()["change"]
        moved = await door.http.post("/vault/move", json={"path": "a.md", "to": "b/c.md"})
        assert (moved.json()["path"], moved.json()["moved_from"]) == ("b/c.md", "a.md")
        news = (await door.http.get("/vault/changes", params={"after": change})).json()
        assert [item["path"] for item in news["items"]] == ["b/c.md"]
        items = (await door.http.get("/vault/history/b/c.md")).json()["items"]
        assert [item["what"] for item in items] == ["moved", "created"]
        taken = await door.http.post("/vault/move", json={"path": "user.md", "to": "b/c.md"})
        assert taken.status_code == 409
        await door.http.post("/vault/undo", json={"token": moved.json()["undo"]})
        assert await text_of(door, "a.md") == "one\n"


async def test_a_deleted_page_comes_back(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        made = await put(door, "a.md", "one\n")
        late = await door.http.delete("/vault/pages/a.md", params={"if_version": "0" * 64})
        assert (late.status_code, late.json()["current"]["text"]) == (409, "one\n")
        gone = await door.http.delete("/vault/pages/a.md", headers={"If-Match": f'"{made["after"]}"'})
        assert gone.json()["after"] is None
        assert (await door.http.get("/vault/pages/a.md")).status_code == 404
        assert (await door.http.get("/vault/changes")).json()["gone"] == ["a.md"]
        undone = await door.http.post("/vault/undo", json={"token": gone.json()["undo"]})
        assert undone.status_code == 200
        assert await text_of(door, "a.md") == "one\n"
        assert (await door.http.post("/vault/undo", json={"token": gone.json()["undo"]})).status_code == 409


async def test_versions_are_read_compared_and_restored(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "one\n")
        await put(door, "a.md", "two\n", note="why")
        second, first = (await door.http.get("/vault/history/a.md")).json()["items"]
        assert (second["note"], second["what"], first["what"]) == ("why", "written", "created")
        old = (await door.http.get(f"/vault/versions/{first['id']}/a.md")).json()
        assert old["text"] == "one\n"
        diff = (await door.http.get(f"/vault/diff/{second['id']}/a.md")).json()["diff"]
        assert "-one\n+two\n" in diff
        restored = await door.http.post("/vault/restore/a.md", json={"version": first["id"]})
        assert restored.status_code == 200
        assert await text_of(door, "a.md") == "one\n"


async def test_folders_are_made_and_removed_while_they_are_empty(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        assert (await door.http.post("/vault/folders", json={"path": "x/y"})).status_code == 204
        await put(door, "x/y/a.md", "one\n")
        assert (await door.http.delete("/vault/folders/x/y")).status_code == 409
        await door.http.delete("/vault/pages/x/y/a.md")
        assert (await door.http.delete("/vault/folders/x/y")).status_code == 204


async def test_a_path_out_of_the_vault_is_refused(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        for path in ("..%2Fout.md", "a/..%2F..%2Fout.md", ".hidden.md", "a.txt"):
            answer = await door.http.put(f"/vault/pages/{path}", json={"text": "x"})
            assert answer.status_code == 422, (path, answer.text)
        assert not (tmp_path / "out.md").exists()


async def test_without_vaults_it_says_so(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path, vault={"enabled": False}) as door:
        answer = await door.http.get("/vault")
        assert answer.status_code == 403
        assert "switched off" in answer.json()["detail"]


async def test_links_follow_a_page_that_moves_and_each_change_can_be_taken_back(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "jane_doe.md", "# Jane\nknows [[tom]]\n")
        await put(door, "tom.md", "knows [[jane_doe|her]] and [x](jane_doe.md)\n")
        moved = await door.http.post("/vault/move", json={"path": "jane_doe.md", "to": "people/jane.md"})
        (change,) = moved.json()["relinked"]
        assert (moved.json()["path"], change["path"]) == ("people/jane.md", "tom.md")
        assert await text_of(door, "tom.md") == "knows [[jane|her]] and [x](people/jane.md)\n"
        assert await text_of(door, "people/jane.md") == "# Jane\nknows [[tom]]\n"
        for undo in (change["undo"], moved.json()["undo"]):
            assert (await door.http.post("/vault/undo", json={"token": undo})).status_code == 200
        assert await text_of(door, "tom.md") == "knows [[jane_doe|her]] and [x](jane_doe.md)\n"
        bare = {"path": "jane_doe.md", "to": "jane.md", "relink": False}
        assert (await door.http.post("/vault/move", json=bare)).json()["relinked"] == []


async def test_the_vault_is_searched_and_its_links_are_told_both_ways(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "# Anna\n\nplays the Viola with [[b]] and [[nobody]]\n")
        await put(door, "b.md", "---\ntitle: Ben\n---\nalone\n")
        found = (await door.http.get("/vault/search", params={"query": "viola"})).json()
        (hit,) = found["items"]
        excerpt = hit["excerpts"][0]
        (mark,) = excerpt["marks"]
        assert (hit["path"], hit["title"], excerpt["text"][mark["start"] : mark["end"]]) == (
            "a.md",
            "Anna",
            "Viola",
        )
        assert (await door.http.get("/vault/search", params={"query": ""})).status_code == 422
        links = (await door.http.get("/vault/links/a.md")).json()
        assert [item["path"] for item in links["items"]] == ["b.md"]
        assert links["unresolved"] == [{"target": "nobody", "line": 3}]
        back = (await door.http.get("/vault/backlinks/b.md")).json()["items"]
        assert back == [{"path": "a.md", "title": "Anna", "lines": [3]}]
        graph = (await door.http.get("/vault/graph")).json()
        assert {node["path"] for node in graph["nodes"]} >= {"a.md", "b.md"}
        assert graph["edges"] == [{"source": "a.md", "target": "b.md", "count": 1}]
        assert graph["missing"] == [{"source": "a.md", "target": "nobody", "count": 1}]
        way = (await door.http.get("/vault/graph", params={"around": "b.md", "to": "a.md"})).json()
        assert way["way"] == ["b.md", "a.md"]
        assert (await door.http.get("/vault/backlinks/none.md")).status_code == 404


async def test_a_program_with_a_key_sees_what_filters_leave(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "jane.md", "- salary: 91234\n- city: Oslo [[secret]]\n")
        await put(door, "secret.md", "hidden\n")
        for rule in ({"field": "salary"}, {"path": "secret.md"}):
            assert (await door.http.post("/vault/filters", json=rule)).status_code == 201
        register = door.house.app.accounts.register
        ann = await register.add_user("ann")
        key = (await register.add_key(ann.id, "script", scopes=("read", "write"))).text
        door.http.headers["authorization"] = f"Bearer {key}"
        page = (await door.http.get("/vault/pages/jane.md")).json()
        assert page["text"] == "- city: Oslo \n"
        for path in ("", "/search?query=91234", "/search?query=hidden", "/graph", "/links/jane.md"):
            told = (await door.http.get(f"/vault{path}")).text
            assert "91234" not in told.replace("query=91234", ""), path
            assert "secret" not in told, path
        assert (await door.http.get("/vault/backlinks/secret.md")).status_code == 404
        body = {"text": "- city: Bergen \n", "if_version": page["version"]}
        written = await door.http.put("/vault/pages/jane.md", json=body)
        assert written.status_code == 200, written.text
        kept = await door.house.app.vault.read(ann.id, "jane.md")
        assert kept.text == "- salary: 91234\n- city: Bergen [[secret]]\n"


async def test_a_check_finds_broken_links_and_mends_them(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "entities/acme_gmbh.md", "# Acme\n")
        await put(door, "a.md", "at [[acme_gmb]] and [[nowhere_at_all]]\n")
        report = (await door.http.get("/vault/check")).json()
        said = {(item["path"], item["kind"], item["line"]) for item in report["findings"]}
        assert ("a.md", "broken_link", 1) in said
        choices = [choice for item in report["findings"] for choice in item["choices"] if choice["is_sure"]]
        choice = {name: choices[0][name] for name in ("way", "path", "target", "to")}
        plan = (await door.http.post("/vault/check/plan", json=choice)).json()
        assert "+at [[acme_gmbh]]" in plan["steps"][0]["diff"]
        body = {**choice, "id": plan["id"]}
        mended = await door.http.post("/vault/check/repair", json=body)
        assert mended.status_code == 200, mended.text
        assert await text_of(door, "a.md") == "at [[acme_gmbh]] and [[nowhere_at_all]]\n"
        assert (await door.http.post("/vault/check/repair", json=body)).status_code == 409


async def test_the_check_tells_of_lines_of_memories_that_wait_for_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both sides change before they are compared.
    monkeypatch.setattr(WaitingOwners, "add", lambda _self, _owner: None)
    async with open_door(data_dir=tmp_path) as door:
        app, me = door.house.app, door.house.me
        await door.http.get("/vault")
        fact = (await app.memory.add(me, NewFact("Likes tea"))).fact
        await app.mirror.settle(me.owner)
        page = await app.vault.read(me.owner, "memories/general.md")
        both = page.text.replace("Likes tea", "Likes coffee")
        await app.memory.edit(me, fact.id, NewFact("Likes rooibos"))
        await app.vault.write(me, page.path, both, by="person")
        await app.mirror.settle(me.owner)
        (found,) = [
            one
            for one in (await door.http.get("/vault/check")).json()["findings"]
            if one["kind"] == "memory_line"
        ]
        assert (found["path"], found["line"]) == ("memories/general.md", 3)
        assert "delete the note below it" in found["said"]


async def test_a_folder_where_a_page_was_is_no_page(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "thing.md", "one")
        (tmp_path / "vault/thing.md").unlink()
        (tmp_path / "vault/thing.md").mkdir()
        refused = await door.http.get("/vault/pages/thing.md")
        assert refused.status_code == 422
        assert "no ordinary file" in refused.json()["detail"]
        other = await door.http.put("/vault/pages/thing.md", json={"text": "two"})
        assert other.status_code == 422


async def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "thing.md", "one")
        (tmp_path / "vault").rename(tmp_path / "elsewhere")
        part = (await door.http.get("/health")).json()["parts"]["vault"]
        assert (part["status"], "folder is missing" in part["message"]) == ("degraded", True)


async def test_a_way_without_its_beginning_is_refused(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "[[b]]")
        await put(door, "b.md", "two")
        refused = await door.http.get("/vault/graph", params={"to": "b.md"})
        assert refused.status_code == 422
        assert "around" in refused.json()["detail"]
        found = await door.http.get("/vault/graph", params={"around": "a.md", "to": "b.md"})
        assert found.json()["way"] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ({"way": "rename", "path": "a.md", "to": "../../x.md"}, 422),
        ({"way": "rename", "path": "a.md", "to": "con.md"}, 422),
        ({"way": "rename", "path": "a.md", "to": "b.md"}, 409),
        ({"way": "rename", "path": "a.md", "to": "B.md"}, 409),
        ({"way": "rename", "path": "a.md", "to": "odd.md"}, 409),
        ({"way": "create", "path": "a.md", "target": "x", "to": "/x.md"}, 422),
        ({"way": "create", "path": "a.md", "target": "x", "to": "b.md"}, 409),
        ({"way": "convert", "path": "../outside.md", "to": "cp1252"}, 422),
        ({"way": "split", "path": "big.md"}, 409),
    ],
)
async def test_a_repair_that_cannot_be_made_is_not_planned(
    tmp_path: Path, choice: dict[str, str], status: int
) -> None:
    async with open_door(data_dir=tmp_path, vault={"max_file_bytes": 1_000}) as door:
        await put(door, "a.md", "[[x]]")
        await put(door, "b.md", "two")
        await put(door, "big/two.md", "taken")
        (tmp_path / "outside.md").write_bytes(b"secret \xe9")
        (tmp_path / "vault/odd.md").write_bytes(b"\xff")
        (tmp_path / "vault/big.md").write_text(f"## One\n{'a' * 700}\n## Two\n{'b' * 700}\n")
        await door.house.app.vault.sync(door.house.me.owner)
        refused = await door.http.post("/vault/check/plan", json=choice)
        assert refused.status_code == status, refused.text
        assert "secret" not in refused.text


async def test_a_name_may_change_in_its_capitals_alone(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "A.md", "one")
        plan = await door.http.post("/vault/check/plan", json={"way": "rename", "path": "A.md", "to": "a.md"})
        assert plan.status_code == 200, plan.text


async def test_pictures_are_shown_to_their_owner_and_nothing_else_is(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "trips/lisbon.md", "![](pics/a.png)\n")
        folder = tmp_path / "vault" / "trips" / "pics"
        folder.mkdir()
        (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
        (folder / "page.png").write_bytes(b"<svg onload='alert(1)'>")
        (tmp_path / "outside.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
        (folder / "link.png").symlink_to(tmp_path / "outside.png")

        async def shown(source: str) -> tuple[int, str | None]:
            query = {"source": source, "page": "trips/lisbon.md"}
            answer = await door.http.get("/vault/pictures", params=query)
            return answer.status_code, answer.headers.get("content-type")

        assert await shown("pics/a.png") == (200, "image/png")
        assert await shown("trips/pics/a.png") == (200, "image/png")
        for other in ("pics/page.png", "pics/link.png", "../outside.png", "../../outside.png", "/etc/passwd"):
            assert (await shown(other))[0] == 404, other
        assert (await shown("lisbon.md"))[0] == 404


async def test_tags_are_listed_with_their_pages(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "a.md", "---\ntags: [Trip, work]\n---\n# One\n")
        await put(door, "b.md", "# Two\nto #trip and #trip/2026\n")
        tags = (await door.http.get("/vault/tags")).json()["items"]
        assert [(tag["name"], [page["title"] for page in tag["pages"]]) for tag in tags] == [
            ("Trip", ["One", "Two"]),
            ("trip/2026", ["Two"]),
            ("work", ["One"]),
        ]


async def test_a_check_says_nothing_of_ordinary_names_and_of_what_is_ignored(tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path) as door:
        await put(door, "Trips/My Lisbon Trip.md", "[[nobody]]\n")

        async def kinds() -> list[str]:
            report = (await door.http.get("/vault/check")).json()
            return [finding["kind"] for finding in report["findings"]] + report["ignored"]

        assert await kinds() == ["broken_link"]
        answer = await door.http.put("/vault/check/ignored", json={"kinds": ["broken_link"]})
        assert answer.status_code == 204
        assert (await door.http.get("/vault/check")).json() == {"findings": [], "ignored": ["broken_link"]}
        # It outlives changes of the vault.
        await put(door, "a.md", "also [[nobody]]\n")
        assert await kinds() == ["broken_link"]
        unknown = await door.http.put("/vault/check/ignored", json={"kinds": ["x"]})
        assert unknown.status_code == 422
        await door.http.put("/vault/check/ignored", json={"kinds": []})
        assert await kinds() == ["broken_link", "broken_link"]
