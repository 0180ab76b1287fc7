"""A process that ends while it puts a memory in order has done all of it or nothing, and never twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.shared_house import shared_house
from tests.unit.test_reflection import NURSE, PARAPHRASED, TEA, Model, contents, service
from tests.warm import run

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

_DIES = "import runpy\nrunpy.run_module('tests.service.reflect_and_die', run_name='__main__')"


@pytest.mark.parametrize("when", ["asking", "before", "after"])
async def test_what_is_killed_on_the_way_is_done_whole_or_not_at_all(tmp_path: Path, when: str) -> None:
    ended, said = await run(_DIES, str(tmp_path), when)
    assert ended == -signal.SIGKILL, said
    async with shared_house(tmp_path, None, Model().llm) as house:
        receipts = (await service(house).list(house.me)).items
        if when == "after":
            assert (await contents(house), await contents(house, "merged")) == (
                sorted((NURSE, TEA)),
                [PARAPHRASED],
            )
            assert len(receipts) == 1
            state = await service(house).state(house.me.owner)
            assert state is not None
            assert not await service(house).is_changed(house.me.owner, state.record)
            return
        assert await contents(house) == sorted((NURSE, PARAPHRASED, TEA))
        assert receipts == ()
        # The lease of the dead process keeps nobody from doing it now.
        assert len((await house.app.reflection.run(house.me.owner, asked=False)).merges) == 1
