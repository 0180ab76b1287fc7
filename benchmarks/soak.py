"""Clients that talk, remember, upload and write pages while the server is killed again and again.

`make soak ARGS="--minutes 60 --clients 20 --kill-every 60"` runs a real `bethink serve` over HTTP on a
scripted model. Each client writes down what was acknowledged to it; every so many seconds the server is
ended by SIGKILL and started anew over the same directory. With `--servers 3` there are three behind a proxy,
which hear of one another through a Redis, and one after the other is killed, but for the last that runs; a
client whose stream broke off goes on reading at another. With `--postgres` the records are in a PostgreSQL,
and it and the Redis are killed in their turn, too. Some questions are asked through the `openai` library, and
with `--browser` in a Chromium by a person at the page (`soak_page`). At the end all that was
acknowledged is looked for: each message and answer in its place and once, each answer's text as the model
says it as far as it goes, each memory, file and page, and what the database says of its files. Prints
tables; exits with 1 if anything is lost, in disorder or there twice.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import socket
import sqlite3
import sys
import tempfile
import time
from collections import Counter, deque
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import httpx2
import msgspec
import openai

from benchmarks.soak_page import Person
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule
from tests.balancer import balanced
from tests.postgres_server import PostgresServer, postgres_server
from tests.redis_server import RedisServer, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Engine = PostgresServer | RedisServer

STORY = " ".join(f"w{number:03}" for number in range(800))
"""What the model says to everything: 4 seconds of text, some eighty writes of the journal."""
_CHUNK, _DELAY_MS = 40, 40
_START_S = 900.0
"""A start may be slow where much else runs, and may have to be tried again while the database is away."""
_PAUSE_S = 0.2
_AWAY_S = 3.0
"""How long a database or a Redis that was killed is away."""
_TOLD, _TOLD_CHARS = 20, 300
_KINDS = ("messages", "answers", "openai", "browser", "memories", "files", "pages")
_TIMED = ("message kept", "first words", "gone on reading", "memory kept", "whole answer", "in the browser")
"""What is timed, in this order."""


@dataclass(slots=True)
class Kept:
    """What was tried and what was acknowledged, of all clients."""

    tried: Counter[str] = field(default_factory=Counter[str])
    messages: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """A message's id, with its conversation and text."""
    runs: dict[str, str] = field(default_factory=dict[str, str])
    """A run's id, with its conversation."""
    done: set[str] = field(default_factory=set[str])
    seen: dict[str, int] = field(default_factory=dict[str, int])
    """How many characters of a run's answer its reader saw."""
    conversations: list[str] = field(default_factory=list[str])
    memories: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    pages: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """A page's path, with the last revision that was acknowledged and the last that was tried."""
    openai: list[str] = field(default_factory=list[str])
    """What was said through the `openai` library, and answered to its end."""
    browser: dict[str, bool] = field(default_factory=dict[str, bool])
    """What was said on the page and shown to be kept, and whether its answer was shown whole."""
    stuck: list[str] = field(default_factory=list[str])
    """What was said on the page, which showed nothing new for too long."""
    resumed: int = 0
    """Streams that broke off and were read to their end at another connection."""
    took_s: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """How long what is timed took, each time."""

    def took(self, what: str, since: float) -> None:
        """Note how long one of `_TIMED` took."""
        self.took_s.setdefault(what, []).append(time.monotonic() - since)

    edits: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    broken: int = 0

    def acknowledged(self) -> dict[str, int]:
        """How many of each kind."""
        kinds = self.messages, self.done, self.openai, self.browser, self.memories, self.files
        return dict(zip(_KINDS, (*map(len, kinds), self.edits), strict=True))


