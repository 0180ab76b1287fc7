"""Starting to serve: where it may listen, what it says, what it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bethink.errors import BadInput, NotAllowed
from bethink.settings import Settings
from bethink.web.server import listening, serve
from tests.server_process import environment

HEAVY = (
    *("aiohttp", "httpx", "httpx2", "mcp", "numpy", "onnxruntime", "openai"),
    *("orjson", "requests", "rich", "tokenizers", "typer", "watchfiles", "websockets"),
)
"""What costs time or memory, and what the first answer does not need."""

WATCHED = f"""
import sys
from bethink.settings import load_settings
from bethink.web.server import serve

class Watched:
    def write(self, line):
        loaded = [name for name in {HEAVY!r} if name in sys.modules]
        sys.__stdout__.write(f"{{line}}loaded: {{loaded}}\\n")
        sys.__stdout__.flush()
        raise SystemExit

    def flush(self):
        pass

sys.stdout = Watched()
serve(load_settings())
"""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104 - it is refused
def test_an_address_that_others_reach_is_not_bound(host: str, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="Refusing to listen on"):
        serve(Settings(host=host, data_dir=tmp_path))


def test_a_taken_port_is_named() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with (
            pytest.raises(BadInput, match=f"Port {port} of 127.0.0.1 is taken"),
            listening("127.0.0.1", port),
        ):
            pass


@pytest.mark.timeout(60)
def test_nothing_heavy_is_loaded_before_the_first_answer(tmp_path: Path) -> None:
    told = environment(tmp_path, None, BETHINK_MODEL="scripted:demo")
    result = subprocess.run(
        [sys.executable, "-c", WATCHED], env=told, capture_output=True, text=True, check=False
    )
    greeting, loaded = result.stdout.splitlines()[:2]
    assert greeting.startswith("Bethink is at http://127.0.0.1:")
    assert greeting.endswith(f"(data in {tmp_path})")
    assert loaded == "loaded: []"
