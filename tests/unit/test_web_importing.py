"""`/import`: upload, look, choose, watch, read the report, take back."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio.lowlevel
import anyio.to_thread
import pytest

from bethink.errors import StorageError
from bethink.importing.records import Import
from bethink.importing.service import Imports, UploadFolder
from bethink.memory import NewFact
from bethink.principal import Principal
from bethink.web.security.guard import MAX_BODY_BYTES
from tests.door import Door, open_door
from tests.exports import asked_and_answered, packed

pytestmark = pytest.mark.anyio
EXPORT = packed({"conversations.json": [asked_and_answered("Trip", "Where to stay in Alfama?", "Uphill.")]})
NAMELESS = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--'
WORKING = {"reading", "applying", "undoing"}


async def uploaded(door: Door, content: bytes = EXPORT, name: str = "export.zip") -> dict[str, Any]:
    answer = await door.http.post("/import", files={"file": (name, content, "application/zip")})
    assert answer.status_code == 202, answer.text
    return await ended(door, answer.json()["id"])


async def ended(door: Door, id: str) -> dict[str, Any]:
    while (now := (await door.http.get(f"/import/{id}")).json())["state"] in WORKING:
        await anyio.lowlevel.checkpoint()
    return now


def staged(door: Door) -> list[Path]:
    return [path for path in (door.house.app.settings.data_dir / "imports").rglob("*") if path.is_file()]


async def test_an_export_is_uploaded_looked_at_taken_in_and_taken_back() -> None:
    async with open_door() as door:
        ready = await uploaded(door)
        assert (ready["state"], ready["source"], ready["into"]) == ("ready", "chatgpt", "conversations")
        assert ready["preview"]["conversations"]["new"] == 1
        assert (await door.http.get("/conversations")).json()["items"] == []
        assert len(staged(door)) == 1

        begun = await door.http.post(f"/import/{ready['id']}/apply", json={"into": "both", "topics": "none"})
        assert (begun.status_code, begun.json()["state"]) == (202, "applying")
        done = await ended(door, ready["id"])
        assert (done["state"], done["staged"], done["error"]) == ("done", False, None)
        assert (done["report"]["conversations"]["new"], done["report"]["pages"]["new"]) == (1, 1)
        (talk,) = (await door.http.get("/conversations")).json()["items"]
        assert (talk["title"], talk["origin"]) == ("Trip", "ChatGPT")
        assert staged(door) == []

        assert (await door.http.post(f"/import/{ready['id']}/apply", json={})).status_code == 409
        await door.http.post(f"/import/{ready['id']}/undo")
        assert (await ended(door, ready["id"]))["state"] == "undone"
        assert (await door.http.get("/conversations")).json()["items"] == []
        (listed,) = (await door.http.get("/import")).json()["items"]
        assert listed["state"] == "undone"


async def test_an_import_ends_with_its_file_and_nothing_else_begins_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held, remove = threading.Event(), UploadFolder.remove

    def later(self: UploadFolder, owner: str, id: str) -> None:
        assert held.wait(30)
        remove(self, owner, id)

    async with open_door() as door:
        ready = await uploaded(door)
        monkeypatch.setattr(UploadFolder, "remove", later)
        await door.http.post(f"/import/{ready['id']}/apply", json={})
        importing = door.house.app.importing
        while (await importing.get(door.house.me, ready["id"])).state != "done":
            await anyio.lowlevel.checkpoint()
        now = (await door.http.get(f"/import/{ready['id']}")).json()
        assert (now["state"], now["staged"], len(staged(door))) == ("applying", True, 1)
        assert (await door.http.post(f"/import/{ready['id']}/undo")).status_code == 409
        held.set()
        done = await ended(door, ready["id"])
        assert (done["state"], done["staged"], staged(door)) == ("done", False, [])


async def test_what_cannot_be_kept_takes_no_other_import_down(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_door() as door:
        kept, keep = 0, type(door.house.app.importing).keep

        async def fails(self: Imports, principal: Principal, record: Import) -> None:
            nonlocal kept
            kept += 1
            if kept == 2:
                message = "the disk is full"
                raise StorageError(message)
            await keep(self, principal, record)

        monkeypatch.setattr(type(door.house.app.importing), "keep", fails)
        assert (await uploaded(door))["state"] == "failed"
        assert (await uploaded(door))["state"] == "ready"


@pytest.mark.parametrize("is_form", [True, False])
async def test_an_export_may_be_larger_than_any_other_body(*, is_form: bool) -> None:
    large = b"[" + b" " * MAX_BODY_BYTES + b"]"
    async with open_door() as door:
        if is_form:
            now = await uploaded(door, large, "conversations.json")
        else:
            answer = await door.http.post("/import?name=conversations.json&source=chatgpt", content=large)
            now = await ended(door, answer.json()["id"])
        assert now["state"] == "ready"
        assert [path.stat().st_size for path in staged(door)] == [len(large)]


async def test_the_file_may_be_the_body_itself() -> None:
    async with open_door() as door:
        answer = await door.http.post("/import?name=notes.md", content=b"# Mine")
        now = await ended(door, answer.json()["id"])
        assert (now["state"], now["source"], now["name"]) == ("ready", "markdown", "notes.md")


async def test_what_is_no_export_says_so_and_is_removed_when_it_is_discarded() -> None:
    async with open_door() as door:
        now = await uploaded(door, b"%PDF", "paper.pdf")
        assert now["state"] == "failed"
        assert "not a known export" in now["error"]
        assert (await door.http.delete(f"/import/{now['id']}")).status_code == 204
        assert staged(door) == []
        assert (await door.http.get(f"/import/{now['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "multipart/form-data; boundary=x", 422),
        (b"not a form at all", "multipart/form-data; boundary=x", 422),
        (b"no boundary", "multipart/form-data", 422),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--',
            "multipart/form-data; boundary=x",
            422,
        ),
        (b"", "application/octet-stream", 422),
        (b"x" * 2000, "application/octet-stream", 413),
    ],
)
async def test_a_body_that_is_no_file_leaves_nothing_behind(content: bytes, kind: str, status: int) -> None:
    async with open_door(vault={"max_export_bytes": 1000}) as door:
        answer = await door.http.post("/import", content=content, headers={"content-type": kind})
        assert answer.status_code == status, answer.text
        assert staged(door) == []


async def test_an_upload_that_waits_goes_when_something_is_forgotten() -> None:
    async with open_door() as door:
        talk = asked_and_answered("Quetzal", "I adore the quetzal bird.", "Noted.")
        ready = await uploaded(
            door, packed({"conversations.json": [talk, {"title": "Adores the quetzal bird"}]})
        )
        assert "quetzal" in json.dumps(ready).lower()
        changed = await door.house.app.memory.add(door.house.me, NewFact("Adores the quetzal bird"))
        await door.house.app.forgetting.forget(door.house.me, [changed.fact.id])
        assert staged(door) == []
        now = (await door.http.get(f"/import/{ready['id']}")).json()
        assert "Adores the quetzal bird" not in json.dumps(now)
        refused = await door.http.post(f"/import/{ready['id']}/apply", json={})
        assert refused.status_code == 422
        assert "Upload it again" in refused.json()["detail"]


async def test_an_upload_that_comes_while_something_is_forgotten_is_looked_through() -> None:
    async with open_door() as door:

        async def slowly() -> AsyncGenerator[bytes]:
            yield b"# Mine\n"
            while not await anyio.to_thread.run_sync(staged, door):
                await anyio.lowlevel.checkpoint()
            await door.house.app.importing.scrub(door.house.me.owner)
            yield b"and more"

        answer = await door.http.post("/import?name=notes.md", content=slowly())
        assert (await ended(door, answer.json()["id"]))["state"] == "ready"


async def test_an_import_that_its_process_did_not_end_goes_on_when_it_is_asked_to() -> None:
    async with open_door() as door:
        ready = await uploaded(door)
        importing = door.house.app.importing
        import msgspec

        held = await importing.get(door.house.me, ready["id"])
        await importing.keep(door.house.me, msgspec.structs.replace(held, state="applying", process="gone"))
        assert (await door.http.get(f"/import/{ready['id']}")).json()["state"] == "stopped"
        await door.http.post(f"/import/{ready['id']}/apply", json={})
        assert (await ended(door, ready["id"]))["state"] == "done"


async def test_a_program_that_sees_less_of_the_vault_is_told_no_names_and_topics() -> None:
    async with open_door() as door:
        notes = {f"zebulon {n}.md": "# Zebulon\n\nZebulon zebulon" for n in range(3)}
        ready = await uploaded(door, packed({**notes, "zebulon.png": b"\x89PNG"}), "notes.zip")
        assert "zebulon" in json.dumps(ready["preview"]).lower()
        await door.http.post("/vault/filters", json={"field": "salary"})
        program = {"Authorization": "Bearer some-program"}
        seen = (await door.http.get(f"/import/{ready['id']}", headers=program)).json()
        assert "zebulon" not in json.dumps(seen["preview"]).lower()
        assert seen["preview"]["pages"]["new"] == 4  # the page of their topic, too
        assert (await door.http.get(f"/import/{ready['id']}")).json() == ready