class Server:
    """`bethink serve` on one port and one directory, however often it is started."""

    def __init__(self, data: Path, environment: dict[str, str]) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self._port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self.is_up = asyncio.Event()
        self.starts_s: list[float] = []
        self._data = data
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, again if it ends, and wait until it answers.

        Raises:
            RuntimeError: it does not.
        """
        begun = time.monotonic()
        while not await self._try_start():
            if time.monotonic() > begun + _START_S:
                raise RuntimeError(f"the server did not start: see {self._data.parent / 'server.log'}")
            await asyncio.sleep(1)
        self.starts_s.append(time.monotonic() - begun)
        self.is_up.set()

    async def _try_start(self) -> bool:
        command = [sys.executable, "-m", "bethink", "serve", "--port", str(self._port)]
        with (self._data.parent / "server.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*command, "--data", str(self._data)),
                env=self._environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        output = self._process.stdout
        async with asyncio.timeout(_START_S):
            line = b"" if output is None else await output.readline()
        return line.startswith(b"Bethink is at")

    async def kill(self) -> bool:
        """End it as a power cut would; False if it had ended by itself."""
        self.is_up.clear()
        has_run = self._process is not None and self._process.returncode is None
        if self._process is not None and has_run:
            self._process.kill()
            await self._process.wait()
        return has_run

    async def stop(self) -> None:
        """End it as a person would."""
        self.is_up.clear()
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()


@dataclass(slots=True)
class _Reading:
    """One answer as its reader sees it, over as many connections as it takes."""

    kept: Kept
    conversation: str
    content: str
    run: str = ""
    place: str = "0"
    is_over: bool = False
    has_words: bool = False
    asked_s: float = field(default_factory=time.monotonic)
    broken_s: float | None = None

    async def take(self, response: httpx2.Response) -> None:
        """Read until the end, or until the connection breaks off."""
        async for line in response.aiter_lines():
            if self.broken_s is not None and line.startswith("data: "):
                self.kept.took("gone on reading", self.broken_s)
                self.broken_s = None
            if line.startswith("id: "):
                self.place = line.removeprefix("id: ")
            elif line.startswith("data: {"):
                self._note(msgspec.json.decode(line.removeprefix("data: ")))

    def _note(self, event: dict[str, Any]) -> None:
        kept = self.kept
        match event["kind"]:
            case "run_started" if not self.run:
                self.run = event["run"]
                kept.messages[event["message"]] = self.conversation, self.content
                kept.runs[self.run] = self.conversation
                kept.took("message kept", self.asked_s)
            case "text_delta":
                if not self.has_words:
                    self.has_words = True
                    kept.took("first words", self.asked_s)
                kept.seen[self.run] = kept.seen.get(self.run, 0) + len(event["text"])
            case "text_so_far":
                kept.seen[self.run] = len(event["text"])
            case "run_done":
                self.is_over = True
                if event["reason"] == "answered":
                    kept.done.add(self.run)
                    kept.took("whole answer", self.asked_s)
                else:
                    kept.refused[f"an answer ended: {event['reason']}"] += 1
            case "run_failed":
                kept.refused[f"run_failed {event.get('message')}"] += 1
            case _:
                pass


class Fleet:
    """Servers on the same data, and what they stand on; of several, one after another is killed.

    A proxy leads to the servers that run; `engines` are killed in their turn, behind the servers.
    """

    def __init__(
        self, data: Path, environment: dict[str, str], count: int, *, engines: Sequence[Engine] = ()
    ) -> None:
        self.servers = [Server(data, environment) for _ in range(count)]
        self.engines = engines
        self.url = self.servers[0].url
        self.is_up = asyncio.Event()
        self.kills: Counter[str] = Counter()
        self.spared = 0
        """How often nothing was killed, since all else was down."""
        self.ended = 0
        """How often a server had ended by itself."""
        self._away: list[Engine] = []
        self._turns = deque[Server | Engine]([*self.servers, *engines])

    @property
    def starts_s(self) -> list[float]:
        """How long each start of a server took."""
        return [one for server in self.servers for one in server.starts_s]

    async def start(self) -> None:
        """Start those that do not run."""
        for server in self.servers:
            if not server.is_up.is_set():
                await server.start()
        self.is_up.set()

    async def strike(self, tasks: asyncio.TaskGroup) -> None:
        """End the next as a power cut would, and have it started anew among the tasks.

        Of several servers one is left, and none is waited for: the next in turn that runs dies instead.
        """
        next_one = next((one for one in self._turns if self._may_die(one)), None)
        if next_one is None:
            self.spared += 1
            return
        self._turns.remove(next_one)
        self._turns.append(next_one)
        self.kills[type(next_one).__name__] += 1
        if isinstance(next_one, Server):
            self.ended += not await next_one.kill()
            if not any(server.is_up.is_set() for server in self.servers):
                self.is_up.clear()
            tasks.create_task(self._start_again(next_one))
        else:
            self._away.append(next_one)
            await anyio.to_thread.run_sync(next_one.kill)
            tasks.create_task(self._bring_back(next_one))

    def _may_die(self, one: Server | Engine) -> bool:
        if isinstance(one, Server):
            running = sum(server.is_up.is_set() for server in self.servers)
            return one.is_up.is_set() and (running > 1 or len(self.servers) == 1)
        return one not in self._away

    async def _start_again(self, server: Server) -> None:
        await server.start()
        self.is_up.set()

    async def _bring_back(self, engine: Engine) -> None:
        await asyncio.sleep(_AWAY_S)
        await anyio.to_thread.run_sync(engine.start)
        self._away.remove(engine)

    async def stop(self) -> None:
        """End them as a person would."""
        self.is_up.clear()
        for server in self.servers:
            await server.stop()


class Client:
    """One person: what is done next is chance, what was acknowledged is written down."""

    def __init__(self, number: int, server: Fleet, kept: Kept, *, chance: random.Random) -> None:
        self._number = number
        self._server = server
        self._kept = kept
        self._chance = chance
        self._count = 0
        self._conversation: str | None = None
        self._http = httpx2.AsyncClient(base_url=server.url, timeout=60)
        # Who asks again by itself would not see what became of the first time.
        self._openai = openai.AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=60
        )

    async def live(self, until: float) -> None:
        """Go on until the time is over."""
        acts = (self._chat, self._ask, self._remember, self._upload, self._write)
        async with self._http, self._openai:
            while time.monotonic() < until:
                await self._server.is_up.wait()
                (act,) = self._chance.choices(acts, (4, 1, 3, 1, 3))
                self._count += 1
                try:
                    await act()
                except (httpx2.HTTPError, openai.APIConnectionError, OSError):
                    self._kept.broken += 1
                    await asyncio.sleep(_PAUSE_S)

    def _is_in(self, answer: httpx2.Response) -> bool:
        if answer.is_success:
            return True
        self._kept.refused[f"{answer.status_code} {answer.text[:_TOLD_CHARS]}"] += 1
        return False

    async def _talk(self) -> str | None:
        if self._conversation is None or self._chance.random() < 1 / 4:
            answer = await self._http.post("/conversations")
            if not self._is_in(answer):
                return None
            self._conversation = str(answer.json()["id"])
            self._kept.conversations.append(self._conversation)
        return self._conversation

    async def _chat(self) -> None:
        kept, conversation = self._kept, await self._talk()
        if conversation is None:
            return
        content = f"Client {self._number} asks for story {self._count}"
        kept.tried.update(("messages", "answers"))
        body = {"message": {"role": "user", "content": content}, "stream": True}
        reading = _Reading(kept, conversation, content)
        try:
            request = self._http.stream("POST", f"/conversations/{conversation}/chat", json=body)
            async with request as response:
                if response.is_error:
                    await response.aread()
                    self._is_in(response)
                    return
                await reading.take(response)
        except (httpx2.HTTPError, OSError):
            if not reading.run:
                raise
            kept.broken += 1
        reading.broken_s = time.monotonic()
        is_broken = not reading.is_over
        while reading.run and not reading.is_over:
            await asyncio.sleep(_PAUSE_S)
            await self._server.is_up.wait()
            with suppress(httpx2.HTTPError, OSError):
                headers = {"Last-Event-ID": reading.place}
                async with self._http.stream(
                    "GET", f"/runs/{reading.run}/events", headers=headers
                ) as response:
                    await reading.take(response)
        kept.resumed += is_broken and reading.is_over

    async def _ask(self) -> None:
        """Ask by the `openai` library; acknowledged is what is answered to its end."""
        content = f"Client {self._number} asks by openai for story {self._count}"
        self._kept.tried["openai"] += 1
        told = ""
        try:
            answer = await self._openai.chat.completions.create(
                model="bethink", messages=[{"role": "user", "content": content}], stream=True
            )
            async for chunk in answer:
                for choice in chunk.choices:
                    told += choice.delta.content or ""
                    if choice.finish_reason == "stop":
                        self._kept.openai.append(content)
        except openai.APIConnectionError:
            raise
        except openai.APIError as error:
            self._kept.refused[f"by openai: {error.message[:_TOLD_CHARS]}"] += 1
        if content in self._kept.openai[-1:] and told != STORY:
            self._kept.refused["by openai: an answer that says it is whole, and is not"] += 1

    async def _remember(self) -> None:
        content = f"Box {self._number}x{self._count} holds {self._chance.randbytes(6).hex()}"
        self._kept.tried["memories"] += 1
        begun = time.monotonic()
        answer = await self._http.post("/memories", json={"content": content})
        if self._is_in(answer):
            self._kept.took("memory kept", begun)
            self._kept.memories[answer.json()["memory"]["id"]] = content

    async def _upload(self) -> None:
        conversation = await self._talk()
        if conversation is None:
            return
        body = self._chance.randbytes(self._chance.randrange(1, 50_000))
        self._kept.tried["files"] += 1
        named = {"file": (f"{self._number}-{self._count}.bin", body)}
        answer = await self._http.post(f"/conversations/{conversation}/files", files=named)
        if self._is_in(answer):
            self._kept.files[answer.json()["id"]] = body

    async def _write(self) -> None:
        path = f"soak/client {self._number}.md"
        last, _ = self._kept.pages.get(path, (0, 0))
        self._kept.pages[path] = last, self._count
        self._kept.tried["pages"] += 1
        answer = await self._http.put(f"/vault/pages/{path}", json={"text": page_of(path, self._count)})
        if self._is_in(answer):
            self._kept.pages[path] = self._count, self._count
            self._kept.edits += 1


def page_of(path: str, revision: int) -> str:
    """What a revision of a page says."""
    return f"# {path}\n\nrevision {revision}\n\n" + f"Line of revision {revision}.\n" * 100


# --- what is left at the end ------------------------------------------------------


@dataclass(slots=True)
class Found:
    """The faults, by kind: `lost`, `disorder` and `twice`, each with what it is about."""

    faults: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    shorter: int = 0
    """How many characters a kept answer lacks at most of what its reader saw."""

    def add(self, kind: str, fault: str, what: str) -> None:
        """One fault more."""
        self.faults.setdefault((kind, fault), []).append(what)


async def compare(http: httpx2.AsyncClient, kept: Kept) -> Found:
    """Everything that was acknowledged beside what is there."""
    found = Found()
    await _compare_talks(http, kept, found)
    facts = await _all(http, "/memories", "items", limit=200)
    contents = {fact["id"]: fact["content"] for fact in facts}
    for id, content in kept.memories.items():
        if contents.get(id) != content:
            found.add("memories", "lost" if id not in contents else "disorder", f"{id}: {content}")
    _find_twice("memories", contents.values(), found)
    for id, body in kept.files.items():
        answer = await http.get(f"/files/{id}")
        if not answer.is_success:
            found.add("files", "lost", f"{id}: {answer.status_code}")
        elif answer.content != body:
            found.add("files", "disorder", id)
    for path, (acknowledged, tried) in kept.pages.items():
        await _compare_page(http, path, range(acknowledged, tried + 1), found=found)
    return found


def _find_twice(kind: str, texts: Iterable[str], found: Found) -> None:
    for text, count in Counter(texts).items():
        if count > 1:
            found.add(kind, "twice", f"{text} ({count} times)")


async def _compare_talks(http: httpx2.AsyncClient, kept: Kept, found: Found) -> None:
    for conversation in kept.conversations:
        await _compare_talk(http, kept, conversation, found=found)
    said: Counter[str] = Counter()
    answers: dict[str, str] = {}
    for held in await _all(http, "/conversations", "items", limit=100):
        if held["id"] not in kept.conversations:
            pairs = await _compare_talk(http, kept, held["id"], found=found)
            said.update(content for content, _ in pairs)
            answers |= pairs
    for content in kept.openai:
        if not said[content]:
            found.add("openai", "lost", content)
    for content, is_whole in kept.browser.items():
        if not said[content]:
            found.add("browser", "lost", content)
        elif is_whole and answers[content] != STORY:
            found.add("browser", "lost", f"{content}: {len(answers[content])} characters of its answer")
    for content in kept.stuck:
        found.add("browser", "stuck", content)
    _find_twice("openai", said.elements(), found)


async def _compare_talk(
    http: httpx2.AsyncClient, kept: Kept, conversation: str, *, found: Found
) -> list[tuple[str, str]]:
    """What was said in it and how it was answered; what is wrong with that is added to what is found."""
    messages = await _all(http, f"/conversations/{conversation}", "messages", limit=200, cursor="before")
    said = {message["id"]: message["content"] for message in messages if message["role"] == "user"}
    for id, (of, content) in kept.messages.items():
        if of == conversation and said.get(id) != content:
            found.add("messages", "lost", f"{id} of {conversation}: {content}")
    _find_twice("messages", said.values(), found)
    answers: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            run, text = message["run"], message["content"]
            if run in answers:
                found.add("answers", "twice", f"{run} of {conversation}")
            if not STORY.startswith(text):
                found.add("answers", "disorder", f"{run} of {conversation}: {_difference(text)}")
            answers[run] = text
    for run in [run for run, of in kept.runs.items() if of == conversation]:
        text = answers.get(run, "")
        if run in kept.done and text != STORY:
            found.add("answers", "lost", f"{run} of {conversation}: {len(text)} of {len(STORY)} characters")
        found.shorter = max(found.shorter, kept.seen.get(run, 0) - len(text))
    return [(one["content"], answers.get(one["run"], "")) for one in messages if one["role"] == "user"]


def _difference(text: str) -> str:
    """Where a text first is not the story's, with what stands around."""
    pairs = enumerate(zip(text, STORY, strict=False))
    shared = next((place for place, (is_, should) in pairs if is_ != should), len(STORY))
    return f"behind {shared} characters …{text[max(shared - 20, 0) : shared + 30]}…"


