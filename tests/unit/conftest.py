"""What a unit test must not do: start a process. A test that needs one stands in tests/service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_STARTS: Final = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"})


class ProcessRefusedError(Exception):
    """A unit test started a process; move it to tests/service."""


class _Guard:
    is_on = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_on and event in _STARTS:
            raise ProcessRefusedError(event, arguments)


_guard = _Guard()
# An audit hook sees every process that is started, whichever library starts it, and cannot be removed.
sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def _no_process() -> Iterator[None]:
    _guard.is_on = True
    yield
    _guard.is_on = False
