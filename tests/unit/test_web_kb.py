"""`/kb`: bases are listed, searched, exported, imported and removed."""

from __future__ import annotations

import pytest

from tests.door import Door, open_door
from tests.library import added, plain_reading

assert plain_reading
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]


async def filled(door: Door) -> None:
    await door.http.post("/documents/collections", json={"name": "Animals", "description": "Of Africa"})
    await added(door, b"# Zebra\n\nA zebra has stripes.", "zebra.md", collection="Animals")
    await added(door, b"A horse has hooves.", "horse.txt")


async def test_a_base_is_listed_searched_and_removed() -> None:
    async with open_door() as door:
        await filled(door)
        (base,) = (await door.http.get("/kb")).json()["items"]
        assert (base["name"], base["description"], base["documents"]) == ("Animals", "Of Africa", 1)
        whole = (await door.http.get(f"/kb/{base['id']}")).json()
        assert whole == base | {"waiting": 0, "failed": 0, "pages": 1, "passages": 1}
        found = (await door.http.post("/kb/animals/search", json={"query": "zebra stripes"})).json()
        (hit,) = found["items"]
        assert (hit["name"], hit["heading"], found["note"]) == ("zebra.md", "Zebra", "")
        assert "stripes" in hit["text"]
        none = (await door.http.post("/kb/Animals/search", json={"query": "hooves"})).json()
        assert none == {"items": [], "note": "Nothing in this knowledge base answers this."}
        assert (await door.http.delete("/kb/Animals")).status_code == 204
        assert (await door.http.get("/kb/Animals")).status_code == 404
        assert [one["name"] for one in (await door.http.get("/documents")).json()["items"]] == ["horse.txt"]


async def test_a_base_is_exported_and_imported() -> None:
    async with open_door() as door:
        await filled(door)
        archive = await door.http.get("/kb/Animals/export", params={"originals": True})
        assert archive.headers["content-type"] == "application/gzip"
        assert archive.headers["content-disposition"] == "attachment; filename*=utf-8''Animals.tar.gz"
    async with open_door() as door:
        answer = await door.http.post("/kb/import", files={"file": ("kb.tar.gz", archive.content)})
        assert (answer.status_code, answer.json()["name"], answer.json()["counts"]["originals"]) == (
            *(201, "Animals", 1),
        )
        twice = await door.http.post("/kb/import", files={"file": ("kb.tar.gz", archive.content)})
        assert (twice.status_code, "already" in twice.json()["detail"]) == (422, True)
        named = await door.http.post("/kb/import?name=Copy", content=archive.content)
        assert (named.status_code, named.json()["name"]) == (201, "Copy")
        found = (await door.http.post("/kb/Copy/search", json={"query": "zebra stripes"})).json()
        assert [hit["name"] for hit in found["items"]] == ["zebra.md"]
        for content in (b"", b"no archive", archive.content[:-20]):
            refused = await door.http.post("/kb/import?name=Third", content=content)
            assert refused.status_code == 422, refused.text
        assert len((await door.http.get("/kb")).json()["items"]) == 2


async def test_an_archive_beyond_the_setting_is_refused() -> None:
    async with open_door(kb_max_archive_bytes=1_000) as door:
        refused = await door.http.post("/kb/import", content=bytes(2_000))
    assert refused.status_code == 413
    assert "BETHINK_KB_MAX_ARCHIVE_BYTES" in refused.json()["detail"]


@pytest.mark.parametrize(
    "body", [{}, {"query": ""}, {"query": "x", "limit": 0}, {"query": "x", "min_similarity": 2}]
)
async def test_a_question_that_is_not_valid_is_refused(body: dict[str, object]) -> None:
    async with open_door() as door:
        await filled(door)
        assert (await door.http.post("/kb/Animals/search", json=body)).status_code == 422
