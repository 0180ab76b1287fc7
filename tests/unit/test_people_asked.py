"""Changes of people: what the owner is asked about first, and what the model is told to do before."""

from __future__ import annotations

from typing import Any

import pytest

from bethink.events import ApprovalNeeded
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from tests.house import open_house, ports_of

pytestmark = pytest.mark.anyio

CARD = {"num": "4111-1111-1111-1111", "cvv": "987", "exp_date": "09/2029"}
ADA = {"name": "Ada", "surname": "Lovelace", "email": "ada@example.org", "about_me": "Writes programs."}


@pytest.mark.requirement("U5")
@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ([{"company": "Engines"}], []),
        ([{"email": "countess@example.org"}], ["This would change somebody's email."]),
        ([{"credit_card": CARD}, {"company": "X"}], ["This would change somebody's credit card."]),
        (
            [{"company": "A"}, {"company": "B"}, {"company": "C"}],
            ["This would change 3 records at once."] * 3,
        ),
    ],
)
async def test_a_change_of_what_counts_or_of_many_waits_for_the_owner(
    changes: list[dict[str, Any]], asked: list[str]
) -> None:
    ports = ports_of()
    async with open_house(ports=ports) as house:
        ada = await house.app.people.create(house.me, ADA)
    calls = [ScriptedCall("update_user", {"id": ada.id} | change) for change in changes]
    async with open_house(ports=ports_of(ScriptedLlm([calls, "Done."]), store=ports.store)) as house:
        run = await house.app.runs.start(house.me, await house.new(), "Change Ada.")
        events = await house.events(run)
        waiting = [event.reason for event in events if isinstance(event, ApprovalNeeded)]
        assert waiting == asked
        assert (await house.app.people.get(house.me, ada.id)).email == ADA["email"]
    async with open_house(
        ports=ports_of(ScriptedLlm([calls, "Done."]), store=ports.store), tool_policy={"update_user": "auto"}
    ) as house:
        assert not [event for event in await house.say("Change her.") if isinstance(event, ApprovalNeeded)]


@pytest.mark.requirement("U5")
async def test_the_model_is_told_to_search_before_it_adds_or_changes() -> None:
    async with open_house() as house:
        for name in ("create_user", "update_user"):
            tool = house.app.toolbox.get(name)
            assert tool
            assert "Search for them first" in tool.description
