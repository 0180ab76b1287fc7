"""What every test runs under: asyncio, no blocking call on its loop, no network beyond this machine."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections import Counter
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from blockbuster import BlockBuster
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# The machine's time zone is the default of the owner's: tests give the same on machines anywhere.
os.environ["TZ"] = "UTC"

_BROWSER_TESTS = Path(__file__).parent / "ui"

# Everything that is made while tests are collected stays: to look through it again and again for what could
# go took half of that time, and much of the tests'.
gc.disable()
_MADE_BETWEEN = 20_000
"""Objects that are made before the young ones are looked through."""


def pytest_collection_finish() -> None:
    """From here on what goes is collected, and only what is made from here on is looked through.

    More rarely than by default: a test makes and drops whole applications, and looking took a tenth of it.
    """
    gc.freeze()
    gc.set_threshold(_MADE_BETWEEN)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browser tests come last, in random order among themselves.

    Playwright's synchronous API keeps an event loop running in its thread for
    as long as its browser lives: no test with a loop of its own can follow it.
    Files with many tests come first among them: one worker does a file, and with
    a long one at the end the others would have nothing to do.

    The patience that `--timeout` asks for holds for tests with less of their own, too:
    what a test may take at a desk says nothing of a machine that does much else.
    """
    tests = Counter(item.path for item in items)
    items.sort(
        key=lambda item: tests[item.path] if item.path.is_relative_to(_BROWSER_TESTS) else inf, reverse=True
    )
    patience_s: float = config.getoption("timeout") or 0
    for item in items:
        own = item.get_closest_marker("timeout")
        if own is not None and own.args and own.args[0] < patience_s:
            item.add_marker(pytest.mark.timeout(patience_s), append=False)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs tests beside something else has them, and all that they start, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# No judgement by the clock: what is slow is measured elsewhere, and other programs run beside the tests.
settings.register_profile(
    "bethink",
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("bethink")


pytest_plugins = ("tests.postgres_server", "tests.command_line")


class NetworkRefusedError(Exception):
    """A test reached for a host beyond this machine; give it a server on loopback or a fake."""


def _is_this_machine(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or name in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


_TO_MACHINES = frozenset({"socket.getaddrinfo", "socket.connect", "socket.sendto"})


def _refuse_other_machines(event: str, arguments: tuple[object, ...]) -> None:
    # It hears of everything that Python does: each import, each file.
    if event not in _TO_MACHINES:
        return
    match event, arguments:
        case "socket.getaddrinfo", (host, *_):
            pass
        case (("socket.connect" | "socket.sendto"), (socket.socket() as used, (host, *_))):
            if used.family == socket.AF_UNIX:
                return
        case _:
            return
    if not _is_this_machine(host):
        raise NetworkRefusedError(host)


# An audit hook sees every socket of the process, whichever library opens it, and cannot be undone.
sys.addaudithook(_refuse_other_machines)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that Bethink runs on."""
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def no_blocking_calls() -> Iterator[BlockBuster]:
    """A blocking call made by Bethink's code on the event loop fails the test."""
    guard = BlockBuster(scanned_modules=["bethink"])
    # Before it connects, the driver looks for files of passwords and certificates in the home directory.
    for name in ("os.stat", "io.TextIOWrapper.read", "io.BufferedReader.read"):
        guard.functions[name].can_block_in("asyncpg/connect_utils.py", "_connect")
    guard.activate()
    yield guard
    guard.deactivate()


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """What a command of this process does to the log ends with its test."""
    logger = logging.getLogger("bethink")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before
