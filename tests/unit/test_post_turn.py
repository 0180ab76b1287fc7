"""Finished turns that wait for their owner's silence: none is lost, whoever works on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest

from bethink.agent.post_turn import PostTurnQueue
from bethink.agent.request import FinishedTurn
from bethink.principal import Principal

pytestmark = pytest.mark.anyio

ALICE = Principal("alice")


@dataclass(slots=True)
class GatedWork:
    """Work that waits at gates, by the turn's question."""

    is_on: bool = True
    gates: dict[str, list[anyio.Event]] = field(default_factory=dict[str, "list[anyio.Event]"])
    begun: list[str] = field(default_factory=list[str])

    async def do(self, turns: Sequence[FinishedTurn]) -> None:
        turn = turns[0]
        self.begun.append(turn.said)
        for gate in self.gates.get(turn.said, [])[:1]:
            self.gates[turn.said].remove(gate)
            await gate.wait()


async def begun(work: GatedWork, count: int) -> None:
    while len(work.begun) < count:
        await anyio.lowlevel.checkpoint()


async def test_a_turn_that_ends_while_two_answers_work_off_the_same_is_not_lost() -> None:
    first, second = anyio.Event(), anyio.Event()
    work = GatedWork(gates={"one": [first, second]})
    async with PostTurnQueue([work], None).opened() as between:
        for _ in range(3):
            between.answering.begin("alice")
        between.go_on("alice", FinishedTurn(ALICE, "one", "answer"))
        is_done = anyio.Event()

        async def flush() -> None:
            await between.flush("alice")
            is_done.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(flush)
            tasks.start_soon(flush)
            await begun(work, 2)
            first.set()
            await is_done.wait()
            between.go_on("alice", FinishedTurn(ALICE, "two", "answer"))
            second.set()
        between.go_on("alice", None)
        await between.finished()
    assert work.begun == ["one", "one", "two"]
