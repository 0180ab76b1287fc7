"""Background work that breaks is logged, and takes nothing else down."""

from __future__ import annotations

import logging
from collections.abc import Generator

import anyio
import anyio.lowlevel
import pytest

from bethink.telemetry import Throttle, configure, log, recorded

pytestmark = pytest.mark.anyio


def test_what_breaks_is_logged_with_its_traceback_and_told(caplog: pytest.LogCaptureFixture) -> None:
    fault = ValueError("planted")
    with caplog.at_level(logging.ERROR, "bethink"), recorded(log("x"), "it broke") as outcome:
        raise fault
    assert outcome.fault is fault
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_a_cancellation_passes() -> None:
    with anyio.CancelScope() as scope, recorded(log("x"), "it broke") as outcome:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert outcome.fault is None


@pytest.fixture
def as_it_was() -> Generator[None]:
    names = ("bethink", "uvicorn", "asyncio")
    was = [
        (logger, logger.handlers[:], logger.level, logger.propagate)
        for logger in map(logging.getLogger, names)
    ]
    yield
    for logger, handlers, level, propagate in was:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize("name", ["bethink.accounts", "uvicorn.error"])
def test_strangers_cannot_fill_a_disk_with_lines(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure("info")
    for number in range(10_000):
        logging.getLogger(name).warning("a key from %s was refused: %s", f"203.0.113.{number}", "x" * 5_000)
    for number in range(5_000):
        logging.getLogger(name).warning(f"kind {number}")  # noqa: G004 - of which each is a kind of its own
    logging.getLogger("bethink").info("another kind is not the last of all")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 601
    assert max(map(len, lines)) < 2_100


@pytest.mark.usefixtures("as_it_was")
def test_what_was_left_out_of_the_log_is_counted_by_the_next_line_of_its_kind() -> None:
    now = 0.0
    throttle = Throttle(per_minute=2, monotonic_s=lambda: now)

    def said(number: int) -> str | None:
        record = logging.makeLogRecord({"name": "x", "msg": "line %d", "args": (number,)})
        return record.getMessage() if throttle.filter(record) else None

    assert [said(number) for number in range(4)] == ["line 0", "line 1", None, None]
    now = 61.0
    assert [said(4), said(5), said(6)] == ["line 4 (2 lines like it were left out)", "line 5", None]
