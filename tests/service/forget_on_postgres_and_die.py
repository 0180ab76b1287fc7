"""Removes something in a process of its own, over PostgreSQL, which ends as by a power cut at one step.

Called with the data directory, the database's address, what is removed (`DEEDS`), and how many steps are let
through: a commit, a table written anew, a file moved or removed, the beginning and the end of a scrubbing.
Prints the steps that it took, and the receipt, where it came to its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.postgres import scrub
from bethink.engines.postgres.store import PostgresStore
from bethink.forgetting.selection import ForgetRequest, Receipt
from bethink.ports import Ports, open_ports
from bethink.principal import Principal
from bethink.settings import Settings, VaultSettings

QUESTION: Final = "clerk at Zembrovia"


def settings_of(directory: Path, url: str) -> Settings:
    # What goes on beside would count, too.
    given = {"data_dir": directory, "database_url": url, "vault": VaultSettings(mirror=False)}
    return Settings.model_validate(given | {"titles": "words", "extraction": "off"})


def ports_with(ports: Ports) -> Ports:
    """These, with a fake that needs no model's files."""
    ports.embeddings = HashingEmbeddings()
    return ports


async def question(app: App, me: Principal) -> Receipt:
    wanted = ForgetRequest(query=QUESTION)
    preview = await app.forgetting.preview(me, wanted)
    return await app.forgetting.confirm(me, wanted, preview.token)


async def everything(app: App, me: Principal) -> Receipt:
    kinds = tuple(one.kind for one in app.features.forgettables)
    wanted = ForgetRequest(everything=True, kinds=kinds, conversations="remove")
    return await app.forgetting.forget_all(me, wanted, is_shown=True)


async def conversation(app: App, me: Principal) -> None:
    for held in (await app.conversations.list(me)).items:
        if "Zembrovia" in held.record.title:
            await app.runs.delete_conversation(me, held.record.id)


async def document(app: App, me: Principal) -> None:
    for state in (await app.library.list(me)).items:
        if state.document.name == "work.txt":
            await app.library.remove(me, state.document.id)


DEEDS: Final = {
    "question": question,
    "everything": everything,
    "conversation": conversation,
    "document": document,
}


def count_steps(left: int) -> list[str]:
    """Have the process end before the last of these steps; the names of those that it took."""
    taken: list[str] = []

    def step(name: str) -> None:
        if len(taken) == left:
            os.kill(os.getpid(), signal.SIGKILL)
        taken.append(name)

    def stepping(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: object, **more: object) -> object:
            step(call.__name__)
            return call(*given, **more)

        return counted

    def scrubbing(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*given: object) -> object:
            step("scrub")
            done = await call(*given)
            step("scrubbed")
            return done

        return counted

    places = (
        (os, "rename"),
        (os, "replace"),
        (os, "unlink"),
        (PostgresStore, "commit"),
        (scrub, "_is_written"),
    )
    for place, name in places:
        setattr(place, name, stepping(getattr(place, name)))
    setattr(PostgresStore, "scrub", scrubbing(PostgresStore.scrub))  # noqa: B010 - it has another type
    return taken


async def main(directory: str, url: str, what: str, steps: str) -> None:
    settings = settings_of(Path(directory), url)
    async with open_ports(settings) as ports, open_app(settings, ports_with(ports)) as app:
        me = await app.accounts.authenticate(audience="test")
        taken = count_steps(int(steps))
        receipt = await DEEDS[what](app, me)
        while "scrubbed" not in taken:  # noqa: ASYNC110 - the background tells nobody
            await asyncio.sleep(0.01)
        sys.stdout.write(f"{' '.join(taken)}\n{receipt!r}\n")
        sys.stdout.flush()
        # Closing is no step of it.
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
