"""`/documents`: added, listed, searched, shown page by page, changed, removed."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from bethink.documents.service import Documents
from tests.door import Door, open_door
from tests.library import UNREADABLE, added, plain_reading, read

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]
NOTES = b"# Harbour\n\nThe harbour master of Alfama is called Ines Prata.\n\f# Trams\n\nLine 28 is steep.\n"
FORM = {"content-type": "multipart/form-data; boundary=x"}
FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="cut.md"\r\n\r\nHalf of'


def staged(door: Door) -> list[Path]:
    return [path for path in (door.house.app.settings.data_dir / "uploads").rglob("*") if path.is_file()]


async def test_a_file_is_added_read_searched_and_shown_page_by_page() -> None:
    async with open_door() as door:
        shown = await added(door, NOTES, tags="travel, Lisbon", project="p1")
        assert (shown["stage"], shown["kind"], shown["error"]) == ("ready", "text", "")
        assert (shown["tags"], shown["project"]) == (["travel", "Lisbon"], "p1")
        assert shown["content"] == hashlib.sha256(NOTES).hexdigest()
        assert shown["title"] == "Harbour"
        found = (await door.http.get("/documents/search", params={"query": "steep line"})).json()
        hit = found["items"][0]
        assert hit["document"] == {"id": shown["id"], "name": "notes.md", "kind": "text"}
        assert (hit["page"], hit["pages"]) == (2, 2)
        pages = (await door.http.get(f"/documents/{shown['id']}/pages?first=1&last=9")).json()
        assert (pages["count"], [page["number"] for page in pages["items"]]) == (2, [1, 2])
        assert pages["items"][1]["text"][hit["begin"] : hit["end"]] == hit["text"]
        assert [hit["text"][begin:end] for begin, end in hit["marks"]] == ["Line", "steep"]
        assert hit["source"].startswith(f"document:{shown['id']}?content={shown['content']}&page=2&at=")
        assert staged(door) == []
        params = {"query": "steep line", "kinds": "passage"}
        (recalled, *_) = (await door.http.get("/recall", params=params)).json()["items"]
        assert (recalled["title"], recalled["source"]) == ("notes.md, page 2", hit["source"])
        assert found["note"] == ""
        status = (await door.http.get("/documents/status")).json()
        assert (status["ready"], status["bytes"], status["without_vector"]) == (1, len(NOTES), 0)
        assert status["passages"] == shown["passages"] == 2


async def test_health_and_metrics_tell_how_far_documents_are() -> None:
    async with open_door() as door:
        await added(door, NOTES)
        await added(door, UNREADABLE, "broken.bin")
        part = (await door.http.get("/health")).json()["parts"]["documents"]
        assert (part["waiting"], part["failed"]) == (0, 1)
        metrics = (await door.http.get("/metrics")).text
        assert 'bethink_documents{stage="ready"} 1\n' in metrics
        assert 'bethink_documents{stage="failed"} 1\n' in metrics


async def test_nothing_that_answers_is_said() -> None:
    async with open_door() as door:
        found = (await door.http.get("/documents/search", params={"query": "glacier"})).json()
        assert found == {"items": [], "note": "Nothing in your documents answers this."}
        await added(door, NOTES)
        params = {"query": "Is the harbour master called Walter Zimmermann?"}
        found = (await door.http.get("/documents/search", params=params)).json()
        assert "Nothing in your documents answers this." in found["note"]
        assert "Zimmermann" in found["note"]


async def test_documents_are_listed_by_what_they_are_and_where() -> None:
    async with open_door() as door:
        made = await door.http.post("/documents/collections", json={"name": "Trips"})
        assert made.status_code == 201
        trips = made.json()["id"]
        inside = await added(door, NOTES, "trip.md", collection="trips", tags="a")
        await added(door, b"# Soup\n\nOnions.", "soup.md")
        broken = await added(door, UNREADABLE, "broken.bin")
        assert (broken["stage"], broken["error"]) == ("failed", "broken.bin cannot be read: it is damaged.")

        async def names(**query: str | int) -> list[str]:
            answer = await door.http.get("/documents", params=query)
            return [one["name"] for one in answer.json()["items"]]

        assert inside["collection"] == {"id": trips, "name": "Trips"}
        assert await names() == ["broken.bin", "soup.md", "trip.md"]
        assert await names(collection="trips") == await names(tag="a") == await names(query="HARB")
        assert await names(collection=trips) == ["trip.md"]
        assert await names(stage="failed") == ["broken.bin"]
        assert await names(query="nowhere") == []
        first = (await door.http.get("/documents", params={"limit": 2})).json()
        assert await names(limit=2, cursor=first["cursor"]) == ["trip.md"]
        some = (await door.http.get("/documents", params={"limit": 1, "query": "o"})).json()
        assert [one["name"] for one in some["items"]] == ["broken.bin"]
        assert await names(limit=1, query="o", cursor=some["cursor"]) == ["soup.md"]
        assert (await door.http.get("/documents/collections")).json()["items"][0]["documents"] == 1
        assert (await door.http.delete(f"/documents/collections/{trips}")).status_code == 204
        assert (await door.http.get(f"/documents/{inside['id']}")).json()["collection"] is None


async def test_a_document_is_renamed_replaced_and_removed() -> None:
    async with open_door() as door:
        shown = await added(door, NOTES)
        url = f"/documents/{shown['id']}"
        changed = await door.http.patch(url, json={"name": "Lisbon.md", "tags": ["x", "x"]})
        assert (changed.json()["name"], changed.json()["tags"]) == ("Lisbon.md", ["x"])
        assert (await door.http.patch(url, json={"collection": "none"})).status_code == 404
        newer = await door.http.put(
            f"{url}/file", files={"file": ("v2.md", b"# Ferries\n\nBoats leave at 9.")}
        )
        pending = newer.json()["pending"]
        # It may be read by now.
        assert (newer.status_code, pending is None or pending["stage"] != "ready") == (202, True)
        after = await read(door, newer.json())
        assert (after["pending"], after["title"], after["name"]) == (None, "Ferries", "v2.md")
        assert [one["content"] for one in after["versions"]] == [shown["content"], after["content"]]
        old = await door.http.get(f"{url}/pages", params={"content": shown["content"]})
        assert "Ines Prata" in old.json()["items"][0]["text"]
        found = (await door.http.get("/documents/search", params={"query": "Ines Prata"})).json()
        assert all("Prata" not in hit["text"] for hit in found["items"])
        assert (await door.http.delete(url)).status_code == 204
        assert (await door.http.get(url)).status_code == 404
        assert (await door.http.get(f"{url}/file")).status_code == 404


async def test_the_original_is_never_run_by_a_browser() -> None:
    async with open_door() as door:
        page = await added(door, b"<script>alert(1)</script>", "page.html")
        answer = await door.http.get(f"/documents/{page['id']}/file")
        assert answer.content == b"<script>alert(1)</script>"
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        # The name and the client's media type say nothing: only the first bytes do.
        liar = await door.http.post("/documents", files={"file": ("a.png", b"<svg onload=x>", "image/png")})
        answer = await door.http.get(f"/documents/{liar.json()['id']}/file")
        assert answer.headers["content-type"] == "application/octet-stream"
        pdf = await added(door, b"%PDF-1.7 and so on", "a.pdf")
        answer = await door.http.get(f"/documents/{pdf['id']}/file")
        assert answer.headers["content-type"] == "application/pdf"
        assert answer.headers["content-disposition"].startswith("inline")


async def test_names_of_255_bytes_with_slashes_and_quotes_are_kept_as_names() -> None:
    async with open_door() as door:
        file = {"file": ('q"uo/te.md', b"A name with a quote.")}
        assert (await door.http.post("/documents", files=file)).json()["name"] == "te.md"
        file = {"file": ('q"uote.md', b"A name with a quote.")}
        assert (await door.http.post("/documents", files=file)).json()["name"] == 'q"uote.md'
        for given, kept in {
            '../../etc/pass"wd': 'pass"wd',
            "C:\\Users\\me\\note.txt": "note.txt",
            "ü" * 251 + ".txt": "ü" * 251 + ".txt",
            "x" * 400 + ".md": "x" * 252 + ".md",
            "invoice\u202efdp.exe": "invoice fdp.exe",
        }.items():
            made = await door.http.post("/documents/text", json={"name": given, "text": given})
            assert made.json()["name"] == kept
            answer = await door.http.get(f"/documents/{made.json()['id']}/file")
            assert answer.status_code == 200, kept
            assert '"' not in answer.headers["content-disposition"]


async def test_a_cut_or_bad_upload_leaves_nothing() -> None:
    async with open_door() as door:
        for body, status in ((FILE, 422), (FILE + b"\r\n--x", 422), (b"--x--", 422), (b"nonsense", 422)):
            answer = await door.http.post("/documents", content=body, headers=FORM)
            assert (answer.status_code, answer.headers["content-type"]) == (
                status,
                "application/problem+json",
            )
        empty = await door.http.post("/documents", files={"file": ("empty.md", b"")})
        assert (empty.status_code, "empty.md is empty" in empty.json()["detail"]) == (422, True)
        nowhere = await door.http.post(
            "/documents", files={"file": ("a", NOTES)}, data={"collection": "none"}
        )
        assert nowhere.status_code == 404
        assert (await door.http.get("/documents")).json()["items"] == []
        assert staged(door) == []
        assert [*(door.house.app.settings.data_dir / "files").rglob("*")] == []


async def test_what_is_too_large_is_refused_while_it_comes() -> None:
    async with open_door(documents_max_bytes=100_000, documents_quota_mb=1) as door:
        taken = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal taken
            while True:
                taken += 1
                yield bytes(10_000)
                await anyio.lowlevel.checkpoint()

        answer = await door.http.post("/documents", params={"name": "big"}, content=endless())
        assert (answer.status_code, "BETHINK_DOCUMENTS_MAX_BYTES" in answer.json()["detail"]) == (413, True)
        assert taken < 100
        assert staged(door) == []
        for number in range(10):
            body = bytes([number]) * 100_000
            assert (await door.http.post("/documents", content=body)).status_code == 202
        full = await door.http.post("/documents", content=b"x" * 10)
        assert (full.status_code, "BETHINK_DOCUMENTS_QUOTA_MB" in full.json()["detail"]) == (413, True)


async def test_what_says_that_it_is_too_large_is_refused_before_it_comes() -> None:
    async with open_door(documents_max_bytes=100_000) as door:
        taken = 0

        async def sent() -> AsyncIterator[bytes]:
            nonlocal taken
            for _ in range(30):
                taken += 1
                yield bytes(10_000)

        headers = {"content-length": "300000"}
        answer = await door.http.post("/documents", content=sent(), headers=headers)
        assert (answer.status_code, "BETHINK_DOCUMENTS_MAX_BYTES" in answer.json()["detail"]) == (413, True)
        assert taken <= 1
        assert staged(door) == []


async def test_the_same_bytes_at_once_are_kept_and_read_once() -> None:
    async with open_door() as door:
        answers: list[str] = []

        async def one() -> None:
            answers.append((await added(door, NOTES))["id"])

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one)
        assert len({*answers}) == len((await door.http.get("/documents")).json()["items"])
        assert (await door.http.get("/documents/status")).json()["ready"] == 1


async def test_what_cannot_be_read_is_retried_and_what_waits_is_cancelled() -> None:
    async with open_door() as door:
        broken = await added(door, UNREADABLE)
        again = await door.http.post(f"/documents/{broken['id']}/retry")
        assert (again.status_code, again.json()["stage"]) == (202, "waiting")
        assert (await read(door, broken))["stage"] == "failed"
        assert (await door.http.post(f"/documents/{broken['id']}/cancel")).status_code == 409
        ready = await added(door, NOTES)
        assert (await door.http.post(f"/documents/{ready['id']}/retry")).status_code == 409


async def test_a_folder_is_watched_looked_at_and_let_go(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/lease.md").write_text("The rent is due on the third.")
    async with open_door() as door:
        nowhere = await door.http.post("/documents/folders", json={"path": str(tmp_path / "nowhere")})
        assert nowhere.status_code == 422
        await door.http.post("/documents/collections", json={"name": "Papers"})
        body = {"path": str(tmp_path / "papers"), "collection": "papers", "extensions": ["md"]}
        made = await door.http.post("/documents/folders", json=body)
        assert (made.status_code, made.json()["state"]) == (201, "watching"), made.text
        url = f"/documents/folders/{made.json()['id']}"
        synced = (await door.http.post(f"{url}/sync")).json()
        assert (synced["files"], synced["collection"]["name"]) == (1, "Papers")
        assert (await door.http.post(f"{url}/pause")).json()["state"] == "paused"
        assert (await door.http.post(f"{url}/resume")).json()["state"] == "watching"
        (listed,) = (await door.http.get("/documents", params={"collection": "papers"})).json()["items"]
        assert (listed["name"], listed["origin"]["kind"]) == ("lease.md", "folder")
        assert (await door.http.delete(f"{url}?documents=true")).status_code == 204
        assert (await door.http.get("/documents/folders")).json() == {"items": []}
        assert (await door.http.get("/documents")).json()["items"] == []


async def test_a_collection_is_shared_and_taken_back() -> None:
    async with open_door() as door:
        register = door.house.app.accounts.register
        ann, bob = await register.add_user("ann"), await register.add_user("bob")
        keys = {user.name: (await register.add_key(user.id, "k")).text for user in (ann, bob)}

        async def ask(who: str, method: str, path: str, **more: object) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {keys[who]}"}
            return await door.http.request(method, path, headers=headers, **more)  # pyright: ignore[reportArgumentType]

        made = (await ask("ann", "POST", "/documents/collections", json={"name": "Trips"})).json()
        body = {"name": "trip.md", "text": "The ferry leaves at nine.", "collection": "Trips"}
        document = (await ask("ann", "POST", "/documents/text", json=body)).json()
        url = f"/documents/{document['id']}"
        await door.house.app.features.of(Documents).ingest.finish(
            door.house.app.accounts.on_behalf_of(ann.id, audience="test"), [document["content"]]
        )
        assert (await ask("bob", "GET", url)).status_code == 404
        shares = f"/documents/collections/{made['id']}/shares"
        shared = await ask("ann", "PUT", f"{shares}/bob", json={"writes": False})
        assert shared.json()["shares"] == [{"user": "bob", "writes": False}]
        (seen,) = (await ask("bob", "GET", "/documents/collections")).json()["items"]
        assert (seen["name"], seen["owner"], seen["writes"], seen["documents"]) == ("Trips", "ann", False, 1)
        shown = (await ask("bob", "GET", url)).json()
        assert (shown["name"], shown["collection"]["name"]) == ("trip.md", "Trips")
        found = (await ask("bob", "GET", "/documents/search", params={"query": "ferry"})).json()
        assert found["items"][0]["document"]["id"] == document["id"]
        assert (await ask("bob", "PATCH", url, json={"name": "mine.md"})).status_code == 403
        assert (await ask("bob", "POST", f"{url}/cancel")).status_code == 403
        assert (await ask("ann", "DELETE", f"{shares}/bob")).json()["shares"] == []
        assert (await ask("bob", "GET", url)).status_code == 404
        assert (await ask("bob", "GET", f"{url}/pages")).status_code == 404
