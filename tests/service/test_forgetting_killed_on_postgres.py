"""A process that forgets, or deletes, on PostgreSQL is killed at step after step; another ends it."""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
import pytest

from bethink.app import App, open_app
from bethink.documents.model import NewDocument
from bethink.documents.service import Documents
from bethink.forgetting.announcements import INTENTS, forgotten_by_month
from bethink.forgetting.selection import ForgetRequest
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact
from bethink.ports import open_ports
from bethink.principal import Principal
from bethink.store import UNSCRUBBED
from tests.library import plain_reading
from tests.postgres_server import ROLE, PostgresServer, postgres_server
from tests.service.forget_on_postgres_and_die import QUESTION, ports_with, settings_of
from tests.traces import left_of
from tests.warm import run

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600), pytest.mark.usefixtures(plain_reading.__name__)]

_DIES = """
import asyncio, sys
from tests.service.forget_on_postgres_and_die import main
asyncio.run(main(*sys.argv[1:]))
"""
_ALL = 1_000
WORD = "zembrovia"
FACT = "User was a clerk at Zembrovia"
SAID = "I was a clerk at Zembrovia."
KEPT = "The barn is red."


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    """A server that gives its log's files up, and lets Bethink ask for it."""
    with postgres_server("wal_recycle=off") as server:
        server.administer(
            f"GRANT pg_checkpoint TO {ROLE}",
            f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {ROLE}",
            database="template1",
        )
        yield server


@asynccontextmanager
async def opened(home: Path, url: str) -> AsyncGenerator[tuple[App, Principal]]:
    settings = settings_of(home, url)
    async with open_ports(settings) as ports:
        ports.llm = ScriptedLlm({"clerk": "At Zembrovia. Noted.", "barn": "Is it?"})
        async with open_app(settings, ports_with(ports)) as app:
            yield app, await app.accounts.authenticate(audience="test")


async def told(app: App, me: Principal, message: str) -> None:
    conversation = await app.conversations.create(me)
    async for _ in app.runs.follow(me, await app.runs.start(me, conversation.id, message)):
        pass


async def live(app: App, me: Principal, what: str) -> None:
    """What goes is said where `what` reaches it, beside what stays."""
    await app.memory.add(me, NewFact(KEPT))
    await told(app, me, KEPT)
    documents, pages = [("barn.txt", KEPT)], [("barn.md", KEPT)]
    if what in {"question", "everything"}:
        await app.memory.add(me, NewFact(FACT))
        documents.append(("notes.txt", f"{KEPT}\n\n{SAID}"))
        pages += [("notes.md", f"{SAID}\n"), ("notes.md", f"{KEPT}\n{SAID}\n")]
    if what != "document":
        await told(app, me, SAID)
    if what != "conversation":
        documents.append(("work.txt", SAID))
    for name, text in documents:
        new = NewDocument(name=name, content=text.encode(), media_type="text/plain")
        added = await app.library.add(me, new)
        await app.features.of(Documents).ingest.finish(me, [added.content])
    for page, text in pages:
        await app.vault.write(me, page, text, by="person")


@dataclass(frozen=True, slots=True)
class Left:
    """What of it is there: facts, what was said, documents' pages, pages of the vault."""

    facts: Sequence[str]
    said: Sequence[str]
    documents: Sequence[str]
    pages: Sequence[str]


GONE = "[forgotten]"
ENDS = {
    "question": Left(
        [KEPT],
        ["Is it?", KEPT, GONE, f"{GONE} Noted."],
        [KEPT, f"{KEPT}\n\n{GONE}", GONE],
        [KEPT, f"{KEPT}\n{GONE}\n"],
    ),
    "everything": Left([], [], [], []),
    "conversation": Left([KEPT], ["Is it?", KEPT], [KEPT], [KEPT]),
    "document": Left([KEPT], ["Is it?", KEPT], [KEPT], [KEPT]),
}


COUNTED = {"question": [1], "everything": [2], "conversation": [], "document": []}


