"""Tasks that run for ever: whatever breaks one, the server goes on, says so, and starts it again."""

from __future__ import annotations

import ast
import functools
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

import bethink
from bethink.agent.records import JournalEntry, Run
from bethink.app import open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.events import Place, RunDone, Warned
from bethink.llm.scripted import ScriptedLlm
from bethink.ports import open_ports
from bethink.settings import DialDoor, Settings
from bethink.store import Change, Put
from bethink.telemetry import Supervisor
from tests.door import DONE, Door, open_door
from tests.house import ports_of
from tests.supervised import InjectedError, Trial, broken

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def tried(data: Path) -> AsyncGenerator[tuple[Trial, Door]]:
    trial = Trial()
    ports = replace(ports_of(ScriptedLlm(lambda _: "Hello.")), supervisor=trial)
    dial = DialDoor(enabled=True, url="http://127.0.0.1:9")
    servers = {"there": {"url": "http://127.0.0.1:9/mcp"}}
    async with open_door(ports=ports, data_dir=data, dial=dial, mcp_servers=servers) as door:
        await anyio.wait_all_tasks_blocked()
        yield trial, door


async def background(door: Door) -> tuple[str, str | None]:
    part = (await door.http.get("/health")).json()["parts"]["background"]
    return part["status"], part["message"]


SERVED_ELSEWHERE = {
    "changes that MCP clients follow",
    "conversations that MCP clients follow",
    "conversations in Redis",
    "copies of files",
    "files on their way to S3",
    "interpreters held ready",
    "interpreters that are unused",
    "notices in PostgreSQL",
    "notices of other processes",
    "notices that have arrived",
    "that this process lives",
    "that this process lives, in PostgreSQL",
    "the embedding model",
    "turns to learn from",
}
"""Tasks that need more than this house has; each has a test of its own, but for the buses."""

BOUNDED = {
    ("calendar_sync/service.py", "listen"): "ends with the supervised task that it is part of",
    ("documents/folder_watch.py", "self._listen"): "ends with the supervised task that it is part of",
    ("documents/folder_watch.py", "self._look_when_due"): "ends with the supervised task that it is part of",
    ("documents/ingest.py", "self._read_each"): "ends with the supervised task that it is part of",
    ("documents/ingest.py", "self._renew"): "ends with the supervised task that it is part of",
    ("engines/postgres/index.py", "self._make"): "one making of tables, whose failure is recorded",
    ("importing/jobs.py", "partial"): "one import, whose outcome is recorded",
    ("schedules/clock.py", "self._listen"): "ends with the supervised task that it is part of",
    ("schedules/clock.py", "self._in_turn"): "one thing that is due, recorded",
    ("recall/passages.py", "one"): "one file of a request",
    ("redis_mirror/service.py", "listen"): "ends with the supervised task that it is part of",
    ("agent/post_turn.py", "self._work"): "the turns of one owner, each recorded",
    ("agent/recorder.py", "_flush"): "one write, recorded",
    ("agent/reflection.py", "self._guarded"): "one tidying, whose outcome is recorded",
    ("agent/runs.py", "self._drive"): "one run, whose end tells what broke it",
    ("agent/signals.py", "self._tell_on"): "ends with the run, or the supervised task that it is part of",
    ("agent/toolbox.py", "call"): "one call, whose result says how it ended",
    ("child_process.py", "making"): "one start, awaited",
    ("child_process.py", "work"): "one end, awaited",
    ("cli/mcp_servers.py", "servers.connected"): "one look of a command",
    ("dial/sessions.py", "self._live"): "its opener is told",
    ("internet/pages.py", "_write"): "one reading",
    ("leases.py", "_renew"): "ends with the block that it is for, or ends it",
    ("llm/llamacpp.py", "_both"): "ends with its process",
    ("llm/llamacpp.py", "_drain"): "ends with its process",
    ("model_files.py", "self._run"): "one download, whose outcome is shown",
    ("mcp_client/connection.py", "self._live"): "one session, whose owner waits for it",
    ("mcp_client/sdk_session.py", "_listen"): "ends with its session, and records what breaks it",
    ("mcp_client/stdio.py", "child.listen"): "ends with its process",
    ("mcp_client/stdio.py", "child.read"): "ends with its process",
    ("mcp_client/stdio.py", "child.write"): "ends with its process",
    ("memory/service.py", "self._vectors"): "one embedding, awaited",
    ("sandbox/interpreters.py", "self._work"): "chooses the sandbox, and records what breaks that",
    ("sandbox/interpreters.py", "wiped"): "one removal, recorded",
    ("sandbox/kernel.py", "shown.follow"): "one execution",
    ("sandbox/kernel.py", "channels.reply"): "one execution",
    ("sandbox/kernel.py", "self._process.ended"): "one execution",
    ("sandbox/kernel.py", "self._run"): "one execution",
    ("sandbox/kernel.py", "self._stop"): "one execution",
    ("sandbox/process.py", "self._read"): "ends with its process",
    ("sandbox/process.py", "self._watch"): "ends with its process",
    ("vault/watch.py", "self._follow"): "ends with the supervised task that it is part of",
    ("vault/watch.py", "self._keep"): "ends with the supervised task that it is part of",
    ("vault/watch.py", "self._sync_all"): "ends with the supervised task that it is part of",
    ("web/sse.py", "_until_left"): "one request",
    ("web/sse.py", "self._end"): "one request",
    ("web/sse.py", "self._keep_alive"): "one request",
}
"""Tasks that nobody supervises, and why none of them can end the server."""


