"""A conversation's model may be an assistant: a model with what it is told and may use."""

from __future__ import annotations

import pytest

from bethink.llm import LlmRequest
from bethink.llm.scripted import ScriptedCall, ScriptedLlm
from bethink.messages import ToolMessage
from bethink.settings import Assistant, Price
from tests.door import called
from tests.house import open_house

pytestmark = pytest.mark.anyio

LAWYER = Assistant(model=None, system="You read contracts.", tools=False, memory=False)


async def test_an_assistant_answers_in_a_conversation_as_it_is_told() -> None:
    asked: list[LlmRequest] = []

    def answer(request: LlmRequest) -> str:
        asked.append(request)
        return "Yes."

    async with (
        open_house(ScriptedLlm(answer), assistants={"lawyer": LAWYER}) as house,
        called(house) as http,
    ):
        made = await http.post("/conversations", json={"model": "lawyer", "system": "Be brief."})
        assert made.json()["model"] == "lawyer"
        await house.say("Is it valid?", made.json()["id"])
        plain = await http.patch(f"/conversations/{made.json()['id']}", json={"model": None})
        assert plain.json()["model"] is None
        await house.say("And now?", made.json()["id"])
        unknown = await http.patch(f"/conversations/{made.json()['id']}", json={"model": "judge"})
        assert unknown.status_code == 422
        assert "lawyer" in unknown.json()["detail"]
    first, second = asked
    assert "You read contracts.\n\nBe brief." in first.system
    assert first.tools == ()
    assert "You read contracts." not in second.system
    assert "Be brief." in second.system
    assert second.tools


async def test_what_there_is_to_choose_from_is_told_with_what_is_known_of_it() -> None:
    async with (
        open_house(
            ScriptedLlm(lambda _: "Yes."),
            assistants={"lawyer": LAWYER},
            models_offered=["openai:gpt-4o"],
            prices={"openai:gpt-4o": Price(input=2.5, output=10)},
        ) as house,
        called(house) as http,
    ):
        lawyer, usual, other = (await http.get("/models")).json()["items"]
    assert (lawyer["name"], lawyer["kind"], lawyer["about"]) == ("lawyer", "assistant", "You read contracts.")
    assert (lawyer["tools"], lawyer["memory"], lawyer["model"]) == (False, False, usual["name"])
    assert usual["usual"]
    assert (other["name"], other["pictures"], other["input_usd"]) == ("openai:gpt-4o", True, 2.5)


async def test_what_a_message_names_is_found_by_the_tools_as_the_page_writes_it() -> None:
    """The page writes the line (`ui/src/run/named.ts`); a model hands on what stands in its brackets."""

    def answer(request: LlmRequest) -> str | list[ScriptedCall]:
        if isinstance(request.messages[-1], ToolMessage):
            return request.messages[-1].content
        return [ScriptedCall("read_file", {"file_path": "trips/lisbon.md"})]

    async with open_house(ScriptedLlm(answer)) as house, called(house) as http:
        page = {"text": "# Lisbon\n\nWe take the night train.", "if_version": ""}
        assert (await http.put("/vault/pages/trips/lisbon.md", json=page)).is_success
        said = "How do we go?\n\nAbout: the page “lisbon” of the vault (file_path: trips/lisbon.md)"
        conversation = await house.new()
        await house.say(said, conversation)
        told = (await http.get(f"/conversations/{conversation}")).json()
    assert told["title"] == "How do we go?"
    assert "We take the night train." in told["messages"][-1]["content"]
