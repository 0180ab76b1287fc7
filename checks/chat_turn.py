"""Counts the files of the package that one chat turn enters: recall, one tool call, an answer.

Turns of one conversation are traced with the scripted model over SQLite, without filters. What every one of
them enters counts, so that neither what is made once does nor what other tasks happen to do meanwhile.
`python -m checks.chat_turn` prints the files; with a number it only counts them, and fails if there are more.
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
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import FrameType

_TRACED = 6
"""Turns after the first, which makes what is made once."""
_BETWEEN_S = 0.3
"""What a turn leaves to background tasks is done in this time, and is not counted."""
PACKAGE = Path(__file__).parent.parent / "src" / "bethink"
_CALL = ScriptedCall(
    "store_memory", {"content": "The user's cat is called Ada.", "category": "personal_info"}
)


@asynccontextmanager
async def _app() -> AsyncGenerator[App]:
    llm = ScriptedLlm([_CALL, "I have noted it."] * (_TRACED + 1))
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        async with open_database(folder) as database, open_bus(folder) as bus:
            ports = Ports(database.store, database.index, bus, HashingEmbeddings(), llm)
            # What is learnt from a turn is learnt behind it, and would take the script's next answer.
            settings = Settings(data_dir=folder, extraction="off")
            async with open_app(settings, ports) as app:
                yield app


def chat_turn() -> Counter[str]:
    """How many functions of each file are called in a turn, by the file's path in the package."""
    traced: list[set[tuple[str, str]]] = []

    is_turn = False

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if is_turn and event == "call" and code.co_name != "<module>":
            traced[-1].add((code.co_filename, code.co_qualname))

    async def turns() -> None:
        nonlocal is_turn
        async with _app() as app:
            me = await app.accounts.authenticate(audience="check")
            conversation = (await app.conversations.create(me)).id
            for number in range(_TRACED + 1):
                await asyncio.sleep(_BETWEEN_S)
                if number:
                    traced.append(set())
                is_turn = bool(traced)
                run = await app.runs.start(me, conversation, "My cat is called Ada.")
                async for _ in app.runs.follow(me, run):
                    pass
                is_turn = False

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        asyncio.run(turns())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    prefix = f"{PACKAGE}/"
    entered = traced[0].intersection(*traced[1:])
    return Counter(file.removeprefix(prefix) for file, _ in entered if file.startswith(prefix))


def main() -> None:
    """Print the files with the number of functions that were entered in each."""
    entered = chat_turn()
    if len(sys.argv) == 1:
        for file, functions in sorted(entered.items()):
            print(f"{functions:4} {file}")
    print(f"a chat turn enters {len(entered)} files, {entered.total()} functions")
    if len(sys.argv) > 1 and len(entered) > int(sys.argv[1]):
        sys.exit(f"more than {sys.argv[1]} files")


if __name__ == "__main__":
    main()