_STARTS = ("start_soon", "create_task", "tasks.start", "BackgroundTask")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules that start tasks, by their paths."""
    root = Path(bethink.__file__).parent
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if any(word in text for word in _STARTS):
            yield file.relative_to(root).as_posix(), ast.parse(text)


@functools.cache
def started() -> tuple[set[str], set[tuple[str, str]]]:
    """The names under which tasks are supervised, and the other tasks, by file and what they run."""
    names: set[str] = set()
    others: set[tuple[str, str]] = set()
    for place, tree in modules():
        names |= _always_at_work(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in {"start_soon", "create_task", "start"} or not node.args:
                continue
            work, arguments = node.args[0], node.args[1:]
            if isinstance(work, ast.Call) and node.func.attr == "create_task":
                work, arguments = work.func, work.args
            if node.func.attr == "start" and not ast.unparse(node.func.value).endswith("tasks"):
                continue
            if ast.unparse(work).rpartition(".")[2].strip("_") != "supervise":
                others.add((place, ast.unparse(work.func if isinstance(work, ast.Call) else work)))
            elif isinstance(arguments[0], ast.Constant):
                names.add(str(arguments[0].value))
    return names, others


def _always_at_work(tree: ast.Module) -> set[str]:
    """The names of features' own tasks that run not only while others are served."""
    made = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    tasks = [
        {word.arg: word.value for word in node.keywords}
        for node in made
        if isinstance(node.func, ast.Name) and node.func.id == "BackgroundTask"
    ]
    return {ast.literal_eval(task["name"]) for task in tasks if "served" not in task}


async def test_every_task_that_is_started_is_supervised_or_ends_by_itself() -> None:
    _, others = started()
    assert others == set(BOUNDED)


async def test_no_task_that_runs_for_ever_ends_the_server_and_each_is_told_of_and_started_again(
    tmp_path: Path,
) -> None:
    async with tried(tmp_path) as (trial, door), anyio.create_task_group() as tasks:
        app = door.house.app
        tasks.start_soon(trial.supervise, "watching of vaults", app.watching.watch)
        await door.http.post(
            "/openai/deployments/bethink/chat/completions",
            json={"messages": [{"role": "user", "content": "Hi"}]},
            headers={"api-key": "k"},
        )
        await anyio.wait_all_tasks_blocked()
        assert set(trial.loops) - {"the MCP server there"} == started()[0] - SERVED_ELSEWHERE
        for name in set(trial.loops):
            if name in trial.ended:
                assert name == "lines of an earlier process"  # looked for once, two seconds after the start
                continue
            await broken(trial, name)
            status, message = await background(door)
            assert status == "degraded"
            assert f"{name} stopped unexpectedly (InjectedError)" in (message or "")
            assert (await door.chat(await door.new(), "Hi")).json()["reason"] == "answered"
        tasks.cancel_scope.cancel()


class _Stumbling(MemoryStore):
    """A store that breaks as none should, once, at whatever `at` names."""

    at: str | None = None
    scrubbed: int = 0

    def _stumble(self, at: str) -> None:
        if self.at == at:
            self.at = None
            raise InjectedError

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        self._stumble("scrub")
        self.scrubbed += 1
        return await super().scrub(owner)

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        for change in changes:
            match change:
                case Put(record=Run(state="ended")):
                    self._stumble("the end of a run")
                case Put(record=JournalEntry()):
                    self._stumble("journal")
                case _:
                    pass
        await super().commit(owner, changes)


