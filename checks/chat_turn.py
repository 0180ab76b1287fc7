"""Counts the files of the package that one chat turn enters: recall, one tool call, an answer.

The second turn of a conversation is traced with the scripted model over SQLite, without filters, so that
what is only imported or made once does not count. `python -m checks.chat_turn` prints the files, or with
a number fails if there are more of them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bethink.app import App, Ports, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.sqlite.bus import open_bus
from bethink.engines.sqlite.store import open_database
from bethink.llm.script import ScriptedCall
from bethink.llm.scripted import ScriptedLlm
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import FrameType

PACKAGE = Path(__file__).parent.parent / "src" / "bethink"
_CALL = ScriptedCall(
    "store_memory", {"content": "The user's cat is called Ada.", "category": "personal_info"}
)


@asynccontextmanager
async def _app() -> AsyncGenerator[App]:
    llm = ScriptedLlm([_CALL, "I have noted it.", _CALL, "I have noted it."])
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        async with open_database(folder) as database, open_bus(folder) as bus:
            ports = Ports(database.store, database.index, bus, HashingEmbeddings(), llm)
            async with open_app(Settings(data_dir=folder), ports) as app:
                yield app


def chat_turn() -> Counter[str]:
    """How many functions of each file are called in a turn, by the file's path in the package."""
    entered: set[tuple[str, str]] = set()
    is_traced = False

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if is_traced and event == "call" and code.co_name != "<module>":
            entered.add((code.co_filename, code.co_qualname))

    async def turns() -> None:
        nonlocal is_traced
        async with _app() as app:
            me = await app.accounts.authenticate(audience="check")
            conversation = (await app.conversations.create(me)).id
            for number in range(2):
                is_traced = number == 1
                run = await app.runs.start(me, conversation, "My cat is called Ada.")
                async for _ in app.runs.follow(me, run):
                    pass
            is_traced = False

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        asyncio.run(turns())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    prefix = f"{PACKAGE}/"
    return Counter(file.removeprefix(prefix) for file, _ in entered if file.startswith(prefix))


def main() -> None:
    """Print the files with the number of functions that were entered in each."""
    entered = chat_turn()
    for file, functions in sorted(entered.items()):
        print(f"{functions:4} {file}")
    print(f"a chat turn enters {len(entered)} files, {entered.total()} functions")
    if len(sys.argv) > 1 and len(entered) > int(sys.argv[1]):
        sys.exit(f"more than {sys.argv[1]} files")


if __name__ == "__main__":
    main()
