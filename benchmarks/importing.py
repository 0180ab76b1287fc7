"""What bringing in a large export costs: seconds, and memory beyond that of Bethink at rest.

    python benchmarks/importing.py --mb 1000            look through an export of a gigabyte
    python benchmarks/importing.py --mb 100 --apply     take it in

The export is made here, of invented words, in the shape that ChatGPT gives.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

import anyio

from bethink.app import open_app
from bethink.importing.records import ImportOptions
from bethink.settings import Settings

_WORDS = 5_000
_MESSAGES = 12
_CHARS = 900


def main() -> None:
    """Make an export, measure, print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--tiny", action="store_true", help="conversations of one short message")
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--into", choices=("conversations", "vault", "both"), default="conversations")
    parser.add_argument("--topics", choices=("keywords", "none"), default="none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bethink-importing-") as home:
        export = Path(home) / "conversations.json"
        count = _write(export, options.mb * 1_000_000, tiny=options.tiny)
        told = anyio.run(_measured, export, options)
        print(json.dumps({"mb": export.stat().st_size // 1_000_000, "conversations": count} | told))


async def _measured(export: Path, options: argparse.Namespace) -> dict[str, object]:
    choice = ImportOptions(into=options.into, topics=options.topics)
    async with open_app(Settings(data_dir=export.parent / "data", model="")) as app:
        principal = await app.accounts.authenticate(audience="bench")
        rest = _memory("VmRSS")
        await anyio.Path("/proc/self/clear_refs").write_text("5")
        begun = time.perf_counter()
        work = app.importing.run if options.apply else app.importing.preview
        done = await work(principal, export, choice)
        seconds = time.perf_counter() - begun
        report = done.report or done.preview
        if report is None:
            return {}
        return {
            "seconds": round(seconds, 1),
            "rest_mb": rest,
            "more_mb": _memory("VmHWM") - rest,
            "new": report.conversations.new,
            "pages": report.pages.new,
            "problems": report.problem_count,
        }


def _memory(name: str) -> int:
    """Megabytes of this process, as Linux tells."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) // 1000 for line in lines if line.startswith(f"{name}:"))


def _write(path: Path, size: int, *, tiny: bool) -> int:
    """An export of about so many bytes; how many conversations it has."""
    chance = random.Random(7)  # noqa: S311 - no secret
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(_WORDS)]
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while file.tell() < size:
            file.write("," if count else "")
            file.write(json.dumps(_talk(count, words, chance, tiny=tiny)))
            count += 1
        file.write("]")
    return count


def _talk(number: int, words: list[str], chance: random.Random, *, tiny: bool) -> dict[str, object]:
    mapping: dict[str, object] = {}
    parent = None
    for place in range(1 if tiny else _MESSAGES):
        id = f"{number:032x}-{place}"
        text = "Hello" if tiny else " ".join(chance.choices(words, k=_CHARS // 7))
        mapping[id] = {
            "id": id,
            "parent": parent,
            "children": [],
            "message": {
                "id": id,
                "author": {"role": ("user", "assistant")[place % 2], "name": None, "metadata": {}},
                "create_time": 1_700_000_000 + number + place / 100,
                "content": {"content_type": "text", "parts": [f"{text} {number}"]},
                "recipient": "all",
                "metadata": {"model_slug": "some-model", "request_id": id, "citations": []},
            },
        }
        parent = id
    return {
        "title": f"{words[number % _WORDS]} {words[number * 7 % _WORDS]}",
        "create_time": 1_700_000_000 + number,
        "update_time": 1_700_000_100 + number,
        "mapping": mapping,
        "current_node": parent,
        "conversation_id": f"{number:032x}",
    }


if __name__ == "__main__":
    main()