async def _compare_page(http: httpx2.AsyncClient, path: str, may: range, *, found: Found) -> None:
    answer = await http.get(f"/vault/pages/{path}")
    text = answer.json()["text"] if answer.is_success else ""
    if text in {page_of(path, revision) for revision in may} or not (text or may.start):
        return
    told = f"{path}: {text[:60]!r} instead of one of the revisions {may.start} to {may.stop - 1}"
    found.add("pages", "lost" if may.start else "disorder", told)


async def _all(
    http: httpx2.AsyncClient, path: str, name: str, *, limit: int, cursor: str = "cursor"
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    at: str | None = None
    while True:
        answer = await http.get(path, params={"limit": limit} | ({cursor: at} if at else {}))
        answer.raise_for_status()
        page = answer.json()
        found += page[name]
        at = page["cursor"]
        if at is None:
            return found


def check_file(data: Path) -> str:
    """What SQLite says of the database."""
    with closing(sqlite3.connect(data / "bethink.sqlite3")) as connection:
        return "; ".join(row[0] for row in connection.execute("PRAGMA integrity_check(3)"))


# --- the whole --------------------------------------------------------------------


async def soak(options: argparse.Namespace, data: Path, model: str) -> int:
    """Have it all happen; 1 if there are faults."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("BETHINK_", "OPENAI_"))}
    models = {name: value for name, value in os.environ.items() if name == "BETHINK_MODELS_DIR"}
    told = {"BETHINK_MODEL": "openai:soak", "BETHINK_MODEL_BASE_URL": model, "OPENAI_API_KEY": "any"}
    told["BETHINK_EXTRACTION"] = "off"
    engines: list[Engine] = []
    postgres: PostgresServer | None = None
    async with AsyncExitStack() as stack:
        if options.postgres:
            postgres = stack.enter_context(postgres_server(durable=True))
            engines.append(postgres)
            told["BETHINK_DATABASE_URL"] = postgres.new_database()
        if options.servers > 1:
            redis = stack.enter_context(redis_server())
            engines += [redis] * options.postgres
            told |= {"BETHINK_REDIS_URL": redis.url, "BETHINK_REDIS_USE": "bus"}
        server, kept = Fleet(data, {**own, **models, **told}, options.servers, engines=engines), Kept()
        if options.servers > 1:
            server.url = await stack.enter_async_context(balanced([one.url for one in server.servers]))
        print(f"data in {data}, seed {options.seed}", flush=True)
        stack.push_async_callback(server.stop)
        found = await _live(options, server, kept)
        file = check_file(data) if postgres is None else await anyio.to_thread.run_sync(postgres.check)
    return report(kept, found, server, file=file)


async def _live(options: argparse.Namespace, server: Fleet, kept: Kept) -> Found:
    await server.start()
    until = time.monotonic() + 60 * options.minutes
    chance = random.Random(options.seed)  # noqa: S311 - the same acts for the same seed
    async with asyncio.TaskGroup() as tasks:
        for number in range(options.clients):
            client = Client(number, server, kept, chance=random.Random(chance.random()))  # noqa: S311 - see above
            tasks.create_task(client.live(until))
        if options.browser:
            tasks.create_task(Person(server.url, STORY, kept).live(until))
        strikes_at = time.monotonic() + options.kill_every
        while strikes_at < until:
            await asyncio.sleep(strikes_at - time.monotonic())
            strikes_at += options.kill_every
            await server.strike(tasks)
            print(f"killed {dict(server.kills)}, {dict(kept.acknowledged())}", flush=True)
    for _ in (*server.servers, *server.engines):
        async with asyncio.TaskGroup() as tasks:
            await server.strike(tasks)
    async with httpx2.AsyncClient(base_url=server.url, timeout=120) as http:
        return await compare(http, kept)


def report(kept: Kept, found: Found, server: Fleet, *, file: str) -> int:
    """Print the table; 1 if there are faults."""
    acknowledged = kept.acknowledged()
    print(f"\n{'':10}{'tried':>8}{'acknowledged':>14}{'lost':>6}{'disorder':>10}{'twice':>7}")
    for kind in _KINDS:
        faults = [len(found.faults.get((kind, fault), ())) for fault in ("lost", "disorder", "twice")]
        lost, disorder, twice = faults
        print(f"{kind:10}{kept.tried[kind]:8}{acknowledged[kind]:14}{lost:6}{disorder:10}{twice:7}")
    starts = sorted(server.starts_s)
    print(f"\n{'seconds':18}{'p50':>8}{'p95':>8}{'most':>8}{'times':>8}")
    for what in _TIMED:
        if took := sorted(kept.took_s.get(what, ())):
            p50, p95 = (took[int(share * (len(took) - 1))] for share in (0.5, 0.95))
            print(f"{what:18}{p50:8.2f}{p95:8.2f}{took[-1]:8.2f}{len(took):8}")
    kills = ", ".join(f"{count} of a {name}" for name, count in server.kills.items())
    print(f"\nkills: {kills}; {server.spared} left out, as all else was down", end="; ")
    print(f"a start took {starts[len(starts) // 2]:.1f} s, at most {starts[-1]:.1f} s")
    print(
        f"{kept.broken} requests broken off, {kept.resumed} streams resumed; an answer keeps all but "
        f"{found.shorter} characters of those seen"
    )
    print(f"the database of itself: {file}")
    for what, count in kept.refused.most_common(_TOLD):
        print(f"refused {count} times: {what}")
    for (kind, fault), these in found.faults.items():
        for what in these[:_TOLD]:
            print(f"{kind} {fault}: {what}")
    if server.ended:
        print(f"{server.ended} times a server had ended by itself")
    return 1 if found.faults or file != "ok" or server.ended else 0


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="records in a PostgreSQL")
    parser.add_argument("--browser", action="store_true", help="a person at the page, too, in a Chromium")
    parser.add_argument("--kill-every", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep the data and the log there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bethink-soak-") as temporary, scripted_process() as model:
        home = options.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        rule = Rule(text=STORY, chunk_characters=_CHUNK, delay_ms=_DELAY_MS)
        asyncio.run(model.plays(rule))
        with suppress(KeyboardInterrupt):
            return asyncio.run(soak(options, home / "data", model.base_url))
    return 130


if __name__ == "__main__":
    sys.exit(main())