async def left(app: App, me: Principal) -> Left:
    said: list[str] = []
    for held in (await app.conversations.list(me)).items:
        said += [
            one.record.message.content for one in (await app.conversations.messages(me, held.record.id)).items
        ]
    documents: list[str] = []
    for state in (await app.library.list(me)).items:
        documents += [page.text for page in await app.library.pages(me, state.document.content)]
    pages = [(await app.vault.read(me.owner, path)).text for path in await app.vault.pages(me.owner)]
    facts = [one.content async for page in app.memory.pages(me, {}) for one in page]
    return Left(facts, sorted(said), sorted(documents), sorted(pages))


@dataclass(frozen=True, slots=True)
class Homes:
    """Copies of a home and its database, and a look into the files of both."""

    cluster: PostgresServer
    first: Path
    url: str

    def copy(self) -> tuple[Path, str]:
        url = self.cluster.copy_of(self.url)
        return Path(shutil.copytree(self.first, self.first.with_name(url.partition("?")[0][-4:]))), url

    def left(self, home: Path, url: str) -> list[str]:
        """Files that say it: the copy's own, and those that all databases share."""
        shared = [one for one in self.cluster.data.iterdir() if one.is_dir() and one.name != "base"]
        folders = (*shared, self.cluster.folder_of(url), home)
        return [found for folder in folders for found in left_of([WORD], folder)]


async def faults(homes: Homes, home: Path, url: str, *, app: App, me: Principal, what: str) -> list[object]:
    """What is not as it should be: nothing of it is left, nothing waits, all else is there, counted once."""
    store, owner = app.forgetting.store, me.owner
    found: list[object] = ["it waits"] if await store.count(owner, INTENTS, {}) else []
    found += ["it is not scrubbed"] if await store.count(owner, UNSCRUBBED, {}) else []
    if (now := await left(app, me)) != ENDS[what]:
        found.append(now)
    found += await anyio.to_thread.run_sync(homes.left, home, url)
    if (counted := [*(await forgotten_by_month(store, owner)).values()]) != COUNTED[what]:
        found.append(counted)
    again = await app.forgetting.preview(me, ForgetRequest(query=QUESTION))
    return found if again.is_empty else [*found, again]


def places_in(taken: Sequence[str]) -> list[int]:
    """Before which steps to end: the first and the last of those that follow one another and are alike."""
    around = ["", *taken, ""]
    return [at for at, one in enumerate(taken) if one != around[at] or one != around[at + 2]]


@pytest.mark.requirement("C22")
@pytest.mark.parametrize(
    ("what", "every"), [("question", 3), ("everything", 4), ("conversation", 1), ("document", 2)]
)
async def test_whatever_step_a_process_dies_at_another_leaves_nothing_and_loses_nothing(
    cluster: PostgresServer, tmp_path: Path, what: str, every: int
) -> None:
    homes = Homes(cluster, tmp_path / "first", await anyio.to_thread.run_sync(cluster.new_database))
    async with opened(homes.first, homes.url) as (app, me):
        await live(app, me, what)
        first = await left(app, me)
    home, url = await anyio.to_thread.run_sync(homes.copy)
    code, said = await run(_DIES, str(home), url, what, str(_ALL))
    steps, receipt = said.splitlines()
    assert (code, WORD in receipt.lower()) == (0, False)
    assert what in {"conversation", "document"} or "remains=())" in receipt
    async with opened(home, url) as (app, me):
        wrong = await faults(homes, home, url, app=app, me=me, what=what)
    assert wrong == []
    is_begun = False
    for number, step in enumerate(places_in(steps.split())[::every]):
        home, url = await anyio.to_thread.run_sync(homes.copy)
        async with AsyncExitStack() as stack:
            # Who ends it has lived beside it, or begins behind it.
            lives = number % 2 == 1
            if lives:
                app, me = await stack.enter_async_context(opened(home, url))
            code, _ = await run(_DIES, str(home), url, what, str(step))
            # What goes on beside takes steps, too, so the last of them may not come.
            assert code in {-signal.SIGKILL, 0}
            if lives:
                await app.housekeeping.tidy(me)
            else:
                app, me = await stack.enter_async_context(opened(home, url))
            wrong = await faults(homes, home, url, app=app, me=me, what=what)
        # Before it is written down that it goes, all of it is there.
        is_begun = is_begun or not wrong
        assert wrong == [] if is_begun else first in wrong, steps.split()[: step + 1]
    assert is_begun
