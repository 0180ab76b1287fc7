"""Forgetting in one process while another one compares memories with their lines: nothing comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import anyio
import pytest

from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import BethinkError
from bethink.forgetting.selection import ForgetRequest
from bethink.memory import NewFact
from bethink.mirror import Mirror
from bethink.mirror.diff import ChangeReader, ChangeSet
from bethink.mirror.lines import LINES
from bethink.mirror.reconcile import FactEditor
from bethink.mirror.render import LineLedger
from bethink.ports import open_ports
from bethink.principal import LOCAL_OWNER, Principal, WaitingOwners
from bethink.settings import Settings, VaultSettings
from bethink.store import Scan
from bethink.vault.files.context import VaultContext
from bethink.vault.files.draft import VaultDraft
from tests.traces import left_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

SECRET = ("zembrovitis", "quillfeather")
SAID = "Was treated for zembrovitis by Quillfeather"
Folder = Literal["any", "there", "made"]
Steps = Callable[[], Awaitable[object]]


@pytest.fixture(autouse=True)
def _only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither process compares by itself."""

    async def never(*_: object, **__: object) -> None:
        await anyio.sleep_forever()

    async def nobody(_: Mirror) -> bool:
        return True

    monkeypatch.setattr(WaitingOwners, "follow", never)
    monkeypatch.setattr(Mirror, "_settle_woken", nobody)


@dataclass(slots=True)
class Two:
    """Two processes over one data directory; `root` is the vault's folder."""

    serving: App
    forgetting: App
    me: Principal
    root: Path

    async def forget(self, fact: str) -> None:
        """In the other process, all of it."""
        wanted = ForgetRequest(ids=[fact]) if fact else ForgetRequest(query=SAID)
        preview = await self.forgetting.forgetting.preview(self.me, wanted)
        await self.forgetting.forgetting.confirm(self.me, wanted, preview.token)

    async def look_again(self) -> None:
        """Have both processes take in all that there is."""
        for app in (self.serving, self.forgetting):
            await app.vault.sync(LOCAL_OWNER)
            await app.mirror.settle(LOCAL_OWNER, whole=True)


@asynccontextmanager
async def opened(directory: Path) -> AsyncGenerator[Two]:
    settings = Settings(data_dir=directory, vault=VaultSettings(watch=False))
    async with open_ports(settings) as one, open_ports(settings) as other:
        ports = [replace(each, embeddings=HashingEmbeddings(), llm=None) for each in (one, other)]
        async with open_app(settings, ports[0]) as serving, open_app(settings, ports[1]) as forgetting:
            me = await serving.accounts.authenticate(audience="test")
            await serving.vault.begin(me)
            yield Two(serving, forgetting, me, serving.vault.root(LOCAL_OWNER))


def before(patch: pytest.MonkeyPatch, of: type, name: str, do: Steps) -> list[bool]:
    """Have something be done before a step is taken for the first time; tells whether it was."""
    step, done = getattr(of, name), list[bool]()

    async def stepping(self: object, *given: object, **more: object) -> object:
        if not done:
            done.append(True)
            await do()
        return await step(self, *given, **more)

    patch.setattr(of, name, stepping)
    return done


def before_lock(patch: pytest.MonkeyPatch, context: VaultContext, do: Steps) -> list[bool]:
    """Have something be done at the last moment before this process has the vault to itself."""
    lock, done = VaultContext.lock, list[bool]()

    @asynccontextmanager
    async def late(self: VaultContext, owner: str, folder: Folder = "any") -> AsyncGenerator[VaultDraft]:
        if self is context and not done:
            done.append(True)
            await do()
        async with lock(self, owner, folder) as draft:
            yield draft

    patch.setattr(VaultContext, "lock", late)
    return done


async def left(directory: Path) -> list[str]:
    return await anyio.to_thread.run_sync(left_of, SECRET, directory)


async def lines(two: Two) -> int:
    (page,) = await two.serving.ports.store.scan(LOCAL_OWNER, Scan(LINES))
    return len(page.items)


@pytest.mark.parametrize("moment", ["read", "kept", "written"])
async def test_a_line_that_was_about_to_be_written_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    async with opened(tmp_path) as two:
        await two.serving.memory.add(two.me, NewFact("Likes tea"))
        await two.serving.mirror.settle(LOCAL_OWNER)
        fact = (await two.serving.memory.add(two.me, NewFact(SAID))).fact

        async def forget() -> None:
            await two.forget(fact.id)

        with monkeypatch.context() as patch:
            match moment:
                case "read":
                    done = before(patch, ChangeReader, "fill", forget)
                case "kept":
                    done = before(patch, LineLedger, "commit", forget)
                case _:
                    done = before_lock(patch, two.serving.vault.context, forget)
            await two.serving.mirror.settle(LOCAL_OWNER)
            assert done
        await two.look_again()
        assert await left(tmp_path) == []
        assert await lines(two) == 1


