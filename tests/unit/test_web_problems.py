"""What goes wrong over HTTP is told as a problem that a person can read."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import CorruptDatabase
from bethink.store import Collection, R, RecordPage, Scan, Versioned
from tests.door import open_door
from tests.house import ports_of

pytestmark = pytest.mark.anyio


class BrokenStore(MemoryStore):
    """A store that fails as it is told, once an app has started on it."""

    def __init__(self, fault: Exception) -> None:
        super().__init__(MemoryIndex())
        self.fault = fault

    async def scan(self, owner: str, *scans: Scan[R]) -> list[RecordPage[R]]:
        if scans[0].collection.name == "forgettings":
            return [RecordPage()]
        raise self.fault

    async def get(
        self, collection: Collection[R], owner: str, ids: Sequence[str]
    ) -> tuple[Versioned[R] | None, ...]:
        if collection.name == "accounts_state":
            return tuple(None for _ in ids)
        raise self.fault


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_an_unknown_address_is_a_problem(method: str) -> None:
    async with open_door() as door:
        answer = await door.http.request(method, "/nowhere")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()) == (
        404,
        {
            "type": "urn:bethink:error:not_found",
            "title": "Not found",
            "status": 404,
            "detail": "There is nothing at /nowhere.",
        },
    )


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/memories", "DELETE, GET, POST"),
        ("DELETE", "/health", "GET"),
        ("OPTIONS", "/conversations/x", "DELETE, GET, PATCH"),
        ("GET", "/runs/x/cancel", "POST"),
    ],
)
async def test_a_wrong_method_names_the_right_ones(method: str, path: str, allowed: str) -> None:
    async with open_door() as door:
        answer = await door.http.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["detail"] == f"{method} does not exist for {path}; there is {allowed}."


@pytest.mark.parametrize(
    "body", ['{"content": "Café"}'.encode("latin-1"), b"\x1f\x8b\x08{}", b'{"n": ' + b"9" * 5_000 + b"}"]
)
@pytest.mark.parametrize("path", ["/memories", "/v1/chat/completions"])
async def test_a_body_in_another_encoding_is_told_which_one_is_read(path: str, body: bytes) -> None:
    async with open_door() as door:
        answer = await door.http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "The body cannot be read: send JSON as UTF-8, not compressed." in answer.text


@pytest.mark.parametrize(
    ("body", "media_type", "reason"),
    [
        (b'{"content": ', "application/json", "this is not JSON: Expecting value at character 12"),
        (b"", "application/json", "Field required"),
        (b'{"content": "x"}', "text/plain", "give a JSON object, with Content-Type: application/json"),
        (b"\xff\xfe", "application/json", None),
        (b"[" * 100_000, "application/json", None),
        (b'{"content": "\\ud800"}', "application/json", None),
        (b'{"content": "x", "importance": NaN}', "application/json", None),
        (b'{"content": "x", "importance": 1e999}', "application/json", None),
    ],
)
async def test_a_broken_body_is_the_callers_mistake(body: bytes, media_type: str, reason: str | None) -> None:
    async with open_door() as door:
        answer = await door.http.post("/memories", content=body, headers={"Content-Type": media_type})
    assert answer.status_code in {400, 422}
    assert answer.json()["type"] == "urn:bethink:error:bad_input"
    if reason:
        assert answer.json()["errors"] == [{"parameter": "body", "reason": reason}]


async def test_our_mistake_is_logged_and_told_without_its_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ports = ports_of(store=BrokenStore(RuntimeError("secret detail")))
    async with open_door(ports=ports) as door:
        answer = await door.http.get("/memories")
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:bethink:error:internal")
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    (record,) = [record for record in caplog.records if record.name == "bethink.web"]
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "GET /memories failed")
    assert "secret detail" in str(record.exc_info)


async def test_a_store_that_cannot_be_read_says_what_to_do() -> None:
    ports = ports_of(store=BrokenStore(CorruptDatabase()))
    async with open_door(ports=ports) as door:
        answer = await door.http.get("/memories/x")
        health = await door.http.get("/health")
        ready, live = await door.http.get("/readyz"), await door.http.get("/livez")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:bethink:error:corrupt_database")
    assert "restore a backup" in answer.json()["detail"]
    assert (health.status_code, health.json()["status"]) == (503, "degraded")
    message = answer.json()["detail"]
    assert (health.json()["message"], health.json()["parts"]) == (message, None)
    assert (ready.status_code, ready.json()) == (503, {"status": "unready", "message": message})
    assert (live.status_code, live.json()["status"]) == (200, "ok")
