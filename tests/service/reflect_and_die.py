"""Puts a memory in order in a process that ends as by a power cut. Called with the data directory and when.

`asking`: at the first request to the model; `before` or `after` the commit that keeps all of it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio

from bethink.llm import LlmRequest
from bethink.llm.scripted import Answer, ScriptedLlm
from bethink.reflection.service import Reflections
from tests.shared_house import shared_house
from tests.unit.test_reflection import NURSE, PARAPHRASED, TEA, Model, remember


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(data: Path, when: str) -> None:
    model = Model()

    def answer(request: LlmRequest) -> Answer:
        if when == "asking" and request.system.startswith("You compare"):
            die()
        return model.answer(request)

    async with shared_house(data, None, ScriptedLlm(answer)) as house:
        await remember(house, NURSE, PARAPHRASED, TEA)
        store = house.app.features.of(Reflections).memory.store
        commit = store.commit

        async def dying(owner: str, changes: object) -> None:
            is_it = "Reflection(" in str(changes)
            if is_it and when == "before":
                die()
            await commit(owner, changes)  # pyright: ignore[reportArgumentType] - as it was given
            if is_it:
                die()

        house.app.reflection.reflections.memory.writing.store.__class__.commit = (  # pyright: ignore[reportAttributeAccessIssue] - in this process alone
            lambda _self, owner, changes: dying(owner, changes)
        )
        await house.app.reflection.run(house.me.owner, asked=False, day="2026-11-24")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
