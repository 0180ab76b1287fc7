"""What a Bethink says of itself over HTTP: health, settings, its interface's files."""

from __future__ import annotations

import gzip
import resource
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
from numpy.typing import NDArray

from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import EmbeddingsUnavailable
from bethink.events import TextDelta
from bethink.llm import Delta, Finish, LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.web.ui import NOT_BUILT, Interface
from tests.door import Door, called, open_door, open_server
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class HeldLlm(ScriptedLlm):
    """Ends its answer when it may."""

    def __init__(self) -> None:
        super().__init__([])
        self.is_asked, self.may_answer = anyio.Event(), anyio.Event()

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        del request
        yield TextDelta(text="One, ")
        self.is_asked.set()
        await self.may_answer.wait()
        yield TextDelta(text="two.")
        yield Finish(reason="stop", model="m")


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


async def test_health_says_that_memory_is_off() -> None:
    async with open_door(memory_enabled=False) as door:
        answer = (await door.http.get("/health")).json()
    assert answer["parts"]["memory"]["status"] == "off"
    assert "BETHINK_MEMORY_ENABLED" in answer["parts"]["memory"]["message"]


@pytest.mark.requirement("R112", "U6")
async def test_health_has_the_documented_fields_and_every_part() -> None:
    async with open_door(ScriptedLlm(["Hello"])) as door:
        assert await model_part(door) == {"status": "ok", "message": None}
        answer = (await door.http.get("/health")).json()
    assert (answer["status"], answer["conversation_manager_initialized"]) == ("ok", True)
    assert {name: part["status"] for name, part in answer["parts"].items()} == {
        "store": "ok",
        "files": "ok",
        "embeddings": "ok",
        "model": "ok",
        "extraction": "off",
        "bus": "ok",
        "web": "off",
        "mcp": "off",
        "sandbox": "off",
        "documents": "ok",
        "schedules": "ok",
        "redis": "off",
        "vault": "off",
        "calendar": "off",
        "memory": "ok",
        "memory_agent": "ok",
        "backups": "ok",
        "background": "ok",
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
    assert (shown["model"], shown["bounds"]["max_steps"], shown["recall_limit"]) == (None, 7, 12)
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


async def test_metrics_time_answers_searches_and_requests_and_count_what_is_searched() -> None:
    script = [[ScriptedCall("store_memory", {"content": "Lives in Paris"})], "Noted."]
    async with open_door(ScriptedLlm(script)) as door:
        await door.chat(await door.new(), "I live in Paris")
        await door.http.get("/recall?query=Paris")
        await door.http.request("INVENTED", "/nowhere")
        shown = samples((await door.http.get("/metrics")).text)
    assert shown["first_text_seconds_count"] == shown["turn_seconds_count"] == 1
    assert shown['turn_seconds_bucket{le="+Inf"}'] == 1
    assert shown["recall_seconds_count"] >= 1
    assert shown['requests_total{method="POST",status="200"}'] >= 1
    assert any(name.startswith('requests_total{method="other"') for name in shown)
    assert shown["request_seconds_count"] >= 3
    assert shown['indexed{kind="facts"}'] == 1
    assert shown['indexed{kind="messages"}'] >= 2
    assert (shown["forgettings_total"], shown["streams_live"], shown["backups"]) == (0, 0, 0)
    counts = [value for name, value in shown.items() if name.startswith("turn_seconds_bucket")]
    assert counts == sorted(counts)


async def test_metrics_count_all_owners_for_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    async with open_door() as door:
        store = door.house.app.ports.store
        count = store.count

        async def counted(owner: str, *rest: Any) -> int:  # noqa: ANN401 - as it is
            asked.append(owner)
            await anyio.sleep(0.01)
            return await count(owner, *rest)

        monkeypatch.setattr(store, "count", counted)
        await door.http.post("/memories", json={"content": "Lives in Paris"})
        for _ in range(20):
            assert samples((await door.http.get("/metrics")).text)['indexed{kind="facts"}'] == 1
    assert 0 < len(asked) <= 10


async def test_metrics_know_an_open_stream_and_what_was_forgotten() -> None:
    llm = HeldLlm()
    async with open_server(llm) as door:
        await door.http.post("/memories", json={"content": "Lives in Paris"})
        async with door.stream(await door.new(), "Hi") as coming:
            await anext(coming)
            during = samples((await door.http.get("/metrics")).text)
            llm.may_answer.set()
            async for _ in coming:
                pass
        (fact,) = (await door.http.get("/memories")).json()["items"]
        await door.house.app.forgetting.forget(door.house.me, [fact["id"]])
        after = samples((await door.http.get("/metrics")).text)
    assert (during["streams_live"], after["streams_live"]) == (1, 0)
    assert after["forgettings_total"] == 1


def samples(shown: str) -> dict[str, float]:
    """The values of Prometheus' text format, by their names without the prefix."""
    lines = [line.rpartition(" ") for line in shown.splitlines() if not line.startswith("#")]
    return {name.removeprefix("bethink_"): float(value) for name, _, value in lines}


async def test_who_supervises_is_told_without_a_key_whether_it_lives_and_is_ready() -> None:
    async with open_door() as door:
        await door.house.app.accounts.register.add_user("ann")
        answers = [await door.http.get(path) for path in ("/livez", "/readyz")]
        heads = [await door.http.head(path) for path in ("/livez", "/readyz", "/health")]
    assert [each.status_code for each in heads] == [200] * 3
    assert [(each.status_code, each.json()) for each in answers] == [
        (200, {"status": "ok", "message": None})
    ] * 2


async def test_a_process_that_is_about_to_stop_finishes_its_answers_and_is_not_ready_for_more() -> None:
    llm = HeldLlm()
    async with open_door(llm) as door, anyio.create_task_group() as tasks:
        runs = door.house.app.runs
        run = await runs.start(door.house.me, await door.house.new(), "Hi")
        await llm.is_asked.wait()
        drained = anyio.Event()

        async def drain() -> None:
            await runs.drain(60)
            drained.set()

        tasks.start_soon(drain)
        await anyio.wait_all_tasks_blocked()
        unready = await door.http.get("/readyz")
        assert (unready.status_code, drained.is_set()) == (503, False)
        assert "about to stop" in unready.json()["message"]
        assert (await door.http.get("/livez")).status_code == 200
        llm.may_answer.set()
        await drained.wait()
        record = await runs.stored.get(door.house.me, run)
        assert (record.state, record.reason, runs.live) == ("ended", "answered", 0)


async def test_an_answer_that_takes_too_long_does_not_hold_up_the_stop() -> None:
    llm = HeldLlm()
    async with open_door(llm) as door:
        runs = door.house.app.runs
        await runs.start(door.house.me, await door.house.new(), "Hi")
        await llm.is_asked.wait()
        await runs.drain(0.05)
        assert runs.live == 1


async def served(
    folder: Path, path: str, accept: str = "*/*", *, etag: str = "", encoding: str | None = None
) -> httpx2.Response:
    """What the interface in `folder` answers, before an API without any route; with `encoding` unread."""

    async def nothing(scope: object, receive: object, send: object) -> None:
        await interface.file(scope, receive, send)  # pyright: ignore[reportArgumentType]

    interface = Interface(nothing, folder)
    transport = httpx2.ASGITransport(interface, raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        headers = {"Accept": accept, "If-None-Match": etag}
        if encoding is None:
            return await http.get(path, headers=headers)
        async with http.stream("GET", path, headers=headers | {"Accept-Encoding": encoding}) as answer:
            return answer


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


@contextmanager
def no_room_for_a_change() -> Generator[None]:
    """A limit on the size of files stands for the disk: the system refuses the same writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (128 * 1024, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_disk_without_room_degrades_the_store_until_there_is_some_again() -> None:
    async with open_door(None) as door:
        with no_room_for_a_change():
            full = await door.http.get("/health")
        after = await door.http.get("/health")
    # What is there can be read: a supervisor that starts it anew would mend nothing.
    assert (full.status_code, full.json()["status"]) == (200, "degraded")
    part = full.json()["parts"]["store"]
    assert part["status"] == "degraded"
    assert "nothing new is stored" in part["message"]
    assert after.json()["parts"]["store"] == {
        "status": "ok",
        "message": None,
        "engine": "SQLite",
        "sealed": False,
    }


async def test_strangers_are_told_that_nothing_new_is_kept_too() -> None:
    async with open_door(None) as door:
        await door.house.app.accounts.register.add_user("ann")
        with no_room_for_a_change():
            full = await door.http.get("/health")
    assert (full.json()["status"], full.json()["parts"]) == ("degraded", None)


async def test_a_data_directory_that_cannot_be_written_degrades_the_store() -> None:
    async with open_house(None) as house:
        app = replace(house.app, settings=house.app.settings.model_copy(update={"data_dir": Path("/proc")}))
        async with called(replace(house, app=app)) as http:
            part = (await http.get("/health")).json()["parts"]["store"]
    assert part["status"] == "degraded"
    assert "/proc cannot be written" in part["message"]


async def test_the_page_and_its_parts_are_sent_as_small_as_the_browser_can_read(built: Path) -> None:
    plain = "const text = 'said again and again';\n" * 200
    assets = built / "assets"
    packed = gzip.compress(plain.encode())
    for name, content in (("", plain.encode()), (".gz", packed), (".br", b"what brotli makes of it")):
        (assets / f"main-1a2b.js{name}").write_bytes(content)
    told: dict[str, tuple[str | None, int]] = {}
    for asked in ("gzip, deflate, br, zstd", "gzip", "br;q=0, gzip;q=0.5", "*", "identity", ""):
        answer = await served(built, "/assets/main-1a2b.js", encoding=asked)
        assert (answer.status_code, answer.headers["vary"]) == (200, "Accept-Encoding")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        told[asked] = (answer.headers.get("content-encoding"), int(answer.headers["content-length"]))
    sizes = {"br": 23, "gzip": len(packed), None: len(plain)}
    assert [encoding for encoding, _ in told.values()] == ["br", "gzip", "gzip", "br", None, None]
    assert all(size == sizes[encoding] for encoding, size in told.values())
    small, whole = [await served(built, "/assets/main-1a2b.js", encoding=one) for one in ("gzip", "identity")]
    assert small.headers["etag"] != whole.headers["etag"]
    page = await served(built, "/", HTML["Accept"], encoding="br")
    assert page.headers["vary"] == "Accept-Encoding, Accept"


def test_the_built_page_comes_compressed() -> None:
    page = Path(str(resources.files("bethink"))) / "static"
    scripts = [path for path in page.glob("assets/*.js") if path.stat().st_size > 10_000]
    if not scripts:
        pytest.skip("the page is not built")
    for path in scripts:
        for ending in (".br", ".gz"):
            assert path.with_name(f"{path.name}{ending}").stat().st_size < path.stat().st_size / 2


async def test_json_is_compressed_for_a_reader_on_another_machine_and_nothing_else_is() -> None:
    async with open_house() as house:
        ann = await house.app.accounts.register.add_user("ann", is_admin=True)
        key = {"api-key": (await house.app.accounts.register.add_key(ann.id, "laptop")).text}
        async with called(house, peer="203.0.113.9") as far, called(house) as here:
            large = await far.get("/openapi.json", headers=key)
            assert (large.headers["content-encoding"], large.headers["vary"]) == ("gzip", "Accept-Encoding")
            assert int(large.headers["content-length"]) < len(large.content) / 5
            assert large.json() == (await here.get("/openapi.json", headers=key)).json()
            for http, path, extra in (
                (here, "/openapi.json", {}),
                (far, "/openapi.json", {"accept-encoding": "identity"}),
                (far, "/session", {}),
                (far, "/vault/changes", {"accept": "text/event-stream"}),
            ):
                if "event-stream" in str(extra):
                    house.app.stopping.set()
                assert "content-encoding" not in (await http.get(path, headers=key | extra)).headers, path