@asynccontextmanager
async def stumbling(llm: ScriptedLlm | None = None) -> AsyncGenerator[tuple[_Stumbling, Door]]:
    ports = ports_of(llm)
    assert isinstance(ports.index, MemoryIndex)
    store = _Stumbling(ports.index)
    async with open_door(ports=replace(ports, store=store, supervisor=Supervisor(pauses_s=(0,)))) as door:
        yield store, door


async def test_traces_of_what_was_deleted_go_although_the_first_try_broke() -> None:
    async with stumbling() as (store, door):
        store.at = "scrub"
        door.house.app.background.ask_scrub("ann")
        with anyio.fail_after(30):
            while not store.scrubbed:
                await anyio.lowlevel.checkpoint()
        assert (await background(door))[0] == "degraded"


async def test_an_answer_whose_end_breaks_is_failed_and_says_so_and_the_next_is_answered() -> None:
    async with stumbling(ScriptedLlm(["To Lisbon.", "To Porto."])) as (store, door):
        conversation = await door.new()
        store.at = "the end of a run"
        told = await door.streamed(conversation, "Where to?")
        failed = [frame.data for frame in told if frame.data != DONE][-2:]
        again = (await door.chat(conversation, "And then?")).json()
        shown = (await door.http.get(f"/conversations/{conversation}")).json()["messages"]
    assert (failed[0]["kind"], failed[0]["code"]) == ("run_failed", "internal")
    assert "failed at its end" in failed[0]["message"]
    assert (failed[1]["kind"], failed[1]["reason"]) == ("run_done", "failed")
    assert again["message"]["content"] == "To Porto."
    assert [message["content"] for message in shown] == ["Where to?", "To Lisbon.", "And then?", "To Porto."]
    assert (shown[1]["stop_reason"], shown[1]["note"]) == ("failed", failed[0]["message"])


async def test_a_journal_that_cannot_be_written_is_told_in_its_own_run_and_stops_no_other() -> None:
    gate = anyio.Event()
    async with stumbling(ScriptedLlm(lambda _: ["To Lisbon.", gate])) as (store, door):
        house = door.house
        store.at = "journal"
        one = await house.app.runs.start(house.me, await house.new(), "Where to?")
        other = await house.app.runs.start(house.me, await house.new(), "Where to?")
        with anyio.fail_after(30):
            while not await house.app.runs.stored.events(house.me, other, Place(0)):
                await anyio.lowlevel.checkpoint()
        gate.set()
        told = await house.events(one) + await house.events(other)
    assert [event.message for event in told if isinstance(event, Warned)] == [
        "The answer is not saved while it streams: InjectedError"
    ]
    assert [event.reason for event in told if isinstance(event, RunDone)] == ["answered", "answered"]


class _LateEmbeddings(HashingEmbeddings):
    """An embedder that breaks as none should when it is first loaded."""

    loads = 0

    async def load(self) -> None:
        self.loads += 1
        if self.loads == 1:
            raise InjectedError
        await super().load()


async def test_an_embedding_model_that_breaks_while_it_is_loaded_is_loaded_again() -> None:
    embeddings = _LateEmbeddings()
    ports = replace(ports_of(embeddings=embeddings), supervisor=Supervisor(pauses_s=(0,)))
    async with open_door(ports=ports) as door:
        await ports.supervisor.supervise("the embedding model", door.house.app.background.ready_embedder)
        status, message = await background(door)
        assert status == "degraded"
        assert "the embedding model stopped unexpectedly (InjectedError)" in (message or "")
    assert embeddings.loads == 2


async def test_conversations_go_to_redis_again_after_what_brings_them_broke(tmp_path: Path) -> None:
    trial = Trial()
    given = Settings.model_validate(
        {
            "data_dir": tmp_path,
            "redis_url": "redis://127.0.0.1:9/0",
            "code_enabled": False,
            "web_enabled": False,
        }
    )
    async with (
        open_ports(given) as ports,
        open_app(given, replace(ports, embeddings=HashingEmbeddings(), llm=None, supervisor=trial)) as app,
    ):
        await anyio.wait_all_tasks_blocked()
        await broken(trial, "conversations in Redis")
        assert app.sharing is not None
        app.sharing.fault = None
        with anyio.fail_after(30):
            while app.sharing.fault is None:
                await anyio.lowlevel.checkpoint()
