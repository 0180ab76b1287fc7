"""Background work that breaks is logged, and takes nothing else down."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel
import pytest

from bethink.telemetry import log, recorded

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
