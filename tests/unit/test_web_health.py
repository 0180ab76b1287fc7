"""What a Bethink says of itself over HTTP: health, settings, its interface's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import httpx2
import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import EmbeddingsUnavailable
from bethink.llm.script import ScriptedCall
from bethink.llm.scripted import ScriptedLlm
from bethink.web.ui import NOT_BUILT, Interface
from tests.door import Door, called, open_door
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class AbsentEmbeddings(HashingEmbeddings):
    """A model whose files are not there."""

    @property
    def unavailable(self) -> str | None:
        return "the model's files are missing."

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbeddingsUnavailable


async def model_part(door: Door) -> dict[str, str | None]:
    """What is said of the model once its probe has ended."""
    while True:
        part = (await door.http.get("/health")).json()["parts"]["model"]
        if part["status"] != "loading":
            return part
        await anyio.lowlevel.checkpoint()


@pytest.mark.requirement("R112", "U6")
async def test_health_has_the_documented_fields_and_every_part() -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        assert await model_part(door) == {"status": "ok", "message": None}
        answer = (await door.http.get("/health")).json()
    assert (answer["status"], answer["conversation_manager_initialized"]) == ("ok", True)
    assert {name: part["status"] for name, part in answer["parts"].items()} == {
        "store": "ok",
        "embeddings": "ok",
        "model": "ok",
        "extraction": "off",
        "bus": "ok",
        "web": "off",
        "mcp": "off",
        "sandbox": "off",
        "redis": "off",
        "vault": "off",
        "memory_agent": "ok",
    }


async def test_health_asks_the_model_nothing() -> None:
    llm = ScriptedLlm(["Hello"])
    async with open_door(llm) as door:
        await model_part(door)
    assert llm.requests == []


async def test_without_a_model_health_is_fine_and_says_how_to_set_one() -> None:
    async with open_door(None) as door:
        answer = (await door.http.get("/health")).json()
    assert (answer["status"], answer["parts"]["model"]["status"]) == ("ok", "off")
    assert "BETHINK_MODEL" in answer["parts"]["model"]["message"]


async def test_a_model_that_cannot_be_reached_degrades_health_and_says_why() -> None:
    async with open_door(ScriptedLlm(unreachable="Nothing listens on port 1.")) as door:
        assert await model_part(door) == {"status": "degraded", "message": "Nothing listens on port 1."}
        answer = await door.http.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


async def test_missing_embeddings_are_told_by_health_and_by_recall() -> None:
    async with open_door(ports=ports_of(embeddings=AbsentEmbeddings())) as door:
        told = "Recall goes by words only: the model's files are missing."
        assert (await door.http.get("/health")).json()["parts"]["embeddings"] == {
            "status": "degraded",
            "message": told,
        }
        found = (await door.http.get("/recall?query=x")).json()
        assert (found["items"], found["warnings"]) == ([], [told])
        door.house.app.background.progress = "downloading (5 %)"
        loading = (await door.http.get("/health")).json()
    assert loading["parts"]["embeddings"] == {"status": "loading", "message": "downloading (5 %)"}
    assert loading["status"] == "ok"


async def test_settings_show_bounds_and_no_key() -> None:
    async with open_door(None, max_steps=7, model_api_key="sk-secret", openai_api_key="sk-other") as door:
        answer = await door.http.get("/settings")
    shown = answer.json()
    assert (shown["model"], shown["bounds"]["max_steps"], shown["recall_limit"]) == (None, 7, 5)
    assert "BETHINK_MODEL" in shown["model_help"]
    assert "sk-" not in answer.text


@pytest.mark.requirement("R205", "R7")
async def test_metrics_count_runs_calls_and_tokens() -> None:
    script = [[ScriptedCall("store_memory", {"content": "Lives in Paris"})], 'Noted "Paris".']
    async with open_door(ScriptedLlm(script, name='scripted:"x"')) as door:
        before = (await door.http.get("/metrics")).text
        answer = (await door.chat(await door.new(), "I live in Paris")).json()
        shown = await door.http.get("/metrics")
    assert shown.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "bethink_runs_started_total 0\n" in before
    tokens = answer["usage"]["input_tokens"]
    for line in (
        "# TYPE bethink_runs_ended_total counter",
        "bethink_runs_live 0",
        "bethink_runs_started_total 1",
        'bethink_runs_ended_total{reason="answered"} 1',
        'bethink_tool_calls_total{tool="store_memory",outcome="ok"} 1',
        f'bethink_tokens_total{{model="scripted:\\"x\\"",job="chat",direction="in"}} {tokens}',
    ):
        assert f"{line}\n" in shown.text


async def served(folder: Path, path: str, accept: str = "*/*", etag: str = "") -> httpx2.Response:
    """What the interface in `folder` answers, before an API without any route."""

    async def nothing(scope: object, receive: object, send: object) -> None:
        await interface.file(scope, receive, send)  # pyright: ignore[reportArgumentType]

    interface = Interface(nothing, folder)
    transport = httpx2.ASGITransport(interface, raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return await http.get(path, headers={"Accept": accept, "If-None-Match": etag})


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A built interface."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Bethink</title>")
    (tmp_path / "icon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "main-1a2b.js").write_text("1")
    (tmp_path.parent / "secret.txt").write_text("secret")
    return tmp_path


@pytest.mark.requirement("R111")
@pytest.mark.parametrize("path", ["/", "/c/123", "/memory", "/settings", "/tasks/7"])
async def test_a_browser_gets_the_page_for_every_room(built: Path, path: str) -> None:
    answer = await served(built, path, HTML["Accept"])
    assert (answer.status_code, answer.text) == (200, "<title>Bethink</title>")
    assert answer.headers["cache-control"] == "no-cache"


async def test_hashed_files_may_be_kept_for_ever_and_others_not(built: Path) -> None:
    script, icon = await served(built, "/assets/main-1a2b.js"), await served(built, "/icon.svg")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"].startswith("text/javascript")
    assert (icon.headers["cache-control"], icon.headers["content-type"]) == ("no-cache", "image/svg+xml")


async def test_a_file_that_the_browser_has_is_not_sent_again(built: Path) -> None:
    first = await served(built, "/icon.svg")
    again = await served(built, "/icon.svg", etag=first.headers["etag"])
    assert (again.status_code, again.content, again.headers["cache-control"]) == (304, b"", "no-cache")


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/nowhere", "application/json"),
        ("/assets/gone-0000.js", HTML["Accept"]),
        ("/assets/", HTML["Accept"]),
        ("/../secret.txt", "*/*"),
        ("/%2e%2e/secret.txt", "*/*"),
        ("/assets/..%2f..%2fsecret.txt", "*/*"),
        ("http://localhost//secret.txt", "*/*"),
        ("/x%00y", "*/*"),
    ],
)
async def test_what_is_not_a_file_of_the_interface_is_not_served(built: Path, path: str, accept: str) -> None:
    with pytest.raises(Exception, match="404"):
        await served(built, path, accept)


async def test_without_a_built_interface_the_front_page_says_how_to_build_it(tmp_path: Path) -> None:
    answer = await served(tmp_path / "static", "/", HTML["Accept"])
    assert (answer.status_code, answer.text) == (200, NOT_BUILT)
    assert (await served(tmp_path / "static", "/settings", HTML["Accept"])).status_code == 404


async def test_a_program_gets_data_where_a_browser_gets_the_page() -> None:
    async with open_house() as house, called(house) as http:
        data = await http.get("/settings", headers={"Accept": "application/json"})
        page = await http.get("/settings", headers=HTML)
    assert data.headers["content-type"] == "application/json"
    assert page.headers["content-type"].startswith("text/")