async def test_the_record_of_a_line_that_was_just_written_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        fact = (await two.serving.memory.add(two.me, NewFact(SAID))).fact
        commit, done = LineLedger.commit, list[bool]()

        async def late(self: LineLedger) -> None:
            if not done and "memories/general.md" in await two.serving.vault.pages(LOCAL_OWNER):
                done.append(True)
                await two.forget(fact.id)
            await commit(self)

        with monkeypatch.context() as patch:
            patch.setattr(LineLedger, "commit", late)
            await two.serving.mirror.settle(LOCAL_OWNER)
        assert done
        assert await lines(two) == 0
        await two.look_again()
        assert await left(tmp_path) == []


async def test_a_new_line_that_was_read_becomes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        await two.serving.memory.add(two.me, NewFact("Likes tea"))
        await two.serving.mirror.settle(LOCAL_OWNER)
        page = await two.serving.vault.read(LOCAL_OWNER, "memories/general.md")
        await two.serving.vault.write(two.me, page.path, f"{page.text}- {SAID}\n", by="person")

        async def forget() -> None:
            await two.forget("")

        with monkeypatch.context() as patch:
            done = before(patch, FactEditor, "add", forget)
            await two.serving.mirror.settle(LOCAL_OWNER)
            assert done
        await two.look_again()
        assert await left(tmp_path) == []


async def test_a_line_that_says_what_is_forgotten_now_corrects_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        await two.serving.memory.add(two.me, NewFact("Likes tea"))
        await two.serving.mirror.settle(LOCAL_OWNER)
        other = (await two.serving.memory.add(two.me, NewFact(SAID))).fact
        page = await two.serving.vault.read(LOCAL_OWNER, "memories/general.md")
        await two.serving.vault.write(
            two.me, page.path, page.text.replace("Likes tea", f"{SAID}"), by="person"
        )

        async def forget() -> None:
            await two.forget(other.id)

        with monkeypatch.context() as patch:
            done = before(patch, FactEditor, "edit", forget)
            await two.serving.mirror.settle(LOCAL_OWNER)
            assert done
        await two.look_again()
        assert await left(tmp_path) == []


async def test_what_is_saved_while_it_is_forgotten_is_not_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        fact = (await two.serving.memory.add(two.me, NewFact(SAID))).fact
        await two.serving.vault.write(two.me, "a.md", "Rain.\n", by="person")

        def save() -> None:
            # As a client that brings files from elsewhere does.
            (two.root / "a.md").write_text(f"Rain.\n\n{SAID}.\n")
            (two.root / "b.md").write_text(f"{SAID}.\n")

        async def late() -> None:
            await anyio.to_thread.run_sync(save)

        with monkeypatch.context() as patch:
            done = before_lock(patch, two.forgetting.vault.context, late)
            await two.forget(fact.id)
            assert done
        await two.look_again()
        assert await left(tmp_path) == []
        assert (await two.serving.vault.read(LOCAL_OWNER, "a.md")).text.startswith("Rain.\n")


async def test_a_version_that_is_forgotten_while_it_is_brought_back_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        fact = (await two.serving.memory.add(two.me, NewFact(SAID))).fact
        vault = two.serving.vault
        await vault.write(two.me, "a.md", f"{SAID}.\n", by="person")
        (first,) = await vault.history(LOCAL_OWNER, "a.md")
        await vault.write(two.me, "a.md", "Rain.\n", by="person")

        async def forget() -> None:
            await two.forget(fact.id)

        with monkeypatch.context() as patch:
            done = before_lock(patch, vault.context, forget)
            with suppress(BethinkError):
                await vault.restore(two.me, "a.md", first.id)
            assert done
        await two.look_again()
        assert await left(tmp_path) == []


async def test_behind_a_forgetting_only_what_changed_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as two:
        await two.serving.memory.add(two.me, NewFact("Likes tea", category="food"))
        fact = (await two.serving.memory.add(two.me, NewFact(SAID, category="health"))).fact
        await two.serving.mirror.settle(LOCAL_OWNER)
        await two.forget(fact.id)
        whole = list[bool]()
        fill = ChangeReader.fill

        async def noted(self: ChangeReader, owner: str, delta: ChangeSet) -> None:
            whole.append(delta.is_whole)
            await fill(self, owner, delta)

        with monkeypatch.context() as patch:
            patch.setattr(ChangeReader, "fill", noted)
            await two.serving.mirror.settle(LOCAL_OWNER)
        assert whole
        assert not any(whole)
        # What is told of facts behind it is seen as ever.
        await two.forgetting.memory.add(two.me, NewFact("Likes rain", category="health"))
        await two.serving.mirror.settle(LOCAL_OWNER)
        assert "Likes rain" in (await two.serving.vault.read(LOCAL_OWNER, "memories/health.md")).text
        assert await left(tmp_path) == []
        assert await lines(two) == 2
