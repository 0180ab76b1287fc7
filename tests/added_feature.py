"""Uses the notes of `docs/tutorials/add-a-feature.md` in all their ways, in a process over the changed copy.

`python -m tests.added_feature DIRECTORY` prints what came of it as JSON; `test_add_a_feature` reads it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import anyio

from bethink.agent.removal import OwnerRemoval
from bethink.cli import main
from bethink.forgetting.selection import ForgetRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.mcp_server import offers
from bethink.memory import NewFact
from tests.door import Door, open_door

BEES = "The bees of Quillfeather swarm in May."
ROSES = "Water the roses."


async def texts(door: Door) -> list[str]:
    """The notes that the route lists."""
    return [note["text"] for note in (await door.http.get("/notes")).json()["items"]]


async def used(directory: Path) -> dict[str, Any]:
    """What became of each way."""
    came: dict[str, Any] = {}
    call = ScriptedCall("add_note", {"text": BEES})
    async with open_door(ScriptedLlm([[call], "Noted."]), data_dir=str(directory / "one")) as door:
        house, app = door.house, door.house.app
        await house.say("Note that the bees of Quillfeather swarm in May.")
        came["route"] = (await door.http.post("/notes", json={"text": ROSES})).status_code
        came["listed"] = await texts(door)
        hits = await app.recall.search(house.me, "roses", kinds={"note"})
        came["recalled"] = (hits[0].kind, hits[0].text)
        came["mcp"] = [*offers(app, ["notes"])]
        exported = "".join([part async for part in app.portability.export(house.me, "jsonl")])
        wanted = ForgetRequest(query="everything about Quillfeather")
        token = (await app.forgetting.preview(house.me, wanted)).token
        receipt = await app.forgetting.confirm(house.me, wanted, token)
        came["forgotten"] = [(one.kind, one.count) for one in receipt.held]
        came["left"] = await texts(door)
        fact = await app.memory.add(house.me, NewFact("Zora sings in Tallinn"))
        await door.http.post("/notes", json={"text": "Flowers! Zora sings in Tallinn tonight."})
        cut = await app.forgetting.forget(house.me, [fact.fact.id])
        came["cut"] = [[*cut.records], (await texts(door))[0]]
        everything = ForgetRequest(everything=True, kinds=["notes"])
        await app.forgetting.forget_all(house.me, everything, is_shown=True)
        came["none"] = await texts(door)
        came["imported"] = (await imported(door, exported)).said
        came["again"] = (await imported(door, exported)).known
        came["back"] = await texts(door)
        removal = OwnerRemoval(
            *(app.runs, app.features, app.vault, app.passages, None, directory / "one"), settle_s=0
        )
        came["removed"] = (await removal.erase(house.me)).counts["notes"]
        came["gone"] = await texts(door)
    return came


async def imported(door: Door, exported: str) -> Any:  # noqa: ANN401 - the report
    """What became of an exported file's lines."""
    return await door.house.app.portability.import_file(door.house.me, io.BytesIO(exported.encode()))


def commanded(directory: Path) -> list[str]:
    """What the command line prints of a note that it kept."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        codes = [main(["notes", *words, "--data", str(directory)]) for words in (["add", ROSES], ["list"])]
    return [*map(str, codes), *out.getvalue().splitlines()[1:]]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    assert Path(importlib.import_module("bethink.notes").__file__ or "").is_relative_to(place)
    found = anyio.run(used, place)
    sys.stdout.write(json.dumps(found | {"command": commanded(place / "two")}) + "\n")
