"""Writes pages of a vault in a process of its own.

Called with the data directory it goes on until it is killed: pages of 50,000
times one letter, written, moved and deleted. With a name, too, it adds twenty
lines to one page that others write, again where they were first.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from bethink.clock import Ids, SystemClock
from bethink.engines.sqlite.store import open_database
from bethink.errors import Conflict, NoSuchPage
from bethink.principal import LOCAL_OWNER, Principal
from bethink.settings import Settings
from bethink.vault import Vault

ME = Principal(LOCAL_OWNER)


async def for_ever(vault: Vault) -> None:
    await vault.begin(ME)
    await vault.write(ME, "user.md", "u" * 50_000, by="agent")
    sys.stdout.write("writing\n")
    sys.stdout.flush()
    for number in itertools.count():
        letter = "abcdefghij"[number % 10]
        await vault.write(ME, f"pages/{number % 3}.md", letter * 50_000, by="agent")
        if number % 3 == 1:
            await vault.move(ME, "pages/1.md", f"pages/moved_{number}.md", by="agent")
        if number % 3 == 2:
            await vault.delete(ME, "pages/2.md", by="agent")


async def with_another(vault: Vault, name: str) -> None:
    done = 0
    while done < 20:
        try:
            page = await vault.read(LOCAL_OWNER, "both.md")
            text, version = page.text, page.version
        except NoSuchPage:
            text, version = "", ""
        try:
            await vault.write(ME, "both.md", f"{text}{name}{done}\n", if_version=version, by="agent")
        except Conflict:
            continue
        done += 1


async def main(directory: Path, name: str | None = None) -> None:
    clock = SystemClock()
    async with open_database(directory) as database:
        vault = Vault.of(Settings(data_dir=directory), database.store, clock, new_id=Ids(clock))
        await (for_ever(vault) if name is None else with_another(vault, name))


asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
