"""A disk that is full, in a namespace of its own: nothing more is kept, and everything can be deleted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.sandboxes import lacking

pytestmark = [pytest.mark.timeout(60)]

_START = """
import json, sys
from pathlib import Path
import anyio
from bethink.app import open_app
from bethink.memory import NewFact
from bethink.ports import open_ports
from bethink.settings import Settings
from tests.door import called
from tests.house import MASTER_KEY, House

def fill(place):
    with open(place / "filling", "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue

data = Path(sys.argv[1])
settings = Settings(data_dir=data, master_key=MASTER_KEY, code_enabled=False, web_enabled=False)
"""
_WHILE_IT_RUNS = """
async def main():
    async with open_ports(settings) as ports, open_app(settings, ports) as app:
        house = House(app, await app.accounts.authenticate(audience="test"), ports.clock)
        async with called(house) as http:
            talks = [(await http.post("/conversations")).json()["id"] for _ in range(3)]
            made = await http.post("/memories", json={"content": "The owner likes figs."})
            await anyio.to_thread.run_sync(fill, data)
            for _ in range(200):
                if (kept := await http.post("/conversations")).status_code != 201:
                    break
            deleted = [(await http.delete(f"/conversations/{talk}")).status_code for talk in talks]
            found = [(await http.get(f"/conversations/{talk}")).status_code for talk in talks]
            fact = (await http.delete(f"/memories/{made.json()['memory']['id']}?forget=true")).status_code
            await anyio.to_thread.run_sync((data / "filling").unlink)
            spent = not (data / "reserve").exists()
            await http.post("/conversations")
            again = spent and (data / "reserve").exists()
            told = {"kept": kept.status_code, "deleted": deleted, "found": found, "fact": fact}
            print(json.dumps(told | {"again": again}))

anyio.run(main)
"""


_FULL_BEFORE_IT_STARTS = """
async def main():
    told = []
    for _ in range(3):
        async with open_ports(settings) as ports, open_app(settings, ports) as app:
            me = await app.accounts.authenticate(audience="test")
            if not told:
                await app.memory.add(me, NewFact("The owner likes figs."))
            facts = [one.record for one in (await app.memory.list(me)).items]
            told.append([fact.content for fact in facts])
            if len(told) == 2:
                await app.forgetting.forget(me, [facts[0].id])
        if len(told) == 1:
            fill(data)
    (data / "filling").unlink()
    kept = (data / "reserve").stat().st_size
    async with open_ports(settings):
        print(json.dumps({"told": told, "kept": kept, "again": (data / "reserve").stat().st_size}))

anyio.run(main)
"""


def on_a_small_disk(program: str, directory: Path) -> dict[str, Any]:
    """What the program tells at its end, with `directory` a disk of 100 MB."""
    root = Path(__file__).parents[2]
    mounted = 'mount -t tmpfs -o size=100m none "$0" && exec "$@"'
    ended = subprocess.run(
        [
            *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(directory)),
            *(sys.executable, "-c", _START + program, str(directory)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    if "unshare" in ended.stderr or "mount:" in ended.stderr:
        lacking(f"no namespace with a small disk: {ended.stderr}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


def test_on_a_full_disk_nothing_is_kept_and_everything_can_be_deleted(tmp_path: Path) -> None:
    told = on_a_small_disk(_WHILE_IT_RUNS, tmp_path)
    assert told["kept"] == 507
    assert told["deleted"] == [204, 204, 204]
    assert told["found"] == [404, 404, 404]
    assert told["fact"] == 200
    assert told["again"]


def test_started_on_a_full_disk_it_reads_and_deletes(tmp_path: Path) -> None:
    told = on_a_small_disk(_FULL_BEFORE_IT_STARTS, tmp_path)
    assert told["told"] == [["The owner likes figs."], ["The owner likes figs."], []]
    assert told["kept"] < told["again"], "what was given is kept again"
