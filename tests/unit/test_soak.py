"""The soak sees what is lost, in disorder or there twice: it is tried on a server that tells all of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from benchmarks.soak import STORY, Found, Kept, compare, page_of

pytestmark = pytest.mark.anyio

PATH = "soak/client 1.md"


def kept() -> Kept:
    """What clients were told: one talk with two answers, a memory, a file and a page."""
    return Kept(
        conversations=["c"],
        messages={"m1": ("c", "one"), "m2": ("c", "two")},
        runs={"r1": "c", "r2": "c"},
        done={"r1"},
        seen={"r1": len(STORY), "r2": 900},
        memories={"f": "Box"},
        files={"a": b"body"},
        pages={PATH: (3, 4)},
    )


def told(
    *,
    first: str = STORY,
    second: str = STORY[:880],
    facts: tuple[tuple[str, str], ...] = (("f", "Box"),),
    body: bytes = b"body",
    page: str = page_of(PATH, 4),
    users: tuple[tuple[str, str], ...] = (("m1", "one"), ("m2", "two")),
) -> Callable[[httpx2.Request], httpx2.Response]:
    """A server that has this."""
    answers = [{"id": f"a{run}", "role": "assistant", "run": run, "content": text} for run, text in
               (("r1", first), ("r2", second))]  # fmt: skip
    said = [{"id": id, "role": "user", "run": "r", "content": content} for id, content in users]
    bodies: dict[str, dict[str, Any]] = {
        "/conversations": {"items": [{"id": "c"}], "cursor": None},
        "/conversations/c": {"messages": [*said, *answers], "cursor": None},
        "/memories": {"items": [{"id": id, "content": content} for id, content in facts], "cursor": None},
        f"/vault/pages/{PATH}": {"text": page},
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/files/a":
            return httpx2.Response(200, content=body) if body else httpx2.Response(404)
        return httpx2.Response(200, json=bodies[request.url.path])

    return answer


async def found(answer: Callable[[httpx2.Request], httpx2.Response]) -> Found:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), base_url="http://here") as http:
        return await compare(http, kept())


async def test_what_is_whole_has_no_fault_though_an_answer_was_broken_off() -> None:
    whole = await found(told())
    assert (whole.faults, whole.shorter) == ({}, 20)
    # The edit that was not acknowledged may be there, or not.
    assert (await found(told(page=page_of(PATH, 3)))).faults == {}


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        (told(users=(("m1", "one"),)), ("messages", "lost")),
        (told(users=(("m1", "one"), ("m2", "two"), ("m3", "two"))), ("messages", "twice")),
        (told(first=STORY[:-1]), ("answers", "lost")),
        (told(second=STORY[:200] + STORY[400:600] + STORY[200:400]), ("answers", "disorder")),
        (told(facts=()), ("memories", "lost")),
        (told(facts=(("f", "Box"), ("g", "Box"))), ("memories", "twice")),
        (told(facts=(("f", "Bag"),)), ("memories", "disorder")),
        (told(body=b""), ("files", "lost")),
        (told(body=b"other"), ("files", "disorder")),
        (told(page=page_of(PATH, 2)), ("pages", "lost")),
    ],
)
async def test_each_fault_is_seen_and_named(
    server: Callable[[httpx2.Request], httpx2.Response], fault: tuple[str, str]
) -> None:
    assert list((await found(server)).faults) == [fault]
