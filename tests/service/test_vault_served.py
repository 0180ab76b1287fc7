"""The vault beside a server that runs: hand edits are recalled at once, other processes take part."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from bethink.clock import Ids, SystemClock
from bethink.engines.sqlite.store import open_database
from bethink.principal import LOCAL_OWNER
from bethink.settings import Settings
from bethink.vault import Vault
from tests import warm
from tests.server_process import environment, running

# Processes start and are killed here, on machines that have other things to do.
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


async def test_a_hand_edit_is_recalled_while_it_runs_and_the_command_line_writes_beside_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "user.md").write_text("- name: Alice\n")
    async with running(tmp_path) as bethink:
        await bethink.finds("/recall?query=Alice&kinds=page")
        saved = folder / ".user.md.swp"
        saved.write_text("- name: Alice\n- employer: Zembrovia\n")
        saved.rename(folder / "user.md")
        (found, *_) = await bethink.finds("/recall?query=zembrovia&kinds=page")
        assert (found["kind"], found["source"]) == ("page", "vault:user.md")
        process = await asyncio.create_subprocess_exec(
            *(*warm.program(warm.BETHINK), "vault", "edit", "trips/oslo.md", "--stdin"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(tmp_path, None),
        )
        await process.communicate(b"Stayed at the Thistledown.\n")
        assert process.returncode == 0
        (found, *_) = await bethink.finds("/recall?query=thistledown&kinds=page")
        assert found["source"] == "vault:trips/oslo.md"
        part = (await bethink.get("/health"))["parts"]["vault"]
        assert (part["pages"], part["watched"], part["unread"]) == (2, True, 0)
        assert await bethink.stop() == 0


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 0.3, 0.6])
async def test_a_power_cut_while_pages_are_written_leaves_each_old_or_new(
    after_s: float, tmp_path: Path
) -> None:
    script = Path(__file__).with_name("write_and_die.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"writing\n"
    await asyncio.sleep(after_s)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    clock = SystemClock()
    async with open_database(tmp_path) as database:
        vault = Vault.of(Settings(data_dir=tmp_path), database.store, clock, new_id=Ids(clock))
        await vault.sync(LOCAL_OWNER)
        entries = [entry for entry in await vault.listed(LOCAL_OWNER, deep=True) if not entry.is_folder]
        assert {entry.path for entry in entries} == {*await vault.pages(LOCAL_OWNER)}
        for entry in entries:
            text = (await vault.read(LOCAL_OWNER, entry.path)).text
            assert text == text[:1] * 50_000
            versions = await vault.history(LOCAL_OWNER, entry.path)
            assert (await vault.version(LOCAL_OWNER, entry.path, versions[0].id)).text == text
        assert await vault.faults(LOCAL_OWNER) == []


async def test_two_processes_that_write_one_page_lose_no_version(tmp_path: Path) -> None:
    script = Path(__file__).with_name("write_and_die.py")
    writers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, str(script), str(tmp_path), name), stdout=asyncio.subprocess.DEVNULL
        )
        for name in ("a", "b")
    ]
    assert [await writer.wait() for writer in writers] == [0, 0]
    clock = SystemClock()
    async with open_database(tmp_path) as database:
        vault = Vault.of(Settings(data_dir=tmp_path), database.store, clock, new_id=Ids(clock))
        history = await vault.history(LOCAL_OWNER, "both.md")
        assert [version.by for version in history] == ["agent"] * 40
        lines = (await vault.read(LOCAL_OWNER, "both.md")).text.splitlines()
        assert sorted(lines) == sorted(f"{name}{number}" for name in "ab" for number in range(20))
