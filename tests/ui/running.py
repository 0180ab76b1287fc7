"""A real `bethink serve` and a real Chromium, for the tests of the interface."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tests.postgres_server import database_of
from tests.warm import Started, start

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "script.json"
PICTURES = ROOT / "test-results" / "ui"
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of one context share a process, and what it has compiled.
    "--renderer-process-limit=1",
    # A page lives for seconds here: V8's optimising compilers take longer than they give back (with them, axe
    # takes twice as long). And what is not compiled while it comes is found compiled by the next page.
    "--js-flags=--no-maglev,--no-turbofan,--no-script-streaming",
)
COMMAND = "import sys\nfrom bethink.cli import main\nsys.exit(main())"
ZONE = "Europe/Paris"
"""The pages' own and the server's: what is said in words means the same on both sides."""
_PORTS: list[socket.socket] = []
"""Sockets that keep the ports at which no server listens now."""
_START_S = 120
"""How long it may take to answer on a machine that does much else; one that ends is not waited for."""


def today() -> date:
    """The day at the pages and the server, which may be another one on this machine."""
    return datetime.now(ZoneInfo(ZONE)).date()


def chromium() -> str | None:
    """The browser on this machine, if there is one."""
    named = os.environ.get("CHROMIUM")
    # The first is the same browser without windows: a third of the cost.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = (shutil.which(name) for name in names)
    return named or next((path for path in found if path), None)


@dataclass(frozen=True, slots=True)
class Served:
    """A running Bethink, and its process."""

    url: str
    process: Started | None = None

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait_within(_START_S)

    def get(self, path: str) -> dict[str, Any]:
        """What is at an address."""
        return self.ask("GET", path)

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """What the server answers to a JSON body."""
        return self.ask("POST", path, body)

    def patch(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """What the server answers to a change."""
        return self.ask("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Remove what is at an address."""
        self.ask("DELETE", path)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The JSON that the server answers, empty where it answers nothing."""
        request = urllib.request.Request(  # noqa: S310 - the address is our own server's
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=_START_S) as response:  # noqa: S310
            return json.loads(response.read() or b"{}")


@contextmanager
def bethink(
    data: Path, model_url: str | None, *, command: str = COMMAND, **settings: str
) -> Generator[Served]:
    """`bethink serve` on a free port over this data directory, with or without a model.

    `settings` are its environment's, such as BETHINK_USER_TOOLS; an empty one is not set.
    """
    model = {"BETHINK_MODEL": "openai:scripted", "OPENAI_BASE_URL": model_url or "", "OPENAI_API_KEY": "x"}
    own = {name: value for name, value in os.environ.items() if name not in model}
    port = _PORTS.pop() if _PORTS else _kept_port()
    environment = {
        **own,
        # Without one nothing is said of it, so that the page can.
        **(model if model_url else {}),
        # A script would name each conversation by the very answer that a test looks for.
        "BETHINK_TITLES": "words",
        # And be asked for facts once more after each.
        "BETHINK_EXTRACTION": "off",
        "BETHINK_PORT": str(port.getsockname()[1]),
        "BETHINK_TIME_ZONE": ZONE,
        **database_of(data),
        **settings,
        "BETHINK_MODELS_DIR": os.environ.get("BETHINK_MODELS_DIR", str(ROOT / ".models")),
    }
    environment = {name: value for name, value in environment.items() if value or name not in settings}
    # Its log goes where pytest shows it beside a failure.
    words = ("serve", "--data", str(data))
    process = start(command, *words, environment=environment)
    try:
        yield Served(_address(process), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait_within(_START_S)
        process.close()
        _PORTS.append(port)


def _kept_port() -> socket.socket:
    """A port that only who asks for it by its number gets, for one server after the other.

    A page at an address that was visited before finds its files read and compiled.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept


def brought_back(served: Served, lines: Sequence[dict[str, object]]) -> dict[str, Any]:
    """What became of the lines of an export."""
    request = urllib.request.Request(  # noqa: S310 - the address is our own server's
        f"{served.url}/memories/import",
        data="\n".join(json.dumps(line) for line in lines).encode(),
        headers={"content-type": "application/octet-stream"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=_START_S) as response:  # noqa: S310
        return json.loads(response.read())


def imported(served: Served, title: str, said: Sequence[str]) -> str:
    """A conversation in which the owner and the model said this, in turns; its id."""
    conversation, at = f"imported-{title.lower().replace(' ', '-')}", "2026-05-03T10:00:00Z"
    head: list[dict[str, object]] = [
        {"kind": "bethink_memory", "schema": 1},
        {"kind": "conversation", "id": conversation, "title": title, "created_at": at, "updated_at": at},
    ]
    messages: list[dict[str, object]] = [
        {
            "kind": "message",
            "id": f"{conversation}-{position}",
            "conversation": conversation,
            "position": position,
            "at": at,
            "run": f"{conversation}-run-{position // 2}",
            "message": {"role": ("user", "assistant")[position % 2], "content": content},
        }
        for position, content in enumerate(said)
    ]
    outcome = brought_back(served, [*head, *messages])
    assert outcome["said"] == len(said) + 1, outcome
    return conversation


def _address(process: Started) -> str:
    """The address that the server prints once it answers."""
    while line := process.line_within(_START_S):
        if words := [word for word in line.split() if word.startswith("http://")]:
            return words[0].rstrip("/")
    message = f"bethink ended before it answered, with {process.wait_within(_START_S)}"
    raise AssertionError(message)
