"""A whole journey behind name servers and a home of its own: `python silent_journey.py DIRECTORY`.

`test_silence.py` starts it, as root of a network and a mount namespace where it can have them (`--apart`).
There every name that anything looks up, native libraries included, is asked of a name server on
loopback, and `/tmp` is empty. It prints, as JSON, which names were asked for and which files were
written outside the data directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import socket
import struct
import sys
import threading
from pathlib import Path

import anyio
import anyio.to_thread

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.llm.scripted import Rule, ScriptedCall
from tests.server_process import SERVE, running
from tests.server_process import environment as server_environment
from tests.warm import cold

_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
CANARY = "trapped.example"
"""A name that is looked up to see that look-ups are seen."""
_LISTENING_S = 15
_EMBEDDING = """
import asyncio, bethink
from bethink.settings import load_settings

async def main():
    async with bethink.open_app(load_settings()) as app:
        me = await app.accounts.authenticate(audience="program")
        print(await app.recall.search(me, "Paris"))

asyncio.run(main())
"""
_HEADER = 12
_NO_SUCH_NAME = 0x8183


def set_apart(directory: Path) -> None:
    """Loopback up, `/tmp` and the name servers' file our own; only in namespaces of our own."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: str, flags: int) -> None:
        if libc.mount(source.encode(), target.encode(), None, flags, None):
            raise OSError(ctypes.get_errno(), f"mount {source} {target}")

    mount("none", "/", _MS_REC | _MS_PRIVATE)
    servers = directory / "resolv.conf"
    servers.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    mount(str(servers), str(Path("/etc/resolv.conf").resolve()), _MS_BIND)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        name = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack_from("16xh", fcntl.ioctl(loopback, _SIOCGIFFLAGS, name))
        fcntl.ioctl(loopback, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))


class Names:
    """The names that were looked up, and whether there are any."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self.asked = threading.Event()

    def trap(self) -> None:
        """Answer every question for a name with "no such name", and list it; tried with one of our own."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 53))
        threading.Thread(target=self._answer, args=(server,), daemon=True).start()
        with contextlib.suppress(socket.gaierror):
            socket.getaddrinfo(CANARY, 443)
        assert CANARY in self.listed, self.listed
        self.listed.clear()
        self.asked.clear()

    def _answer(self, server: socket.socket) -> None:
        while True:
            question, who = server.recvfrom(4096)
            self.listed.append(_name_in(question))
            self.asked.set()
            head = question[:2] + struct.pack(">HHHHH", _NO_SUCH_NAME, 1, 0, 0, 0)
            server.sendto(head + question[_HEADER:], who)


def _name_in(question: bytes) -> str:
    labels, place = [], _HEADER
    while size := question[place]:
        labels.append(question[place + 1 : place + 1 + size].decode("ascii", "replace"))
        place += 1 + size
    return ".".join(labels)


def _call(when: str, tool: str, **arguments: object) -> tuple[Rule, Rule]:
    call = ScriptedCall(tool, json.dumps(arguments))
    return (
        Rule(when=when, after_tool=False, tool_calls=(call,)),
        Rule(when=when, after_tool=True, text="Done."),
    )


async def journey(data: Path, model: ScriptedProcess, environment: dict[str, str], names: Names) -> list[str]:
    """Serve, talk, remember, search, read a document, run code, stop; search once
    more from the command line and from a program. Gives why each answer ended."""
    await model.plays(
        *_call("live in", "store_memory", content="Lives in Paris", category="personal_info", importance=0.9),
        *_call("Where do I", "search_memory", query="home"),
        *_call("document", "extract_file_content", file_url="notes.docx"),
        *_call("Add up", "execute_code", code="import numpy, pandas\nprint(numpy.arange(4).sum())"),
    )
    async with running(data, model, serve=cold(SERVE), **environment) as bethink:
        talk = await bethink.new()
        ended = [await bethink.answer(talk, "I live in Paris")]
        ended.append(await bethink.answer(await bethink.new(), "Where do I live?"))
        file = await bethink.http.post(
            f"/conversations/{talk}/files", files={"file": ("notes.docx", _document())}
        )
        body = {
            "message": {"role": "user", "content": "Read the document", "attachments": [file.json()["id"]]}
        }
        read = await bethink.http.post(f"/conversations/{talk}/chat", json={**body, "stream": False})
        ended += [read.json(), await bethink.answer(talk, "Add up the numbers")]
        (hit, *_) = (await bethink.http.get("/recall", params={"query": "Who lives in Paris?"})).json()[
            "items"
        ]
        assert hit["text"] == "Lives in Paris", hit
        # Usage data is sent now and then: a silence is heard by listening.
        await anyio.to_thread.run_sync(names.asked.wait, _LISTENING_S)
        assert await bethink.stop() == 0
    told = server_environment(data, model, **environment)
    for arguments in (("-m", "bethink", "memory", "search", "Paris"), ("-c", _EMBEDDING)):
        done = await anyio.run_process([sys.executable, *arguments], env=told)
        assert b"Lives in Paris" in done.stdout, done
    return [f"{one['reason']}: {one['message']['content']}" for one in ended]


def _document() -> bytes:
    from io import BytesIO

    import docx

    document, content = docx.Document(), BytesIO()
    document.add_paragraph("The spare key is in the blue pot.")
    document.save(content)
    return content.getvalue()


def files_below(*directories: Path) -> list[str]:
    """All files there; a directory alone is none."""
    return sorted(str(path) for one in directories for path in one.rglob("*") if not path.is_dir())


def main() -> None:
    """Go on the journey and print what it left behind."""
    directory, apart = Path(sys.argv[1]), "--apart" in sys.argv
    names = Names()
    if apart:
        set_apart(directory)
        names.trap()
    else:
        names.asked.set()
    home, temporary = directory / "home", directory / "tmp"
    home.mkdir()
    temporary.mkdir()
    own = {"HOME": str(home), "TMPDIR": str(temporary)}
    own |= {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    with scripted_process() as model:
        ended = asyncio.run(journey(directory / "data", model, own, names))
    sys.stdout.write(
        json.dumps({"ended": ended, "names": names.listed, "files": files_below(home, temporary)})
    )


if __name__ == "__main__":
    main()
